"""Reading CSV and TSV, line by line.

Enters: a text file, or a stream. Leaves: batches whose rows remember their line. Bytes that are no UTF-8 survive.
"""

import io
import os
from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from treemend.exceptions import InputError
from treemend.files.batches import Batch, batch_length
from treemend.files.text import TextRows, number_of, raw_cells, unquoted

__all__ = ["TextSource"]

_LONGEST_RECORD = 2**20
_MARK = "\ufeff"


class TextSource:
    """A CSV or TSV file.

    Parameters
    ----------
    label : str
        Name of the file, for messages.
    opened : callable
        Opens the file, for reading bytes.
    delimiter : str
    header : bool
        Whether the first line names the columns.
    stream : bool
        Whether the file can be opened only once.
    """

    def __init__(
        self, label: str, opened: Callable[[], BinaryIO], delimiter: str, *, header: bool, stream: bool = False
    ) -> None:
        self.label = label
        self.delimiter = delimiter
        self._opened = opened
        records = _Records(label, opened(), delimiter)
        try:
            first = next(records, None)
        finally:
            if not stream:
                records.close()
        if first is None:
            raise InputError(f"{label} is empty. Give a file with rows.")
        line, cells = first
        self.named = header
        self.names = (
            tuple(unquoted(cell.lstrip(_MARK)) for cell in cells) if header else tuple(map(str, range(len(cells))))
        )
        self.header_line = line if header else None
        self._first = first
        self._stream = records if stream else None

    def batches(self, chosen: tuple[int, ...]) -> Iterator[Batch]:
        """Read the rows from the first to the last; only once from a stream."""
        records = self._stream
        if records is None:
            records = _Records(self.label, self._opened(), self.delimiter)
            next(records)
        try:
            yield from self._batched(records, chosen, None if self.named else self._first)
        finally:
            records.close()

    def _batched(
        self, records: "_Records", chosen: tuple[int, ...], begun: tuple[str, list[str]] | None
    ) -> Iterator[Batch]:
        length = batch_length(len(self.names))
        lines: list[str] = []
        cells: list[list[str]] = []
        numbers: list[int] = []
        values = np.empty((length, len(chosen)))
        convert = _Conversion(self.names, chosen)
        if begun:
            lines, cells, numbers = [begun[0]], [begun[1]], [1]
            values[0] = convert(begun, f"{self.label}, line 1")
        for record in records:
            if len(record[1]) != len(self.names):
                if not record[1] or record[1] == [""]:
                    _append_blank(lines, record[0])
                    continue
                raise InputError(
                    f"{self.label}, line {records.number}: {len(record[1])} cells, where {len(self.names)} were "
                    "expected. Correct the line, or give --delimiter if cells are cut elsewhere."
                )
            if len(lines) == length:
                # Not before the next row is there: blank lines may follow the last one.
                yield self._batch(values, lines, cells, numbers, records.done())
                lines, cells, numbers, values = [], [], [], np.empty((length, len(chosen)))
            values[len(lines)] = convert(record, f"{self.label}, line {records.number}")
            lines.append(record[0])
            cells.append(record[1])
            numbers.append(records.number)
        if lines:
            yield self._batch(values[: len(lines)], lines, cells, numbers, 1.0)

    def _batch(
        self, values: NDArray[np.float64], lines: list[str], cells: list[list[str]], numbers: list[int], done: float
    ) -> Batch:
        rows = TextRows(lines, cells, self.delimiter)
        return Batch(values, rows, lambda row: f"{self.label}, line {numbers[row]}", done)


class _Records:
    """Lines of a file with their raw cells; a quoted cell may go over several lines."""

    def __init__(self, label: str, file: BinaryIO, delimiter: str) -> None:
        self._label, self._bytes, self._delimiter = label, file, delimiter
        self._lines = io.TextIOWrapper(file, encoding="utf-8", errors="surrogateescape", newline="")
        try:
            self._size = os.fstat(file.fileno()).st_size
        except OSError:
            self._size = 0
        self._read = 0
        self.number = 0

    def close(self) -> None:
        """Close the file."""
        self._lines.close()

    def __iter__(self) -> Iterator[tuple[str, list[str]]]:
        return self

    def __next__(self) -> tuple[str, list[str]]:
        line = next(self._lines)
        self._read += 1
        self.number = self._read
        content = line.rstrip("\r\n")
        if '"' not in content:
            return line, content.split(self._delimiter)
        cells = raw_cells(content, self._delimiter)
        pieces, length = [line], len(line)
        while cells is None:
            more = next(self._lines, "")
            self._read += 1
            pieces.append(more)
            length += len(more)
            if not more or length > _LONGEST_RECORD:
                raise InputError(f"{self._label}, line {self.number}: a quote is opened and never closed. Close it.")
            if '"' in more:
                line = "".join(pieces)
                cells = raw_cells(line.rstrip("\r\n"), self._delimiter)
        return line, cells

    def done(self) -> float:
        """Return the share of the file that has been read, as far as that is known."""
        return min(1.0, self._bytes.tell() / self._size) if self._size else 0.0


class _Conversion:
    """The chosen cells of a record as numbers."""

    def __init__(self, names: tuple[str, ...], chosen: tuple[int, ...]) -> None:
        self._names, self._chosen = names, chosen
        self._pick = None if chosen == tuple(range(len(names))) or len(chosen) < 2 else itemgetter(*chosen)
        self._all = chosen == tuple(range(len(names)))

    def __call__(self, record: tuple[str, list[str]], place: str) -> list[float]:
        line, cells = record
        picked = cells if self._all else self._pick(cells) if self._pick else [cells[column] for column in self._chosen]
        try:
            if "_" not in line:
                return list(map(float, picked))
        except ValueError:
            pass
        return [self._number(cells[column], self._names[column], place) for column in self._chosen]

    def _number(self, cell: str, name: str, place: str) -> float:
        text = unquoted(cell.lstrip(_MARK)).strip()
        try:
            return number_of(text)
        except ValueError:
            raise InputError(
                f"{place}, column {name!r}: {text[:40]!r} is no number. Correct it, or keep the column out with "
                "--passthrough."
            ) from None


def _append_blank(lines: list[str], blank: str) -> None:
    """Keep a blank line behind the row before it; before the first row of a batch it is dropped."""
    if lines:
        lines[-1] += blank if lines[-1].endswith(("\n", "\r")) else "\n" + blank
