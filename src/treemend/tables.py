"""Tables of any kind in, float64 arrays through the package, tables of the same kind out.

This is the only module that knows data frames (through narwhals). Floats keep their type. Columns of integers and of
booleans keep theirs if every value put into them is an integer to rounding, else they become float64; arrays of
integers, which have one type for all columns, become float64. Integers beyond 2^53, which a float64 cannot hold, are
refused. Columns that are passed through may be of any type and come back untouched, in their place.
"""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.dependencies import is_dask_dataframe, is_into_dataframe, is_pyarrow_table
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from treemend.exceptions import ColumnsError, InputError

__all__ = [
    "LARGEST_EXACT",
    "Table",
    "attributes_only",
    "check_exact_integers",
    "check_finite",
    "check_not_infinite",
    "check_range",
    "columns_difference",
    "count_rows",
    "describe_cells",
    "integer_to_rounding",
    "integers_fit",
    "read_table",
    "take_rows",
    "shortened",
]

LARGEST_EXACT = 2**53
# Sums of some thousand products are exact to about 1e-12 of their size; what was measured as an integer is told from
# what was not by far more than this.
_ROUNDING = 1e-9
_CELLS_SHOWN = 3
_ITEMS_SHOWN = 5


@dataclass(frozen=True, eq=False)
class Table:
    """A table as it came, and its values as float64.

    Attributes
    ----------
    values : ndarray of float64, rows x attributes
        A copy: the caller's data are never changed.
    names : tuple of str or None
        Names of the attributes, if the table has names.
    given : ndarray or narwhals DataFrame
        The table as it came.
    passthrough : tuple
        Names of the columns of ``given`` that are no attributes.
    """

    values: NDArray[np.float64]
    names: tuple[str, ...] | None
    given: Any
    passthrough: tuple[Any, ...] = ()

    @property
    def attributes(self) -> Any:
        """The attributes alone, in the kind of table that came."""
        return self.given if isinstance(self.given, np.ndarray) else self._attributes().to_native()

    def _attributes(self) -> Any:
        return self.given.drop(*self.passthrough) if self.passthrough else self.given

    @property
    def row_ids(self) -> Any:
        """The index of a pandas data frame; None for tables whose rows have no names."""
        if isinstance(self.given, np.ndarray) or not self.given.implementation.is_pandas_like():
            return None
        return self.given.to_native().index

    def rebuilt(self, filled: NDArray[np.float64], mask: NDArray[np.bool_], *, keep_integers: bool = True) -> Any:
        """Return a table of the same kind, with ``filled`` where ``mask`` says so and all else bit for bit.

        Without ``keep_integers``, columns of integers and booleans always become float64: for parts of a table that
        must have the same types whatever is put into them.
        """
        if isinstance(self.given, np.ndarray):
            floating = np.issubdtype(self.given.dtype, np.floating)
            repaired = self.given.copy() if floating else self.values.copy()
            repaired[mask] = filled[mask].astype(repaired.dtype)
            return repaired
        columns = {name: self.given.get_column(name) for name in self.given.columns}
        for position, name in enumerate(self._attributes().columns):
            columns[name] = _replaced(columns[name], filled[:, position], mask[:, position], keep_integers)
        return _replace_columns(self.given, list(columns.values()))

    def like(self, values: NDArray[Any]) -> Any:
        """Return a table of the same kind with the names of the attributes, and other values: booleans or floats."""
        if isinstance(self.given, np.ndarray):
            return values
        frame = self._attributes()
        namespace = nw.get_native_namespace(frame)
        dtype = nw.Boolean if values.dtype == bool else nw.Float64
        columns = [
            nw.new_series(name, np.ascontiguousarray(values[:, position]), dtype, backend=namespace)
            for position, name in enumerate(frame.columns)
        ]
        return _replace_columns(frame, columns)


def attributes_only(table: Any, passthrough: Sequence[Any]) -> Any:
    """Return a table without the columns that are passed through."""
    if not len(passthrough) or not is_into_dataframe(table):
        return table
    frame = _frame(table)
    return frame.drop(*_there(frame, passthrough)).to_native()


