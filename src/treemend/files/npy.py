"""NPY files in batches, and NPZ files as a whole.

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
from treemend.files.recognition import Sample, is_numeric, sample_length
from treemend.tables import LARGEST_EXACT

__all__ = ["NpyFile", "NpyWriter", "NpzWriter"]


class NpyFile(Source):
    """An NPY file, or one array of an NPZ file, which is held in memory."""

    def __init__(self, path: str, family: str, array: str | None) -> None:
        self.label = path
        self.named = False
        try:
            if family == "npz":
                self._array = _archived(path, array)
            else:
                self._array = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, BadZipFile) as error:
            raise InputError(f"{path} cannot be read as {family}, or is truncated: {error}. Check the file.") from None
        shape, dtype = self._array.shape, self._array.dtype
        if len(shape) != 2 or shape[1] == 0:
            raise InputError(f"{path} has shape {shape}, and rows x columns is needed. Reshape the array first.")
        if dtype.kind not in "biuf" or dtype.itemsize > 8:
            raise InputError(f"{path} holds {dtype}, not numbers of at most 64 bits. Convert it first.")
        self.n_rows = shape[0]
        self.names = tuple(map(str, range(shape[1])))

    def sample(self) -> Sample:
        """Return the first rows, and some from further on."""
        length = sample_length(len(self.names))
        later = range(length, len(self._array), max(1, len(self._array) // length))
        return Sample(_table(np.concatenate([self._array[:length], self._array[later]]), self.names), length)

    def batches(self, columns: tuple[int, ...]) -> Iterator[Batch]:
        """Read the rows from the first to the last."""
        n_rows, length = len(self._array), batch_length(len(self.names))
        for first in range(0, max(1, n_rows), length):
            rows = np.ascontiguousarray(self._array[first : first + length])
            if rows.dtype.kind in "iu" and rows.size and max(int(rows.max()), -int(rows.min())) > LARGEST_EXACT:
                raise InputError(f"{self.label} holds integers beyond 2**53, which lose digits as 64-bit floats.")
            values = rows[:, list(columns)].astype(np.float64)
            done = min(1.0, (first + length) / max(1, n_rows))
            yield Batch(values, columns, partial(self._place, first), done, native=_table(rows, self.names))

    def _place(self, first: int, row: int) -> str:
        return f"{self.label}, row {first + row}"


class NpyWriter:
    """An NPY file being written; its header gets the number of rows at the end."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._n_rows = self._width = 0
        self._dtype: Any = None

    def write(self, batch: Batch, filled: NDArray[np.float64], mask: NDArray[np.bool_]) -> None:
        """Write the rows."""
        self._append(_replaced(batch, filled, mask))

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
            self._dtype, self._width = rows.dtype, rows.shape[1]
            self._write_header()
        self._file.write(np.ascontiguousarray(rows, dtype=self._dtype).data)
        self._n_rows += len(rows)

    def _write_header(self) -> None:
        # NumPy leaves space in the header for the number of rows to grow.
        shape = (self._n_rows, self._width)
        header = {"descr": npy.dtype_to_descr(self._dtype), "fortran_order": False, "shape": shape}
        npy.write_array_header_1_0(self._file, header)


class NpzWriter:
    """An NPZ file with one array, which is held in memory until it is complete."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._parts: list[NDArray[Any]] = []

    def write(self, batch: Batch, filled: NDArray[np.float64], mask: NDArray[np.bool_]) -> None:
        """Keep the rows."""
        self._parts.append(_replaced(batch, filled, mask))

    def write_table(self, table: Any) -> None:
        """Keep a pyarrow.Table of numbers."""
        self._parts.append(_stacked(table))

    def close(self) -> None:
        """Write the archive."""
        np.savez_compressed(self._file, rows=np.concatenate(self._parts))


def _archived(path: str, name: str | None) -> NDArray[Any]:
    with np.load(path, allow_pickle=False) as archive:
        if name is None and len(archive.files) == 1:
            name = archive.files[0]
        if name not in archive.files:
            problem = "has several arrays" if name is None else f"has no array {name!r}"
            raise InputError(f"{path} {problem}. Choose one with --array: {', '.join(archive.files[:10])}.")
        return np.asarray(archive[name])


def _table(rows: NDArray[Any], names: tuple[str, ...]) -> Any:
    columns = np.asfortranarray(rows.astype(rows.dtype.newbyteorder("="), copy=False)).T
    return pa.Table.from_arrays([pa.array(column) for column in columns], list(names))


def _stacked(table: Any) -> NDArray[Any]:
    """Return columns side by side as one array of numbers."""
    other = [repr(field.name) for field in table.schema if not is_numeric(field.type)]
    if other:
        raise InputError(
            f"A table with columns that are not numbers ({', '.join(other[:5])}) cannot become an array. Write CSV or "
            "Parquet."
        )
    return np.column_stack([column.to_numpy() for column in table.columns])


def _replaced(batch: Batch, filled: NDArray[np.float64], mask: NDArray[np.bool_]) -> NDArray[Any]:
    table = batch.table
    if batch.lines is not None:
        for position, name in enumerate(table.column_names):
            if position in batch.columns:
                table = table.set_column(position, name, pa.array(batch.values[:, batch.columns.index(position)]))
                continue
            values, wrong = batch.lines.numbers.numbers(table.column(position).combine_chunks())
            if not wrong.any():
                table = table.set_column(position, name, pa.array(values))
    rows = _stacked(table)
    rows = rows if rows.dtype.kind == "f" else rows.astype(np.float64)
    row, place = np.nonzero(mask)
    rows[row, np.array(batch.columns)[place]] = filled[row, place]
    return rows
