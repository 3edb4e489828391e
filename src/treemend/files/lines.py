"""Text files: where lines and cells begin and end, and how cells are written.

Records (rows with their line ends; a quoted cell may go over several lines) are found here and not by a CSV library,
since those forget quotes, line ends and blank lines. Their cells are cut by pyarrow; what it refuses, or cuts in
another way, is cut in Python. Nothing is evaluated: a text such as ``=1+1`` is a text.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from numpy.typing import NDArray

from treemend.exceptions import InputError

if TYPE_CHECKING:
    from treemend.files.csv import CsvFile

_NEWLINE, _RETURN = b"\n\r"
# Only a quote with which a cell begins goes over delimiters and line ends.
_CELL = rb'(?:"(?:[^"]++|"")*+"|(?!"))[^%b\r\n]*+'


def cut(record: bytes, delimiter: str) -> tuple[list[bytes], bytes]:
    """Cut a record into its cells with their quotes, none if one is open, and what follows: line ends, blank lines."""
    between = re.escape(delimiter.encode())
    line = re.sub(rb"[\r\n][\r\n%b]*\Z" % between, b"", record)
    cells = re.findall(rb"(?:\A|%b)(%b)" % (between, _CELL % between), line)
    return cells if sum(map(len, cells)) + len(cells) - 1 == len(line) else [], record[len(line) :]


def unquoted(cell: bytes) -> bytes:
    """Return a cell without its quotes."""
    if len(cell) >= 2 and cell[:1] == cell[-1:] == b'"':
        return cell[1:-1].replace(b'""', b'"')
    return cell


def texts_of(record: bytes, delimiter: str) -> list[str]:
    """Cut a record into texts without quotes; into none if a quote is still open."""
    return [unquoted(cell).decode("utf-8", "replace") for cell in cut(record, delimiter)[0]]


def delimited(column: Any, delimiter: str) -> Any:
    """Return a column of any type as cells of text, in quotes where they need them; empty where there is no value."""
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    try:
        texts = column if pa.types.is_binary(column.type) else column.cast(pa.string()).cast(pa.binary())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        texts = pa.array([None if value is None else str(value).encode() for value in column.to_pylist()], pa.binary())
    if pa.types.is_floating(column.type):
        texts = pc.if_else(pc.equal(texts, b"nan"), b"", texts)
    texts = pc.fill_null(texts, b"")
    special = pc.match_substring_regex(texts, f'["\r\n{re.escape(delimiter)}]')
    if pc.any(special).as_py():
        escaped = pc.binary_join_element_wise(b'"', pc.replace_substring(texts, b'"', b'""'), b'"', b"")
        texts = pc.if_else(special, escaped, texts)
    return texts


@dataclass(frozen=True, eq=False)
class Lines:
    """Records of a text file as they stand, with lines without cells before, between and behind them."""

    data: bytes
    starts: NDArray[np.int64]  # where records begin in the data
    first_line: int  # the number of the line with which the data begin
    file: "CsvFile"

    def __len__(self) -> int:
        return len(self.starts)

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """Where the lines of ``data`` end."""
        return line_ends(self.data)

    @cached_property
    def places(self) -> list[str]:
        """In which file and line each record begins."""
        lines = self.first_line + np.searchsorted(self.ends, self.starts)
        return [f"{self.file.label}, line {line}" for line in lines.tolist()]

    def span(self, row: int) -> tuple[int, int]:
        """Return where a record begins and where the next one does."""
        end = self.starts[row + 1] if row + 1 < len(self.starts) else len(self.data)
        return int(self.starts[row]), int(end)

    def cut(self, row: int) -> tuple[list[bytes], bytes]:
        """Return the cells of a record with their quotes, and what follows: its line end and lines without cells."""
        cells, behind = cut(self.data[slice(*self.span(row))], self.file.delimiter)
        if len(cells) != len(self.file.names):
            problem = f"{self.places[row]}: {len(cells)} cells, where {len(self.file.names)} were expected"
            first = "Delete lines above the column names" if len(self.file.names) == 1 else "Correct the line"
            raise InputError(f"{problem}. {first}, or give --delimiter if cells are cut elsewhere.")
        return cells, behind

    @cached_property
    def table(self) -> Any:
        """All columns as texts without quotes; a column with bytes that are not UTF-8 is one of bytes."""
        names = list(self.file.names)
        columns = self._parsed(len(names))
        if columns is None:
            rows = [[unquoted(cell) for cell in self.cut(row)[0]] for row in range(len(self))]
            columns = [pa.array([row[position] for row in rows], pa.binary()) for position in range(len(names))]
        return pa.Table.from_arrays([_as_text(column) for column in columns], names)

    def _parsed(self, n_columns: int) -> list[Any] | None:
        """Return the columns as pyarrow cuts the records; None if it refuses them, or finds more or fewer.

        It takes lines that hold only delimiters for rows.
        """
        numbers = [str(column) for column in range(n_columns)]
        reading = pa.csv.ReadOptions(column_names=numbers, use_threads=False, block_size=len(self.data) + 1)
        parsing = pa.csv.ParseOptions(delimiter=self.file.delimiter, newlines_in_values=b'"' in self.data)
        parsing.ignore_empty_lines = n_columns > 1
        converting = pa.csv.ConvertOptions(column_types=dict.fromkeys(numbers, pa.binary()))
        try:
            table = pa.csv.read_csv(pa.BufferReader(self.data), reading, parsing, converting)
        except pa.ArrowInvalid:
            return None
        return [column.combine_chunks() for column in table.columns] if len(table) == len(self) else None


def _as_text(column: Any) -> Any:
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        return column


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

    With ``last``, nothing follows, so that the last record is complete. A line without anything but delimiters is a
    record only if ``blank_is_record``: where there is a single column.
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
        starts = starts[~np.isin(content[starts], [_NEWLINE, _RETURN])]
        if (content[starts] == ord(delimiter)).any():
            is_empty = np.zeros(256, dtype=bool)
            is_empty[[_NEWLINE, _RETURN, ord(delimiter)]] = True
            starts = starts[~np.logical_and.reduceat(is_empty[content[: ends[-1] + 1]], starts)]
    return starts, int(ends[-1]) + 1


def _outside_quotes(data: bytes, ends: NDArray[np.int64], delimiter: str) -> NDArray[np.int64]:
    """Return the line ends that end a record, and not a line of a quoted cell."""
    between = re.escape(delimiter.encode())
    cell = _CELL % between
    # What cannot be a record, since a quote is open, goes on behind the data.
    record = rb"(?!\Z)(?:%b(?:%b%b)*+(\r\n?|\n|\Z)|(?s:.+))" % (cell, between, cell)
    stops = [found.end() - 1 for found in re.finditer(record, data) if found[1] is not None]
    return ends[np.isin(ends, stops)]