def count_rows(table: Any) -> int:
    """Return the number of rows of a table of any kind."""
    _refuse_unread(table)
    return int(_frame(table).shape[0]) if is_into_dataframe(table) else len(table)


def take_rows(table: Any, rows: NDArray[np.int64]) -> Any:
    """Return some rows of a table, as a table of the same kind."""
    return _frame(table)[rows.tolist()].to_native() if is_into_dataframe(table) else np.asarray(table)[rows]


def read_table(
    table: Any, passthrough: Sequence[Any] = (), *, all_there: bool = False, least_columns: int = 1
) -> Table:
    """Read a table of any kind.

    Parameters
    ----------
    table : array-like, or pandas, polars or pyarrow table
        Two-dimensional; all columns but those passed through are numeric.
    passthrough : sequence of column names
        Columns that are not looked at.
    all_there : bool
        Whether a table without one of these columns is refused.
    least_columns : int
        How many attributes there must be: two for a reference, since a value is judged by the others of its row.

    Returns
    -------
    Table
        Values may still hold NaN or infinity; `check_finite` tells.

    Examples
    --------
    >>> read_table([[1, 2], [3, 4]]).values
    array([[1., 2.],
           [3., 4.]])
    """
    if is_into_dataframe(table):
        return _read_frame(_frame(table), passthrough, all_there, least_columns)
    _refuse_unread(table)
    if all_there and len(passthrough):
        raise ColumnsError(
            f"passthrough names columns ({_listed(passthrough)}), but the rows have no column names. Give a data "
            "frame, or leave those columns out."
        )
    try:
        array = check_array(table, dtype="numeric", ensure_all_finite=False)
    except ValueError as error:
        raise InputError(str(error)) from None
    _check_size(array.shape, least_columns)
    check_exact_integers(array, "The array", "Divide or shift them first, or leave such columns (ids?) out")
    return Table(values=np.array(array, dtype=np.float64, order="C"), names=None, given=array)


def _read_frame(given: Any, passthrough: Sequence[Any], all_there: bool, least_columns: int) -> Table:
    there = _there(given, passthrough)
    missing = [name for name in passthrough if name not in there]
    if all_there and missing:
        raise ColumnsError(
            f"passthrough names columns that are not there: {_listed(missing)}; the table has "
            f"{_listed(given.columns)}. Correct the names."
        )
    frame = given.drop(*there) if there else given
    foreign = [
        f"{name!r} ({dtype})" for name, dtype in frame.schema.items() if not (dtype.is_numeric() or dtype == nw.Boolean)
    ]
    if foreign:
        raise InputError(
            f"All columns must be numeric, but {len(foreign)} of {len(frame.columns)} are not: {shortened(foreign)}. "
            "Name them in passthrough to keep them as they are, or select the numeric columns."
        )
    _check_size(frame.shape, least_columns)
    values = np.empty(frame.shape, dtype=np.float64)
    for position, name in enumerate(frame.columns):
        column = frame.get_column(name)
        if column.dtype.is_integer():
            integers = column.drop_nulls().to_numpy()
            check_exact_integers(integers, f"Column {name!r}", "Divide or shift them first, or name it in passthrough")
        values[:, position] = _as_float(column).to_numpy()
    return Table(values=values, names=tuple(str(name) for name in frame.columns), given=given, passthrough=there)


def _frame(table: Any) -> Any:
    """Return a data frame behind narwhals; its columns have different names."""
    names = table.column_names if is_pyarrow_table(table) else list(table.columns)
    try:
        doubled = [name for name, count in Counter(names).items() if count > 1]
    except TypeError as error:
        raise ColumnsError(f"Columns must have names that can be told apart, got an {error}. Rename them.") from None
    if doubled:
        raise ColumnsError(f"The table has several columns named {_listed(doubled)}. Rename them.")
    return nw.from_native(table, eager_only=True)


def _refuse_unread(table: Any) -> None:
    """Refuse what stands for rows that have not been read, and say how to read them."""
    if isinstance(table, str | os.PathLike):
        raise InputError(
            f"Rows were expected, got a path ({os.fspath(table)!r}). Read the file first, as with pandas.read_csv or "
            "polars.read_parquet, or use the command line: treemend mend FILE -o OUTPUT."
        )
    if isinstance(nw.from_native(table, pass_through=True), nw.LazyFrame):
        if is_dask_dataframe(table):
            raise InputError("A Dask data frame was given. Call treemend.dask.mend, or its compute method first.")
        raise InputError(
            f"A lazy table ({type(table).__module__}.{type(table).__name__}) has no rows yet. Call its collect method "
            "first."
        )


