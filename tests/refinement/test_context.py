"""What the context promises and finds: the honest rate, the four explanations, degenerate inputs."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from tests.refinement.examples import held, p_values, rows_for
from tests.rows import GENERATORS

from treemend.refinement import (
    EXPLANATIONS,
    conformal_threshold,
    find_stretches,
    learn_context,
    learn_tails,
    row_densities,
    weigh,
)
from treemend.refinement import context as room

NOISE, FROZEN = 0, 3
LAYOUTS = [(None, np.s_[8:16]), ((8, 8, 1), np.s_[2:6, 3:7]), ((6, 6, 2), np.s_[2:5, 2:5])]


def judge(reference, rows, grid=None, rate=0.05):
    """Statistic, verdict, explanation and mask of rows, as a caller would put them together."""
    context, own = learn_context(held(reference), grid, seed=0)
    tails = learn_tails(own.evidence)
    clean = np.sort(tails.surprise(own.evidence).max(axis=1))
    weighed = weigh(context, rows, held(reference))
    surprise = tails.surprise(weighed.evidence)
    found = surprise.max(axis=1) > conformal_threshold(clean, rate)
    mask = find_stretches(context, rows, weighed, found, surprise.argmax(axis=1))
    return found, surprise.argmax(axis=1), mask, p_values(clean, surprise.max(axis=1))


@pytest.mark.parametrize("generate", GENERATORS)
def test_the_rate_on_fresh_clean_rows_is_the_rate_asked_for(generate):
    rng = np.random.default_rng(11)
    n_reference, n_fresh, rate = 300, 1000, 0.1
    rows = generate(rng, n_reference + n_fresh)
    low, high = rows[:n_reference].min(axis=0), rows[:n_reference].max(axis=0)
    rows = (rows - low) / (high - low)
    found, _, mask, p = judge(rows[:n_reference], rows[n_reference:], rate=rate)
    # Both the threshold and the share of fresh rows beyond it are uncertain.
    error = np.sqrt(rate * (1 - rate) * (1 / n_reference + 1 / n_fresh))
    assert abs(found.mean() - rate) < 3 * error
    np.testing.assert_array_equal(found, p <= rate)
    np.testing.assert_array_equal(mask.any(axis=1), found)


@pytest.mark.parametrize(("grid", "where"), LAYOUTS)
@pytest.mark.parametrize("kind", EXPLANATIONS)
def test_each_explanation_is_found_and_drawn(grid, where, kind):
    rng = np.random.default_rng(5)
    reference, truth, others = rows_for(rng, 200, grid), rows_for(rng, 40, grid), rows_for(rng, 40, grid)
    mask = np.zeros(grid or 24, dtype=bool)
    mask[where] = True
    mask = mask.ravel()
    rows = truth.copy()
    if kind == "noise":
        rows[:, mask] = rng.random((40, mask.sum()))
    elif kind == "foreign":
        rows[:, mask] = others[:, mask]
    elif kind == "shifted":
        rows[:, mask] += 0.25
    else:
        rows[:, mask] = 0.4
    found, _, drawn, _ = judge(reference, rows, grid)
    overlap = (drawn & mask).sum(axis=1) / (drawn | mask).sum(axis=1)
    assert found.mean() > 0.8
    assert overlap[found].mean() > 0.75


def test_a_stretch_that_stands_still_where_zeros_are_common_is_frozen():
    rng = np.random.default_rng(6)
    rows = np.where(rng.random((240, 30)) < 0.25, 0.0, rng.random((240, 30)))
    rows[200:, 8:20] = 0.0
    found, explanation, mask, _ = judge(rows[:200], rows[200:])
    assert found.mean() > 0.8
    assert (explanation[found] == FROZEN).mean() > 0.9
    assert mask[found][:, 8:20].mean() > 0.9


@pytest.mark.parametrize(
    ("n_reference", "d", "grid"),
    [
        (10, 30, None),
        (2, 5, None),
        (1, 4, None),
        (12, 1, None),
        (15, 2, None),
        (15, 3, None),
        (20, 600, None),
        (9, 4, (2, 2, 1)),
        (9, 12, (1, 12, 1)),
        (9, 27, (3, 3, 3)),
        (9, 9, (3, 3, 1)),
        (12, 768, (16, 16, 3)),
    ],
)
@pytest.mark.parametrize("constant", [False, True])
def test_small_wide_and_constant_references(n_reference, d, grid, constant):
    rng = np.random.default_rng(0)
    reference = rng.random((n_reference, d))
    if constant:
        reference[:, : max(1, d // 2)] = 0.5
    rows = np.vstack(
        [reference[:1], rng.random((2, d)), np.zeros((1, d)), np.full((1, d), 1e300), -reference[:1] * 1e200]
    )
    context, own = learn_context(held(reference), grid, seed=1)
    assert own.evidence.shape == (n_reference, len(EXPLANATIONS))
    assert np.isfinite(own.evidence).all()
    weighed = weigh(context, rows, held(reference), left_out=np.array([0, -1, -1, -1, -1, -1]))
    assert np.isfinite(weighed.evidence).all()
    assert np.isfinite(weighed.log_density).all()
    for explanation in range(len(EXPLANATIONS) + 1):
        mask = find_stretches(context, rows, weighed, np.arange(6), np.full(6, explanation))
        assert not mask.all(axis=1).any()


def test_no_rows_are_no_trouble():
    reference = rows_for(np.random.default_rng(0), 30, None)
    context, _ = learn_context(held(reference), seed=0)
    weighed = weigh(context, reference[:0], held(reference))
    assert weighed.evidence.shape == (0, 4)
    assert find_stretches(context, reference[:0], weighed, np.zeros(0, dtype=bool), np.zeros(0, int)).shape == (0, 24)


def test_a_context_survives_pickling_and_a_second_learning():
    reference = rows_for(np.random.default_rng(0), 100, None)
    context, own = learn_context(held(reference), seed=0)
    copy = pickle.loads(pickle.dumps(context))
    again, own_again = learn_context(held(reference), seed=0)
    np.testing.assert_array_equal(own.evidence, own_again.evidence)
    for other in (copy, again):
        np.testing.assert_array_equal(
            weigh(other, reference, held(reference)).evidence, weigh(context, reference, held(reference)).evidence
        )


def test_many_rows_are_learnt_from_a_sample_and_weighed_by_others(monkeypatch):
    for name, value in (("MOST_CROSS_FITTED", 150), ("MOST_LEARNT", 100), ("MOST_WEIGHED", 60)):
        monkeypatch.setattr(room, name, value)
    reference = rows_for(np.random.default_rng(0), 200, None)
    context, own = learn_context(held(reference), seed=0)
    assert len(own.rows) == len(own.evidence) == len(own.log_density) == 60
    assert (np.diff(own.rows) > 0).all()
    honest = weigh(context, reference[own.rows], held(reference), left_out=own.rows)
    np.testing.assert_array_equal(honest.evidence, own.evidence)


def test_cross_fitting_is_milder_on_fresh_rows_than_on_the_rows_learnt_from():
    reference = rows_for(np.random.default_rng(0), 60, None)
    context, own = learn_context(held(reference), seed=0)
    seen = weigh(context, reference, held(reference), left_out=np.arange(60))
    assert own.evidence[:, NOISE].mean() > seen.evidence[:, NOISE].mean()


@pytest.mark.parametrize("grid", [None, (6, 6, 1)])
def test_densities_alone_are_those_of_weighing(grid):
    rng = np.random.default_rng(9)
    reference, rows = held(rows_for(rng, 80, grid)), rows_for(rng, 37, grid)
    context, _ = learn_context(reference, grid, seed=0)
    np.testing.assert_array_equal(row_densities(context, rows), weigh(context, rows, reference).log_density)
