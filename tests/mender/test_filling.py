import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.mender.densities import learn_density
from tests.mender.test_density import naive_log_density, random_density, two_clusters

from treemend.mender.columns import Columns, learn_columns
from treemend.mender.density import TAIL, Shape, expect_rows, make_density
from treemend.mender.filling import FillOptions, conditionals, fill
from treemend.mender.spread import GRID, NORMAL_QUANTILE, Spread


def naive_conditional(density, row):
    """Mean and covariance of the gaps given the observed cells, by solving, component by component."""
    gap = np.isnan(row)
    n = int((~gap).sum())
    levels, means, covariances = [], [], []
    for k in range(len(density.centre)):
        one = make_density(density.centre[[k]], density.mix.covariance[[k]], density.log_weight[[k]])
        levels.append(naive_log_density(one, row) if n else density.log_weight[k])
        centre, covariance = density.centre[k], density.mix.covariance[k]
        away = row[~gap] - centre[~gap]
        known = covariance[np.ix_(~gap, ~gap)]
        gain = np.linalg.solve(known, covariance[np.ix_(~gap, gap)]).T
        q = away @ np.linalg.solve(known, away)
        means.append(centre[gap] + gain @ away)
        left = covariance[np.ix_(gap, gap)] - gain @ covariance[np.ix_(~gap, gap)]
        covariances.append(left * (TAIL + q) / (TAIL + n - 2))
    share = np.exp(np.array(levels) - np.logaddexp.reduce(levels))
    mean = np.tensordot(share, means, 1)
    covariance = sum(w * (c + np.outer(m - mean, m - mean)) for w, c, m in zip(share, covariances, means, strict=True))
    return mean, covariance, means[int(np.argmax(levels))]


@given(st.integers(1, 4), st.integers(2, 8), st.integers(0, 10**6), st.data())
@settings(max_examples=40, deadline=None)
def test_conditional_moments_are_those_found_by_solving(n_components, d, seed, data):
    density = random_density(n_components, d, seed)
    row = np.random.default_rng(seed).normal(size=d)
    gap = np.array(data.draw(st.lists(st.booleans(), min_size=d, max_size=d)))
    gap[data.draw(st.integers(0, d - 1))] = True
    row[gap] = np.nan
    law = conditionals([(density, row[None])])[0]
    mean, covariance, mode = naive_conditional(density, row)
    assert law.mean[0, gap] == pytest.approx(mean, abs=1e-4)
    assert law.variance[0, gap] == pytest.approx(np.diag(covariance), rel=1e-4, abs=1e-4)
    assert law.mode[0, gap] == pytest.approx(mode, abs=1e-9)
    assert (law.mean[0, ~gap] == 0).all()


def test_unlikely_components_are_passed_over_unless_all_are():
    density = random_density(3, 5, 0)
    rows = np.random.default_rng(0).normal(size=(3, 5))
    rows[:, 2] = np.nan
    level = expect_rows(density, rows)[0]
    some = expect_rows(density, rows, np.array([[True, False, True], [False] * 3, [True] * 3]))[0]
    assert some[0, 1] == -np.inf
    some[0, 1] = level[0, 1]
    assert np.array_equal(some, level)


@pytest.mark.parametrize("n_missing", [1, 3, 5, 6])
def test_draws_have_the_conditional_moments(n_missing):
    density = random_density(2, 6, 3)
    row = np.random.default_rng(1).normal(size=6)
    row[:n_missing] = np.nan
    draws = conditionals([(density, row[None])], 40_000, 0)[0].draws[:, 0, :n_missing]
    mean, covariance, _ = naive_conditional(density, row)
    assert draws.mean(axis=0) == pytest.approx(mean, abs=0.06 * np.sqrt(np.diag(covariance)).max())
    assert np.cov(draws.T).reshape(n_missing, n_missing) == pytest.approx(
        covariance, abs=0.12 * np.diag(covariance).max()
    )


def test_a_fill_is_the_middle_of_the_values_that_may_have_stood_there():
    density = make_density(np.array([[0.2, -0.1]]), np.array([[[0.01, 0.004], [0.004, 0.02]]]), np.zeros(1))
    far, scale = np.full(2, 1e9), np.array([0.3, 0.2])
    columns = Columns(np.arange(2), np.zeros(2), np.ones(2), np.zeros(2), scale, -far, far, *np.zeros((3, 2)))
    filled = fill(density, columns, np.array([[np.nan, 0.1]]), options=FillOptions(n_draws=100_000))
    draws = filled.draws[:, 0, 0]
    assert filled.values[0, 0] == pytest.approx(np.median(draws), abs=0.003)
    half = np.diff(np.quantile(draws, [0.1, 0.9]))[0] / 2
    assert filled.spread[0, 0] == pytest.approx(half / NORMAL_QUANTILE, rel=0.1)


def _fitted(n=400, d=7, seed=0):
    values = np.exp(two_clusters(n, d, seed)) * 10.0 ** np.arange(d)
    order = np.random.default_rng(seed).permutation(d)
    columns = learn_columns(values, order)
    return values, columns, learn_density(columns.to_rows(values)[0], Shape(3, 0.01), 0)


