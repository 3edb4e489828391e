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
from treemend.files.recognition import is_numeric, sample_length
from treemend.tables import check_exact_integers, listed, shortened

__all__ = ["NpyFile", "NpyWriter"]


class NpyFile(Source):
    """An NPY file, or one array of an NPZ file."""

    named = False

    def __init__(self, path: str, family: str, array: str | None) -> None:
        self.label = path
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
        self.names = tuple(map(str, range(rows.shape[1])))

    def sample(self) -> Any:
        """Return the first rows and the last ones."""
        length = sample_length(len(self.names))
        return self._table(np.concatenate([self._rows[:length], self._rows[length:][-length:]]))

    def batches(self, columns: tuple[int, ...]) -> Iterator[Batch]:
        """Read the rows from the first to the last."""
        n_rows, length = max(1, len(self._rows)), batch_length(len(self.names))
        for first in range(0, n_rows, length):
            rows = np.ascontiguousarray(self._rows[first : first + length])
            check_exact_integers(rows, self.label, "Convert it first")
            values, done = rows[:, list(columns)].astype(np.float64), min(1.0, (first + length) / n_rows)
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
    """An NPY file being written, whose header gets the number of rows at the end; or an NPZ file, written then."""

    def __init__(self, file: BinaryIO, family: str) -> None:
        self._file, self._family, self._shape = file, family, (0, 0)
        self._dtype: Any = None
        self._held: list[NDArray[Any]] = []

    def write(self, batch: Batch, filled: NDArray[np.float64], mask: NDArray[np.bool_]) -> None:
        """Write the rows; columns of a text file that hold only numbers are numbers."""
        table = batch.replaced(filled, mask, keep_integers=False)
        if batch.lines is not None:
            texts = batch.lines.table(as_text=True)
            for column in set(range(texts.num_columns)) - set(batch.columns):
                numbers, wrong = batch.lines.numbers.numbers(texts.column(column).combine_chunks())
                if not wrong.any():
                    table = table.set_column(column, texts.column_names[column], pa.array(numbers))
        self.write_table(table)

    def write_table(self, table: Any) -> None:
        """Write a pyarrow.Table of numbers."""
        other = [field.name for field in table.schema if not is_numeric(field.type)]
        if other:
            problem = f"A table with columns that are not numbers ({listed(other)}) cannot become an array"
            raise InputError(f"{problem}. Write CSV or Parquet.")
        rows = np.column_stack([column.to_numpy() for column in table.columns])
        if self._family == "npz":
            self._held.append(rows)
            return
        if self._dtype is None:
            self._dtype = rows.dtype
            self._write_header()
        self._file.write(np.ascontiguousarray(rows, dtype=self._dtype).data)
        self._shape = (self._shape[0] + len(rows), rows.shape[1])

    def close(self) -> None:
        """Write the header again, now with the number of rows; or an archive with one array, ``rows``."""
        if self._family == "npz":
            np.savez_compressed(self._file, rows=np.concatenate(self._held))
            return
        self._file.seek(0)
        self._write_header()
        self._file.seek(0, 2)

    def _write_header(self) -> None:
        # NumPy leaves space in the header for the number of rows to grow.
        header = {"descr": npy.dtype_to_descr(self._dtype), "fortran_order": False, "shape": self._shape}
        npy.write_array_header_1_0(self._file, header)