def _check_size(shape: tuple[int, ...], least_columns: int) -> None:
    n_rows, n_columns = shape
    for count, least, word in ((n_columns, least_columns, "feature"), (n_rows, 1, "sample")):
        if count < least:
            why = ": a value is judged by the others of its row, so give at least two columns" if count else ""
            raise InputError(
                f"Found array with {count} {word}(s) (shape={shape}) while a minimum of {least} is required{why}."
            )


def _there(frame: Any, passthrough: Sequence[Any]) -> tuple[Any, ...]:
    columns = set(frame.columns)
    try:
        return tuple(name for name in passthrough if name in columns)
    except TypeError as error:
        raise ColumnsError(f"passthrough must name columns, got an {error}. Give a list of names.") from None


def _listed(names: Sequence[Any]) -> str:
    return shortened([repr(name) for name in names])


def _replaced(column: Any, filled: NDArray[np.float64], mask: NDArray[np.bool_], keep_integers: bool) -> Any:
    """Return a column with other values where ``mask`` says so."""
    if not mask.any():
        return column if keep_integers else _as_float(column)
    if keep_integers and (column.dtype.is_integer() or column.dtype == nw.Boolean):
        dtype = np.dtype("bool" if column.dtype == nw.Boolean else str(column.dtype).lower().replace("128", "64"))
        if integers_fit(filled[mask], dtype):
            integers = np.rint(filled[mask]).astype(dtype)
            new = nw.new_series(column.name, integers, column.dtype, backend=column.implementation)
            return column.scatter(np.flatnonzero(mask).tolist(), new)
    column = _as_float(column)
    values = column.to_numpy().copy()
    values[mask] = filled[mask]
    return nw.new_series(column.name, values, column.dtype, backend=column.implementation)


def integer_to_rounding(values: Any) -> Any:
    """Tell which numbers are integers but for rounding errors.

    Examples
    --------
    >>> integer_to_rounding(np.array([2.0, 3.0000000001, 2.5]))
    array([ True,  True, False])
    """
    return np.abs(values - np.rint(values)) <= _ROUNDING * np.maximum(1, np.abs(values))


def integers_fit(values: NDArray[np.float64], dtype: Any) -> bool:
    """Tell whether all numbers are integers to rounding that a type can hold; booleans hold 0 and 1."""
    low, high = (0, 1) if np.dtype(dtype).kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    rounded = np.rint(values)
    return bool((integer_to_rounding(values) & (rounded >= low) & (rounded <= high)).all())


def _as_float(column: Any) -> Any:
    """Return the column as floats: a float keeps its type, everything else becomes float64."""
    return column if column.dtype.is_float() else column.cast(nw.Float64)


def _replace_columns(frame: Any, columns: list[Any]) -> Any:
    """Return a native table with the frame's index and new columns."""
    if frame.implementation.is_pandas_like():
        native = frame.to_native()
        series = [column.to_native().set_axis(native.index) for column in columns]
        built = nw.get_native_namespace(frame).concat(series, axis=1)
        built.columns = native.columns
        return built
    return frame.with_columns(*columns).to_native()


def check_exact_integers(array: NDArray[Any], what: str, remedy: str) -> None:
    """Refuse integers that a float64 cannot hold; anything else passes."""
    if array.dtype.kind in "iu" and array.size and max(int(array.max()), -int(array.min())) > LARGEST_EXACT:
        raise InputError(
            f"{what} holds integers beyond 2**53, which lose digits as 64-bit floats: from {int(array.min())} to "
            f"{int(array.max())}. {remedy}."
        )


