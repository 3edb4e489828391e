import numpy as np
import pytest
from tests.mender.densities import learn_detector, weigh_rows

from treemend.mender.evidence import SHIFTED, STUCK
from treemend.mender.layout import Layout
from treemend.mender.stuck import learn_repeated_values


def naive_share(laid, component, j, value, k, n_components):
    own = laid[component == k, j]
    overall = ((laid[:, j] == value).sum() + 0.5) / (len(laid) + 1)
    return ((own == value).sum() + 2 * overall) / (len(own) + 2)


def test_frequent_values_and_ties_are_counted():
    rng = np.random.default_rng(0)
    laid = rng.integers(0, 4, (80, 5)).astype(float)
    laid[:, 3] = rng.normal(size=80)
    laid[:20, 3] = laid[:20, 2] + 0.5
    laid[:20, 4] = laid[:20, 3]
    component = rng.integers(0, 2, 80)
    table = learn_repeated_values(laid, component, 2)
    for j in (0, 1, 2):
        for a, value in enumerate(table.value[j]):
            if np.isfinite(value):
                for k in range(2):
                    assert table.share[j, a, k] == pytest.approx(naive_share(laid, component, j, value, k, 2))
    assert table.tie[0] == pytest.approx(0.5 / 81)


@pytest.fixture(scope="module")
def sensors():
    rng = np.random.default_rng(0)
    clean = 20 + np.cumsum(rng.normal(size=(300, 16)), axis=1)
    return learn_detector(clean[:200], Layout(np.arange(16)), 0, 1)[0], clean[200:]


def judged(detector, values):
    detection = weigh_rows(detector, values)
    return detection, detection.find_sets(np.arange(len(values)))


@pytest.mark.parametrize("dropped", [False, True])
def test_stuck_and_dropped_runs_are_found_and_named(sensors, dropped):
    detector, fresh = sensors
    values = fresh.copy()
    values[:, 5:10] = 0.0 if dropped else values[:, [5]]
    detection, found = judged(detector, values)
    truth = np.zeros(values.shape, bool)
    truth[:, 5:10] = True
    assert (detector.calibration.p_values(detection.statistics()) <= 0.05).mean() > 0.95
    stuck = found.kinds == STUCK
    assert (stuck & truth).sum() / truth.sum() > 0.9
    assert (stuck & truth).sum() / stuck.sum() > 0.95


def test_no_region_where_neighbours_differ(sensors):
    detector, fresh = sensors
    detection, _ = judged(detector, fresh)
    assert (detection.evidence[:, STUCK] == 0).all()
    assert not detection.stuck.any()


def test_a_row_most_of_which_repeats_one_value_is_odd_as_a_whole(sensors):
    detector, fresh = sensors
    values = fresh.copy()
    values[:, 2:14] = values[:, [2]]
    assert (judged(detector, values)[0].evidence[:, STUCK] == 0).all()


def test_a_background_that_clean_rows_have_is_not_stuck():
    rng = np.random.default_rng(1)
    clean = rng.normal(size=(300, 16))
    clean[:, 4:12] = 0.0
    clean[:150, 6] = rng.normal(size=150)
    detector = learn_detector(clean[:200], Layout(np.arange(16)), 0, 1)[0]
    detection, _ = judged(detector, clean[200:])
    assert (detector.calibration.p_values(detection.statistics()) <= 0.05).mean() < 0.12
    damaged = clean[200:].copy()
    damaged[:, 12:16] = 0.0
    detection, found = judged(detector, damaged)
    assert detection.stuck[:, 12:].mean() > 0.9
    assert detection.stuck[:, 4:6].mean() < 0.1


def test_two_sensors_that_often_agree_are_not_stuck():
    rng = np.random.default_rng(2)
    clean = np.round(20 + rng.normal(size=(400, 6)) * 2, 1)
    clean[:, 1] = np.where(rng.random(400) < 0.4, clean[:, 0], clean[:, 1])
    detector = learn_detector(clean[:300], Layout(np.arange(6)), 0, 1)[0]
    agreeing = clean[300:][clean[300:, 0] == clean[300:, 1]]
    detection, _ = judged(detector, agreeing)
    assert (detector.calibration.p_values(detection.statistics()) <= 0.05).mean() < 0.2


def test_two_equal_neighbours_of_a_short_row_are_no_run():
    rng = np.random.default_rng(4)
    clean = np.round(20 + rng.normal(size=(300, 6)) * 2, 1)
    detector = learn_detector(clean[:200], Layout(np.arange(6)), 0, 1)[0]
    fresh = clean[200:].copy()
    fresh[:, 3] = fresh[:, 2]
    assert not judged(detector, fresh)[0].stuck[:, 2].all()
    fresh[:, 4] = fresh[:, 2]
    assert judged(detector, fresh)[0].stuck[:, 2:5].all()


def test_a_background_that_was_moved_is_shifted_and_one_that_stands_still_is_stuck():
    rng = np.random.default_rng(5)
    n, d = 400, 32
    centre, height = rng.integers(4, d - 4, (n, 1)), rng.uniform(0.5, 1, (n, 1))
    clean = np.maximum(0, height * (1 - np.abs(np.arange(d) - centre) / 4))
    detector = learn_detector(clean[:300], Layout(np.arange(d)), 0, 1)[0]
    fresh = clean[300:][np.abs(centre[300:, 0] - 15.5) < 6]
    shifted, stuck = fresh.copy(), fresh.copy()
    shifted[:, 10:22] += 0.3
    stuck[:, 10:22] = 0.3
    for values, kind in ((shifted, SHIFTED), (stuck, STUCK)):
        kinds = judged(detector, values)[1].kinds
        assert (kinds[:, 10:22] == kind).mean() > 0.8
        assert (kinds[:, :10] >= 0).mean() < 0.05


def test_patches_of_a_grid():
    rng = np.random.default_rng(3)
    clean = np.cumsum(np.cumsum(rng.normal(size=(200, 6, 6)), axis=1), axis=2).reshape(200, 36)
    detector = learn_detector(clean[:150], Layout(np.arange(36), grid=(6, 6, 1)), 0, 1)[0]
    values = clean[150:].reshape(-1, 6, 6).copy()
    values[:, 1:4, 2:5] = 0.0
    detection, _ = judged(detector, values.reshape(-1, 36))
    truth = np.zeros((6, 6), bool)
    truth[1:4, 2:5] = True
    assert (detection.stuck == truth.ravel()).all(axis=1).mean() > 0.9
