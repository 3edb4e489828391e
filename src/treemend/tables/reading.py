"""Reading tables of any kind, and building repaired ones of the same kind.

Enters: an array-like, or a pandas, polars or pyarrow table, and the names of columns that are not looked at. Leaves: a
`Table`.

The rule for types: floats keep their type; integers and booleans become float64, since what is put back need not be
whole; integers beyond 2^53, which a float64 cannot hold, are refused. Columns that are passed through may be of any
type and come back untouched, in their place.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.dependencies import is_into_dataframe
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from treemend.exceptions import ColumnsError, InputError

__all__ = ["Table", "attributes_only", "read_table"]

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
