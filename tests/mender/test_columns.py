import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from treemend.mender.columns import FARTHEST, column_widths, learn_columns

tables = hnp.arrays(
    np.float64,
    st.tuples(st.integers(2, 30), st.integers(1, 5)),
    elements=st.one_of(st.floats(-1e6, 1e6), st.just(np.nan)),
)


def _skewed(n=200, d=6, seed=0):
    rng = np.random.default_rng(seed)
    return np.exp(rng.normal(size=(n, d))) * 10.0 ** np.arange(d) + 5


@given(tables, st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_values_return_from_their_coordinates(values, random):
    order = list(range(values.shape[1]))
    random.shuffle(order)
    columns = learn_columns(values, np.array(order))
    rows, log_slope = columns.to_rows(values)
    assert np.array_equal(np.isnan(rows), np.isnan(values[:, order]))
    assert np.isfinite(log_slope).all()
    back = columns.to_values(rows)
    width = np.maximum(column_widths(values), 1e-9)
    missing = np.isnan(values)
    assert np.abs(np.where(missing, 0, (back - values) / width)).max(initial=0) < 1e-6


def test_quantiles_are_those_of_the_observed_values():
    values = _skewed()
    holes = np.random.default_rng(1).random(values.shape) < 0.3
    values[holes] = np.nan
    columns = learn_columns(values, np.arange(6))
    for j in range(6):
        seen = values[~holes[:, j], j]
        scaled = (seen - seen.min()) / np.ptp(seen)
        assert columns.offset[j] == seen.min()
        assert columns.width[j] == pytest.approx(np.ptp(seen))
        assert columns.centre[j] == pytest.approx(np.median(scaled))
        usual = max(np.quantile(np.abs(scaled - np.median(scaled)), 0.75), scaled.std())
        assert columns.scale[j] == pytest.approx(1.5 * usual)  # as for every heavy tail


def test_light_tails_are_hardly_bent():
    rng = np.random.default_rng(0)
    values = np.column_stack([rng.uniform(size=500), rng.standard_t(2, size=500)])
    columns = learn_columns(values, np.arange(2))
    scaled = (values - columns.offset) / columns.width - columns.centre
    bend = np.abs(columns.to_rows(values)[0] / scaled - 1).max(axis=0)
    assert bend[0] < 0.02
    assert bend[1] > 0.3


def test_log_slope_is_the_log_density_of_a_uniform_law():
    values = _skewed()
    columns = learn_columns(values, np.arange(6))
    rows, log_slope = columns.to_rows(values)
    near = columns.to_rows(values + 1e-6 * columns.width)[0]
    assert np.allclose(np.log(1e-6 / (near - rows)), log_slope, atol=1e-4)
    assert np.allclose(columns.slope(rows), columns.width * np.exp(log_slope))


def test_a_constant_column_takes_the_width_of_all_rows():
    values = np.column_stack([np.arange(10.0), np.r_[np.full(8, 3.0), 3.5, 7.0]])
    assert column_widths(values).tolist() == [9.0, 4.0]
    assert learn_columns(values[:8], np.arange(2)).width.tolist() == [7.0, 1.0]
    assert learn_columns(values[:8], np.arange(2), column_widths(values)).width.tolist() == [7.0, 4.0]


def test_a_column_without_values_is_finite():
    values = np.column_stack([np.arange(10.0), np.full(10, np.nan)])
    columns = learn_columns(values, np.array([1, 0]))
    rows, _ = columns.to_rows(np.array([[1.0, 2.0]]))
    assert np.isfinite(rows).all()


@pytest.mark.parametrize("factor", [1e200, 1e-200])
def test_extreme_units_do_not_overflow(factor):
    values = _skewed() * factor
    columns = learn_columns(values, np.arange(6))
    assert np.allclose(columns.to_rows(values)[0], learn_columns(_skewed(), np.arange(6)).to_rows(_skewed())[0])
    far = columns.to_rows(np.array([[1e300, -1e300, np.inf, -np.inf, 0, 0]]))[0]
    assert np.isfinite(far).all()
    assert np.abs(far).max() <= np.arcsinh(FARTHEST) * columns.scale.max()


def test_fills_stay_within_bounds():
    rng = np.random.default_rng(0)
    values = np.column_stack([rng.poisson(1.0, 300), rng.normal(50, 1, 300), rng.normal(size=300)]).astype(float)
    columns = learn_columns(values, np.arange(3))
    far = columns.to_values(np.array([[-50.0] * 3, [50.0] * 3]))
    assert far[0, 0] == 0.0
    assert (far[0, 1:] >= values.min(axis=0)[1:] - 0.06 * np.ptp(values, axis=0)[1:]).all()
    assert (far[1] <= values.max(axis=0) + 0.06 * np.ptp(values, axis=0)).all()


def test_lattices_are_found():
    rng = np.random.default_rng(0)
    values = np.column_stack(
        [rng.poisson(3, 200), 2.5 + rng.integers(0, 17, 200) / 16, rng.normal(size=200), rng.integers(0, 10**6, 200)]
    ).astype(float)
    values[5] = np.nan
    columns = learn_columns(values, np.array([2, 0, 1, 3]))
    assert columns.step == pytest.approx([0, 1, 1 / 16, 1])
    # Many levels: that a value has decimals says how it was written, not that it is wrong.
    assert (columns.off_lattice > 0).tolist() == [False, True, True, False]
    assert columns.off_lattice[1] == pytest.approx(np.log(200 / 0.5))
    feasible = columns.to_values(np.full((1, 4), 0.0321), feasible=True)[0, [0, 1, 3]]
    assert feasible == pytest.approx(
        [round(feasible[0]), 2.5 + round((feasible[1] - 2.5) * 16) / 16, round(feasible[2])]
    )


def _naive_lattice(values):
    """The step among all even divisions of the range of repeated values, the largest one that they are all on."""
    found, counts = np.unique(values, return_counts=True)
    repeated = found[counts > 1]
    if len(repeated) < 2:
        return 0.0
    for n in range(1, 257):
        step = np.ptp(repeated) / n
        away = (repeated - repeated[0]) / step
        if np.ptp(found) <= 256 * step and np.allclose(away, np.round(away), atol=1e-6):
            off = np.mean(np.abs((values - repeated[0]) / step - np.round((values - repeated[0]) / step)) > 1e-3)
            return step if off <= 0.15 else 0.0
    return 0.0


@given(
    st.lists(st.integers(0, 40), min_size=4, max_size=60),
    st.sampled_from([1.0, 0.1, 3.0, 1 / 16, 1e5]),
    st.sampled_from([0.0, -7.3, 1000.0]),
    st.integers(0, 4),
)
@settings(max_examples=100, deadline=None)
def test_the_step_is_the_largest_that_repeated_values_are_multiples_of(levels, step, origin, n_off):
    values = origin + step * np.array(levels, float)
    values[:n_off] += step * (0.1 + 0.2 * np.arange(n_off))
    columns = learn_columns(values[:, None], np.array([0]))
    assert np.where(columns.off_lattice > 0, columns.step, 0.0) == pytest.approx([_naive_lattice(values)])


def test_values_off_a_lattice_are_held_against_them():
    rng = np.random.default_rng(0)
    values = np.column_stack([rng.poisson(3, 300), rng.integers(0, 4, 300), rng.normal(size=300)]).astype(float)
    values[:20, 0] = rng.uniform(0, 8, 20)  # as in a table that is not clean
    columns = learn_columns(values, np.array([1, 0, 2]))
    odds = columns.lattice_odds(np.array([[2.0, 1.0, 0.3], [2.5, 1.0, 0.3], [np.nan, 1.1, np.nan]]))
    assert (odds[0] == 0).all()
    assert odds[1] == pytest.approx([-3, np.log(301 / 20.5), 0])
    assert odds[2] == pytest.approx([np.log(301 / 0.5), 0, 0])


def test_a_value_is_transformed_by_itself():
    values = _skewed()
    columns = learn_columns(values, np.arange(6))
    together = columns.to_rows(values)[0]
    alone = np.vstack([columns.to_rows(row[None])[0] for row in values])
    assert np.array_equal(together, alone)
