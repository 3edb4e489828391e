import numpy as np
import pytest
from scipy.stats import f as fisher
from tests.mender.densities import learn_detector, weigh_rows

from treemend.mender.calibration import Rarity, is_unusual, rest_scores
from treemend.mender.evidence import NOISE, STUCK
from treemend.mender.layout import Layout
from treemend.mender.learning import clean_rests
from treemend.mender.sets import Answers


@pytest.fixture(scope="module")
def sensors():
    rng = np.random.default_rng(0)
    level = rng.uniform(15, 25, (400, 1))
    clean = level + 0.3 * rng.normal(size=(400, 12))
    return learn_detector(clean[:300], Layout(np.arange(12)), 0, 1)[0], clean[300:]


def judged(detector, values):
    detection = weigh_rows(detector, values)
    declared = detector.calibration.p_values(detection.statistics()) <= 0.05
    return declared, detection.find_sets(np.flatnonzero(declared))


def test_rest_scores_are_log_survivals():
    form, kept = np.array([3.0, 30.0]), np.array([4, 6])
    np.testing.assert_allclose(rest_scores(form, kept, 6.0), np.log(fisher.sf(form / kept, kept, 6.0)))


def test_conformal_p_values_of_rests():
    rarity = Rarity(np.array([-3.0, -2.0, -2.0, -1.0]))
    np.testing.assert_allclose(rarity.p_values(np.array([-4.0, -2.0, 0.0])), [0.2, 0.8, 1.0])


def test_a_set_that_is_unlikely_is_not_believed():
    rarity = Rarity(np.sort(rest_scores(np.arange(1.0, 200.0), np.full(199, 9), 6.0)))
    labels = np.full((4, 10), -1, np.int8)
    labels[:3, 2] = NOISE
    labels[3, 2:5] = STUCK
    answers = Answers(labels, np.array([-2.9, -3.1, 5.0, -9.0]), np.zeros(4), np.full(4, 9.0), np.full(4, -6.0))
    np.testing.assert_array_equal(is_unusual(rarity, answers, 6.0, np.zeros((4, 10)), 10), [False, True, False, False])


@pytest.mark.parametrize(
    ("odds", "move", "off", "unusual"),
    [
        (9.0, 8.0, [], True),
        (9.0, 7.0, [], False),
        (1.0, -0.1, [], False),
        # A lattice speaks for the set if the rest is on its own ones, and for the move if the rest is off.
        (9.0, 4.0, [2], False),
        (9.0, 28.0, [2], True),
        (30.0, -4.0, range(10), True),
    ],
)
def test_a_set_is_believed_if_it_is_better_than_a_move_of_the_whole_row(odds, move, off, unusual):
    rarity = Rarity(np.sort(rest_scores(np.arange(1.0, 200.0), np.full(199, 9), 6.0)))
    labels, lattice = np.full((1, 10), -1, np.int8), np.full((1, 10), -3.0 if off else 0.0)
    labels[0, 2], lattice[0, off] = NOISE, 4.0
    answers = Answers(labels, np.array([odds]), np.zeros(1), np.full(1, 9.0), np.array([move]))
    assert is_unusual(rarity, answers, 6.0, lattice, 10) == unusual


def test_counts_that_were_moved_as_a_whole_are_left_alone():
    rng = np.random.default_rng(2)
    level = rng.gamma(2, 4, 16) + 3
    clean = rng.poisson(level * np.exp(0.4 * rng.normal(size=(700, 1)))).astype(float)
    detector = learn_detector(clean[:500], Layout(np.arange(16)), 0, 1)[0]
    for amount in (0.5, 2.3, 50.0):
        declared, found = judged(detector, clean[500:] + amount)
        assert declared.mean() > 0.95
        assert (found.kinds[~found.unusual] >= 0).any(axis=1).sum() == 0
    noisy = clean[500:].copy()
    noisy[:, 4:9] = rng.uniform(0, clean.max(), (200, 5))
    _, found = judged(detector, noisy)
    assert ((found.kinds >= 0).any(axis=1) & ~found.unusual).sum() > 180


def test_rows_that_are_rare_as_a_whole_are_left_alone(sensors):
    detector, fresh = sensors
    for amount, most in ((-20.0, 0.0), (-6.0, 0.05), (6.0, 0.05), (30.0, 0.0)):
        moved = fresh - fresh.mean(axis=1, keepdims=True) + 20 + amount
        _, found = judged(detector, moved)
        repaired = (found.kinds >= 0).any(axis=1)
        assert repaired.sum() <= most * len(moved)
        np.testing.assert_array_equal(found.unusual, ~repaired)


def test_overwritten_stretches_are_still_repaired(sensors):
    detector, fresh = sensors
    values = fresh.copy()
    values[:, 3:7] = np.random.default_rng(1).uniform(10, 30, (len(values), 4))
    declared, found = judged(detector, values)
    assert declared.mean() > 0.95
    assert found.unusual.sum() < 0.05 * len(values)


def test_the_rest_without_the_bad_cells_is_ordinary(sensors):
    detector, fresh = sensors
    values = fresh.copy()
    values[:, 3:7] = 90.0
    out = np.zeros(values.shape, bool)
    out[:, 3:7] = True
    rows, density = detector.clean.columns.to_rows(values)[0], detector.clean.density
    scores = clean_rests([(density, np.where(out, np.nan, rows))])
    with_them = clean_rests([(density, np.where(np.roll(out, 5, axis=1), np.nan, rows))])
    assert (detector.rarity.p_values(scores) > 0.01).mean() > 0.95
    assert (detector.rarity.p_values(with_them) <= 0.01).mean() > 0.95
