"""Batches of rows; Parquet, Feather (Arrow IPC), NPY and NPZ files, which keep columns, types and metadata.

In Parquet and Feather a column of integers or booleans keeps its type: what is put into it is the nearest value that
the type holds. An array has one type for all its columns: floats keep theirs, all else becomes float64. NPZ files are
held in memory. Pickled objects are never read.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar
from zipfile import BadZipFile

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.lib import format as npy
from pyarrow import ipc, parquet

from treemend.arrays import Array, Booleans, Floats
from treemend.exceptions import InputError
from treemend.files.recognition import is_numeric, sample_length
from treemend.tables import LARGEST_EXACT, check_exact_integers, listed, shortened

if TYPE_CHECKING:
    from treemend.files.csv import Lines

CELLS_IN_BATCH = 1_000_000
_READ_AHEAD = 2**17


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of a table: the chosen columns as numbers, and all columns as they stood in the file."""

    values: Floats  # of the chosen columns; NaN where a value is missing
    columns: tuple[int, ...]  # the positions of the chosen columns
    places: list[str]  # file and line, or file and row, of each row
    done: float  # the share of the table that has been read
    table: Any  # all columns as a pyarrow.Table; those of text files are texts
    lines: "Lines | None" = None  # where the rows are from a text file
    decimals: tuple[int | None, ...] = ()  # of all columns of the table; None where they are not known

    def __len__(self) -> int:
        return len(self.values)

    def rounded(self, filled: Floats, mask: Booleans) -> Floats:
        """Return ``filled``, with as many decimals as its columns where ``mask`` says that it is put in."""
        filled = filled.copy()
        for position, column in enumerate(self.columns):
            decimals, cells = self.decimals[column], mask[:, position]
            if decimals is not None:
                filled[cells, position] = np.round(filled[cells, position], decimals) + 0.0  # not -0.0
        return filled

    def replaced(self, filled: Floats, mask: Booleans) -> Any:
        """Return all columns as a pyarrow.Table, ``filled`` where ``mask`` says so; chosen texts become float64."""
        columns, fields = self.table.columns, list(self.table.schema)
        for column, new, cells, values in zip(self.columns, filled.T, mask.T, self.values.T, strict=True):
            if is_numeric(fields[column].type):
                columns[column] = _replaced(columns[column].combine_chunks(), new, cells)
            else:
                columns[column] = pa.array(np.where(cells, new, values))
            fields[column] = fields[column].with_type(columns[column].type)
        return pa.Table.from_arrays(columns, schema=pa.schema(fields, self.table.schema.metadata))


def _replaced(column: Any, filled: Floats, mask: Booleans) -> Any:
    new, dtype = np.where(mask, filled, 0), np.dtype(column.type.to_pandas_dtype())
    if dtype.kind != "f":
        low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        new = np.rint(new).clip(max(low, -LARGEST_EXACT), min(high, LARGEST_EXACT))
    if pa.types.is_float16(column.type):
        # Not all versions of pyarrow compute with them.
        return pa.array(np.where(mask, new, column.to_numpy(zero_copy_only=False)).astype(dtype))
    return pc.if_else(pa.array(mask), pa.array(new.astype(dtype)), column)


