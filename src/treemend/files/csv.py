"""CSV and other files of delimited text: read block by block, and written so that untouched bytes stay.

In lines where something was replaced, all cells but the replaced ones are the same bytes. Numbers are written with as
many decimals as their column has, or, where that is not known, with the fewest digits that give the same bits again.
Delimiter and number format are recognised from the first lines.

Records (rows with their line ends; a quoted cell may go over several lines) and their cells are found here and not by
a CSV library, since those forget quotes, line ends and blank lines. Nothing is evaluated: a text such as ``=1+1`` is a
text.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from treemend.arrays import Booleans, Floats, Integers
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
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_NEWLINE, _RETURN = b"\n\r"
# Only a quote with which a cell begins goes over delimiters and line ends; one that is not closed goes on to the end.
_QUOTED = rb'"(?<![^%b\r\n]")(?:[^"]++|"")*+(?:"|\Z)'


@dataclass(frozen=True, eq=False)
class Lines:
    """Records of a text file as they stand, with lines without cells before, between and behind them."""

    data: bytes
    bounds: Integers  # where cells begin and end, all cells x 2
    records: Integers  # number of the first cell of each record, and how many it has, records x 2
    first_line: int  # the number of the line with which the data begin
    file: "CsvFile"

    @cached_property
    def ends(self) -> Integers:
        """Where the lines of ``data`` end."""
        return line_ends(self.data)

    @cached_property
    def places(self) -> list[str]:
        """In which file and line each record begins."""
        lines = self.first_line + np.searchsorted(self.ends, self.bounds[self.records[:, 0], 0])
        return [f"{self.file.label}, line {line}" for line in lines.tolist()]

    @cached_property
    def cells(self) -> Integers:
        """Where the cells of each record begin and end, records x cells x 2."""
        n_columns, (first, counts) = len(self.file.names), self.records.T
        for row in np.flatnonzero(counts != n_columns)[:1]:
            problem = f"{self.places[row]}: {counts[row]} cells, where {n_columns} were expected"
            remedy = "Delete lines above the column names" if n_columns == 1 else "Correct the line"
            raise InputError(f"{problem}. {remedy}, or give --delimiter if cells are cut elsewhere.")
        return np.asarray(self.bounds[first[:, None] + np.arange(n_columns)])

    @cached_property
    def table(self) -> Any:
        """All columns as texts without quotes; a column with bytes that are not UTF-8 is one of bytes."""
        columns = [texts_at(self.data, self.cells[:, position]) for position in range(len(self.file.names))]
        return pa.Table.from_arrays(columns, list(self.file.names))


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
        bounds, records, end = find_records(text, self.delimiter, last=ended, blank_is_record=False)
        if not len(records):
            problem = "holds nothing but an open quote" if text.strip() else "is empty"
            raise InputError(f"{label} {problem}. Give a file with rows.")
        first, n_columns = records[0]
        names = _as_strings(texts_at(text, bounds[first : first + n_columns])).to_pylist()
        if not self.named:
            names = [str(position) for position in range(len(names))]
        # Columns without a name are called as by pandas.
        self.names = tuple(name if name.strip() else f"Unnamed: {position}" for position, name in enumerate(names))
        self.preamble = head[: begin + [*bounds[records[:, 0], 0].tolist(), end][self.named]]
        self._first_line = 1 + len(line_ends(self.preamble))
        rows = self.split(head[len(self.preamble) :], self._first_line, ended=ended)[0].table
        rows, places = rows.slice(0, sample_length(len(self.names))), range(len(self.names))
        self.units: dict[int, tuple[str, str]] = {}
        units = [common_unit(self._texts(rows, position).to_pylist()) for position in places]
        self.units = {position: unit for position, unit in enumerate(units) if unit is not None}
        self.sample = pa.table([self._texts(rows, position) for position in places], list(self.names))
        self.numbers = self._number_format(options)
        self.notes = self._recognised()

    def _texts(self, table: Any, position: int) -> Any:
        """Return the cells of a column without their unit; bytes that are not UTF-8 are replaced."""
        column = _as_strings(table.column(position).combine_chunks())
        if position in self.units:
            before, behind = (re.escape(text.strip()) for text in self.units[position])
            column = pc.replace_substring_regex(pc.utf8_trim_whitespace(column), f"^{before}|{behind}$", "")
        return column

    def batches(self, columns: tuple[int, ...]) -> Iterator[Batch]:
        """Read the rows from the first to the last."""
        rest, first_line = b"", self._first_line
        for block, ended, done in self._blocks(BLOCK_BYTES, len(self.preamble)):
            lines, rest = self.split(rest + block, first_line, ended=ended)
            # A file without rows is one empty batch.
            if len(lines.records) or ended:
                first_line += len(lines.ends)
                yield Batch(self._values(lines, columns), columns, lines.places, done, lines.table, lines)

    def split(self, data: bytes, first_line: int, *, ended: bool) -> tuple[Lines, bytes]:
        """Cut complete records off, all but the last: blank lines that belong to it may follow."""
        bounds, records, end = find_records(data, self.delimiter, last=ended, blank_is_record=len(self.names) == 1)
        rest = data[end:]
        if rest and (ended or (len(rest) > _LONGEST_QUOTED and b'"' in rest and b"\n" in rest)):
            line = first_line + len(line_ends(data[:end]))
            raise InputError(f"{self.label}, line {line}: a quote is opened and never closed. Close it.")
        if not ended:
            end = int(bounds[records[-1, 0], 0]) if len(records) > 1 else 0
            records = records[:-1]
        return Lines(data[:end], bounds, records, first_line, self), data[end:]

    def _values(self, lines: Lines, columns: tuple[int, ...]) -> Floats:
        values = np.empty((len(lines.records), len(columns)))
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
        if written == NumberFormat() or written.numbers(pa.array([text]))[1].any():
            return f"--missing {text[:40]!r} if it stands for a missing value"
        return f"--decimal '{written.decimal}' --thousands '{written.thousands}' if its numbers are written so"

    def _number_format(self, options: ReadOptions) -> NumberFormat:
        rows = zip(*(column.to_pylist() for column in self.sample.columns), strict=True)
        found = number_format(chain.from_iterable(rows), self.delimiter)
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
        bounds, records, _ = find_records(text, delimiter, last=ended, blank_is_record=False)
        first, counts = records[:_RECORDS_TRIED].T
        first = first[counts == counts[:1]]
        if not len(counts) or counts[0] < 2 or len(first) < 0.9 * len(counts):
            return -1.0
        cells = ((first[1:] if len(first) > 1 else first)[:, None] + np.arange(counts[0])).ravel()
        texts = _as_strings(texts_at(text, bounds[cells]))
        _, wrong = number_format(texts.to_pylist(), delimiter).numbers(texts)
        return 1.0 - float(wrong.mean())

    return max(dict.fromkeys([usual or ",", *_DELIMITERS]), key=share_of_numbers)


def line_ends(data: bytes) -> Integers:
    """Return the positions of the last bytes of lines, which end with LF, CR LF or CR."""
    content, following = np.frombuffer(data, np.uint8), np.frombuffer(data[1:] + b"\0", np.uint8)
    return np.flatnonzero((content == _NEWLINE) | ((content == _RETURN) & (following != _NEWLINE)))


def find_records(data: bytes, delimiter: str, *, last: bool, blank_is_record: bool) -> tuple[Integers, Integers, int]:
    """Find the complete records in data that begin with one; return `Lines.bounds`, `Lines.records`, and their end.

    With ``last``, nothing follows, so that the last record is complete. A line without anything but delimiters is a
    record only if ``blank_is_record``: where there is a single column.
    """
    length, between = len(data), delimiter.encode()
    if last and data and not data.endswith(b"\n"):
        data += b"\n"
    # The LF of a CR at the end may be the next byte.
    content, following = np.frombuffer(data, np.uint8), np.frombuffer(data[1:] + b"\n", np.uint8)
    is_return = content == _RETURN
    at = np.flatnonzero((content == between[0]) | (content == _NEWLINE) | (is_return & (following != _NEWLINE)))
    if b'"' in data:
        spans = [found.span() for found in re.finditer(_QUOTED % re.escape(between), data)]
        opened, closed = np.array(spans, dtype=np.int64).reshape(-1, 2).T
        at = at[np.searchsorted(opened, at) == np.searchsorted(closed, at, "right")]
    last_cells = np.flatnonzero(content[at] != between[0])
    at = at[: last_cells[-1] + 1 if len(last_cells) else 0]
    ends = at - ((content[at] == _NEWLINE) & (at > 0) & is_return[at - 1])
    bounds = np.stack([np.append(0, at + 1)[:-1], ends], axis=1)
    first = np.append(0, last_cells + 1)[:-1]
    records = np.stack([first, last_cells + 1 - first], axis=1)
    if not blank_is_record and len(first):
        records = records[np.maximum.reduceat(bounds[:, 1] - bounds[:, 0], first) > 0]
    return bounds, records, min(length, int(at[-1]) + 1) if len(at) else 0


def texts_at(data: bytes, bounds: Integers) -> Any:
    """Return cells, of which the bounds are given, as texts without quotes; as bytes if one is not in UTF-8."""
    # What is between the cells are pieces, too, which are not taken.
    buffers = [None, pa.py_buffer(bounds.tobytes()), pa.py_buffer(data)]
    pieces = pa.Array.from_buffers(pa.large_binary(), max(0, bounds.size - 1), buffers)
    texts = pieces.take(pa.array(np.arange(0, bounds.size, 2)))
    if b'"' in data:
        quoted = pc.and_(pc.starts_with(texts, '"'), pc.ends_with(texts, '"'))
        inner = pc.replace_substring(pc.binary_slice(texts, 1, -1), b'""', b'"')
        texts = pc.if_else(quoted, inner, texts)
    try:
        return texts.cast(pa.string())
    except pa.ArrowInvalid:
        return texts.cast(pa.binary())


def _as_strings(texts: Any) -> Any:
    """Return texts; bytes that are not UTF-8 are replaced."""
    if pa.types.is_binary(texts.type):
        return pa.array([text.decode("utf-8", "replace") for text in texts.to_pylist()])
    return texts


class CsvWriter:
    """A text file being written; names of columns come first, or the bytes that are given as a header."""

    def __init__(self, file: BinaryIO, kind: Format, delimiter: str, header: bool | bytes) -> None:
        self._file, self._compress = file, COMPRESSIONS[kind.compression][1]
        self._delimiter, self._header = delimiter, header
        self._line_is_open = False

    def write(self, batch: Batch, filled: Floats, mask: Booleans) -> None:
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


def _repaired_lines(batch: Batch, lines: Lines, filled: Floats, mask: Booleans) -> bytes:
    """Return the lines with new texts where values were replaced: with the decimals and the unit of their column."""
    file, cells = lines.file, []
    for row, position in np.argwhere(mask).tolist():
        column, value = batch.columns[position], filled[row, position]
        decimals = batch.decimals[column]
        text = repr(float(value)) if decimals is None else f"{value:.{decimals}f}"
        text = text.replace(".", file.numbers.decimal).join(file.units.get(column, ("", "")))
        text = f'"{text}"' if file.delimiter in text else text
        cells.append((*lines.cells[row, column].tolist(), text.encode()))
    pieces, written = [], 0
    for begin, end, new in sorted(cells):
        pieces += [lines.data[written:begin], new]
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
