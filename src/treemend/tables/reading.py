"""Reading tables of any kind, and building repaired ones of the same kind.

Enters: an array-like, or a pandas, polars or pyarrow table. Leaves: a `Table`.

The rule for types: floats keep their type; integers and booleans become float64, since what is put back need not be
whole; integers beyond 2^53, which a float64 cannot hold, are refused.
"""

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.dependencies import is_into_dataframe
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from treemend.exceptions import InputError

__all__ = ["Table", "read_table"]

_LARGEST_EXACT = 2**53


@dataclass(frozen=True, eq=False)
class Table:
    """A table as it came, and its values as float64.

    Attributes
    ----------
    values : ndarray of float64, rows x attributes
        A copy: the caller's data are never changed.
    names : tuple of str or None
        Column names, if the table has them.
    given : ndarray or narwhals DataFrame
        The table as it came.
    """

    values: NDArray[np.float64]
    names: tuple[str, ...] | None
    given: Any

    def rebuilt(self, filled: NDArray[np.float64], mask: NDArray[np.bool_]) -> Any:
        """Return a table of the same kind, with ``filled`` where ``mask`` says so and all else bit for bit."""
        if isinstance(self.given, np.ndarray):
            floating = np.issubdtype(self.given.dtype, np.floating)
            repaired = self.given.copy() if floating else self.values.copy()
            repaired[mask] = filled[mask].astype(repaired.dtype)
            return repaired
        frame = self.given
        columns = []
        for position, name in enumerate(frame.columns):
            column = _as_float(frame.get_column(name))
            if mask[:, position].any():
                values = column.to_numpy().copy()
                values[mask[:, position]] = filled[mask[:, position], position]
                column = nw.new_series(name, values, column.dtype, backend=nw.get_native_namespace(frame))
            columns.append(column)
        return _replace_columns(frame, columns)

    def like(self, values: NDArray[Any]) -> Any:
        """Return a table of the same kind with the same names, and other values: booleans or floats."""
        if isinstance(self.given, np.ndarray):
            return values
        namespace = nw.get_native_namespace(self.given)
        dtype = nw.Boolean if values.dtype == bool else nw.Float64
        columns = [
            nw.new_series(name, np.ascontiguousarray(values[:, position]), dtype, backend=namespace)
            for position, name in enumerate(self.given.columns)
        ]
        return _replace_columns(self.given, columns)


def read_table(table: Any) -> Table:
    """Read a table of any kind.

    Parameters
    ----------
    table : array-like, or pandas, polars or pyarrow table
        Two-dimensional and numeric.

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
        return _read_frame(nw.from_native(table, eager_only=True))
    try:
        array = check_array(table, dtype="numeric", ensure_all_finite=False)
    except ValueError as error:
        raise InputError(str(error)) from None
    _check_exact_integers(array)
    return Table(values=np.array(array, dtype=np.float64, order="C"), names=None, given=array)


def _read_frame(frame: Any) -> Table:
    foreign = [
        f"{name!r} ({dtype})" for name, dtype in frame.schema.items() if not (dtype.is_numeric() or dtype == nw.Boolean)
    ]
    if foreign:
        raise InputError(
            f"All columns must be numeric, but {len(foreign)} of {len(frame.columns)} are not: {', '.join(foreign[:5])}"
            f"{' ...' * (len(foreign) > 5)}. Select the numeric columns first."
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
    return Table(values=values, names=tuple(str(name) for name in frame.columns), given=frame)


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
