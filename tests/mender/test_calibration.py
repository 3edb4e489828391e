import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.mender.densities import learn_detector, weigh_rows

from treemend import Mender
from treemend.mender.calibration import Calibration
from treemend.mender.layout import Layout
from treemend.result import adjusted_p_values

numbers = st.lists(st.integers(-3, 12), min_size=1, max_size=40)


def calibrated(reference):
    return Calibration(reference, reference, reference, np.array([reference, reference]))


@settings(max_examples=200, deadline=None)
@given(numbers, numbers, st.sampled_from([0.001, 0.01, 0.05, 0.07, 0.1, 0.29, 0.5, 1.0]))
def test_p_values_count_ties_as_larger_and_agree_with_the_threshold(reference, fresh, rate):
    reference, fresh = np.sort(np.array(reference, float)), np.array(fresh, float)
    calibration = calibrated(reference)
    p = calibration.p_values(fresh)
    for value, statistic in zip(p, fresh, strict=True):
        conformal = (1 + sum(other >= statistic for other in reference)) / (len(reference) + 1)
        assert value == conformal
    np.testing.assert_array_equal((p <= rate) & (p < 1), fresh > calibration.threshold(rate))
    own = calibration.p_values(reference, own=True)
    np.testing.assert_array_equal((own <= rate) & (own < 1), reference > calibration.threshold(rate, own=True))


def test_reference_rows_are_compared_with_the_others():
    reference = np.array([1.0, 2.0, 2.0, 5.0])
    np.testing.assert_allclose(calibrated(reference).p_values(reference, own=True), [1, 0.75, 0.75, 0.25])


def test_the_tail_is_finer_than_ranks_and_falls():
    clean = np.sort(np.random.default_rng(0).exponential(size=500))
    statistic = np.linspace(0, 20, 200)
    conformal = calibrated(clean).p_values(statistic)
    p = calibrated(clean).smoothed(conformal, statistic)
    assert (np.diff(p) <= 1e-12).all()
    assert ((p == conformal) | (conformal <= 0.01)).all()
    assert p[-1] < 1 / 501 / 10
    assert p[statistic.searchsorted(-np.log(0.02))] == pytest.approx(0.02, rel=0.4)


@pytest.mark.parametrize("n_reference", [300, 2000])
def test_few_discoveries_are_mostly_right_where_some_clean_rows_have_a_longer_tail(n_reference):
    rng = np.random.default_rng(0)
    false, found = [], []
    # So many that means are within .002 of the expected .114 and .087; a law doubled instead of tripled has .132.
    for _ in range(4000):
        scales = [np.where(rng.random(n) < 0.01, 6.0, 1.0) for n in (n_reference, 600)]
        clean, statistic = (rng.exponential(scale) for scale in scales)
        statistic[:6] = rng.uniform(20, 60, 6)
        calibration = calibrated(np.sort(clean))
        p_values = calibration.smoothed(calibration.p_values(statistic), statistic)
        declared = adjusted_p_values(p_values) <= 0.1
        false.append(declared[6:].sum() / max(declared.sum(), 1))
        found.append(declared[:6].mean())
    assert np.mean(false) < 0.12
    assert np.mean(found) > 0.4


@settings(max_examples=200, deadline=None)
@given(numbers, numbers, numbers, st.floats(-2, 9), st.sampled_from([0.1, 0.25, 0.4, 0.5, 0.7, 0.75, 0.9]))
def test_rows_that_lack_cells_are_as_odd_as_among_rows_that_lack_as_many(complete, incomplete, fresh, odds, missing):
    complete, incomplete, fresh = (np.sort(np.array(some, float)) for some in (complete, incomplete, fresh))
    calibration = Calibration(complete, complete, complete, np.array([incomplete, incomplete + 1]))
    comparable = calibration.comparable(fresh, np.full(len(fresh), odds), missing)
    assert (np.diff(comparable) >= 0).all()
    n, m = len(complete), len(incomplete)
    half, most = ((1 + n / m * (some[:, None] >= fresh).sum(axis=0)) / (n + 1) for some in (incomplete, incomplete + 1))
    share = min(missing, 0.75) - 0.5
    expected = share * 4 * most + (1 - share * 4) * half
    if missing < 0.5:
        expected = 2 * missing * half + (1 - 2 * missing) * calibration.p_values(fresh)
    p = calibration.p_values(comparable)
    least = np.exp(-max(odds, 0.0))
    assert (p >= np.maximum(expected, least) - 1e-9).all()
    assert set(p) <= set(calibration.p_values(np.append(complete, np.inf)))


def test_clean_rows_of_low_rank_that_lack_most_columns_are_left_alone():
    rng = np.random.default_rng(0)
    loadings = np.sin(np.outer(np.arange(1, 4), np.linspace(0, 3, 16)))
    values = rng.normal(size=(700, 3)) @ loadings + rng.normal(0, 0.05, (700, 16))
    mender = Mender(n_jobs=1).fit(values[:300])
    for cells in ([0, 7, 10, 14], [0, 6, 12, 15], [4, 9, 12, 13]):
        fresh = np.full((400, 16), np.nan)
        fresh[:, cells] = values[300:, cells]
        assert (mender.p_values(fresh) <= 0.05).mean() <= 0.05
    half = values[300:].copy()
    half[:, ::2] = np.nan
    half[:, 7] += 2.0
    assert (mender.p_values(half) <= 0.05).mean() > 0.9


@pytest.mark.parametrize("n", [0, 1, 5])
def test_few_reference_rows_declare_nothing_at_a_small_rate(n):
    calibration = calibrated(np.arange(float(n)))
    assert calibration.threshold(0.05) == np.inf
    assert (calibration.p_values(np.array([1e9])) > 0.05).all()


def test_rows_where_hardly_any_reference_row_lies():
    calibration = Calibration(np.zeros(300), np.zeros(300), np.arange(300.0), np.zeros((2, 300)))
    assert calibration.is_sparse(np.array([-5.0, 1.0, 50.0])).tolist() == [True, True, False]


@pytest.mark.parametrize("kind", ["normal", "ties", "heavy"])
def test_clean_rows_are_declared_at_most_about_as_often_as_promised(kind):
    rates = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        values = np.cumsum(rng.normal(size=(500, 8)), axis=1)
        if kind == "ties":
            values = np.round(values)
        if kind == "heavy":
            values = rng.standard_t(2, size=(500, 8))
        mender = Mender(layout="sequence", n_jobs=1).fit(values[:150])
        rates.append((mender.p_values(values[150:]) <= 0.1).mean())
    assert 0.03 < np.mean(rates) < 0.14


def test_the_cross_fit_judges_each_row_by_a_fold_that_has_not_seen_it():
    values = np.random.default_rng(0).normal(size=(60, 6))
    detector, cross = learn_detector(values, Layout(np.arange(6)), 0, 1)
    fold, statistics = cross.detection.fold, cross.detection.statistics()
    for f, part in enumerate(cross.detection.detectors):
        np.testing.assert_array_equal(weigh_rows(part, values[fold == f]).statistics(), statistics[fold == f])
        assert (part.clean.columns.offset == values[fold != f].min(axis=0)).all()
    assert len(detector.calibration.statistics) == 60
