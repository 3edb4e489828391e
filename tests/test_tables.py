from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from treemend import mend
from treemend.exceptions import ColumnsError, InputError
from treemend.tables import (
    attributes_only,
    check_complete,
    check_range,
    columns_difference,
    read_table,
)

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
    assert read_table(pd.DataFrame(VALUES, columns=["column_names", "columns", "shape"])).values.shape == (2, 3)
    assert [str(dtype) for dtype in rebuilt.dtypes] == ["float32", "int64", "bool"]
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
        check_complete(read_table(pd.DataFrame(values, columns=NAMES)))
    values[np.isnan(values)] = 0
    values[0, 1] = -np.inf
    with pytest.raises(InputError, match="contains inf.*1 cell in 1 row: row 0, column 1"):
        read_table(values)
    check_complete(read_table(VALUES))


def test_range_check():
    with pytest.raises(InputError, match="column 1 span from -1.7e"):
        check_range(np.array([[0, -1.7e308], [1, 1.7e308]]), None)


def test_columns_that_are_almost_empty_are_named():
    values = np.ones((200, 3))
    values[1:, 1] = np.nan
    values[21:, 2] = np.nan
    with pytest.warns(UserWarning, match=r"almost empty .* 200 values, column 1 \('b'\) has 1\. .*passthrough"):
        check_range(values, tuple("abc"))


INTEGERS = {
    "pandas": pd.DataFrame({"n": [4, 2, 3], "flag": [True, False, True], "x": [0.5, 1.5, 2.5]}, index=[3, 1, 2]),
    "pandas with nulls": pd.DataFrame(
        {
            "n": pd.array([4, 2, None], dtype="Int16"),
            "flag": pd.array([True, None, True], dtype="boolean"),
            "x": [0.5, 1.5, 2.5],
        }
    ),
    "polars": pl.DataFrame(
        {"n": [4, 2, None], "flag": [True, False, None], "x": [0.5, 1.5, 2.5]}, schema_overrides={"n": pl.UInt8}
    ),
    "pyarrow": pa.table({"n": pa.array([4, None, 3], pa.int32()), "flag": [True, False, None], "x": [0.5, 1.5, 2.5]}),
}


def columns_of(frame):
    return {
        name: frame[name].to_list() if hasattr(frame[name], "to_list") else frame[name].to_pylist() for name in "nx"
    }


def types_of(frame):
    return [str(kind) for kind in (frame.schema.types if isinstance(frame, pa.Table) else frame.dtypes)]


@pytest.mark.parametrize("kind", INTEGERS)
def test_columns_of_integers_stay_where_nothing_else_came_in(kind):
    frame = INTEGERS[kind]
    table = read_table(frame)
    nothing = np.zeros((3, 3), dtype=bool)
    assert types_of(table.rebuilt(table.values, nothing)) == types_of(frame)
    first = nothing.copy()
    first[0] = True
    rebuilt = table.rebuilt(np.full((3, 3), 1 - 1e-12), first)
    assert types_of(rebuilt) == types_of(frame)
    assert columns_of(rebuilt)["n"][0] == 1
    assert repr(columns_of(rebuilt)["n"][1:]) == repr(columns_of(frame)["n"][1:])
    before = types_of(frame)
    as_float = types_of(table.rebuilt(np.full((3, 3), 0.4), first))
    assert as_float[2] == before[2]
    assert all("loat" in kind or kind == "double" for kind in as_float)
    assert types_of(table.rebuilt(np.full((3, 3), 2.0), first))[:2] == [before[0], as_float[1]], "no boolean is 2"
    assert types_of(frame) == before, "the table that came is not changed"


def test_integers_that_the_type_cannot_hold_become_floats():
    frame = pd.DataFrame({"n": np.array([1, 2], dtype=np.int8), "x": [0.0, 1.0]})
    mask = np.array([[True, False], [False, False]])
    for filled, dtype in ((-128, "int8"), (128, "float64"), (3.01, "float64")):
        rebuilt = read_table(frame).rebuilt(np.full((2, 2), float(filled)), mask)
        assert (str(rebuilt["n"].dtype), rebuilt["n"].tolist()) == (dtype, [filled, 2])


