"""Tables of any kind in, float64 arrays through the package, tables of the same kind out.

This is the only module that knows data frames (through narwhals). Floats keep their type; integers and booleans become
float64, since a repaired value need not be whole; integers beyond 2^53, which a float64 cannot hold, are refused.
Columns that are passed through may be of any type and come back untouched, in their place.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.dependencies import is_into_dataframe
from numpy.typing import NDArray
from sklearn.utils.validation import check_array, validate_data

from treemend.exceptions import ColumnsError, InputError

__all__ = [
    "Table",
    "attributes_only",
    "check_finite",
    "check_not_infinite",
    "check_range",
    "columns_difference",
    "describe_cells",
    "read_columns",
    "read_table",
]

_LARGEST_EXACT = 2**53


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

    def rebuilt(self, filled: NDArray[np.float64], mask: NDArray[np.bool_]) -> Any:
        """Return a table of the same kind, with ``filled`` where ``mask`` says so and all else bit for bit."""
        if isinstance(self.given, np.ndarray):
            floating = np.issubdtype(self.given.dtype, np.floating)
            repaired = self.given.copy() if floating else self.values.copy()
            repaired[mask] = filled[mask].astype(repaired.dtype)
            return repaired
        frame = self.given
        columns = []
        position = -1
        for name in frame.columns:
            if name in self.passthrough:
                columns.append(frame.get_column(name))
                continue
            position += 1
            column = _as_float(frame.get_column(name))
            if mask[:, position].any():
                values = column.to_numpy().copy()
                values[mask[:, position]] = filled[mask[:, position], position]
                column = nw.new_series(name, values, column.dtype, backend=nw.get_native_namespace(frame))
            columns.append(column)
        return _replace_columns(frame, columns)

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
    frame = nw.from_native(table, eager_only=True)
    return frame.drop(*_there(frame, passthrough)).to_native()


def read_table(table: Any, passthrough: Sequence[Any] = (), *, all_there: bool = False) -> Table:
    """Read a table of any kind.

    Parameters
    ----------
    table : array-like, or pandas, polars or pyarrow table
        Two-dimensional; all columns but those passed through are numeric.
    passthrough : sequence of column names
        Columns that are not looked at.
    all_there : bool
        Whether a table without one of these columns is refused.

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
        return _read_frame(nw.from_native(table, eager_only=True), passthrough, all_there)
    if all_there and len(passthrough):
        raise ColumnsError(
            f"passthrough names columns ({_listed(passthrough)}), but the rows have no column names. Give a data "
            "frame, or leave those columns out."
        )
    try:
        array = check_array(table, dtype="numeric", ensure_all_finite=False)
    except ValueError as error:
        raise InputError(str(error)) from None
    _check_exact_integers(array)
    return Table(values=np.array(array, dtype=np.float64, order="C"), names=None, given=array)


def read_columns(estimator: Any, table: Any, *, reset: bool) -> Table:
    """Read a table for an estimator with a parameter ``passthrough``, and compare its columns with those of the fit.

    Parameters
    ----------
    estimator : estimator
        Its ``n_features_in_`` and ``feature_names_in_`` are set if ``reset``, and compared with otherwise.
    table : array-like, or pandas, polars or pyarrow table
        As in `read_table`.
    reset : bool
        Whether these are the rows to fit on.

    Returns
    -------
    Table
        The rows as read.

    Raises
    ------
    ColumnsError
        If the columns differ; the message lists how.
    """
    read = read_table(table, estimator.passthrough, all_there=reset)
    try:
        validate_data(estimator, read.attributes if read.names else read.values, reset=reset, skip_check_array=True)
    except ValueError as error:
        expected = list(getattr(estimator, "feature_names_in_", []))
        difference = columns_difference(expected, read.names or []) if expected and read.names else ""
        raise ColumnsError(f"{error}\n{difference}".rstrip()) from None
    return read


