import numpy as np
import pytest
from tests.mender.densities import best_sets, complete_scan
from tests.mender.naive_sets import log_odds, random_density

from treemend.mender.evidence import NOISE, SINGLE
from treemend.mender.layout import Layout
from treemend.mender.windows import PIXEL_PRICE, set_rules

SIDE = 5


def rectangle(top, bottom, left, right):
    mask = np.zeros((SIDE, SIDE), bool)
    mask[top:bottom, left:right] = True
    return mask.ravel()


def rectangles():
    ends = [(i, j) for i in range(SIDE) for j in range(i + 1, SIDE + 1)]
    return [rectangle(*lines, *columns) for lines in ends for columns in ends]


def searched(seed, masks, size):
    """Search rows whose cells in ``masks`` were moved by up to ``size``."""
    rng = np.random.default_rng(seed)
    d = SIDE * SIDE
    density = random_density(rng, d, 1)
    scan = complete_scan(density, Layout(np.arange(d), (SIDE, SIDE, 1)))
    rules = set_rules(scan.cells, 3.0, np.zeros(5), 0, 3 * d)
    rows = density.centre[0] + rng.multivariate_normal(np.zeros(d), density.mix.covariance[0], len(masks))
    rows[masks] += rng.uniform(-size, size, int(masks.sum()))
    u = rng.uniform(-3, -2, rows.shape)
    answers = best_sets(scan, rules, rows, u, np.zeros(rows.shape, bool), (NOISE, SINGLE))
    return density, rules, rows, u - PIXEL_PRICE, answers


def test_the_best_rectangle_is_found_with_the_log_odds_of_the_formula():
    """All rectangles enumerated: hardly any is better than the set that is found."""
    masks = np.array([rectangle(1, 4, 1, 3)] * 12)
    density, rules, rows, u, answers = searched(0, masks, 9.0)
    found = 0
    for i in range(len(rows)):
        odds = [log_odds(density, rows[i], u[i], np.where(box, NOISE, -1)) for box in rectangles() if box.mean() < 0.6]
        best = max(odds) - rules.grid.price
        assert answers.odds[i] >= best - 1.01
        found += answers.odds[i] == pytest.approx(best, abs=1e-6)
    assert found >= len(rows) / 2


def test_cells_that_look_clean_within_a_rectangle_are_out_with_it():
    masks = np.array([rectangle(1, 4, 1, 4)] * 30)
    answers = searched(1, masks, 12.0)[-1]
    out = answers.labels == NOISE
    assert (out & masks).sum() > 0.9 * masks.sum()
    assert (out & ~masks).sum() < 0.1 * out.sum()


def test_two_rectangles_are_found():
    masks = np.array([rectangle(0, 2, 0, 2) | rectangle(3, 5, 2, 5)] * 30)
    answers = searched(2, masks, 20.0)[-1]
    out = answers.labels == NOISE
    assert (out & masks).sum() > 0.9 * masks.sum()
    assert (out & ~masks).sum() < 0.1 * out.sum()


def test_sequences_have_no_rectangles():
    scan = complete_scan(random_density(np.random.default_rng(0), 9, 1), Layout(np.arange(9)))
    assert set_rules(scan.cells, 3.0, np.zeros(5), 0, 9).grid is None
