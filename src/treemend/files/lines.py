"""Blocks of a text file: whole records as they stand, and their cells as columns.

A record is a row with its line end; a quoted cell may go over several lines. Positions are found by NumPy and cells are
cut by pyarrow; what pyarrow refuses, or cuts in another way, is cut in Python.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from treemend.exceptions import InputError
from treemend.files.cells import NumberFormat, raw_cells, unquoted

__all__ = ["Lines", "line_ends", "record_starts"]

_NEWLINE, _RETURN, _QUOTE = b'\n\r"'


@dataclass(frozen=True, eq=False)
class Lines:
    """Records of a text file as they stand, with blank lines before, between and behind them.

    ``starts`` is where records begin in ``data``; ``first_line`` is the number of the line with which ``data`` begins.
    """

    data: bytes
    starts: NDArray[np.int64]
    label: str
    first_line: int
    names: tuple[str, ...]
    delimiter: str
    numbers: NumberFormat

    def __len__(self) -> int:
        return len(self.starts)

    def place(self, row: int) -> str:
        """Say in which file and line a record begins."""
        n_before = int(np.searchsorted(self._line_ends, self.starts[row]))
        return f"{self.label}, line {self.first_line + n_before}"

    @cached_property
    def _line_ends(self) -> NDArray[np.int64]:
        return line_ends(self.data)

    def span(self, row: int) -> tuple[int, int]:
        """Return where a record begins and where the next one does."""
        end = self.starts[row + 1] if row + 1 < len(self.starts) else len(self.data)
        return int(self.starts[row]), int(end)

    def raw_cells(self, row: int) -> tuple[list[bytes], bytes]:
        """Return the cells of a record with their quotes, and what follows them: its line end and blank lines."""
        begin, end = self.span(row)
        record = self.data[begin:end]
        content = record.rstrip(b"\r\n")
        cells = raw_cells(content, self.delimiter.encode())
        if cells is None:
            raise InputError(f"{self.place(row)}: a quote is opened and never closed. Close it.")
        if len(cells) != len(self.names):
            raise InputError(
                f"{self.place(row)}: {len(cells)} cells, where {len(self.names)} were expected. Correct the line, or "
                "give --delimiter if cells are cut elsewhere."
            )
        return cells, record[len(content) :]

    def is_complete(self, row: int) -> bool:
        """Tell whether a record has a cell for each column."""
        begin, end = self.span(row)
        cells = raw_cells(self.data[begin:end].rstrip(b"\r\n"), self.delimiter.encode())
        return cells is not None and len(cells) == len(self.names)

    def part(self, begin: int, end: int) -> "Lines":
        """Return some of the records, and what stands between them; all of it belongs to one of the parts."""
        first = 0 if begin == 0 else int(self.starts[begin])
        last = len(self.data) if end >= len(self) else int(self.starts[end])
        line = self.first_line + int(np.searchsorted(self._line_ends, first))
        return replace(self, data=self.data[first:last], starts=self.starts[begin:end] - first, first_line=line)

    def take(self, rows: NDArray[np.int64]) -> "Lines":
        """Return single records, one after the other; their places are lost."""
        pieces = [self.data[slice(*self.span(int(row)))].rstrip(b"\r\n") + b"\n" for row in rows]
        starts = np.concatenate(([0], np.cumsum([len(piece) for piece in pieces], dtype=np.int64)))[:-1]
        return replace(self, data=b"".join(pieces), starts=starts)

    def floats(self, columns: tuple[int, ...], missing: list[str]) -> NDArray[np.float64] | None:
        """Return columns of plain numbers; None if there is anything else in them."""
        try:
            table = self._parse(columns, pa.float64(), missing)
        except pa.ArrowInvalid:
            return None
        if len(table) != len(self):
            return None
        values = np.empty((len(self), len(columns)))
        for position, column in enumerate(table.columns):
            values[:, position] = column.to_numpy()
        return values

    def table(self, columns: tuple[int, ...] | None = None, *, as_text: bool = False) -> Any:
        """Return columns as texts without quotes.

        A column with bytes that are not UTF-8 is one of bytes, or, with ``as_text``, loses those.
        """
        columns = tuple(range(len(self.names))) if columns is None else columns
        try:
            table = self._parse(columns, pa.binary(), [])
        except pa.ArrowInvalid:
            table = None
        if table is None or len(table) != len(self):
            cells = [self.raw_cells(row)[0] for row in range(len(self))]
            found = [pa.array([unquoted(row[column]) for row in cells], pa.binary()) for column in columns]
            table = pa.table(found, [str(column) for column in columns])
        texts = [_as_text(column.combine_chunks(), always=as_text) for column in table.columns]
        return pa.Table.from_arrays(texts, [self.names[column] for column in columns])

    def _parse(self, columns: tuple[int, ...], kind: Any, missing: list[str]) -> Any:
        numbers = [str(column) for column in range(len(self.names))]
        wanted = [numbers[column] for column in columns]
        if not wanted or not len(self):
            return pa.table({name: pa.array([], kind) for name in wanted})
        return pa.csv.read_csv(
            pa.BufferReader(self.data),
            pa.csv.ReadOptions(column_names=numbers, use_threads=False, block_size=len(self.data) + 1),
            pa.csv.ParseOptions(
                delimiter=self.delimiter,
                newlines_in_values=b'"' in self.data,
                ignore_empty_lines=len(self.names) > 1,
            ),
            pa.csv.ConvertOptions(
                include_columns=wanted,
                column_types=dict.fromkeys(wanted, kind),
                decimal_point=self.numbers.decimal,
                null_values=missing,
                strings_can_be_null=False,
            ),
        )


def _as_text(column: Any, *, always: bool) -> Any:
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([cell.decode("utf-8", "replace") for cell in column.to_pylist()]) if always else column


def line_ends(data: bytes) -> NDArray[np.int64]:
    """Return the positions of the last bytes of lines, which end with LF, CR LF or CR."""
    content = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(content == _NEWLINE)
    if b"\r" not in data:
        return ends
    returns = np.flatnonzero(content == _RETURN)
    following = np.append(content, 0)[returns + 1]
    return np.sort(np.concatenate([ends, returns[following != _NEWLINE]]))


def record_starts(data: bytes, delimiter: str, *, last: bool, blank_is_record: bool) -> tuple[NDArray[np.int64], int]:
    """Return where complete records begin in data that begin with one, and where the last of them ends.

    With ``last``, nothing follows, so that the last record is complete. A line without anything is a record only if
    ``blank_is_record``: where there is a single column.
    """
    ends = line_ends(data)
    if not last and len(ends) and data[ends[-1]] == _RETURN and ends[-1] == len(data) - 1:
        # Its LF may be the next byte.
        ends = ends[:-1]
    if last and len(data) and (not len(ends) or ends[-1] < len(data) - 1):
        ends = np.append(ends, len(data) - 1)
    if b'"' in data:
        ends = _outside_quotes(data, ends, delimiter)
    if not len(ends):
        return np.empty(0, dtype=np.int64), 0
    starts = np.concatenate(([0], ends[:-1] + 1))
    if not blank_is_record:
        content = np.frombuffer(data, np.uint8)
        first = content[starts]
        starts = starts[(first != _NEWLINE) & (first != _RETURN)]
    return starts, int(ends[-1]) + 1


def _outside_quotes(data: bytes, ends: NDArray[np.int64], delimiter: str) -> NDArray[np.int64]:
    """Return the line ends that end a record, and not a line of a quoted cell."""
    content = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(content == _QUOTE)
    opening = quotes[::2]
    before = content[opening - 1]
    proper = (opening == 0) | np.isin(before, [ord(delimiter), _NEWLINE, _RETURN, _QUOTE])
    if proper.all():
        outside: NDArray[np.bool_] = np.searchsorted(quotes, ends, side="right") % 2 == 0
        return ends[outside]
    # A quote within an unquoted cell is an ordinary character, so that quotes do not come in pairs.
    kept, begin, line = [], 0, 0
    for end in ends.tolist():
        is_open = begin < line
        if data.find(b'"', line, end + 1) >= 0:
            is_open = raw_cells(data[begin : end + 1].rstrip(b"\r\n"), delimiter.encode()) is None
        line = end + 1
        if not is_open:
            kept.append(end)
            begin = line
    return np.array(kept, dtype=np.int64)
