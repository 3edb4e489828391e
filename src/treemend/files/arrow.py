"""Parquet and Feather (Arrow IPC): batches of pyarrow, and files that keep columns, types and metadata.

A column of integers stays one if every value that was put into it is an integer to rounding. That is known only when
all rows have been seen, so rows with such columns are kept in a temporary file first.
"""

import tempfile
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import ipc, parquet

from treemend.exceptions import InputError
from treemend.files.batch import Batch, Source, batch_length
from treemend.files.recognition import Sample, is_numeric, sample_length
from treemend.tables import check_exact_integers, integers_fit

__all__ = ["ArrowFile", "ArrowWriter"]

_READ_AHEAD = 2**17


class ArrowFile(Source):
    """A Parquet or Feather file."""

    def __init__(self, path: str, family: str) -> None:
        self.label = path
        self._family = family
        try:
            with open(path, "rb") as file:
                reader = self._reader(file)
                self.schema = reader.schema_arrow if family == "parquet" else reader.schema
                self._n_groups = reader.num_row_groups if family == "parquet" else reader.num_record_batches
                if family == "parquet":
                    self.n_rows = reader.metadata.num_rows
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{path} cannot be read as {family}: {_first_line(error)}. Check the file.") from None
        self.names = tuple(str(name) for name in self.schema.names)

    def sample(self) -> Sample:
        """Return the first rows, and some from further on."""
        length = sample_length(len(self.names))
        groups = dict.fromkeys((0, self._n_groups // 2, self._n_groups - 1)) if self._n_groups else ()
        pieces = [table for group in groups for _, table in islice(self._tables(length, [group]), 1)]
        pieces = pieces or [self.schema.empty_table()]
        return Sample(pa.concat_tables(pieces), len(pieces[0]))

    def batches(self, columns: tuple[int, ...]) -> Iterator[Batch]:
        """Read the rows from the first to the last."""
        first = 0
        for n_groups, table in self._tables(batch_length(len(self.names)), list(range(self._n_groups))):
            values = np.empty((len(table), len(columns)))
            for position, column in enumerate(columns):
                given = table.column(column)
                if pa.types.is_integer(given.type):
                    what = f"{self.label}, column {self.names[column]!r}"
                    check_exact_integers(given.drop_null().to_numpy(), what, "Keep it out with --passthrough")
                values[:, position] = given.to_numpy()
            begin, first = first, first + len(table)
            done = n_groups / self._n_groups if self.n_rows is None else first / self.n_rows
            yield Batch(values, columns, partial(self.place, begin), done, native=table)
        if first == 0:
            empty = np.empty((0, len(columns)))
            yield Batch(empty, columns, partial(self.place, 0), 1.0, native=self.schema.empty_table())

    def _reader(self, file: BinaryIO) -> Any:
        if self._family == "feather":
            return ipc.open_file(file)
        # A buffer for each column instead of whole column chunks: a row group may be as large as the file.
        return parquet.ParquetFile(file, buffer_size=_READ_AHEAD, pre_buffer=False)

    def _tables(self, length: int, groups: list[int]) -> Iterator[tuple[int, Any]]:
        """Read groups of rows, so many rows at a time; tell the number of the group in Feather files, from 1."""
        try:
            with open(self.label, "rb") as file:
                reader = self._reader(file)
                if self._family == "parquet":
                    for batch in reader.iter_batches(length, row_groups=groups, use_threads=False):
                        yield 0, pa.Table.from_batches([batch])
                    return
                for group in groups:
                    table = pa.Table.from_batches([reader.get_batch(group)])
                    for begin in range(0, len(table), length):
                        yield group + 1, table.slice(begin, length)
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{self.label} is damaged: {_first_line(error)}. Get the file anew.") from None


class ArrowWriter:
    """A Parquet or Feather file being written; fields and metadata of a schema that is given are kept."""

    def __init__(
        self, file: BinaryIO, family: str, folder: Path, given: Any = None, *, keep_integers: bool = True
    ) -> None:
        self._file, self._family, self._folder, self._given = file, family, folder, given
        self._keep_integers = keep_integers
        self._writer: Any = None
        self._spool: Any = None
        self._integers: dict[int, Any] = {}

    def __del__(self) -> None:
        if self._spool is not None:
            self._spool.close()

    def write(self, batch: Batch, filled: NDArray[np.float64], mask: NDArray[np.bool_]) -> None:
        """Write the rows, with replaced values in the chosen columns."""
        columns = [column.combine_chunks() for column in batch.table.columns]
        if self._writer is None and self._keep_integers:
            self._integers = {column: columns[column].type for column in batch.columns if _is_integer(columns[column])}
            if self._integers:
                self._spool = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115
        for position, column in enumerate(batch.columns):
            new, cells = filled[:, position], mask[:, position]
            if column in self._integers and not integers_fit(new[cells], self._integers[column].to_pandas_dtype()):
                del self._integers[column]
            columns[column] = _replaced(columns[column], new, cells, batch.values[:, position])
        self._append(batch.table.column_names, columns)

    def write_table(self, table: Any) -> None:
        """Write a pyarrow.Table."""
        self._append(table.column_names, [column.combine_chunks() for column in table.columns])

    def close(self) -> None:
        """Write rows that were kept, and the footer."""
        self._writer.close()
        if self._spool is None:
            return
        self._spool.seek(0)
        with self._spool:
            reader = ipc.open_file(self._spool)
            schema = reader.schema
            for position, kind in self._integers.items():
                schema = schema.set(position, schema.field(position).with_type(kind))
            writer = _open(self._file, self._family, schema)
            for index in range(reader.num_record_batches):
                columns = reader.get_batch(index).columns
                for position, kind in self._integers.items():
                    columns[position] = pc.round(columns[position]).cast(kind)
                writer.write_table(pa.Table.from_arrays(columns, schema=schema))
            writer.close()

    def _append(self, names: list[str], columns: list[Any]) -> None:
        if self._writer is None:
            fields = [pa.field(name, column.type) for name, column in zip(names, columns, strict=True)]
            if self._given is not None:
                fields = [self._given.field(index).with_type(field.type) for index, field in enumerate(fields)]
            self._schema = pa.schema(fields, metadata=None if self._given is None else self._given.metadata)
            file, family = (self._file, self._family) if self._spool is None else (self._spool, "feather")
            self._writer = _open(file, family, self._schema)
        try:
            table = pa.Table.from_arrays(columns, names).cast(self._schema)
        except pa.ArrowInvalid as error:
            problem = f"Files whose columns differ in type cannot become one: {_first_line(error)}"
            raise InputError(f"{problem}. Convert them first, or write CSV.") from None
        self._writer.write_table(table)


def _open(file: Any, family: str, schema: Any) -> Any:
    if family == "parquet":
        return parquet.ParquetWriter(file, schema)
    compression = "lz4" if pa.Codec.is_available("lz4") else None
    return ipc.new_file(file, schema, options=ipc.IpcWriteOptions(compression=compression))


def _replaced(column: Any, filled: NDArray[np.float64], mask: NDArray[np.bool_], values: NDArray[np.float64]) -> Any:
    """Return a column with other values where ``mask`` says so; all that are not floats become float64."""
    if not is_numeric(column.type):
        return pa.array(np.where(mask, filled, values))
    if _is_integer(column):
        column = (column.cast(pa.uint8()) if pa.types.is_boolean(column.type) else column).cast(pa.float64())
    if not mask.any():
        return column
    if pa.types.is_float16(column.type):
        # Not all versions of pyarrow compute with them.
        halves = column.to_numpy(zero_copy_only=False).copy()
        halves[mask] = filled[mask]
        return pa.array(halves)
    new = np.where(mask, filled, 0).astype(column.type.to_pandas_dtype())
    return pc.if_else(pa.array(mask), pa.array(new), column)


def _is_integer(column: Any) -> bool:
    return is_numeric(column.type) and not pa.types.is_floating(column.type)


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
