import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from treemend.exceptions import InputError
from treemend.tables import check_finite, check_not_infinite, check_range, columns_difference, learn_scaling, read_table

VALUES = np.array([[0.1, 2.0, 3.0], [4.0, 5.5, 6.0]])
NAMES = ["a", "b", "c"]
FRAMES = {
    "pandas": pd.DataFrame(VALUES, columns=NAMES, index=["x", "y"]),
    "polars": pl.DataFrame(VALUES, schema=NAMES),
    "pyarrow": pa.table({name: VALUES[:, k] for k, name in enumerate(NAMES)}),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_come_back_as_they_were(kind):
    frame = FRAMES[kind]
    table = read_table(frame)
    assert np.array_equal(table.values, VALUES)
    assert table.names == tuple(NAMES)
    mask = np.zeros((2, 3), dtype=bool)
    mask[1, 2] = True
    rebuilt = table.rebuilt(np.full((2, 3), -1.0), mask)
    assert type(rebuilt) is type(frame)
    again = read_table(rebuilt)
    assert again.names == tuple(NAMES)
    assert np.array_equal(again.values, np.where(mask, -1, VALUES))
    assert np.array_equal(read_table(frame).values, VALUES)
    assert np.array_equal(np.asarray(read_table(table.like(mask)).values, dtype=bool), mask)


def test_pandas_keeps_index_dtypes_and_odd_names():
    frame = pd.DataFrame({("a", 1): np.float32([0.1, 0.2]), 2: [1, 2], "c": [True, False]}, index=[7, 3])
    table = read_table(frame)
    rebuilt = table.rebuilt(np.zeros((2, 3)), np.zeros((2, 3), dtype=bool))
    assert list(rebuilt.columns) == list(frame.columns)
    assert list(rebuilt.index) == [7, 3]
    assert [str(dtype) for dtype in rebuilt.dtypes] == ["float32", "float64", "float64"]
    assert rebuilt[("a", 1)].tolist() == frame[("a", 1)].tolist()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble])
def test_floats_keep_their_type_and_bits(dtype):
    given = np.array([[0.1, 0.2], [0.3, 0.4]], dtype=dtype)
    mask = np.array([[False, True], [False, False]])
    rebuilt = read_table(given).rebuilt(np.full((2, 2), 9.0), mask)
    assert rebuilt.dtype == dtype
    assert rebuilt[0, 1] == 9
    assert np.array_equal(rebuilt[~mask], given[~mask])
    assert rebuilt is not given


@pytest.mark.parametrize(
    "given", [[[1, 2], [3, 4]], np.array([[True, False]]), np.arange(6, dtype=np.uint8).reshape(2, 3)]
)
def test_integers_and_booleans_become_floats(given):
    table = read_table(given)
    rebuilt = table.rebuilt(table.values, np.zeros(table.values.shape, dtype=bool))
    assert rebuilt.dtype == np.float64
    assert np.array_equal(rebuilt, np.asarray(given))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1.0, 2.0], "Reshape your data"),
        (np.empty((0, 3)), "0 sample"),
        (np.empty((3, 0)), "0 feature"),
        ([["a", "b"]], "not compatible|could not convert"),
        (np.array([[1j]]), "Complex data not supported"),
        (pd.DataFrame({"a": [1.0], "id": ["x"], "when": pd.to_datetime(["2020-01-01"])}), "'id' .*'when'"),
        (pd.DataFrame(), "0 feature"),
        (np.array([[2**53 + 1]]), "beyond 2\\*\\*53"),
        (pl.DataFrame({"a": [2**60]}), "beyond 2\\*\\*53"),
    ],
)
def test_unusable_tables(given, message):
    with pytest.raises(InputError, match=message):
        read_table(given)


def test_nulls_are_nan():
    assert np.isnan(read_table(pl.DataFrame({"a": [1, None]})).values[1, 0])
    assert np.isnan(read_table(pd.DataFrame({"a": pd.array([1, None], dtype="Int64")})).values[1, 0])


def test_finite_check_says_where():
    values = VALUES.copy()
    values[1, [0, 2]] = np.nan
    with pytest.raises(InputError, match=r"NaN stands in 2 cells in 1 row: row 1, column 0 \('a'\); row 1, column 2"):
        check_finite(values, tuple(NAMES), "reference", "pray")
    check_not_infinite(values, tuple(NAMES), "suspect")
    values[np.isnan(values)] = 0
    values[0, 1] = -np.inf
    with pytest.raises(InputError, match="contains inf.*1 cell in 1 row: row 0, column 1"):
        check_finite(values, None, "reference", "pray")
    check_finite(VALUES, None, "reference", "pray")


def test_range_check():
    with pytest.raises(InputError, match="column 1 span from -1.7e"):
        check_range(np.array([[0, -1.7e308], [1, 1.7e308]]), None)


def test_minmax_scaling_of_constant_and_far_values():
    scaling = learn_scaling(np.array([[1.0, 5.0], [3.0, 5.0]]), "minmax")
    assert scaling.apply(np.array([[2.0, 5.0], [1e300, 6.0]])).tolist() == [[0.5, 0.0], [1e15, 1.0]]


def test_no_scaling_keeps_proportions_exactly():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(5, 4)) * 1e200
    scaled = learn_scaling(values, None).apply(values)
    factor = scaled[0, 0] / values[0, 0]
    assert np.array_equal(scaled, values * factor)
    assert 1 <= np.ptp(scaled, axis=0).max() < 2


@pytest.mark.parametrize(
    ("expected", "got", "lines"),
    [
        (["a", "b"], ["a", "b"], []),
        (["a", "b"], ["b", "a"], ["~ out of order: 'a' (column 0 of the reference, here 1), 'b'"]),
        (["a", "b", "c"], ["a", "x", "c"], ["- missing: 'b'", "+ extra: 'x'"]),
        (["a", "b"], ["b"], ["- missing: 'a'"]),
    ],
)
def test_columns_difference(expected, got, lines):
    difference = columns_difference(expected, got).splitlines()
    assert len(difference) == len(lines)
    assert all(line.startswith(start) for line, start in zip(difference, lines, strict=True))
