"""Tables of any kind in, float64 arrays through the package, tables of the same kind out.

This is the only module that knows data frames (through narwhals). Floats keep their type. Columns of integers and of
booleans keep theirs if every value put into them is an integer to rounding, else they become float64; arrays of
integers, which have one type for all columns, become float64. Integers beyond 2^53, which a float64 cannot hold, are
refused. Columns that are passed through may be of any type and come back untouched, in their place.
"""

import fnmatch
import os
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.dependencies import is_dask_dataframe, is_into_dataframe, is_pyarrow_table
from sklearn.utils.validation import check_array

from treemend.arrays import Array, Booleans, Floats, Integers
from treemend.exceptions import ColumnsError, InputError

LARGEST_EXACT = 2**53
# A column with fewer values than the rest of this share is almost empty, if there are so many rows at least.
ALMOST_ALL = 0.9
ROWS_TO_TELL = 10
# Sums of some thousand products are exact to about 1e-12 of their size; what was measured as an integer is told from
# what was not by far more than this.
_ROUNDING = 1e-9
_CELLS_SHOWN = 3


@dataclass(frozen=True, eq=False)
class Table:
    """A table as it came, ``given``, and a copy of the values of its attributes as float64, rows x attributes.

    ``frame`` is the data frame of the attributes alone, without the columns that are passed through; None for arrays.
    """

    values: Floats
    given: Any
    frame: Any = None

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the attributes, if the table has names."""
        return None if self.frame is None else tuple(map(str, self.frame.columns))

    @property
    def row_ids(self) -> Any:
        """The index of a pandas data frame; None for tables whose rows have no names."""
        return None if self.frame is None else nw.maybe_get_index(self.frame)

    def rebuilt(self, filled: Floats, mask: Booleans) -> Any:
        """Return a table of the same kind, with ``filled`` where ``mask`` says so and all else bit for bit."""
        if self.frame is None:
            repaired = (self.given if self.given.dtype.kind == "f" else self.values).copy()
            repaired[mask] = filled[mask].astype(repaired.dtype)
            return repaired
        touched = [(k, self.frame.get_column(self.frame.columns[k])) for k in np.flatnonzero(mask.any(axis=0))]
        columns = [_replaced(column, filled[:, k], mask[:, k]) for k, column in touched]
        native = self.given.with_columns(*columns).to_native()
        # Before version 3 of pandas the columns that nothing was put into would be those of the table that came.
        return native.copy() if self.given.implementation.is_pandas_like() else native

    def like(self, values: Array) -> Any:
        """Return a table of the same kind with the names of the attributes, and other values: booleans or floats."""
        if self.frame is None:
            return values
        new = zip(self.frame.columns, np.ascontiguousarray(values.T), strict=True)
        series = [nw.new_series(*column, backend=self.frame.implementation) for column in new]
        return self.frame.with_columns(*series).to_native()


def attributes_only(table: Any, passthrough: Sequence[Any]) -> Any:
    """Return a table without the columns that are passed through."""
    if not len(passthrough) or not is_into_dataframe(table):
        return table
    return _frame(table).drop(list(passthrough), strict=False).to_native()


def columns_beside(table: Any, names: Sequence[str], rows: list[int]) -> dict[str, list[Any]]:
    """Return the columns of a data frame that are not among these names, at some rows."""
    if not is_into_dataframe(table):
        return {}
    frame = _frame(table)
    return {str(name): frame.get_column(name)[rows].to_list() for name in frame.columns if str(name) not in names}


def count_rows(table: Any) -> int:
    """Return the number of rows of a table of any kind; 0 for what is not a table."""
    if not is_into_dataframe(table):
        _refuse_unread(table)
    return len(table) if hasattr(table, "__len__") else 0


def take_rows(table: Any, rows: Integers) -> Any:
    """Return some rows of a table, as a table of the same kind."""
    return _frame(table)[rows.tolist()].to_native() if is_into_dataframe(table) else np.asarray(table)[rows]


def read_table(table: Any, passthrough: Sequence[Any] = (), *, reference: bool = False) -> Table:
    """Read an array-like or a pandas, polars or pyarrow table; NaN stands for a missing value, infinity is refused.

    Columns named in ``passthrough`` are not looked at; a ``reference`` without one of them is refused.
    """
    read = _read_frame if is_into_dataframe(table) else _read_array
    found, rows = read(table, passthrough, reference), "reference" if reference else "suspect"
    problem = f"Input contains inf: the {rows} rows must be finite numbers, but inf"
    remedy = "Drop those rows, or set the cells to NaN to have them filled."
    _refuse_cells(np.isinf(found.values), found.names, problem, remedy)
    return found


def _read_array(table: Any, passthrough: Sequence[Any], reference: bool) -> Table:
    _refuse_unread(table)
    if reference and len(passthrough):
        problem = f"passthrough names columns ({listed(passthrough)}), but the rows have no column names"
        raise ColumnsError(f"{problem}. Give a data frame, or leave those columns out.")
    try:
        array = check_array(table, dtype="numeric", ensure_all_finite=False)
    except ValueError as error:
        raise InputError(str(error)) from None
    check_exact_integers(array, "The array", "Divide or shift them first, or leave such columns (ids?) out")
    return Table(np.array(array, dtype=np.float64, order="C"), array)


def _read_frame(table: Any, passthrough: Sequence[Any], reference: bool) -> Table:
    given = _frame(table)
    missing = [name for name in passthrough if name not in given.columns]
    if reference and missing:
        there = f"the table has {listed(given.columns)}. Correct the names."
        raise ColumnsError(f"passthrough names columns that are not there: {listed(missing)}; {there}")
    frame = given.drop(list(passthrough), strict=False)
    dtypes = frame.schema.items()
    foreign = [f"{name!r} ({dtype})" for name, dtype in dtypes if not (dtype.is_numeric() or dtype == nw.Boolean)]
    if foreign:
        remedy = "Name them in passthrough to keep them as they are, or select the numeric columns."
        which = f"{len(foreign)} of {len(frame.columns)} are not: {shortened(foreign)}"
        raise InputError(f"All columns must be numeric, but {which}. {remedy}")
    if 0 in frame.shape:
        what = "sample" if frame.shape[1] else "feature"
        raise InputError(f"Found array with 0 {what}(s) (shape={frame.shape}) while a minimum of 1 is required.")
    values = np.empty(frame.shape, dtype=np.float64)
    for position, name in enumerate(frame.columns):
        column = frame.get_column(name)
        if column.dtype.is_integer():
            integers = column.drop_nulls().to_numpy()
            check_exact_integers(integers, f"Column {name!r}", "Divide or shift them first, or name it in passthrough")
        values[:, position] = column.cast(nw.Float64).to_numpy()
    return Table(values, given, frame)


def _frame(table: Any) -> Any:
    """Return a data frame behind narwhals; its columns have different names."""
    names = table.column_names if is_pyarrow_table(table) else list(table.columns)
    try:
        doubled = [name for name, count in Counter(names).items() if count > 1]
    except TypeError as error:
        raise ColumnsError(f"Columns must have names that can be told apart, got an {error}. Rename them.") from None
    if doubled:
        raise ColumnsError(f"The table has several columns named {listed(doubled)}. Rename them.")
    return nw.from_native(table, eager_only=True)


def _refuse_unread(table: Any) -> None:
    """Refuse what stands for rows that have not been read, and say how to read them."""
    if isinstance(table, str | os.PathLike):
        remedy = "Read the file first, as with pandas.read_csv, or use the command line: treemend mend FILE -o OUTPUT."
        raise InputError(f"Rows were expected, got a path ({os.fspath(table)!r}). {remedy}")
    if is_dask_dataframe(table):
        raise InputError("A Dask data frame was given. Call treemend.dask.mend, or its compute method first.")
    if isinstance(nw.from_native(table, pass_through=True), nw.LazyFrame):
        kind = f"{type(table).__module__}.{type(table).__name__}"
        raise InputError(f"A lazy table ({kind}) has no rows yet. Call its collect method first.")


def _replaced(column: Any, filled: Floats, mask: Booleans) -> Any:
    """Return a column with other values where ``mask`` says so."""
    if column.dtype.is_integer() or column.dtype == nw.Boolean:
        dtype = np.dtype("bool" if column.dtype == nw.Boolean else str(column.dtype).lower().replace("128", "64"))
        low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        put_in, new = filled[mask], np.rint(filled[mask])
        is_integer = np.abs(put_in - new) <= _ROUNDING * np.maximum(1, np.abs(put_in))
        if (is_integer & (new >= low) & (new <= high)).all():
            integers = nw.new_series(column.name, new.astype(dtype), column.dtype, backend=column.implementation)
            return column.scatter(np.flatnonzero(mask).tolist(), integers)
    column = column if column.dtype.is_float() else column.cast(nw.Float64)
    values = column.to_numpy().copy()
    values[mask] = filled[mask]
    return nw.new_series(column.name, values, column.dtype, backend=column.implementation)


def check_exact_integers(array: Array, what: str, remedy: str) -> None:
    """Refuse integers that a float64 cannot hold; anything else passes."""
    if array.dtype.kind in "iu" and array.size:
        low, high = int(array.min()), int(array.max())
        if max(high, -low) > LARGEST_EXACT:
            problem = f"{what} holds integers beyond 2**53, which lose digits as 64-bit floats"
            raise InputError(f"{problem}: from {low} to {high}. {remedy}.")


def check_complete(table: Table) -> None:
    """Refuse reference rows with missing values."""
    problem = "Input contains NaN: the reference rows must be complete, but NaN"
    remedy = "Drop those rows, fill the cells, or fit on the complete rows only."
    _refuse_cells(np.isnan(table.values), table.names, problem, remedy)


def _refuse_cells(cells: Booleans, names: tuple[str, ...] | None, problem: str, remedy: str) -> None:
    """Say where the marked cells are, the first few by name; pass if there are none."""
    n_cells, n_rows = int(cells.sum()), int(cells.any(axis=1).sum())
    if n_cells:
        shown = [f"row {row}, column {_named(column, names)}" for row, column in np.argwhere(cells)[:_CELLS_SHOWN]]
        places = f"{'; '.join(shown)}{'; ...' * (n_cells > _CELLS_SHOWN)}"
        counts = f"{counted(n_cells, 'cell')} in {counted(n_rows, 'row')}"
        raise InputError(f"{problem} stands in {counts}: {places}. {remedy}")


def _named(column: int, names: tuple[str, ...] | None) -> str:
    return f"{column} ({names[column]!r})" if names else str(column)


def check_range(values: Floats, names: tuple[str, ...] | None) -> None:
    """Refuse a reference with a column that has no value, or spans more than a float64 can hold.

    Of columns that are almost empty, as `treemend.files` passes them through, it warns.
    """
    low, high = np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)
    empty = np.flatnonzero(np.isnan(low))
    if len(empty):
        problem = f"Column {_named(empty[0], names)} of the reference has no value at all"
        remedy = "Leave such columns out, or name them in passthrough."
        raise InputError(f"{problem}: {len(empty)} of {len(low)} columns are empty. {remedy}")
    n_values = (~np.isnan(values)).sum(axis=0)
    few = np.flatnonzero(n_values < (1 - ALMOST_ALL) * len(values))
    if len(few) and len(values) >= ROWS_TO_TELL:
        found = shortened([f"column {_named(column, names)} has {n_values[column]:,}" for column in few.tolist()])
        problem = f"The reference is almost empty in places: of {len(values):,} values, {found}"
        remedy = "What is usual there can hardly be learnt. Leave such columns out, or name them in passthrough."
        warnings.warn(f"{problem}. {remedy}", UserWarning, stacklevel=5)
    with np.errstate(over="ignore"):
        wide = np.flatnonzero(np.isinf(high - low))
    if len(wide):
        span = f"span from {low[wide[0]]:g} to {high[wide[0]]:g}, more than a 64-bit float can hold"
        remedy = "Divide the column by a power of ten first."
        raise InputError(f"The reference values of column {_named(wide[0], names)} {span}. {remedy}")


def columns_difference(expected: Sequence[str], got: Sequence[str]) -> str:
    """Tell missing, extra and reordered columns."""
    place, known = ({name: position for position, name in enumerate(names)} for names in (got, expected))
    shared = [name for name in expected if name in place]
    in_order = shared == sorted(shared, key=place.__getitem__)
    moved = [] if in_order else [name for name in shared if place[name] != known[name]]
    lines = {
        "- missing": [repr(name) for name in expected if name not in place],
        "+ extra": [repr(name) for name in got if name not in known],
        "~ out of order": [f"{name!r} (column {known[name]} of the reference, here {place[name]})" for name in moved],
    }
    return "\n".join(f"{what}: {shortened(items)}" for what, items in lines.items() if items)


def matching(names: Sequence[str], *patterns: str) -> list[int]:
    """Return the positions of the names that are one of the patterns, or match one, as ``s*`` does ``s1``."""
    return [
        position
        for position, name in enumerate(names)
        if any(name == pattern or fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
    ]


def counted(count: int, word: str) -> str:
    """Return a count with its word, as in ``1,200 rows``."""
    return f"{count:,} {word}{'s' * (count != 1)}"


def listed(names: Sequence[Any]) -> str:
    """List names in quotes, the first few of them."""
    return shortened([repr(name) for name in names])


def shortened(items: Sequence[str], most: int = 5) -> str:
    """List items, at most so many, and say how many more there are."""
    shown = ", ".join(items[:most])
    return shown if len(items) <= most else f"{shown} and {len(items) - most} more"
