import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.mender.densities import learn_density
from tests.mender.test_density import two_clusters

from treemend.mender.columns import column_widths, learn_columns
from treemend.mender.density import Shape
from treemend.mender.filling import FillOptions, calibrate_spread, fill
from treemend.mender.spread import NORMAL_QUANTILE, cut_gaps, describe_gaps, learn_spread


@given(st.integers(2, 60), st.integers(0, 100))
def test_gaps_have_one_cell_to_all_but_one(d, seed):
    gaps = cut_gaps(np.random.default_rng(seed), 40, d)
    sizes = gaps.sum(axis=1)
    assert sizes.min() >= 1
    assert sizes.max() <= d - 1
    place, scattered = describe_gaps(gaps)
    assert np.isfinite(place).all()
    assert ((scattered >= 0) & (scattered <= 1)).all()
    assert (scattered[::2][sizes[::2] > 1] == 0).all()


def test_more_missing_and_more_runs_are_told_apart():
    gaps = np.zeros((3, 20), bool)
    gaps[0, :5] = gaps[1, :15] = gaps[2, ::4] = True
    place, scattered = describe_gaps(gaps)
    assert place[0] < place[1]
    assert scattered[0] == 0
    assert scattered[2] == 1


def test_factors_restore_the_coverage():
    """Deviations too small by a factor that differs among columns and grows with what is missing."""
    rng = np.random.default_rng(0)
    n, d = 3000, 12
    gaps = cut_gaps(rng, n, d)
    truth = np.linspace(0.5, 3, d) * (1 + 2 * gaps.mean(axis=1, keepdims=True))
    values = rng.normal(size=(n, d)) * truth
    filled, deviation = np.where(gaps, 0.0, values), np.where(gaps, 1.0, 0.0)
    learnt = learn_spread(values, values, filled, deviation, gaps, np.arange(d))
    factor, drawn = learnt.factors(gaps)
    assert np.median((factor / truth)[gaps]) == pytest.approx(1.0, abs=0.06)
    assert np.quantile((factor / truth)[gaps], [0.05, 0.95]) == pytest.approx([0.88, 1.12], abs=0.12)
    covered = np.abs(values)[gaps] <= NORMAL_QUANTILE * factor[gaps]
    assert covered.mean() == pytest.approx(0.8, abs=0.015)
    assert np.median((drawn / truth)[gaps]) == pytest.approx(1.0, abs=0.1)
    deviations = values.std(axis=0)
    assert (learnt.empty >= 0.8 * deviations).all()
    assert (learnt.empty <= 1.25 * deviations).all()


def _calibrated(n, d, seed):
    values = np.exp(two_clusters(n + 400, d, seed))
    values, fresh = values[:n], values[n:]
    order = np.arange(d)
    columns = learn_columns(values, order)
    rows = columns.to_rows(values)[0]
    shape = Shape(2, 0.01)
    density = learn_density(rows, shape, 0)
    fold = np.random.default_rng(seed).permutation(n) % 5
    parts = [learn_columns(values[fold != f], order, column_widths(values)) for f in range(5)]
    folds = [learn_density(part.to_rows(values[fold != f])[0], shape, 0) for f, part in enumerate(parts)]
    return values, fresh, columns, density, calibrate_spread(values, fold, list(zip(folds, parts, strict=True)), 0)


def test_intervals_cover_fresh_rows_for_any_amount_of_context():
    values, fresh, columns, density, spread = _calibrated(500, 10, 0)
    rng = np.random.default_rng(1)
    for n_missing in (1, 3, 5, 8, 9):
        gaps = np.argsort(rng.random(fresh.shape), axis=1) < n_missing
        filled = fill(density, columns, fresh, gaps, spread=spread, options=FillOptions(n_draws=20))
        error = np.abs(filled.values - fresh)[gaps]
        assert (error <= NORMAL_QUANTILE * filled.spread[gaps]).mean() == pytest.approx(0.8, abs=0.06)
        drawn = (filled.draws[:, gaps] - filled.values[gaps]).std()
        assert drawn == pytest.approx(np.sqrt((error**2).mean()), rel=0.3)


def test_an_empty_row_spreads_as_its_columns():
    values, _, columns, density, spread = _calibrated(300, 5, 1)
    filled = fill(density, columns, np.full((1, 5), np.nan), spread=spread)
    assert (filled.spread[0] / values.std(axis=0)).tolist() == pytest.approx([1.0] * 5, abs=0.25)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_any_width_is_calibrated_without_a_warning(d):
    values = two_clusters(12, 4, 0)[:, :d]
    values[3] = np.nan
    values[:, -1] = values[:, -1] if d < 3 else np.nan
    columns = learn_columns(values, np.arange(d))
    density = learn_density(columns.to_rows(values)[0], Shape(1, 0.5), 0)
    spread = calibrate_spread(values, np.arange(12) % 2, [(density, columns)] * 2, 0)
    filled = fill(density, columns, values, spread=spread, options=FillOptions(n_draws=1))
    assert np.isfinite(filled.values).all()
    assert np.isfinite(filled.spread).all()
    assert np.isfinite(filled.draws).all()


def test_few_rows_with_missing_values_are_calibrated():
    values = two_clusters(8, 3, 0)
    values[2, 1] = np.nan
    columns = learn_columns(values, np.arange(3))
    density = learn_density(columns.to_rows(values)[0], Shape(1, 0.5), 0)
    spread = calibrate_spread(values, np.arange(8) % 2, [(density, columns)] * 2, 0)
    assert np.isfinite(spread.factor).all()
    assert np.isfinite(spread.empty).all()
