"""Batches of rows: what files are read as, and what writers take.

A batch holds the chosen columns as numbers and all columns as they stood in the file: as records of text, so that what
was not replaced can be written byte for byte, or as a table of pyarrow, which keeps types.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from treemend.exceptions import InputError
from treemend.files.cells import NumberFormat
from treemend.files.lines import Lines
from treemend.files.recognition import Sample

__all__ = ["Batch", "Source", "Writer", "batch_length"]

_CELLS = 1_000_000


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of a table.

    Attributes
    ----------
    values : ndarray of float64, rows x chosen columns
        NaN where a value is missing.
    columns : tuple of int
        Positions of the chosen columns in the table.
    place : callable
        Tells where a row of the batch is: file and line, or file and row.
    first : int
        Number of the first row in the table.
    done : float
        Share of the table that has been read, between 0 and 1.
    lines, native : Lines or None, pyarrow.Table or None
        All columns of the rows as they stood, in a text file or in any other.
    integers : frozenset of int
        Positions of columns that hold integers.
    """

    values: NDArray[np.float64]
    columns: tuple[int, ...]
    place: Callable[[int], str]
    done: float
    lines: Lines | None = None
    native: Any = None
    integers: frozenset[int] = frozenset()
    first: int = 0

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def table(self) -> Any:
        """All columns as a pyarrow.Table; those of text files are texts."""
        return self.native if self.lines is None else self.lines.table()

    def cells(self, rows: NDArray[np.int64], columns: tuple[int, ...]) -> Any:
        """Return cells of some rows as they stood, such as ids where something was found, as a pyarrow.Table."""
        if self.lines is not None:
            return self.lines.take(rows).table(columns)
        return self.native.select(list(columns)).take(pa.array(rows, pa.int64()))

    def parts(self, max_rows: int | None) -> Iterator["Batch"]:
        """Cut the batch into smaller ones of at most so many rows."""
        if max_rows is None or len(self) <= max_rows:
            yield self
            return
        for begin in range(0, len(self), max_rows):
            end = min(begin + max_rows, len(self))
            yield replace(
                self,
                values=self.values[begin:end],
                place=partial(self._place_from, begin),
                first=self.first + begin,
                lines=None if self.lines is None else self.lines.part(begin, end),
                native=None if self.native is None else self.native.slice(begin, end - begin),
            )

    def _place_from(self, begin: int, row: int) -> str:
        return self.place(begin + row)

    def check_not_infinite(self, names: tuple[str, ...]) -> None:
        """Refuse infinity, by file and line; NaN stands for a missing value."""
        cells = np.isinf(self.values)
        if cells.any():
            row, column = (int(index[0]) for index in np.nonzero(cells))
            raise InputError(
                f"{self.place(row)}, column {names[self.columns[column]]!r}: {self.values[row, column]} is not a "
                "finite number. Drop such rows, or empty the cells to have them filled."
            )


class Source(ABC):
    """One file of rows.

    Columns without names are called by their numbers; ``n_rows`` is known where the file tells it; ``notes`` say what
    was recognised; ``numbers`` is how numbers are written in a text file.
    """

    label: str
    names: tuple[str, ...]
    named: bool = True
    n_rows: int | None = None
    notes: tuple[str, ...] = ()
    numbers: NumberFormat | None = None

    @abstractmethod
    def sample(self) -> Sample:
        """Read the first rows, and some from further on."""

    @abstractmethod
    def batches(self, columns: tuple[int, ...]) -> Iterator[Batch]:
        """Read the rows from the first to the last; one empty batch if there are none."""

    def place(self, first: int, row: int) -> str:
        """Say where a row is that comes so many rows behind the first."""
        return f"{self.label}, row {first + row}"


class Writer(Protocol):
    """A file being written, batch after batch."""

    def write(self, batch: Batch, filled: NDArray[np.float64], mask: NDArray[np.bool_]) -> None:
        """Write the rows of a batch, with ``filled`` where ``mask`` says so; both are rows x chosen columns."""
        ...

    def write_table(self, table: Any) -> None:
        """Write a pyarrow.Table, such as a mask or findings."""
        ...

    def close(self) -> None:
        """Write what belongs at the end; the file that was given stays open."""
        ...


def batch_length(n_columns: int) -> int:
    """Return how many rows to read at once: about a million cells.

    Examples
    --------
    >>> batch_length(1000)
    1000
    """
    return max(1, _CELLS // max(1, n_columns))
