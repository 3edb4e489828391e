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
    answers = Answers(labels, np.array([-2.9, -3.1, 5.0, -9.0]), np.zeros(4), np.full(4, 9.0), np.full(4, -1.0))
    np.testing.assert_array_equal(is_unusual(rarity, answers, 6.0, 10), [False, True, False, False])


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