@pytest.mark.parametrize("imputation", ["mean", "mode", "draw"])
def test_filling_touches_gaps_only_and_is_near(imputation):
    values, columns, density = _fitted()
    gaps = np.random.default_rng(0).random(values.shape) < 0.25
    filled = fill(density, columns, values, gaps, options=FillOptions(imputation=imputation))
    assert np.array_equal(filled.values[~gaps], values[~gaps])
    assert (filled.spread[~gaps] == 0).all()
    assert (filled.spread[gaps] > 0).all()
    scale = values.std(axis=0)
    by_mean = np.abs((values - values.mean(axis=0)) / scale)[gaps].mean()
    assert np.abs((filled.values - values) / scale)[gaps].mean() < (1.0 if imputation == "draw" else 0.8) * by_mean
    missing = np.where(gaps, np.nan, values)
    assert np.array_equal(
        fill(density, columns, missing, options=FillOptions(imputation=imputation)).values, filled.values
    )


def test_what_stands_in_a_gap_is_not_used():
    values, columns, density = _fitted()
    gaps = np.random.default_rng(0).random(values.shape) < 0.25
    changed = np.where(gaps, 1e9, values)
    one = fill(density, columns, values, gaps, options=FillOptions(n_draws=2))
    two = fill(density, columns, changed, gaps, options=FillOptions(n_draws=2))
    assert np.array_equal(one.values, two.values)
    assert np.array_equal(one.draws, two.draws)


def test_a_row_is_filled_by_itself():
    values, columns, density = _fitted(60)
    gaps = np.random.default_rng(0).random(values.shape) < 0.4
    together = fill(density, columns, values, gaps, options=FillOptions(n_draws=2, seed=5))
    for i in range(len(values)):
        alone = fill(density, columns, values[[i]], gaps[[i]], options=FillOptions(n_draws=2, seed=5))
        assert np.array_equal(alone.values[0], together.values[i])
        assert np.array_equal(alone.spread[0], together.spread[i])
        assert np.array_equal(alone.draws[:, 0], together.draws[:, i])


def test_draws_follow_the_seed():
    values, columns, density = _fitted(20)
    gaps = np.zeros(values.shape, bool)
    gaps[:, 2:4] = True
    one, two = (
        fill(density, columns, values, gaps, options=FillOptions(n_draws=3, seed=seed)).draws for seed in (0, 1)
    )
    assert not np.array_equal(one, two)
    assert np.array_equal(one[:, :, 4:], np.repeat(values[None, :, 4:], 3, axis=0))


def test_complete_rows_come_back_as_they_are():
    values, columns, density = _fitted(20)
    filled = fill(density, columns, values, options=FillOptions(n_draws=2))
    assert np.array_equal(filled.values, values)
    assert np.array_equal(filled.draws[1], values)
    assert not filled.spread.any()


def test_modes_and_draws_of_whole_numbers_are_whole():
    rng = np.random.default_rng(0)
    level = rng.poisson(5, 300)
    values = np.column_stack([level + rng.poisson(1, 300), level, rng.normal(level)]).astype(float)
    columns = learn_columns(values, np.arange(3))
    density = learn_density(columns.to_rows(values)[0], Shape(1, 0.01), 0)
    filled = {
        how: fill(density, columns, values, values > 3, options=FillOptions(imputation=how))
        for how in ("mean", "mode", "draw")
    }
    whole = {how: np.array_equal(found.values[:, :2], found.values[:, :2].round()) for how, found in filled.items()}
    assert whole == {"mean": False, "mode": True, "draw": True}
    assert not np.array_equal(filled["mode"].values, filled["mode"].values.round())


def test_the_mode_lies_in_a_cluster_where_the_mean_does_not():
    rng = np.random.default_rng(0)
    side = rng.choice([-1.0, 1.0], 400)
    values = np.column_stack([rng.normal(size=400), side + 0.05 * rng.normal(size=400)])
    columns = learn_columns(values, np.arange(2))
    density = learn_density(columns.to_rows(values)[0], Shape(2, 0.001), 0)
    gaps = np.tile([False, True], (400, 1))
    mean, mode = (
        fill(density, columns, values, gaps, options=FillOptions(imputation=how)).values[:, 1]
        for how in ("mean", "mode")
    )
    assert np.abs(mean).max() < 0.8
    assert np.abs(np.abs(mode) - 1).max() < 0.2


def test_spread_and_draws_are_scaled_as_calibrated():
    values, columns, density = _fitted(30)
    gaps = np.zeros(values.shape, bool)
    gaps[:, 1:3] = True
    double = Spread(np.full((2, len(GRID)), 2.0), np.full((2, len(GRID)), 3.0), np.ones(7), np.full(7, 9.0))
    plain = fill(density, columns, values, gaps, options=FillOptions(n_draws=200))
    scaled = fill(density, columns, values, gaps, options=FillOptions(n_draws=200), spread=double)
    assert np.array_equal(scaled.spread, 2 * plain.spread)
    assert np.median(scaled.draws.std(axis=0)[gaps] / plain.draws.std(axis=0)[gaps]) > 1.5
    assert (fill(density, columns, values, gaps | True, spread=double).spread == 9.0).all()