def _read_frame(given: Any, passthrough: Sequence[Any], all_there: bool) -> Table:
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
            f"All columns must be numeric, but {len(foreign)} of {len(frame.columns)} are not: {', '.join(foreign[:5])}"
            f"{' ...' * (len(foreign) > 5)}. Name them in passthrough to keep them as they are, or select the "
            "numeric columns."
        )
    n_rows, n_columns = frame.shape
    for count, word in ((n_columns, "feature"), (n_rows, "sample")):
        if count == 0:
            raise InputError(f"Found array with 0 {word}(s) (shape={frame.shape}) while a minimum of 1 is required.")
    values = np.empty((n_rows, n_columns), dtype=np.float64)
    for position, name in enumerate(frame.columns):
        column = frame.get_column(name)
        if column.dtype.is_integer() and column.null_count() == 0:
            _check_exact_integers(column.to_numpy())
        values[:, position] = _as_float(column).to_numpy()
    return Table(values=values, names=tuple(str(name) for name in frame.columns), given=given, passthrough=there)


def _there(frame: Any, passthrough: Sequence[Any]) -> tuple[Any, ...]:
    columns = set(frame.columns)
    return tuple(name for name in passthrough if name in columns)


def _listed(names: Sequence[Any]) -> str:
    return ", ".join(repr(name) for name in names[:5]) + " ..." * (len(names) > 5)


def _as_float(column: Any) -> Any:
    """Return the column as floats: a float keeps its type, everything else becomes float64."""
    return column if column.dtype.is_float() else column.cast(nw.Float64)


def _replace_columns(frame: Any, columns: list[Any]) -> Any:
    """Return a native table with the frame's index and new columns."""
    if frame.implementation.is_pandas_like():
        index = nw.get_native_namespace(frame)
        native = frame.to_native()
        replaced = {position: column.to_native() for position, column in enumerate(columns)}
        for series in replaced.values():
            series.index = native.index
        built = index.concat(list(replaced.values()), axis=1)
        built.columns = native.columns
        return built
    return frame.with_columns(*columns).to_native()


def _check_exact_integers(array: NDArray[Any]) -> None:
    if not np.issubdtype(array.dtype, np.integer) or array.size == 0:
        return
    if int(array.max()) > _LARGEST_EXACT or int(array.min()) < -_LARGEST_EXACT:
        raise InputError(
            "Integers beyond 2**53 lose digits as 64-bit floats, and rows must come back as they were: got values from "
            f"{int(array.min())} to {int(array.max())}. Divide or shift them first, or leave such columns (ids?) out."
        )


_CELLS_SHOWN = 3


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
    """Refuse a reference whose attributes span more than a float64 can hold."""
    with np.errstate(over="ignore"):
        width = values.max(axis=0) - values.min(axis=0)
    if np.isfinite(width).all():
        return
    column = int(np.flatnonzero(~np.isfinite(width))[0])
    named = f" ({names[column]!r})" if names else ""
    raise InputError(
        f"The reference values of column {column}{named} span from {values[:, column].min():g} to "
        f"{values[:, column].max():g}, more than a 64-bit float can hold. Divide the column by a power of ten first."
    )


_NAMES_SHOWN = 5


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
        lines.append(f"- missing: {_shortened([repr(name) for name in missing])}")
    if extra:
        lines.append(f"+ extra: {_shortened([repr(name) for name in extra])}")
    place = {name: position for position, name in enumerate(got)}
    shared = [name for name in expected if name in given]
    if shared != [name for name in got if name in known]:
        moved = [
            f"{name!r} (column {position} of the reference, here {place[name]})"
            for position, name in enumerate(expected)
            if name in given and place[name] != position
        ]
        lines.append(f"~ out of order: {_shortened(moved)}")
    return "\n".join(lines)


def _shortened(items: list[str]) -> str:
    shown = ", ".join(items[:_NAMES_SHOWN])
    return shown if len(items) <= _NAMES_SHOWN else f"{shown} and {len(items) - _NAMES_SHOWN} more"
