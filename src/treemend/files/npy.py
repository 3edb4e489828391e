"""NPY files in batches, and NPZ files, which are held in memory.

A file holds one two-dimensional array of numbers, or is an archive in which one is chosen. Floats keep their type;
integers and booleans become float64, since an array has one type for all its columns. Pickled objects are never read.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any, BinaryIO
from zipfile import BadZipFile

import numpy as np
import pyarrow as pa
from numpy.lib import format as npy
from numpy.typing import NDArray

from treemend.exceptions import InputError
from treemend.files.batch import Batch, Source, batch_length
from treemend.files.lines import Lines
from treemend.files.recognition import Sample, is_numeric, sample_length
from treemend.tables import check_exact_integers, shortened

__all__ = ["NpyFile", "NpyWriter", "NpzWriter"]


class NpyFile(Source):
    """An NPY file, or one array of an NPZ file."""

    def __init__(self, path: str, family: str, array: str | None) -> None:
        self.label, self.named = path, False
        try:
            rows = _archived(path, array) if family == "npz" else np.load(path, mmap_mode="r", allow_pickle=False)
        except InputError:
            raise
        except (OSError, ValueError, BadZipFile) as error:
            raise InputError(f"{path} cannot be read as {family}, or is truncated: {error}. Check the file.") from None
        if rows.ndim != 2 or rows.shape[1] == 0:
            raise InputError(f"{path} has shape {rows.shape}, and rows x columns is needed. Reshape the array first.")
        if rows.dtype.kind not in "biuf" or rows.dtype.itemsize > 8:
            raise InputError(f"{path} holds {rows.dtype}, not numbers of at most 64 bits. Convert it first.")
        self._rows = rows
        self.n_rows = len(rows)
        self.names = tuple(map(str, range(rows.shape[1])))

    def sample(self) -> Sample:
        """Return the first rows, and some from further on."""
        length = sample_length(len(self.names))
        later = range(length, len(self._rows), max(1, len(self._rows) // length))
        return Sample(self._table(np.concatenate([self._rows[:length], self._rows[later]])), length)

    def batches(self, columns: tuple[int, ...]) -> Iterator[Batch]:
        """Read the rows from the first to the last."""
        length = batch_length(len(self.names))
        for first in range(0, max(1, len(self._rows)), length):
            rows = np.ascontiguousarray(self._rows[first : first + length])
            check_exact_integers(rows, self.label, "Convert it first")
            done = min(1.0, (first + length) / max(1, len(self._rows)))
            values = rows[:, list(columns)].astype(np.float64)
            yield Batch(values, columns, partial(self.place, first), done, native=self._table(rows))

    def _table(self, rows: NDArray[Any]) -> Any:
        columns = np.asfortranarray(rows.astype(rows.dtype.newbyteorder("="), copy=False)).T
        return pa.Table.from_arrays([pa.array(column) for column in columns], list(self.names))


def _archived(path: str, name: str | None) -> NDArray[Any]:
    with np.load(path, allow_pickle=False) as archive:
        if name is None and len(archive.files) == 1:
            name = archive.files[0]
        if name not in archive.files:
            problem = "has several arrays" if name is None else f"has no array {name!r}"
            raise InputError(f"{path} {problem}. Choose one with --array: {shortened(archive.files)}.")
        return np.asarray(archive[name])


class NpyWriter:
    """An NPY file being written; its header gets the number of rows at the end."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._shape = (0, 0)
        self._dtype: Any = None

    def write(self, batch: Batch, filled: NDArray[np.float64], mask: NDArray[np.bool_]) -> None:
        """Write the rows."""
        rows = _stacked(batch.native if batch.lines is None else _numbers(batch.lines, batch.columns, batch.values))
        rows = rows if rows.dtype.kind == "f" else rows.astype(np.float64)
        row, place = np.nonzero(mask)
        rows[row, np.array(batch.columns)[place]] = filled[row, place]
        self._append(rows)

    def write_table(self, table: Any) -> None:
        """Write a pyarrow.Table of numbers."""
        self._append(_stacked(table))

    def close(self) -> None:
        """Write the header again, now with the number of rows."""
        self._file.seek(0)
        self._write_header()
        self._file.seek(0, 2)

    def _append(self, rows: NDArray[Any]) -> None:
        if self._dtype is None:
            self._dtype = rows.dtype
            self._write_header()
        self._file.write(np.ascontiguousarray(rows, dtype=self._dtype).data)
        self._shape = (self._shape[0] + len(rows), rows.shape[1])

    def _write_header(self) -> None:
        # NumPy leaves space in the header for the number of rows to grow.
        header = {"descr": npy.dtype_to_descr(self._dtype), "fortran_order": False, "shape": self._shape}
        npy.write_array_header_1_0(self._file, header)


class NpzWriter(NpyWriter):
    """An NPZ file with one array, ``rows``, written when it is complete."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file)
        self._parts: list[NDArray[Any]] = []

    def _append(self, rows: NDArray[Any]) -> None:
        self._parts.append(rows)

    def close(self) -> None:
        """Write the archive."""
        np.savez_compressed(self._file, rows=np.concatenate(self._parts))


def _stacked(table: Any) -> NDArray[Any]:
    """Return columns side by side as one array of numbers."""
    other = [repr(field.name) for field in table.schema if not is_numeric(field.type)]
    if other:
        raise InputError(
            f"A table with columns that are not numbers ({shortened(other)}) cannot become an array. Write CSV or "
            "Parquet."
        )
    return np.column_stack([column.to_numpy() for column in table.columns])


def _numbers(lines: Lines, columns: tuple[int, ...], values: NDArray[np.float64]) -> Any:
    """Return the columns of a text file, those that hold only numbers as such; of some the values are known."""
    table = lines.table(as_text=True)
    for column, name in enumerate(lines.names):
        numbers, wrong = lines.numbers.numbers(table.column(column).combine_chunks())
        if column in columns:
            table = table.set_column(column, name, pa.array(values[:, columns.index(column)]))
        elif not wrong.any():
            table = table.set_column(column, name, pa.array(numbers))
    return table
