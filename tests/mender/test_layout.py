import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treemend.exceptions import ModelFileError, ParameterError
from treemend.mender.layout import Layout, resolve_layout

ROWS = np.random.default_rng(0).normal(size=(200, 24)).cumsum(axis=1)


def test_the_given_order_is_kept_where_it_means_something():
    assert np.array_equal(resolve_layout("auto", ROWS).order, np.arange(24))
    independent = np.random.default_rng(1).normal(size=(200, 24))
    assert np.array_equal(resolve_layout("auto", independent).order, np.arange(24))
    assert np.array_equal(resolve_layout("sequence", ROWS[:, ::3]).order, np.arange(8))


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**32 - 1))
def test_shuffled_columns_are_put_side_by_side(seed):
    shuffled = np.random.default_rng(seed).permutation(24)
    rows = ROWS[:, shuffled]
    order = resolve_layout("correlated", rows).order
    assert sorted(order) == list(range(24))
    steps = np.abs(np.diff(shuffled[order]))
    assert np.mean(steps <= 2) > 0.8


def test_shuffling_is_noticed():
    rng = np.random.default_rng(2)
    orders = [resolve_layout("auto", ROWS[:, rng.permutation(24)]).order for _ in range(20)]
    assert np.mean([not np.array_equal(order, np.arange(24)) for order in orders]) > 0.9


def test_missing_values_and_constant_columns_do_not_matter():
    rows = ROWS.copy()
    rows[np.random.default_rng(3).random(rows.shape) < 0.2] = np.nan
    rows[:, 5] = 7.0
    assert np.array_equal(resolve_layout("auto", rows).order, np.arange(24))
    assert sorted(resolve_layout("correlated", rows).order) == list(range(24))


def test_correlated_columns_are_neighbours():
    a, b = np.random.default_rng(0).normal(size=(2, 100, 1))
    assert resolve_layout("correlated", np.hstack([a, b, -a, b + 0.1 * a])).order.tolist() == [0, 2, 3, 1]


def test_grids_and_groups():
    assert resolve_layout((4, 6), ROWS).grid == (4, 6, 1)
    assert resolve_layout([2, 4, 3], ROWS).grid == (2, 4, 3)
    layout = resolve_layout({"a": ["x", 2], "b": ["y"]}, ROWS[:, :3], ["x", "y", "z"])
    assert layout.order.tolist() == [0, 2, 1]
    assert layout.groups.tolist() == [0, 0, 1]
    rows = np.array([[10, 20, 30]])
    assert layout.to_columns(rows[:, layout.order]).tolist() == rows.tolist()


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        ("spiral", "layout must be"),
        ((5, 5), "A grid of 5 x 5 has 25 cells, but the rows have 24 columns"),
        ((2, 4, 2), "A grid of 2 x 4 x 2 has 16 cells"),
        ([[0, 1], []], "no empty group"),
        ([["x"]], "layout names column 'x'"),
        (7, "layout must be"),
    ],
)
def test_nonsense_is_refused(layout, message):
    with pytest.raises(ParameterError, match=message):
        resolve_layout(layout, ROWS)


@pytest.mark.parametrize(
    "layout",
    [
        Layout(np.array([0, 0, 1])),
        Layout(np.arange(3), grid=(2, 2, 1)),
        Layout(np.arange(3), groups=np.zeros(2, np.int64)),
    ],
)
def test_what_a_file_may_not_hold(layout):
    with pytest.raises(ModelFileError):
        layout.validate()


def test_wide_tables_keep_their_order_unless_they_are_told_otherwise():
    rng = np.random.default_rng(0)
    walks = rng.normal(size=(150, 120)).cumsum(axis=1)[:, rng.permutation(120)]
    assert (resolve_layout("auto", walks).order == np.arange(120)).all()
    assert (resolve_layout("correlated", walks).order != np.arange(120)).any()
