"""CSV and other files of delimited text: read block by block, and written so that untouched bytes stay.

In lines where something was replaced, all cells but the replaced ones are the same bytes. Numbers are written with the
fewest digits that give the same bits again. Delimiter and number format are recognised from the first lines.
"""

import os
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise
from lzma import LZMAError
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from treemend.exceptions import InputError
from treemend.files.batch import Batch, Source
from treemend.files.cells import (
    MISSING_WORDS,
    NumberFormat,
    delimited,
    number_format,
    number_text,
    quoted,
    raw_cells,
    unquoted,
)
from treemend.files.formats import ReadOptions, compressed, decompressed
from treemend.files.lines import Lines, line_ends, record_starts
from treemend.files.recognition import Sample, sample_length
from treemend.tables import shortened

__all__ = ["CsvFile", "CsvWriter"]

BLOCK_BYTES = 2**22
_HEAD_BYTES = 2**20
_PIECE_BYTES = 2**16
_LONGEST_QUOTED = 2**20
_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_RECORDS_TRIED = 50
_CELLS_TRIED = 10_000
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_UNREADABLE = (OSError, EOFError, LZMAError, zlib.error, pa.ArrowException)


class CsvFile(Source):
    """A text file; ``usual_delimiter`` is that of its ending, and ``once`` a stream that can be read only once.

    Attributes
    ----------
    preamble : bytes
        What comes before the first row: a byte-order mark, the header.
    delimiter : str
    """

    numbers: NumberFormat

    def __init__(
        self,
        label: str,
        opened: Callable[[], BinaryIO],
        usual_delimiter: str,
        compression: str,
        options: ReadOptions,
        *,
        once: bool = False,
    ) -> None:
        self.label, self.usual_delimiter = label, usual_delimiter
        self.named = options.header
        self._open = partial(_Input, label, opened, compression)
        self._can_seek = not once and not compression
        reader = self._open()
        head, ended = reader.head()
        if not once:
            reader.close()
        begin, named = _text_begins(label, head)
        text = head[begin:]
        self.delimiter = options.delimiter or named or _find_delimiter(text, ended, usual_delimiter)
        starts, end = record_starts(text, self.delimiter, last=ended, blank_is_record=False)
        if not len(starts):
            problem = "holds nothing but an open quote" if text.strip() else "is empty"
            raise InputError(f"{label} {problem}. Give a file with rows.")
        first = text[starts[0] : starts[1] if len(starts) > 1 else end]
        self.names = _names(first, self.delimiter, header=options.header)
        begin += int(starts[0]) + (len(first) if options.header else 0)
        self.preamble = head[:begin]
        self._stream = (reader, head[begin:]) if once else None
        self._first_line = 1 + len(line_ends(self.preamble))
        self.numbers = NumberFormat()
        self._head, _ = self._split(head[begin:], self._first_line, ended=ended)
        self.numbers = self._number_format(options)
        self._head = replace(self._head, numbers=self.numbers)
        words = self.numbers.missing
        self._null_values = sorted({form for word in words for form in (word, word.upper(), word.title())})
        self.notes = self._recognised()

    def sample(self) -> Sample:
        """Return the first rows, and some from further on."""
        length = sample_length(len(self.names))
        pieces = [self._head.part(0, length), *self._later_pieces(length // 4)]
        # By number: names may be there twice.
        names = [str(position) for position in range(len(self.names))]
        rows = pa.concat_tables([piece.table(as_text=True).rename_columns(names) for piece in pieces])
        return Sample(rows, len(pieces[0]))

    def _later_pieces(self, length: int) -> Iterator[Lines]:
        """Cut rows out of the second half of a file; where a quoted cell has several lines, some are left out."""
        if not self._can_seek:
            return
        reader = self._open()
        try:
            for share in (0.5, 0.75, 1.0):
                begin = int(reader.size * share) - _PIECE_BYTES
                if begin < _HEAD_BYTES:
                    continue
                piece = reader.piece(begin, _PIECE_BYTES)
                starts, end = record_starts(piece, self.delimiter, last=False, blank_is_record=False)
                lines = replace(self._head, data=piece[:end], starts=starts)
                # The first is cut somewhere.
                rows = [row for row in range(1, min(len(lines), length)) if lines.is_complete(row)]
                yield lines.take(np.array(rows, dtype=np.int64))
        finally:
            reader.close()

    def batches(self, columns: tuple[int, ...]) -> Iterator[Batch]:
        """Read the rows from the first to the last; only once from a stream."""
        if self._stream is not None:
            reader, rest = self._stream
        else:
            reader, rest = self._open(), b""
            reader.read(len(self.preamble))
        first_line, any_rows, ended = self._first_line, False, False
        try:
            while not ended:
                more = reader.read(BLOCK_BYTES)
                ended = len(more) < BLOCK_BYTES
                lines, rest = self._split(rest + more, first_line, ended=ended)
                if len(lines) or (ended and not any_rows):
                    any_rows = True
                    first_line += len(line_ends(lines.data))
                    done = 1.0 if ended else reader.done()
                    yield Batch(self._values(lines, columns), columns, lines.place, done, lines=lines)
        finally:
            reader.close()

    def _split(self, data: bytes, first_line: int, *, ended: bool) -> tuple[Lines, bytes]:
        """Cut complete records off, all but the last: blank lines that belong to it may follow."""
        starts, end = record_starts(data, self.delimiter, last=ended, blank_is_record=len(self.names) == 1)
        rest = data[end:]
        if rest and (ended or (len(rest) > _LONGEST_QUOTED and b'"' in rest and b"\n" in rest)):
            line = first_line + len(line_ends(data[:end]))
            raise InputError(f"{self.label}, line {line}: a quote is opened and never closed. Close it.")
        if not ended:
            end = int(starts[-1]) if len(starts) > 1 else 0
            starts = starts[:-1]
        lines = Lines(data[:end], starts, self.label, first_line, self.names, self.delimiter, self.numbers)
        return lines, data[end:]

    def _values(self, lines: Lines, columns: tuple[int, ...]) -> NDArray[np.float64]:
        if not self.numbers.thousands:
            plain = lines.floats(columns, self._null_values)
            if plain is not None:
                return plain
        texts = lines.table(columns, as_text=True)
        values = np.empty((len(lines), len(columns)))
        wrong: list[tuple[int, int]] = []
        for position, column in enumerate(texts.columns):
            values[:, position], strange = self.numbers.numbers(column.combine_chunks())
            wrong += [(row, position) for row in np.flatnonzero(strange)[:1].tolist()]
        if wrong:
            row, position = min(wrong)
            others = [texts.column_names[other] for _, other in wrong if other != position]
            self._refuse(lines.place(row), texts.column(position)[row].as_py(), texts.column_names[position], others)
        return values

    def _refuse(self, place: str, text: str, name: str, others: list[str]) -> None:
        also = f"; nor are cells of {shortened([*map(repr, others)])}" if others else ""
        text = text.strip()
        written = number_format([text], self.delimiter)
        help_by = f"--missing {text[:40]!r} if it stands for a missing value"
        if not written.plain and written.is_number(text):
            help_by = f"--decimal '{written.decimal}' --thousands '{written.thousands}' if its numbers are written so"
        raise InputError(
            f"{place}, column {name!r}: {text[:40]!r} is not a number{also}. "
            f"Correct it, give {help_by}, or keep the column out with --passthrough."
        )

    def _number_format(self, options: ReadOptions) -> NumberFormat:
        cells = self._head.part(0, max(5, _CELLS_TRIED // len(self.names))).table(as_text=True)
        found = number_format((text for column in cells.columns for text in column.to_pylist()), self.delimiter)
        decimal = options.decimal or found.decimal
        thousands = options.thousands
        if thousands is None:
            thousands = found.thousands if found.decimal == decimal else ""
        words = {word.strip().lower() for word in options.missing or ()}
        return NumberFormat(decimal, thousands, MISSING_WORDS | words)

    def _recognised(self) -> tuple[str, ...]:
        ways = []
        if self.delimiter != (self.usual_delimiter or ","):
            ways.append(f"cells are divided by {_DELIMITERS.get(self.delimiter, repr(self.delimiter))}")
        if self.numbers.decimal != ".":
            ways.append("numbers have decimal commas")
        if self.numbers.thousands:
            ways.append(f"{self.numbers.thousands!r} divides thousands")
        notes = [f"{self.label}: {', '.join(ways)}"] if ways else []
        numbers, wrong = self.numbers.numbers(pa.array(self.names if self.named else ("x",)))
        if len(numbers) > 1 and not (wrong | np.isnan(numbers)).any() and (np.diff(numbers) <= 0).any():
            notes.append(f"{self.label}: the first line holds only numbers; give --no-header if it is a row")
        return tuple(notes)


class _Input:
    """A file of bytes, perhaps compressed, of which it is known how far it has been read."""

    def __init__(self, label: str, opened: Callable[[], BinaryIO], compression: str) -> None:
        self._label, self._file = label, opened()
        self._content = decompressed(self._file, compression)
        try:
            self.size = os.fstat(self._file.fileno()).st_size
        except OSError:
            self.size = 0

    def head(self) -> tuple[bytes, bool]:
        """Read some lines, and tell whether these are all."""
        head = b""
        while True:
            more = self.read(_HEAD_BYTES)
            head += more
            if len(more) < _HEAD_BYTES or head.count(b"\n") + head.count(b"\r") > 3:
                return head, len(more) < _HEAD_BYTES

    def read(self, n_bytes: int) -> bytes:
        """Read so many bytes; less only at the end."""
        try:
            data = self._content.read(n_bytes)
            while len(data) < n_bytes and (more := self._content.read(n_bytes - len(data))):
                data += more
        except _UNREADABLE as error:
            self.close()
            raise InputError(f"{self._label} is damaged: {error}. Get the file anew.") from None
        return data

    def piece(self, begin: int, n_bytes: int) -> bytes:
        """Read from the middle of a file that is not compressed."""
        self._file.seek(begin)
        return self.read(n_bytes)

    def done(self) -> float:
        """Return the share of the file that has been read, as far as that is known."""
        return min(1.0, self._file.tell() / self.size) if self.size else 0.0

    def close(self) -> None:
        """Close the file."""
        self._content.close()
        self._file.close()


def _text_begins(label: str, head: bytes) -> tuple[int, str]:
    """Return where the text begins, behind a byte-order mark, and the delimiter that the first line names for Excel."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in head[:1000]:
        raise InputError(f"{label} is not text in UTF-8. Save it as CSV in UTF-8.")
    found = re.match(rb"(?:\xef\xbb\xbf)?(?:sep=([!-~\t])\r?\n)?", head)
    return (found.end(), (found[1] or b"").decode()) if found else (0, "")


def _find_delimiter(text: bytes, ended: bool, usual: str) -> str:
    """Return what cuts the first lines into equally many cells, most of them numbers; the usual one if in doubt."""
    best, delimiter = -1.0, usual or ","
    for candidate in dict.fromkeys([delimiter, *_DELIMITERS]):
        starts, end = record_starts(text, candidate, last=ended, blank_is_record=False)
        bounds = [*starts.tolist(), end][: _RECORDS_TRIED + 1]
        lines = [text[begin:stop].rstrip(b"\r\n") for begin, stop in pairwise(bounds)]
        records = [raw_cells(line, candidate.encode()) or [] for line in lines]
        fitting = [cells for cells in records if len(cells) == len(records[0])]
        if not fitting or len(fitting[0]) < 2 or len(fitting) < 0.9 * len(records):
            continue
        texts = [unquoted(cell).decode("utf-8", "replace") for cells in fitting[1:] or fitting for cell in cells]
        numbers = number_format(texts, candidate)
        share = sum(numbers.is_number(text) or numbers.is_missing(text) for text in texts) / len(texts)
        if share > best:
            best, delimiter = share, candidate
    return delimiter


def _names(line: bytes, delimiter: str, *, header: bool) -> tuple[str, ...]:
    """Return the names in a line; their numbers if it is no header. Columns without a name are called as by pandas."""
    cells = raw_cells(line.rstrip(b"\r\n"), delimiter.encode()) or []
    if not header:
        return tuple(str(position) for position in range(len(cells)))
    names = [unquoted(cell).decode("utf-8", "replace") for cell in cells]
    return tuple(name if name.strip() else f"Unnamed: {position}" for position, name in enumerate(names))


class CsvWriter:
    """A text file being written; names of columns come first, or the bytes that are given as a header."""

    def __init__(self, file: BinaryIO, compression: str, delimiter: str, header: bool | bytes) -> None:
        self._file, self._compressed = compressed(file, compression), bool(compression)
        self._delimiter, self._header = delimiter, header
        self._line_is_open = False

    def write(self, batch: Batch, filled: NDArray[np.float64], mask: NDArray[np.bool_]) -> None:
        """Write lines as they stood, but for the replaced cells."""
        lines = batch.lines
        if lines is None or lines.delimiter != self._delimiter:
            self._write_columns(batch, filled, mask)
            return
        self._begin(lines.names)
        content, written = memoryview(lines.data), 0
        for row in np.flatnonzero(mask.any(axis=1)).tolist():
            begin, end = lines.span(row)
            cells, ending = lines.raw_cells(row)
            for position in np.flatnonzero(mask[row]).tolist():
                cells[batch.columns[position]] = self._number(batch, position, filled[row, position]).encode()
            self._put(content[written:begin])
            self._put(self._delimiter.encode().join(cells) + ending)
            written = end
        self._put(content[written:])

    def write_table(self, table: Any) -> None:
        """Write a pyarrow.Table; booleans as 0 and 1."""
        self._begin(tuple(table.column_names))
        self._put_rows([delimited(column, self._delimiter) for column in table.columns])

    def close(self) -> None:
        """Write what the compression holds back."""
        if self._compressed:
            self._file.close()

    def _write_columns(self, batch: Batch, filled: NDArray[np.float64], mask: NDArray[np.bool_]) -> None:
        self._begin(tuple(batch.table.column_names))
        columns = [delimited(column, self._delimiter) for column in batch.table.columns]
        for position, column in enumerate(batch.columns):
            rows = np.flatnonzero(mask[:, position])
            if len(rows):
                texts = np.array(columns[column].to_pylist(), dtype=object)
                texts[rows] = [self._number(batch, position, value).encode() for value in filled[rows, position]]
                columns[column] = pa.array(texts, pa.binary())
        self._put_rows(columns)

    def _number(self, batch: Batch, position: int, value: float) -> str:
        decimal = "." if batch.lines is None else batch.lines.numbers.decimal
        text = number_text(value, integer=batch.columns[position] in batch.integers, decimal=decimal)
        return quoted(text, self._delimiter)

    def _begin(self, names: tuple[str, ...]) -> None:
        header, self._header = self._header, False
        if header is True:
            header = (self._delimiter.join(quoted(name, self._delimiter) for name in names) + "\n").encode()
        if header:
            self._put(header)
            self._line_is_open &= header != _BYTE_ORDER_MARK

    def _put_rows(self, columns: list[Any]) -> None:
        if columns and len(columns[0]):
            rows = pc.binary_join_element_wise(*columns, self._delimiter.encode())
            self._put(b"\n".join(rows.to_pylist()) + b"\n")

    def _put(self, data: bytes | memoryview) -> None:
        if not len(data):
            return
        if self._line_is_open:
            self._file.write(b"\n")
        self._file.write(data)
        self._line_is_open = data[-1] not in b"\r\n"
