"""CSV and other files of delimited text: read block by block, and written so that untouched bytes stay.

In lines where something was replaced, all cells but the replaced ones are the same bytes. Numbers are written with as
many decimals as their column has, or, where that is not known, with the fewest digits that give the same bits again.
Delimiter and number format are recognised from the first lines.
"""

import os
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, pairwise
from lzma import LZMAError
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from treemend.exceptions import InputError
from treemend.files.arrow import Batch
from treemend.files.formats import COMPRESSIONS, Format, NumberFormat, ReadOptions, common_unit, number_format
from treemend.files.lines import Lines, delimited, line_ends, record_starts, texts_of
from treemend.files.recognition import sample_length
from treemend.tables import listed, shortened

BLOCK_BYTES = 2**22
_HEAD_BYTES = 2**20
_LONGEST_QUOTED = 2**20
_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_RECORDS_TRIED = 50
_CELLS_TRIED = 10_000
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class CsvFile:
    """A text file.

    Columns are called by their numbers where they are not ``named``; ``notes`` say what was recognised; ``numbers`` is
    how numbers are written, ``units`` what stands before and behind those of some columns; ``sample`` are the first
    rows, ``preamble`` is what comes before: a byte-order mark, the header; ``usual_delimiter`` is that of the ending.
    """

    def __init__(self, label: str, opened: Callable[[], BinaryIO], kind: Format, options: ReadOptions) -> None:
        self.label, self.usual_delimiter, self.named = label, kind.delimiter, not options.no_header
        self._blocks = partial(_read_blocks, label, opened, kind.compression)
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
        rows = self._split(head[len(self.preamble) :], self._first_line, ended=ended)[0].table
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
            lines, rest = self._split(rest + block, first_line, ended=ended)
            if len(lines) or (ended and not any_rows):
                any_rows = True
                first_line += len(lines.ends)
                yield Batch(self._values(lines, columns), columns, lines.places, done, lines.table, lines)

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
        return Lines(data[:end], starts, first_line, self), data[end:]

    def _values(self, lines: Lines, columns: tuple[int, ...]) -> NDArray[np.float64]:
        values = np.empty((len(lines), len(columns)))
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


def _read_blocks(
    label: str, opened: Callable[[], BinaryIO], compression: str, length: int, skip: int = 0
) -> Iterator[tuple[bytes, bool, float]]:
    """Read blocks of bytes; tell whether one is the last, and the share of the file that has been read."""
    try:
        with opened() as file, COMPRESSIONS[compression][0](file) as content:
            size, ended = max(1, os.fstat(file.fileno()).st_size), False
            content.read(skip)
            while not ended:
                block = content.read(length)
                ended = len(block) < length
                yield block, ended, 1.0 if ended else min(1.0, file.tell() / size)
    except (OSError, EOFError, LZMAError, zlib.error, pa.ArrowException) as error:
        raise InputError(f"{label} cannot be read or is damaged: {error}. Get a fresh copy of the file.") from None


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
        numbers = number_format(texts, delimiter)
        return sum(numbers.is_number(text) or text.strip().lower() in numbers.missing for text in texts) / len(texts)

    return max(dict.fromkeys([usual or ",", *_DELIMITERS]), key=share_of_numbers)


class CsvWriter:
    """A text file being written; names of columns come first, or the bytes that are given as a header."""

    def __init__(self, file: BinaryIO, compression: str, delimiter: str, header: bool | bytes) -> None:
        self._file, self._compress = file, COMPRESSIONS[compression][1]
        self._delimiter, self._header = delimiter, header
        self._line_is_open = False

    def write(self, batch: Batch, filled: NDArray[np.float64], mask: NDArray[np.bool_]) -> None:
        """Write lines as they stood, but for the replaced cells."""
        if batch.lines is not None and batch.lines.file.delimiter == self._delimiter:
            self._put(batch.lines.file.names, self._repaired_lines(batch, batch.lines, filled, mask))
            return
        columns = self._cells(batch.table)
        for position, column in enumerate(batch.columns):
            cells = mask[:, position]
            texts = pa.array([self._number(batch, position, value) for value in filled[cells, position]], pa.binary())
            columns[column] = pc.replace_with_mask(columns[column], pa.array(cells), texts)
        self._put(batch.table.column_names, self._joined(columns))

    def write_table(self, table: Any) -> None:
        """Write a pyarrow.Table; booleans as 0 and 1."""
        self._put(table.column_names, self._joined(self._cells(table)))

    def close(self) -> None:
        """Do nothing: all bytes are written."""

    def _repaired_lines(self, batch: Batch, lines: Lines, filled: NDArray[Any], mask: NDArray[Any]) -> bytes:
        pieces, written = [], 0
        for row in np.flatnonzero(mask.any(axis=1)).tolist():
            begin, end = lines.span(row)
            cells, ending = lines.cut(row)
            for position in np.flatnonzero(mask[row]).tolist():
                cells[batch.columns[position]] = self._number(batch, position, filled[row, position])
            pieces += [lines.data[written:begin], self._delimiter.encode().join(cells), ending]
            written = end
        return b"".join([*pieces, lines.data[written:]])

    def _number(self, batch: Batch, position: int, value: float) -> bytes:
        decimals = batch.decimals[batch.columns[position]]
        text = repr(float(value)) if decimals is None else f"{value:.{decimals}f}"
        if batch.lines is not None:
            unit = batch.lines.file.units.get(batch.columns[position], ("", ""))
            text = text.replace(".", batch.lines.file.numbers.decimal).join(unit)
        return (f'"{text}"' if self._delimiter in text else text).encode()

    def _cells(self, table: Any) -> list[Any]:
        return [delimited(column.combine_chunks(), self._delimiter) for column in table.columns]

    def _joined(self, columns: list[Any]) -> bytes:
        rows = pc.binary_join_element_wise(*columns, self._delimiter.encode()).to_pylist()
        return b"".join(row + b"\n" for row in rows)

    def _put(self, names: Sequence[str], data: bytes) -> None:
        """Write bytes, on a line of their own, after the header if it was not written before."""
        header, self._header = self._header, b""
        if header is True:
            header = self._delimiter.encode().join(delimited(pa.array(names), self._delimiter).to_pylist()) + b"\n"
        for piece in (header or b"", data):
            if piece:
                self._file.write(self._compress(b"\n" * self._line_is_open + piece))
                self._line_is_open = piece[-1] not in b"\r\n" and piece != _BYTE_ORDER_MARK
