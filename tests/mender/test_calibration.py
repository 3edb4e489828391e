import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treemend.mender.calibration import Calibration, crossed_statistics, learn_tails
from treemend.mender.detector import row_evidence
from treemend.mender.layout import Layout
from treemend.mender.learning import learn_detector

numbers = st.lists(st.integers(-3, 12), min_size=1, max_size=40)


@settings(max_examples=200, deadline=None)
@given(numbers, numbers, st.sampled_from([0.001, 0.01, 0.05, 0.07, 0.1, 0.29, 0.5, 1.0]))
def test_p_values_count_ties_as_larger_and_agree_with_the_threshold(reference, fresh, rate):
    reference, fresh = np.sort(np.array(reference, float)), np.array(fresh, float)
    calibration = Calibration(reference)
    p = calibration.p_values(fresh)
    for value, statistic in zip(p, fresh, strict=True):
        assert value == (1 + sum(other >= statistic for other in reference)) / (len(reference) + 1)
    np.testing.assert_array_equal(p <= rate, fresh > calibration.threshold(rate))


def test_reference_rows_are_compared_with_the_others():
    reference = np.array([1.0, 2.0, 2.0, 5.0])
    np.testing.assert_allclose(Calibration(reference).p_values(reference, own=True), [1, 0.75, 0.75, 0.25])


def test_the_tail_is_finer_than_ranks_and_falls():
    clean = np.sort(np.random.default_rng(0).exponential(size=500))
    calibration = Calibration(clean)
    statistic = np.linspace(0, 20, 200)
    p = calibration.tail_p_values(statistic)
    assert (np.diff(p) <= 1e-12).all()
    assert p[-1] < 1 / 501 / 10
    below = statistic <= clean[449]
    np.testing.assert_array_equal(p[below], calibration.p_values(statistic)[below])
    assert p[statistic.searchsorted(-np.log(0.02))] == pytest.approx(0.02, rel=0.4)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_few_reference_rows_declare_nothing_at_a_small_rate(n):
    calibration = Calibration(np.arange(float(n)))
    assert calibration.threshold(0.05) == np.inf
    assert (calibration.tail_p_values(np.array([1e9])) > 0.05).all()


def test_tails_of_a_fold_are_learnt_on_the_others():
    rng = np.random.default_rng(0)
    evidence, fold = rng.exponential(size=(50, 3)), np.arange(50) % 5
    statistic = crossed_statistics(evidence, fold)
    changed = evidence.copy()
    changed[fold == 2] *= 100
    np.testing.assert_array_equal(
        crossed_statistics(changed, fold)[fold == 2], learn_tails(evidence[fold != 2]).statistic(changed[fold == 2])
    )
    assert statistic[fold == 2] == pytest.approx(learn_tails(evidence[fold != 2]).statistic(evidence[fold == 2]))


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
        detector = learn_detector(values[:150], Layout(np.arange(8)), 0, 1)[0]
        fresh = values[150:]
        evidence = row_evidence(detector, fresh, *detector.columns.to_rows(fresh), 1)
        rates.append((detector.calibration.p_values(evidence.statistic) <= 0.1).mean())
    assert 0.03 < np.mean(rates) < 0.14


def test_the_cross_fit_judges_each_row_by_a_fold_that_has_not_seen_it():
    values = np.random.default_rng(0).normal(size=(60, 6))
    detector, cross = learn_detector(values, Layout(np.arange(6)), 0, 1)
    for f, part in enumerate(cross.detectors):
        own = values[cross.fold == f]
        evidence = row_evidence(part, own, *part.columns.to_rows(own), 1)
        np.testing.assert_array_equal(evidence.statistic, cross.evidence.statistic[cross.fold == f])
        assert (part.columns.offset == values[cross.fold != f].min(axis=0)).all()
    p = cross.p_values()
    assert p.min() >= 1 / 60
    assert p.max() <= 1.0
    assert len(detector.calibration.statistics) == 60
