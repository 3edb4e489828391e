"""NPY and NPZ, batch by batch.

Enters: a file with one two-dimensional array of numbers, or an archive and the name of one. Leaves: batches; and files
of the same type, where integers and booleans that were looked at have become float64. Pickled objects are never read.
"""

import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from treemend.exceptions import InputError
from treemend.files.batches import Batch, Rows, batch_length

__all__ = ["ArrayRows", "ArraySource", "NpyWriter", "NpzWriter"]

_LARGEST_EXACT = 2**53


@dataclass(frozen=True, eq=False)
class ArrayRows:
    """Rows of an array."""

    values: NDArray[Any]

    def __len__(self) -> int:
        return len(self.values)

    @property
    def width(self) -> int:
        """Number of columns."""
        return int(self.values.shape[1])

    def texts(self, column: int) -> list[str]:
        """Return a column with the fewest digits that give the same bits; booleans as 0 and 1."""
        values = self.values[:, column]
        return [str(value) for value in (values.astype(np.uint8) if values.dtype == bool else values)]

    def arrow(self, column: int) -> Any:
        """Return a column."""
        import pyarrow

        return pyarrow.array(np.ascontiguousarray(self.values[:, column]))

    def array(self) -> NDArray[Any]:
        """Return the rows."""
        return self.values


class ArraySource:
    """An NPY file, or one array of an NPZ file."""

    def __init__(self, path: str, family: str, member: str | None) -> None:
        self.label = path
        self._member = None
        try:
            if family == "npz":
                self._member = _member(path, member)
            with _opened(path, self._member) as (stream, n_bytes):
                shape, self._fortran, self.dtype = _header(stream)
                left = n_bytes - stream.tell()
        except (OSError, ValueError, zipfile.BadZipFile) as error:
            raise InputError(f"{path} cannot be read as {family}: {error}") from None
        self._check(shape, left)
        self.n_rows, self._width = shape
        self.named = False
        self.names = tuple(map(str, range(self._width)))

    def batches(self, chosen: tuple[int, ...]) -> Iterator[Batch]:
        """Read the rows from the first to the last."""
        length, first = batch_length(self._width), 0
        picked = list(chosen)
        for rows in self._parts(length):
            if (
                rows.dtype.kind in "iu"
                and rows.size
                and max(abs(int(rows.max())), abs(int(rows.min()))) > _LARGEST_EXACT
            ):
                raise InputError(f"{self.label} holds integers beyond 2**53, which lose digits as 64-bit floats.")
            values = rows[:, picked].astype(np.float64)
            yield Batch(values, ArrayRows(rows), self._place(first), (first + len(rows)) / max(1, self.n_rows))
            first += len(rows)

    def _place(self, first: int) -> Any:
        return lambda row: f"{self.label}, row {first + row}"

    def _parts(self, length: int) -> Iterator[NDArray[Any]]:
        if self._fortran:
            whole = self._whole()
            for begin in range(0, self.n_rows, length):
                yield np.ascontiguousarray(whole[begin : begin + length])
            return
        row_bytes = self._width * self.dtype.itemsize
        with _opened(self.label, self._member) as (stream, _):
            _header(stream)
            for begin in range(0, self.n_rows, length):
                n_rows = min(length, self.n_rows - begin)
                data = stream.read(n_rows * row_bytes)
                if len(data) < n_rows * row_bytes:
                    raise InputError(f"{self.label} ends within row {begin + len(data) // row_bytes}.")
                yield np.frombuffer(data, self.dtype).reshape(n_rows, self._width)

    def _whole(self) -> NDArray[Any]:
        """Return an array that lies column by column, which cannot be read row by row."""
        if self._member is None:
            return np.asarray(np.load(self.label, mmap_mode="r", allow_pickle=False))
        with np.load(self.label, allow_pickle=False) as archive:
            return np.asarray(archive[self._member.removesuffix(".npy")])

    def _check(self, shape: tuple[int, ...], n_bytes: int) -> None:
        if len(shape) != 2 or shape[1] == 0:
            raise InputError(f"{self.label} has shape {shape}, and rows x columns is needed. Reshape the array first.")
        if self.dtype.kind not in "biuf":
            raise InputError(f"{self.label} holds {self.dtype}, no numbers. Convert it first.")
        if shape[0] * shape[1] * self.dtype.itemsize != n_bytes:
            raise InputError(f"{self.label} is truncated: shape {shape} does not fit {n_bytes} bytes of data.")