def test_what_has_not_been_read_says_how_to_read_it():
    for read in (read_table, mend):
        for path in ("rows.csv", Path("rows.csv")):
            with pytest.raises(InputError, match="got a path \\('rows.csv'\\). Read the file first, .*treemend mend"):
                read(path)
        with pytest.raises(InputError, match="LazyFrame.*collect"):
            read(FRAMES["polars"].lazy())
    with pytest.raises(InputError):
        mend(None)
    dask = pytest.importorskip("dask.dataframe")
    with pytest.raises(InputError, match="treemend.dask.mend"):
        read_table(dask.from_pandas(FRAMES["pandas"], npartitions=1))


@pytest.mark.parametrize("kind", FRAMES)
def test_columns_that_are_passed_through(kind):
    frame = FRAMES[kind]
    table = read_table(frame, passthrough=["b", "absent"])
    assert table.names == ("a", "c")
    assert np.array_equal(table.values, VALUES[:, [0, 2]])
    assert read_table(table.frame.to_native()).names == ("a", "c")
    assert read_table(attributes_only(frame, ["b"])).names == ("a", "c")
    rebuilt = read_table(table.rebuilt(np.zeros((2, 2)), np.array([[False, True], [False, False]])))
    assert rebuilt.names == ("a", "b", "c")
    assert rebuilt.values.tolist() == [[0.1, 2, 0], [4, 5.5, 6]]
    assert read_table(table.like(np.ones((2, 2)))).names == ("a", "c")
    with pytest.raises(ColumnsError, match="not there: 'absent'; the table has 'a', 'b', 'c'"):
        read_table(frame, passthrough=["b", "absent"], reference=True)


def test_arrays_pass_nothing_through():
    assert attributes_only(VALUES, ["b"]) is VALUES
    table = read_table(VALUES, passthrough=["b"])
    assert table.frame is None
    assert np.array_equal(table.like(VALUES), VALUES)
    with pytest.raises(ColumnsError, match="no column names"):
        read_table(VALUES, passthrough=["b"], reference=True)


def test_names_that_cannot_be_told_apart():
    doubled = pd.DataFrame(VALUES, columns=["a", "b", "a"])
    for table in (doubled, pa.table([[1.0], [2.0]], names=["a", "a"])):
        for read in (read_table, mend):
            with pytest.raises(ColumnsError, match="several columns named 'a'. Rename"):
                read(table)
    with pytest.raises(ColumnsError, match="several columns named 'a'"):
        attributes_only(doubled, ["b"])
    unhashable = pd.DataFrame(VALUES)
    unhashable.columns = pd.Index([["a"], ["b"], ["c"]], dtype=object, tupleize_cols=False)
    for read in (read_table, mend):
        with pytest.raises(ColumnsError, match="unhashable type: 'list'. Rename"):
            read(unhashable)
    with pytest.raises(ColumnsError, match=r"not there: \['a'\]; the table has 'a'"):
        read_table(FRAMES["pandas"], passthrough=[["a"]], reference=True)


def test_tuples_are_names():
    frame = pd.DataFrame(VALUES, columns=pd.Index([("a", 1), "a", 1], tupleize_cols=False))
    assert read_table(frame, passthrough=[("a", 1)]).names == ("a", "1")
    assert attributes_only(frame, [("a", 1)]).columns.tolist() == ["a", 1]


@pytest.mark.parametrize(
    ("expected", "got", "lines"),
    [
        (["a", "b"], ["a", "b"], []),
        (["a", "b"], ["b", "a"], ["~ out of order: 'a' (column 0 of the reference, here 1), 'b'"]),
        (["a", "b", "c"], ["a", "x", "c"], ["- missing: 'b'", "+ extra: 'x'"]),
        (["a", "b"], ["b"], ["- missing: 'a'"]),
        (
            ["a", "b", "c"],
            ["b", "a", "x"],
            [
                "- missing: 'c'",
                "+ extra: 'x'",
                "~ out of order: 'a' (column 0 of the reference, here 1), 'b' (column 1 of the reference, here 0)",
            ],
        ),
    ],
)
def test_columns_difference(expected, got, lines):
    difference = columns_difference(expected, got).splitlines()
    assert len(difference) == len(lines)
    assert all(line.startswith(start) for line, start in zip(difference, lines, strict=True))