class ArrowFile:
    """A Parquet, Feather, NPY or NPZ file; ``named``, ``notes``, ``numbers`` and ``units`` are those of `CsvFile`."""

    notes, numbers = (), None
    units: ClassVar[dict[int, tuple[str, str]]] = {}

    def __init__(self, path: str, family: str) -> None:
        self.label, self._family, self.named = path, family, family in ("parquet", "feather")
        with self._opened() as reader:
            self._schema = reader.schema_arrow if family == "parquet" else reader.schema
            self._n_groups = reader.num_row_groups if family == "parquet" else reader.num_record_batches
        self.names = tuple(str(name) for name in self._schema.names)

    @property
    def sample(self) -> Any:
        """The first rows, and some from the middle and the end."""
        length = sample_length(len(self.names))
        groups = dict.fromkeys((0, self._n_groups // 2, self._n_groups - 1)) if self._n_groups else ()
        pieces = [table for group in groups for _, table in islice(self._tables(length, [group]), 1)]
        return pa.concat_tables(pieces or [self._schema.empty_table()])

    def batches(self, columns: tuple[int, ...]) -> Iterator[Batch]:
        """Read the rows from the first to the last."""
        tables = self._tables(max(1, CELLS_IN_BATCH // len(self.names)), range(self._n_groups))
        first = 0
        for done, table in chain([next(tables, (1.0, self._schema.empty_table()))], tables):
            values = np.empty((len(table), len(columns)))
            for position, column in enumerate(columns):
                given = table.column(column)
                if pa.types.is_integer(given.type):
                    what = f"{self.label}, column {self.names[column]!r}"
                    check_exact_integers(given.drop_null().to_numpy(), what, "Keep it out with --passthrough")
                values[:, position] = given.to_numpy()
            places = [f"{self.label}, row {first + row}" for row in range(len(table))]
            yield Batch(values, columns, places, done, table)
            first += len(table)

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        try:
            with open(self.label, "rb") as file:
                if self._family == "feather":
                    yield ipc.open_file(file)
                elif self._family == "parquet":
                    # A buffer for each column instead of whole column chunks: a row group may be as large as the file.
                    yield parquet.ParquetFile(file, buffer_size=_READ_AHEAD, pre_buffer=False)
                else:
                    yield self._array
        except InputError:
            raise
        except (pa.ArrowException, OSError, ValueError, BadZipFile) as error:
            problem = f"{self.label} cannot be read as {self._family}, or is damaged or truncated: {_first_line(error)}"
            raise InputError(f"{problem}. Get a fresh copy of the file.") from None

    @cached_property
    def _array(self) -> "_Array":
        return _Array(self.label)

    def _tables(self, length: int, groups: Sequence[int]) -> Iterator[tuple[float, Any]]:
        """Read groups of rows, so many rows at a time; tell which share of the file has been read."""
        with self._opened() as reader:
            if self._family == "parquet":
                n_read = 0
                for batch in reader.iter_batches(length, row_groups=groups, use_threads=False):
                    n_read += len(batch)
                    yield n_read / reader.metadata.num_rows, pa.Table.from_batches([batch])
                return
            for group in groups:
                table = pa.Table.from_batches([reader.get_batch(group)])
                for begin in range(0, len(table), length):
                    yield (group + 1) / self._n_groups, table.slice(begin, length)


class _Array:
    """The rows of an NPY file, or of an NPZ file with one array, in batches as those of a Feather file."""

    def __init__(self, path: str) -> None:
        rows = np.load(path, mmap_mode="r", allow_pickle=False)
        if not isinstance(rows, np.ndarray):
            if len(rows.files) != 1:
                there = shortened(rows.files) or "none"
                raise InputError(f"{path} must hold one array, and it holds {there}. Save the one with the rows alone.")
            rows = rows[rows.files[0]]
        if rows.ndim != 2 or rows.shape[1] == 0:
            raise InputError(f"{path} has shape {rows.shape}; rows x columns were expected. Reshape the array first.")
        if rows.dtype.kind not in "biuf" or rows.dtype.itemsize > 8:
            raise InputError(f"{path} holds {rows.dtype}, not numbers of at most 64 bits. Convert it first.")
        # At least three batches: a sample has rows of the first, the middle and the last one.
        self._length = max(1, min(CELLS_IN_BATCH // rows.shape[1], -(-len(rows) // 3)))
        self._rows, self.num_record_batches = rows, -(-len(rows) // self._length)
        self.schema = self.get_batch(0).schema

    def get_batch(self, number: int) -> Any:
        rows = self._rows[number * self._length :][: self._length]
        columns = np.asfortranarray(rows.astype(rows.dtype.newbyteorder("="), copy=False)).T
        return pa.record_batch([pa.array(column) for column in columns], list(map(str, range(len(columns)))))


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__


class ArrowWriter:
    """A Parquet or Feather file being written."""

    def __init__(self, file: BinaryIO, family: str) -> None:
        self._file, self._family = file, family
        self._schema: Any = None

    def write(self, batch: Batch, filled: Floats, mask: Booleans) -> None:
        """Write the rows, with replaced values in the chosen columns."""
        self.write_table(batch.replaced(filled, mask))

    def write_table(self, table: Any) -> None:
        """Write a pyarrow.Table; all have the types and the metadata of the first one."""
        if self._schema is None:
            self._schema = table.schema
            if self._family == "parquet":
                self._writer = parquet.ParquetWriter(self._file, self._schema)
            else:
                options = ipc.IpcWriteOptions(compression="lz4" if pa.Codec.is_available("lz4") else None)
                self._writer = ipc.new_file(self._file, self._schema, options=options)
        try:
            self._writer.write_table(table.cast(self._schema))
        except pa.ArrowInvalid as error:
            self._writer.close()
            problem = f"Files whose columns differ in type cannot become one: {_first_line(error)}"
            raise InputError(f"{problem}. Convert them first, or write CSV.") from None

    def close(self) -> None:
        """Write the footer."""
        self._writer.close()


class NpyWriter:
    """An NPY file being written, whose header gets the number of rows at the end; or an NPZ file, written then."""

    def __init__(self, file: BinaryIO, family: str) -> None:
        self._file, self._family, self._shape = file, family, (0, 0)
        self._dtype: Any = None
        self._held: list[Array] = []

    def write(self, batch: Batch, filled: Floats, mask: Booleans) -> None:
        """Write the rows as floats; columns of a text file that hold only numbers are numbers."""
        table = batch.replaced(filled, mask)
        for position, field in enumerate(table.schema):
            if batch.lines is not None and pa.types.is_string(field.type):
                numbers, wrong = batch.lines.file.numbers.numbers(table.column(position).combine_chunks())
                if not wrong.any():
                    table = table.set_column(position, field.name, pa.array(numbers))
        self.write_table(table, floats=True)

    def write_table(self, table: Any, *, floats: bool = False) -> None:
        """Write a pyarrow.Table of numbers, or of booleans."""
        other = [field.name for field in table.schema if not is_numeric(field.type)]
        if other:
            problem = f"A table with columns that are not numbers ({listed(other)}) cannot become an array"
            raise InputError(f"{problem}. Write CSV or Parquet.")
        columns = [column.to_numpy() for column in table.columns]
        for name, column in zip(table.column_names, columns, strict=True):
            check_exact_integers(column, f"Column {name!r}", "Write CSV or Parquet")
        rows = np.column_stack(columns)
        rows = rows.astype(np.float64) if floats and rows.dtype.kind != "f" else rows
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