class NpyWriter:
    """An NPY file being written; its header gets the number of rows at the end."""

    def __init__(self, file: BinaryIO | IO[bytes]) -> None:
        self._file = file
        self._n_rows = 0
        self._width = 0
        self._dtype: Any = None

    def write(self, rows: Rows, chosen: tuple[int, ...], filled: NDArray[np.float64], mask: NDArray[np.bool_]) -> None:
        """Write the rows."""
        values = rows.array()
        if chosen and values.dtype.kind != "f":
            values = values.astype(np.float64)
        if mask.any():
            values = values.copy()
            row, place = np.nonzero(mask)
            values[row, np.asarray(chosen)[place]] = filled[row, place]
        if self._dtype is None:
            self._dtype, self._width = values.dtype, values.shape[1]
            self._write_header()
        self._file.write(np.ascontiguousarray(values, dtype=self._dtype).data)
        self._n_rows += len(values)

    def close(self) -> None:
        """Write the header again, now with the number of rows."""
        if self._dtype is None:
            self._dtype = np.dtype(np.float64)
        self._file.seek(0)
        self._write_header()
        self._file.seek(0, 2)

    def _write_header(self) -> None:
        header = {
            "descr": npy.dtype_to_descr(self._dtype),
            "fortran_order": False,
            "shape": (self._n_rows, self._width),
        }
        # NumPy leaves room in the header for the number of rows to grow.
        npy.write_array_header_1_0(self._file, header)


class NpzWriter:
    """An NPZ file being written: an NPY file without a name, put into an archive at the end."""

    def __init__(self, file: BinaryIO, folder: Path, member: str) -> None:
        self._file, self._member = file, member
        # Open until close, and gone with the process whatever happens.
        self._spool = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        self._inner = NpyWriter(self._spool)

    def write(self, rows: Rows, chosen: tuple[int, ...], filled: NDArray[np.float64], mask: NDArray[np.bool_]) -> None:
        """Write the rows."""
        self._inner.write(rows, chosen, filled, mask)

    def close(self) -> None:
        """Make the archive."""
        self._inner.close()
        self._spool.seek(0)
        with (
            zipfile.ZipFile(self._file, "w", zipfile.ZIP_DEFLATED) as archive,
            archive.open(f"{self._member}.npy", "w", force_zip64=True) as entry,
        ):
            shutil.copyfileobj(self._spool, entry, 2**20)
        self._spool.close()


def _member(path: str, name: str | None) -> str:
    """Return the entry of an archive that is meant."""
    with zipfile.ZipFile(path) as archive:
        names = [entry.removesuffix(".npy") for entry in archive.namelist() if entry.endswith(".npy")]
    if name is None and len(names) == 1:
        return f"{names[0]}.npy"
    if name in names:
        return f"{name}.npy"
    asked = "has several arrays" if name is None else f"has no array {name!r}"
    raise InputError(f"{path} {asked}. Choose one with --array: {', '.join(names[:10])}.")


@contextmanager
def _opened(path: str, member: str | None) -> Iterator[tuple[IO[bytes], int]]:
    """Open a file or an entry of an archive; say how many bytes it has."""
    if member is None:
        with open(path, "rb") as file:
            yield file, os.fstat(file.fileno()).st_size
        return
    with zipfile.ZipFile(path) as archive, archive.open(member) as entry:
        yield entry, archive.getinfo(member).file_size


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    version = npy.read_magic(stream)
    if version not in readers:
        raise ValueError(f"NPY version {version} is not known.")
    shape, fortran, dtype = readers[version](stream)
    return tuple(shape), bool(fortran), dtype