def describe_cells(cells: NDArray[np.bool_], names: tuple[str, ...] | None) -> str:
    """Say where the marked cells are, the first few by name.

    Examples
    --------
    >>> print(describe_cells(np.array([[False, True], [True, True]]), ("a", "b")))
    3 cells in 2 rows: row 0, column 1 ('b'); row 1, column 0 ('a'); row 1, column 1 ('b')
    """
    rows, columns = np.nonzero(cells)
    shown = [
        f"row {row}, column {column}" + (f" ({names[column]!r})" if names else "")
        for row, column in zip(rows[:_CELLS_SHOWN], columns[:_CELLS_SHOWN], strict=True)
    ]
    more = ["..."] if len(rows) > _CELLS_SHOWN else []
    n_rows = len(np.unique(rows))
    counted = f"{len(rows)} cell{'s' * (len(rows) != 1)} in {n_rows} row{'s' * (n_rows != 1)}"
    return f"{counted}: {'; '.join(shown + more)}"


def check_finite(values: NDArray[np.float64], names: tuple[str, ...] | None, what: str, remedy: str) -> None:
    """Refuse NaN and infinity.

    Parameters
    ----------
    values : ndarray, rows x attributes
    names : tuple of str or None
        Column names, for the message.
    what : str
        What the rows are, "reference" or "suspect".
    remedy : str
        What else can be done about NaN.
    """
    cells = np.isnan(values)
    if cells.any():
        raise InputError(
            f"Input contains NaN: the {what} rows must be complete, but NaN stands in {describe_cells(cells, names)}. "
            f"Drop those rows, fill the cells, or {remedy}."
        )
    check_not_infinite(values, names, what)


def check_not_infinite(values: NDArray[np.float64], names: tuple[str, ...] | None, what: str) -> None:
    """Refuse infinity; NaN stands for a missing value."""
    cells = np.isinf(values)
    if cells.any():
        raise InputError(
            f"Input contains inf: the {what} rows must be finite numbers, but inf stands in "
            f"{describe_cells(cells, names)}. Drop those rows, or set the cells to NaN to have them filled."
        )


def check_range(values: NDArray[np.float64], names: tuple[str, ...] | None) -> None:
    """Refuse a reference with a column that has no value, or spans more than a float64 can hold."""
    low, high = np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)
    empty = np.flatnonzero(np.isnan(low))
    if len(empty):
        named = f" ({names[empty[0]]!r})" if names else ""
        raise InputError(
            f"Column {empty[0]}{named} of the reference has no value at all: {len(empty)} of {len(low)} columns are "
            "empty. Leave such columns out, or name them in passthrough."
        )
    with np.errstate(over="ignore"):
        width = high - low
    if np.isfinite(width).all():
        return
    column = int(np.flatnonzero(~np.isfinite(width))[0])
    named = f" ({names[column]!r})" if names else ""
    raise InputError(
        f"The reference values of column {column}{named} span from {low[column]:g} to {high[column]:g}, more than a "
        "64-bit float can hold. Divide the column by a power of ten first."
    )


def columns_difference(expected: Sequence[str], got: Sequence[str]) -> str:
    """Tell missing, extra and reordered columns.

    Examples
    --------
    >>> print(columns_difference(["a", "b", "c"], ["b", "a", "x"]))
    - missing: 'c'
    + extra: 'x'
    ~ out of order: 'a' (column 0 of the reference, here 1), 'b' (column 1 of the reference, here 0)
    """
    known, given = set(expected), set(got)
    lines = []
    missing = [name for name in expected if name not in given]
    extra = [name for name in got if name not in known]
    if missing:
        lines.append(f"- missing: {shortened([repr(name) for name in missing])}")
    if extra:
        lines.append(f"+ extra: {shortened([repr(name) for name in extra])}")
    place = {name: position for position, name in enumerate(got)}
    shared = [name for name in expected if name in given]
    if shared != [name for name in got if name in known]:
        moved = [
            f"{name!r} (column {position} of the reference, here {place[name]})"
            for position, name in enumerate(expected)
            if name in given and place[name] != position
        ]
        lines.append(f"~ out of order: {shortened(moved)}")
    return "\n".join(lines)


def shortened(items: Sequence[str], most: int = _ITEMS_SHOWN) -> str:
    """List items, at most so many, and say how many more there are."""
    shown = ", ".join(items[:most])
    return shown if len(items) <= most else f"{shown} and {len(items) - most} more"
