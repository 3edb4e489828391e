"""CSV and other files of delimited text: read block by block, and written so that untouched bytes stay.

In lines where something was replaced, all cells but the replaced ones are the same bytes. Numbers are written with as
many decimals as their column has, or, where that is not known, with the fewest digits that give the same bits again.
Delimiter and number format are recognised from the first lines.

Records (rows with their line ends; a quoted cell may go over several lines) are found here and not by a CSV library,
since those forget quotes, line ends and blank lines. Their cells are cut by pyarrow; what it refuses, or cuts in
another way, is cut in Python. Nothing is evaluated: a text such as ``=1+1`` is a text.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, pairwise
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from numpy.typing import NDArray

from treemend.exceptions import InputError
from treemend.files.arrow import Batch
from treemend.files.formats import COMPRESSIONS, Format, NumberFormat, ReadOptions, common_unit, number_format
from treemend.files.recognition import sample_length
from treemend.tables import listed, shortened

BLOCK_BYTES = 2**22
_HEAD_BYTES = 2**20
_LONGEST_QUOTED = 2**20
_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_RECORDS_TRIED = 50
_CELLS_TRIED = 10_000
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_NEWLINE, _RETURN = b"\n\r"
# Only a quote with which a cell begins goes over delimiters and line ends.
_CELL = rb'(?:"(?:[^"]++|"")*+"|(?!"))[^%b\r\n]*+'


@dataclass(frozen=True, eq=False)
class Lines:
    """Records of a text file as they stand, with lines without cells before, between and behind them."""

    data: bytes
    starts: NDArray[np.int64]  # where records begin in the data
    first_line: int  # the number of the line with which the data begin
    file: "CsvFile"

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
            rows = [[unquoted(cell) for cell in self.cut(row)[0]] for row in range(len(self.starts))]
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
        return [column.combine_chunks() for column in table.columns] if len(table) == len(self.starts) else None


class CsvFile:
    """A text file.

    Columns are called by their numbers where they are not ``named``; ``notes`` say what was recognised; ``numbers`` is
    how numbers are written, ``units`` what stands before and behind those of some columns; ``sample`` are the first
    rows, ``preamble`` is what comes before: a byte-order mark, the header; ``usual_delimiter`` is that of the ending.
    """

    def __init__(self, label: str, opened: Callable[[], BinaryIO], kind: Format, options: ReadOptions) -> None:
        self.label, self.usual_delimiter, self.named = label, kind.delimiter, not options.no_header
        self._blocks = partial(kind.read_blocks, label, opened)
        head, ended, blocks = b"", False, self._blocks(_HEAD_BYTES)
        while not ended and head.count(b"\n") + head.count(b"\r") <= 3:
            block, ended, _ = next(blocks)
            head += block
        if head.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in head[:1000]:
            raise InputError(f"{label} is not text in UTF-8. Save it as CSV in UTF-8.")
        begin = len(_BYTE_ORDER_MARK) if head.startswith(_BYTE_ORDER_MARK) else 0
        text = head[begin:]
        self.delimiter = options.delimiter or _find_delimiter(text, ended, kind.delimiter)
        starts, end = record_starts(text, self.delimiter, last=ended, blank_is_record=False)
        if not len(starts):
            problem = "holds nothing but an open quote" if text.strip() else "is empty"
            raise InputError(f"{label} {problem}. Give a file with rows.")
        first = text[starts[0] : [*starts, end][1]]
        names = texts_of(first, self.delimiter)
        if not self.named:
            names = [str(position) for position in range(len(names))]
        # Columns without a name are called as by pandas.
        self.names = tuple(name if name.strip() else f"Unnamed: {position}" for position, name in enumerate(names))
        self.preamble = head[: begin + int(starts[0]) + (len(first) if self.named else 0)]
        self._first_line = 1 + len(line_ends(self.preamble))
        rows = self.split(head[len(self.preamble) :], self._first_line, ended=ended)[0].table
        places, length = range(len(self.names)), sample_length(len(self.names))
        self.units: dict[int, tuple[str, str]] = {}
        units = [common_unit(self._texts(rows, position)[:length].to_pylist()) for position in places]
        self.units = {position: unit for position, unit in enumerate(units) if unit is not None}
        texts = [self._texts(rows, position) for position in places]
        self.sample = pa.table([column[:length] for column in texts], list(self.names))
        self.numbers = self._number_format(texts, options)
        self.notes = self._recognised()

    def _texts(self, table: Any, position: int) -> Any:
        """Return the cells of a column without their unit; bytes that are not UTF-8 are replaced."""
        column = table.column(position).combine_chunks()
        if pa.types.is_binary(column.type):
            column = pa.array([cell.decode("utf-8", "replace") for cell in column.to_pylist()])
        if position in self.units:
            before, behind = (re.escape(text.strip()) for text in self.units[position])
            column = pc.replace_substring_regex(pc.utf8_trim_whitespace(column), f"^{before}|{behind}$", "")
        return column

    def batches(self, columns: tuple[int, ...]) -> Iterator[Batch]:
        """Read the rows from the first to the last."""
        rest, first_line, any_rows = b"", self._first_line, False
        for block, ended, done in self._blocks(BLOCK_BYTES, len(self.preamble)):
            lines, rest = self.split(rest + block, first_line, ended=ended)
            if len(lines.starts) or (ended and not any_rows):
                any_rows = True
                first_line += len(lines.ends)
                yield Batch(self._values(lines, columns), columns, lines.places, done, lines.table, lines)

    def split(self, data: bytes, first_line: int, *, ended: bool) -> tuple[Lines, bytes]:
        """Cut complete records off, all but the last: blank lines that belong to it may follow."""
        starts, end = record_starts(data, self.delimiter, last=ended, blank_is_record=len(self.names) == 1)
        rest = data[end:]
        if rest and (ended or (len(rest) > _LONGEST_QUOTED and b'"' in rest and b"\n" in rest)):
            line = first_line + len(line_ends(data[:end]))
            raise InputError(f"{self.label}, line {line}: a quote is opened and never closed. Close it.")
        if not ended:
            end = int(starts[-1]) if len(starts) > 1 else 0
            starts = starts[:-1]
        return Lines(data[:end], starts, first_line, self), data[end:]

    def written(self, value: float, column: int, decimals: int | None) -> str:
        """Return a number as it is written in a column: with so many decimals, and with the column's unit."""
        text = repr(float(value)) if decimals is None else f"{value:.{decimals}f}"
        return text.replace(".", self.numbers.decimal).join(self.units.get(column, ("", "")))

    def _values(self, lines: Lines, columns: tuple[int, ...]) -> NDArray[np.float64]:
        values = np.empty((len(lines.starts), len(columns)))
        wrong: list[tuple[int, int, str]] = []
        for position, column in enumerate(columns):
            texts = self._texts(lines.table, column)
            values[:, position], strange = self.numbers.numbers(texts)
            wrong += [(row, position, texts[row].as_py().strip()) for row in np.flatnonzero(strange)[:1].tolist()]
        if not wrong:
            return values
        row, first, text = min(wrong)
        others = [self.names[columns[position]] for _, position, _ in wrong if position != first]
        also = f"; nor are cells of {listed(others)}" if others else ""
        raise InputError(
            f"{lines.places[row]}, column {self.names[columns[first]]!r}: {text[:40]!r} is not a number{also}. "
            f"Correct it, give {self._option_for(text)}, or keep the column out with --passthrough."
        )

    def _option_for(self, text: str) -> str:
        written = number_format([text], self.delimiter)
        if written.plain or not written.is_number(text):
            return f"--missing {text[:40]!r} if it stands for a missing value"
        return f"--decimal '{written.decimal}' --thousands '{written.thousands}' if its numbers are written so"

    def _number_format(self, texts: list[Any], options: ReadOptions) -> NumberFormat:
        cells = [column[: max(5, _CELLS_TRIED // len(texts))].to_pylist() for column in texts]
        found = number_format(chain.from_iterable(zip(*cells, strict=True)), self.delimiter)
        decimal, thousands = options.decimal or found.decimal, options.thousands
        if thousands is None:
            thousands = found.thousands if found.decimal == decimal else ""
        words = {word.strip().lower() for word in options.missing or ()}
        return NumberFormat(decimal, thousands, found.missing | words)

    def _recognised(self) -> tuple[str, ...]:
        between = _DELIMITERS.get(self.delimiter, repr(self.delimiter))
        ways = {
            f"cells are separated by {between}": self.delimiter != (self.usual_delimiter or ","),
            "numbers have decimal commas": self.numbers.decimal != ".",
            f"{self.numbers.thousands!r} separates thousands": self.numbers.thousands,
        }
        units = [f"{self.names[column]!r} ({''.join(unit).strip()})" for column, unit in self.units.items()]
        ways[f"numbers have units: {shortened(units)}"] = units
        told = ", ".join(way for way, is_so in ways.items() if is_so)
        numbers, wrong = self.numbers.numbers(pa.array(self.names))
        odd = self.named and not (wrong | np.isnan(numbers)).any() and (np.diff(numbers) <= 0).any()
        doubt = "the first line holds only numbers; give --no-header if it is a row" if odd else ""
        return tuple(f"{self.label}: {note}" for note in (told, doubt) if note)


def _find_delimiter(text: bytes, ended: bool, usual: str) -> str:
    """Return what cuts the first lines into equally many cells, most of them numbers; the usual one if in doubt."""

    def share_of_numbers(delimiter: str) -> float:
        starts, end = record_starts(text, delimiter, last=ended, blank_is_record=False)
        bounds = [*starts.tolist(), end][: _RECORDS_TRIED + 1]
        records = [texts_of(text[begin:stop], delimiter) for begin, stop in pairwise(bounds)]
        fitting = [cells for cells in records if len(cells) == len(records[0])]
        if not fitting or len(fitting[0]) < 2 or len(fitting) < 0.9 * len(records):
            return -1.0
        texts = [cell for cells in fitting[1:] or fitting for cell in cells]
        _, wrong = number_format(texts, delimiter).numbers(pa.array(texts))
        return 1.0 - float(wrong.mean())

    return max(dict.fromkeys([usual or ",", *_DELIMITERS]), key=share_of_numbers)


def line_ends(data: bytes) -> NDArray[np.int64]:
    """Return the positions of the last bytes of lines, which end with LF, CR LF or CR."""
    content, following = np.frombuffer(data, np.uint8), np.frombuffer(data[1:] + b"\0", np.uint8)
    return np.flatnonzero((content == _NEWLINE) | ((content == _RETURN) & (following != _NEWLINE)))


def record_starts(data: bytes, delimiter: str, *, last: bool, blank_is_record: bool) -> tuple[NDArray[np.int64], int]:
    """Return where complete records begin in data that begin with one, and where the last of them ends.

    With ``last``, nothing follows, so that the last record is complete. A line without anything but delimiters is a
    record only if ``blank_is_record``: where there is a single column.
    """
    ends = line_ends(data)
    if last and data and data[-1] not in b"\r\n":
        ends = np.append(ends, len(data) - 1)
    if not last and data.endswith(b"\r"):
        # Its LF may be the next byte.
        ends = ends[:-1]
    if b'"' in data:
        ends = _outside_quotes(data, ends, delimiter)
    if not len(ends):
        return np.empty(0, dtype=np.int64), 0
    starts = np.concatenate(([0], ends[:-1] + 1))
    if not blank_is_record:
        blank = f"{delimiter}\r\n".encode()
        is_record = ~np.isin(np.frombuffer(data, np.uint8)[starts], list(blank))
        for row in np.flatnonzero(~is_record).tolist():
            is_record[row] = bool(data[starts[row] : ends[row] + 1].strip(blank))
        starts = starts[is_record]
    return starts, int(ends[-1]) + 1


def _outside_quotes(data: bytes, ends: NDArray[np.int64], delimiter: str) -> NDArray[np.int64]:
    """Return the line ends that end a record, and not a line of a quoted cell."""
    between = re.escape(delimiter.encode())
    cell = _CELL % between
    # What cannot be a record, since a quote is open, goes on behind the data.
    record = rb"(?!\Z)(?:%b(?:%b%b)*+(\r\n?|\n|\Z)|(?s:.+))" % (cell, between, cell)
    stops = [found.end() - 1 for found in re.finditer(record, data) if found[1] is not None]
    return ends[np.isin(ends, stops)]


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


def _as_text(column: Any) -> Any:
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        return column


class CsvWriter:
    """A text file being written; names of columns come first, or the bytes that are given as a header."""

    def __init__(self, file: BinaryIO, kind: Format, delimiter: str, header: bool | bytes) -> None:
        self._file, self._compress = file, COMPRESSIONS[kind.compression][1]
        self._delimiter, self._header = delimiter, header
        self._line_is_open = False

    def write(self, batch: Batch, filled: NDArray[np.float64], mask: NDArray[np.bool_]) -> None:
        """Write lines as they stood, but for the replaced cells."""
        if batch.lines is None:
            self.write_table(batch.replaced(filled, mask))
            return
        file, data = batch.lines.file, _repaired_lines(batch, batch.lines, filled, mask)
        if file.delimiter == self._delimiter:
            self._put(file.names, data)
        else:
            self.write_table(file.split(data, 1, ended=True)[0].table)

    def write_table(self, table: Any) -> None:
        """Write a pyarrow.Table; booleans as 0 and 1."""
        columns = [delimited(column.combine_chunks(), self._delimiter) for column in table.columns]
        rows = pc.binary_join_element_wise(*columns, self._delimiter.encode())
        self._put(table.column_names, b"\n".join([*rows.to_pylist(), b""]))

    def close(self) -> None:
        """Do nothing: all bytes are written."""

    def _put(self, names: Sequence[str], data: bytes) -> None:
        """Write bytes, on a line of their own, after the header if it was not written before."""
        header, self._header = self._header, b""
        if header is True:
            header = self._delimiter.encode().join(delimited(pa.array(names), self._delimiter).to_pylist()) + b"\n"
        for piece in (header or b"", data):
            if piece:
                self._file.write(self._compress(b"\n" * self._line_is_open + piece))
                self._line_is_open = piece[-1] not in b"\r\n" and piece != _BYTE_ORDER_MARK


def _repaired_lines(batch: Batch, lines: Lines, filled: NDArray[np.float64], mask: NDArray[np.bool_]) -> bytes:
    delimiter, pieces, written = lines.file.delimiter, [], 0
    for row in np.flatnonzero(mask.any(axis=1)).tolist():
        begin, end = lines.span(row)
        cells, ending = lines.cut(row)
        for position in np.flatnonzero(mask[row]).tolist():
            column = batch.columns[position]
            text = lines.file.written(filled[row, position], column, batch.decimals[column])
            cells[column] = (f'"{text}"' if delimiter in text else text).encode()
        pieces += [lines.data[written:begin], delimiter.encode().join(cells), ending]
        written = end
    return b"".join([*pieces, lines.data[written:]])


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
