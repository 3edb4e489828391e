"""Parquet and Feather (Arrow IPC), batch by batch through pyarrow.

Enters: a file. Leaves: batches whose rows are Arrow's own; and files with the same columns, types and metadata, where
repaired columns of integers or booleans have become float64.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import pyarrow
import pyarrow.compute
from numpy.typing import NDArray
from pyarrow import ipc, parquet

from treemend.exceptions import InputError
from treemend.files.batches import Batch, Rows, batch_length
from treemend.files.text import number_of

__all__ = ["ArrowRows", "ArrowSource", "ArrowWriter"]

_LARGEST_EXACT = 2**53
_READ_AHEAD = 2**17


@dataclass(frozen=True, eq=False)
class ArrowRows:
    """An Arrow record batch."""

    batch: Any

    def __len__(self) -> int:
        return int(self.batch.num_rows)

    @property
    def width(self) -> int:
        """Number of columns."""
        return int(self.batch.num_columns)

    def texts(self, column: int) -> list[str]:
        """Return a column as texts; nothing where there is nothing."""
        values = self.batch.column(column)
        if pyarrow.types.is_float32(values.type) or pyarrow.types.is_float16(values.type):
            return [str(value) for value in values.to_numpy(zero_copy_only=False)]
        return ["" if value is None else str(value) for value in values.to_pylist()]

    def arrow(self, column: int) -> Any:
        """Return a column."""
        return self.batch.column(column)

    def array(self) -> NDArray[Any]:
        """Return the columns side by side."""
        foreign = [str(field.name) for field in self.batch.schema if not _is_number(field.type)]
        if foreign:
            raise InputError(
                f"A table with columns that are no numbers ({', '.join(foreign[:5])}) cannot become an array. Write "
                "CSV or Parquet."
            )
        return np.column_stack([column.to_numpy(zero_copy_only=False) for column in self.batch.columns])


class ArrowSource:
    """A Parquet or Feather file."""

    def __init__(self, path: str, family: str) -> None:
        self.label = path
        self._family = family
        try:
            with open(path, "rb") as file:
                reader = parquet.ParquetFile(file) if family == "parquet" else ipc.open_file(file)
                self.schema = reader.schema_arrow if family == "parquet" else reader.schema
                if family == "parquet":
                    self.n_rows = reader.metadata.num_rows
                else:
                    self.n_rows = sum(reader.get_batch(index).num_rows for index in range(reader.num_record_batches))
        except (pyarrow.ArrowException, OSError) as error:
            raise InputError(f"{path} cannot be read as {family}: {_first_line(error)}. Check the file.") from None
        self.named = True
        self.names = tuple(str(name) for name in self.schema.names)

    def batches(self, chosen: tuple[int, ...]) -> Iterator[Batch]:
        """Read the rows from the first to the last."""
        for column in chosen:
            if not _is_number(self.schema.field(column).type):
                raise InputError(
                    f"{self.label}, column {self.names[column]!r} holds {self.schema.field(column).type}, no numbers. "
                    "Keep it out with --passthrough."
                )
        first = 0
        try:
            for part in self._parts():
                rows = ArrowRows(part)
                values = np.empty((len(rows), len(chosen)))
                for position, column in enumerate(chosen):
                    values[:, position] = self._floats(part.column(column), self.names[column])
                last = first + len(rows)
                yield Batch(values, rows, self._place(first), last / max(1, self.n_rows))
                first = last
        except (pyarrow.ArrowException, OSError) as error:
            raise InputError(f"{self.label} is damaged behind row {first}: {_first_line(error)}.") from None

    def _place(self, first: int) -> Any:
        return lambda row: f"{self.label}, row {first + row}"

    def _parts(self) -> Iterator[Any]:
        length = batch_length(len(self.names))
        if self.n_rows == 0:
            # The columns and their types go on all the same.
            yield pyarrow.RecordBatch.from_pylist([], schema=self.schema)
            return
        with open(self.label, "rb") as file:
            if self._family == "parquet":
                # A buffer for each column instead of whole column chunks: a row group may be as large as the file.
                reader = parquet.ParquetFile(file, buffer_size=_READ_AHEAD, pre_buffer=False)
                yield from reader.iter_batches(length, use_threads=False)
                return
            reader = ipc.open_file(file)
            for index in range(reader.num_record_batches):
                whole = reader.get_batch(index)
                for begin in range(0, whole.num_rows, length):
                    yield whole.slice(begin, length)

    def _floats(self, column: Any, name: str) -> NDArray[np.float64]:
        if pyarrow.types.is_integer(column.type) and column.type.bit_width == 64 and len(column) > column.null_count:
            extremes = pyarrow.compute.min_max(column).as_py()
            if extremes["max"] > _LARGEST_EXACT or extremes["min"] < -_LARGEST_EXACT:
                raise InputError(
                    f"{self.label}, column {name!r} holds integers beyond 2**53, which lose digits as 64-bit floats. "
                    "Keep it out with --passthrough."
                )
        return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)


class ArrowWriter:
    """A Parquet or Feather file being written."""

    def __init__(self, file: BinaryIO, family: str, names: tuple[str, ...], given: Any = None) -> None:
        self._file, self._family, self._names, self._given = file, family, names, given
        self._writer: Any = None

    def write(self, rows: Rows, chosen: tuple[int, ...], filled: NDArray[np.float64], mask: NDArray[np.bool_]) -> None:
        """Write the rows, with repaired columns in place of the chosen ones."""
        place = {column: position for position, column in enumerate(chosen)}
        columns = []
        for column in range(rows.width):
            if column in place:
                position = place[column]
                columns.append(_repaired(rows, column, filled[:, position], mask[:, position]))
            else:
                columns.append(rows.arrow(column))
        if self._writer is None:
            self._begin(pyarrow.schema(list(zip(self._names, [column.type for column in columns], strict=True))))
        self._writer.write_batch(pyarrow.record_batch(columns, schema=self._schema))

    def close(self) -> None:
        """Write the footer; a table without rows has its columns all the same."""
        if self._writer is None:
            types = self._given or pyarrow.schema([(name, pyarrow.float64()) for name in self._names])
            self._begin(types)
        self._writer.close()

    def _begin(self, schema: Any) -> None:
        if self._given is not None:
            schema = pyarrow.schema(
                [self._given.field(index).with_type(field.type) for index, field in enumerate(schema)],
                metadata=self._given.metadata,
            )
        self._schema = schema
        if self._family == "parquet":
            self._writer = parquet.ParquetWriter(self._file, schema)
        else:
            compression = "lz4" if pyarrow.Codec.is_available("lz4") else None
            self._writer = ipc.new_file(self._file, schema, options=ipc.IpcWriteOptions(compression=compression))


def _repaired(rows: Rows, column: int, filled: NDArray[np.float64], mask: NDArray[np.bool_]) -> Any:
    given = rows.arrow(column)
    if not pyarrow.types.is_floating(given.type):
        values = _as_float64(rows, column)
        return pyarrow.array(np.where(mask, filled, values), pyarrow.float64())
    if not mask.any():
        return given
    values = given.to_numpy(zero_copy_only=False).copy()
    values[mask] = filled[mask]
    return pyarrow.array(values, given.type)


def _as_float64(rows: Rows, column: int) -> NDArray[np.float64]:
    given = rows.arrow(column)
    if pyarrow.types.is_string(given.type):
        return np.array([number_of(text) for text in rows.texts(column)], dtype=np.float64)
    return np.asarray(given.to_numpy(zero_copy_only=False), dtype=np.float64)


def _is_number(kind: Any) -> bool:
    return bool(pyarrow.types.is_floating(kind) or pyarrow.types.is_integer(kind) or pyarrow.types.is_boolean(kind))


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
