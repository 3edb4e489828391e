"""Batches of rows: what files are read as, and what writers take.

A batch holds the chosen columns as numbers and all columns as they stood in the file: as records of text, so that what
was not replaced can be written byte for byte, or as a table of pyarrow, which keeps types.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from treemend.files.lines import Lines, NumberFormat
from treemend.files.recognition import is_numeric
from treemend.tables import LARGEST_EXACT

__all__ = ["Batch", "Source", "batch_length"]

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

    def replaced(self, filled: NDArray[np.float64], mask: NDArray[np.bool_], *, keep_integers: bool) -> Any:
        """Return all columns as a pyarrow.Table, with ``filled`` where ``mask`` says so.

        Integers and booleans that are put in are rounded, or else their columns become float64. Chosen columns of text
        become float64.
        """
        columns, fields = self.table.columns, list(self.table.schema)
        for column, new, cells, values in zip(self.columns, filled.T, mask.T, self.values.T, strict=True):
            if is_numeric(fields[column].type):
                columns[column] = _replaced(columns[column].combine_chunks(), new, cells, keep_integers)
            else:
                columns[column] = pa.array(np.where(cells, new, values))
            fields[column] = fields[column].with_type(columns[column].type)
        return pa.Table.from_arrays(columns, schema=pa.schema(fields, self.table.schema.metadata))


def _replaced(column: Any, filled: NDArray[np.float64], mask: NDArray[np.bool_], keep_integers: bool) -> Any:
    new = np.where(mask, filled, 0)
    if not pa.types.is_floating(column.type):
        is_boolean = pa.types.is_boolean(column.type)
        if keep_integers:
            limits = None if is_boolean else np.iinfo(column.type.to_pandas_dtype())
            low, high = (0, 1) if limits is None else (limits.min, limits.max)
            new = np.rint(new).clip(max(low, -LARGEST_EXACT), min(high, LARGEST_EXACT))
        else:
            column = (column.cast(pa.uint8()) if is_boolean else column).cast(pa.float64())
    new = new.astype(column.type.to_pandas_dtype())
    if pa.types.is_float16(column.type):
        # Not all versions of pyarrow compute with them.
        return pa.array(np.where(mask, new, column.to_numpy(zero_copy_only=False)))
    return pc.if_else(pa.array(mask), pa.array(new), column)


class Source:
    """What files of all formats have; they also have ``sample`` and ``batches``.

    Columns without names are called by their numbers; ``notes`` say what was recognised; ``numbers`` is how numbers are
    written in a text file.
    """

    label: str
    names: tuple[str, ...]
    named: bool = True
    notes: tuple[str, ...] = ()
    numbers: NumberFormat | None = None

    def place(self, first: int, row: int) -> str:
        """Say where a row is that comes so many rows behind the first."""
        return f"{self.label}, row {first + row}"


def batch_length(n_columns: int) -> int:
    """Return how many rows to read at once: about a million cells."""
    return max(1, _CELLS // max(1, n_columns))
