"""What readers hand on and writers take: batches of rows.

Enters: nothing. Leaves: the small types that the families of files share.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from treemend.exceptions import InputError

__all__ = ["Batch", "Rows", "Source", "Writer", "batch_length"]

_CELLS = 1_000_000


class Rows(Protocol):
    """Rows as they stood in a file, with a way into every other family of files."""

    def __len__(self) -> int:
        """Return the number of rows."""
        ...

    @property
    def width(self) -> int:
        """Number of columns."""
        ...

    def texts(self, column: int) -> list[str]:
        """Return a column as texts, as they would stand in a CSV file, without quotes."""
        ...

    def arrow(self, column: int) -> Any:
        """Return a column as a pyarrow array."""
        ...

    def array(self) -> NDArray[Any]:
        """Return all columns as one array of numbers; an `InputError` if some are none."""
        ...


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of a table.

    Attributes
    ----------
    values : ndarray of float64, rows x chosen columns
        NaN where a value is missing.
    rows : Rows
        All columns, as they stood in the file.
    place : callable
        Tells where a row of the batch stands: file and line.
    done : float
        Share of the file that has been read, between 0 and 1.
    """

    values: NDArray[np.float64]
    rows: Rows
    place: Callable[[int], str]
    done: float

    def check_not_infinite(self, names: tuple[str, ...]) -> None:
        """Refuse infinity, by file and line; NaN stands for a missing value."""
        self._refuse(
            np.isinf(self.values), names, "is no finite number. Drop such rows, or empty the cells to have them filled."
        )

    def check_complete(self, names: tuple[str, ...]) -> None:
        """Refuse missing values, by file and line."""
        self._refuse(
            np.isnan(self.values),
            names,
            "stands for a missing value, and reference rows must be complete. Fill the cell, or leave such rows out "
            "with --set incomplete_reference=drop.",
        )

    def _refuse(self, cells: NDArray[np.bool_], names: tuple[str, ...], reason: str) -> None:
        if cells.any():
            row, column = (int(index[0]) for index in np.nonzero(cells))
            raise InputError(f"{self.place(row)}, column {names[column]!r}: {self.values[row, column]} {reason}")


class Source(Protocol):
    """One file of rows."""

    label: str
    names: tuple[str, ...]
    named: bool

    def batches(self, chosen: tuple[int, ...]) -> Iterator[Batch]:
        """Read the rows from the first to the last."""
        ...


class Writer(Protocol):
    """A file being written, batch after batch."""

    def write(self, rows: Rows, chosen: tuple[int, ...], filled: NDArray[np.float64], mask: NDArray[np.bool_]) -> None:
        """Write rows, with ``filled`` where ``mask`` says so; both are rows x chosen columns."""
        ...

    def close(self) -> None:
        """Write what belongs at the end."""
        ...


def batch_length(n_columns: int) -> int:
    """Return how many rows to read at once: about a million cells.

    Examples
    --------
    >>> batch_length(1000)
    1000
    """
    return max(1, _CELLS // max(1, n_columns))
