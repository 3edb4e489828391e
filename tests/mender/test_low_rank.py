import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_t

from treemend.mender.columns import column_widths, learn_columns
from treemend.mender.density import TAIL, make_density
from treemend.mender.filling import calibrate_spread, conditionals, fill
from treemend.mender.low_rank import (
    LowRankDensity,
    choose_rank,
    learn_low_rank,
    leftovers,
    leftovers_of_all,
    log_density,
)


def random_low_rank(d, rank, seed):
    rng = np.random.default_rng(seed)
    return LowRankDensity(rng.normal(size=d), rng.normal(size=(d, rank)), rng.uniform(0.1, 1, d))


def covariance_of(density):
    return density.factor @ density.factor.T + np.diag(density.noise)


def as_full(density):
    """The same density with its covariance written out."""
    return make_density(density.centre[None], covariance_of(density)[None], np.zeros(1))


def wide_rows(n, d, seed):
    """Smooth curves in two groups."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 1, d)
    waves = np.array([np.sin(np.pi * (k + 1) * t) for k in range(4)])
    group = rng.random(n) < 0.5
    return 0.1 * (rng.normal(size=(n, 4)) @ waves + group[:, None] * t + 0.1 * rng.normal(size=(n, d)))


@given(st.integers(2, 12), st.integers(1, 4), st.integers(0, 10**6), st.floats(0, 1))
@settings(max_examples=40, deadline=None)
def test_density_and_gaps_are_those_of_the_full_covariance(d, rank, seed, share):
    density = random_low_rank(d, rank, seed)
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(4, d))
    rows[rng.random(rows.shape) < share] = np.nan
    expected = 0.0
    for row in rows:
        seen = ~np.isnan(row)
        if seen.any():
            law = multivariate_t(density.centre[seen], covariance_of(density)[np.ix_(seen, seen)], df=TAIL)
            expected += law.logpdf(row[seen])
    assert log_density(density, rows) == pytest.approx(expected, abs=1e-6)
    ours, theirs = conditionals([(density, rows)])[0], conditionals([(as_full(density), rows)])[0]
    for name in ("mean", "variance", "mode"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), rel=1e-5, abs=1e-6), name


def test_a_lower_rank_keeps_the_variances():
    density = random_low_rank(9, 4, 0)
    lower = density.of_rank(2)
    assert lower.factor.shape == (9, 2)
    assert np.diag(covariance_of(lower)) == pytest.approx(np.diag(covariance_of(density)))


def test_draws_have_the_conditional_moments():
    density = random_low_rank(6, 2, 3)
    row = np.array([[0.5, np.nan, np.nan, -1.0, np.nan, 0.3]])
    gap = np.isnan(row[0])
    law = conditionals([(density, row)], 30_000, 0)[0]
    assert law.draws[:, 0, gap].mean(axis=0) == pytest.approx(law.mean[0, gap], abs=0.05)
    assert law.draws[:, 0, gap].var(axis=0) == pytest.approx(law.variance[0, gap], rel=0.1)
    drawn = conditionals([(as_full(density), row)], 30_000, 0)[0].draws[:, 0, gap]
    assert np.cov(law.draws[:, 0, gap].T) == pytest.approx(np.cov(drawn.T), abs=0.1 * np.cov(drawn.T).max())


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_wide_rows_are_learnt_and_filled(share):
    values = wide_rows(150, 700, 0)
    fresh, values = values[:50], values[50:]
    holed = np.where(np.random.default_rng(0).random(values.shape) < share, np.nan, values)
    columns = learn_columns(holed, np.arange(700))
    rows = columns.to_rows(holed)[0]
    density = learn_low_rank(rows, choose_rank(rows, 0), 0)
    gaps = np.zeros(fresh.shape, bool)
    gaps[:, 200:400] = True
    filled = fill(density, columns, fresh, gaps)
    error = np.sqrt(np.square((filled.values - fresh)[gaps]).mean())
    assert error < 0.2 * np.sqrt(np.square((values.mean(axis=0) - fresh)[gaps]).mean())


def test_folds_and_calibration_of_wide_rows():
    values = wide_rows(260, 600, 1)
    fresh, values = values[:60], values[60:]
    order = np.arange(600)
    columns = learn_columns(values, order)
    rows = columns.to_rows(values)[0]
    rank = choose_rank(rows, 0)
    density = learn_low_rank(rows, rank, 0)
    fold = np.arange(200) % 4
    own = [learn_columns(values[fold != f], order, column_widths(values)) for f in range(4)]
    folds = [learn_low_rank(own[f].to_rows(values[fold != f])[0], rank, 0) for f in range(4)]
    spread = calibrate_spread(values, fold, list(zip(folds, own, strict=True)), 0)
    gaps = np.zeros(fresh.shape, bool)
    gaps[:, 100:300] = True
    filled = fill(density, columns, fresh, gaps, spread=spread)
    covered = np.abs(filled.values - fresh)[gaps] <= 1.2816 * filled.spread[gaps]
    assert covered.mean() == pytest.approx(0.8, abs=0.08)


def test_a_row_has_the_same_bits_in_any_company():
    density = random_low_rank(40, 5, 1)
    rows = np.random.default_rng(0).normal(size=(20, 40))
    rows[5:, :7] = np.nan
    together = conditionals([(density, rows)], 2)[0]
    for i in range(20):
        alone = conditionals([(density, rows[[i]])], 2)[0]
        assert np.array_equal(alone.mean[0], together.mean[i])
        assert np.array_equal(alone.variance[0], together.variance[i])
        assert np.array_equal(alone.draws[:, 0], together.draws[:, i])


def test_what_factors_leave_of_rows_is_that_of_each_row():
    density, rng = random_low_rank(50, 4, 1), np.random.default_rng(2)
    rows = rng.normal(size=(70, 50))
    rows[3, :10] = rows[40] = np.nan
    left, level = leftovers_of_all(density, rows)
    for i, row in enumerate(rows):
        its_left, its_level = leftovers(density, row, ~np.isnan(row))
        np.testing.assert_allclose(left[i], its_left, atol=1e-10)
        assert level[i] == pytest.approx(its_level, abs=1e-9)
    shuffled = rng.permutation(70)
    np.testing.assert_array_equal(leftovers_of_all(density, rows[shuffled])[0], left[shuffled])
