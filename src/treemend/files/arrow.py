"""Parquet and Feather (Arrow IPC): batches of pyarrow, and files that keep columns, types and metadata.

A column of integers or booleans keeps its type: what is put into it is rounded to the nearest value that the type
holds, since the rows before may have been written already.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import ipc, parquet

from treemend.exceptions import InputError
from treemend.files.batch import Batch, Source, batch_length
from treemend.files.recognition import sample_length
from treemend.tables import check_exact_integers

__all__ = ["ArrowFile", "ArrowWriter"]

_READ_AHEAD = 2**17


class ArrowFile(Source):
    """A Parquet or Feather file."""

    def __init__(self, path: str, family: str) -> None:
        self.label, self._family = path, family
        with self._opened() as reader:
            self._schema = reader.schema_arrow if family == "parquet" else reader.schema
            self._n_groups = reader.num_row_groups if family == "parquet" else reader.num_record_batches
        self.names = tuple(str(name) for name in self._schema.names)

    def sample(self) -> Any:
        """Return the first rows, and some from the middle and the end."""
        length = sample_length(len(self.names))
        groups = dict.fromkeys((0, self._n_groups // 2, self._n_groups - 1)) if self._n_groups else ()
        pieces = [table for group in groups for _, table in islice(self._tables(length, [group]), 1)]
        return pa.concat_tables(pieces or [self._schema.empty_table()])

    def batches(self, columns: tuple[int, ...]) -> Iterator[Batch]:
        """Read the rows from the first to the last."""
        tables = self._tables(batch_length(len(self.names)), range(self._n_groups))
        first = 0
        for done, table in chain([next(tables, (1.0, self._schema.empty_table()))], tables):
            values = np.empty((len(table), len(columns)))
            for position, column in enumerate(columns):
                given = table.column(column)
                if pa.types.is_integer(given.type):
                    what = f"{self.label}, column {self.names[column]!r}"
                    check_exact_integers(given.drop_null().to_numpy(), what, "Keep it out with --passthrough")
                values[:, position] = given.to_numpy()
            yield Batch(values, columns, partial(self.place, first), done, native=table)
            first += len(table)

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        try:
            with open(self.label, "rb") as file:
                # A buffer for each column instead of whole column chunks: a row group may be as large as the file.
                options = {"buffer_size": _READ_AHEAD, "pre_buffer": False}
                yield ipc.open_file(file) if self._family == "feather" else parquet.ParquetFile(file, **options)
        except (pa.ArrowException, OSError) as error:
            problem = _first_line(error)
            raise InputError(
                f"{self.label} cannot be read as {self._family}, or is damaged: {problem}. Get the file anew."
            ) from None

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


class ArrowWriter:
    """A Parquet or Feather file being written; without ``keep_integers``, chosen columns of integers become float64."""

    def __init__(self, file: BinaryIO, family: str, *, keep_integers: bool) -> None:
        self._file, self._family, self._keep_integers = file, family, keep_integers
        self._schema: Any = None

    def write(self, batch: Batch, filled: NDArray[np.float64], mask: NDArray[np.bool_]) -> None:
        """Write the rows, with replaced values in the chosen columns."""
        self.write_table(batch.replaced(filled, mask, keep_integers=self._keep_integers))

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


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
