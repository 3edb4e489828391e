"""Checks of the values themselves; each error says how many cells, and where the first ones are.

Enters: a float64 array and the column names, if there are any. Leaves: nothing, or an `InputError`.
"""

import numpy as np
from numpy.typing import NDArray

from treemend.exceptions import InputError

__all__ = ["check_finite", "check_not_infinite", "check_range", "describe_cells"]

_SHOWN = 3


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
        for row, column in zip(rows[:_SHOWN], columns[:_SHOWN], strict=True)
    ]
    more = ["..."] if len(rows) > _SHOWN else []
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
