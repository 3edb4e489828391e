"""Cells of text files: where they begin and end, and which numbers they are.

Lines are cut here and not by a CSV library, since those forget quotes, line ends and blank lines. Nothing is evaluated:
a text such as ``=1+1`` is a text.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from treemend.tables import integer_to_rounding

__all__ = [
    "MISSING_WORDS",
    "NumberFormat",
    "delimited",
    "number_format",
    "number_text",
    "quoted",
    "raw_cells",
    "unquoted",
]

MISSING_WORDS = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "null", "none", "nil", "?", "-", "--", "."})
_TEXTS_TRIED = 2_000
_SPACES = "[ \u00a0\u202f]"


def raw_cells(line: bytes, delimiter: bytes) -> list[bytes] | None:
    """Cut a line without its end into cells with their quotes; None if a quote is still open.

    Examples
    --------
    >>> raw_cells(b'1,"a, b",3', b",")
    [b'1', b'"a, b"', b'3']
    >>> raw_cells(b'1,"a', b",") is None
    True
    """
    if b'"' not in line:
        return line.split(delimiter)
    cells: list[bytes] = []
    begin = 0
    while True:
        end = begin
        if line.startswith(b'"', begin):
            end = line.find(b'"', begin + 1)
            while end >= 0 and line.startswith(b'""', end):
                end = line.find(b'"', end + 2)
            if end < 0:
                return None
        stop = line.find(delimiter, end)
        if stop < 0:
            return [*cells, line[begin:]]
        cells.append(line[begin:stop])
        begin = stop + 1


def unquoted(cell: bytes) -> bytes:
    """Return a cell without its quotes."""
    if len(cell) >= 2 and cell[:1] == cell[-1:] == b'"':
        return cell[1:-1].replace(b'""', b'"')
    return cell


def quoted(text: str, delimiter: str) -> str:
    """Return a text as a cell, in quotes if it needs them."""
    if delimiter in text or '"' in text or "\n" in text or "\r" in text:
        return '"' + text.replace('"', '""') + '"'
    return text


@dataclass(frozen=True)
class NumberFormat:
    """How numbers are written in a text file, and which words, in lower case, stand for missing values.

    ``thousands`` divides groups of three digits, empty if nothing does; a blank stands for any kind of blank.
    """

    decimal: str = "."
    thousands: str = ""
    missing: frozenset[str] = MISSING_WORDS

    @property
    def plain(self) -> bool:
        """Whether numbers are written as programs write them."""
        return self.decimal == "." and not self.thousands

    @cached_property
    def pattern(self) -> str:
        """Regular expression of a number."""
        digits = r"\d+" + (rf"|\d{{1,3}}(?:{self._separator}\d{{3}})+" if self.thousands else "")
        point, exponent = re.escape(self.decimal), r"(?:[eE][+-]?\d+)?"
        return rf"^[+-]?(?:(?:(?:{digits})(?:{point}\d*)?|{point}\d+){exponent}|[iI][nN][fF](?:[iI][nN][iI][tT][yY])?)$"

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern, re.ASCII)

    @property
    def _separator(self) -> str:
        return _SPACES if self.thousands == " " else re.escape(self.thousands)

    def is_number(self, text: str) -> bool:
        """Tell whether a text is a number, blanks around it aside."""
        return self._compiled.match(text.strip()) is not None

    def is_missing(self, text: str) -> bool:
        """Tell whether a text stands for a missing value."""
        return text.strip().lower() in self.missing

    def numbers(self, texts: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Convert a pyarrow array of strings; also tell where one is neither a number nor a missing value."""
        texts = pc.utf8_trim_whitespace(texts)
        right = pc.match_substring_regex(texts, self.pattern)
        missing = pc.is_in(pc.ascii_lower(texts), value_set=pa.array(sorted(self.missing)))
        numbers = pc.if_else(pc.and_not(right, missing), texts, pa.scalar(None, pa.string()))
        if self.thousands:
            numbers = pc.replace_substring_regex(numbers, self._separator, "")
        if self.decimal != ".":
            numbers = pc.replace_substring(numbers, self.decimal, ".")
        values = pc.cast(numbers, pa.float64()).to_numpy(zero_copy_only=False)
        return values, ~np.asarray(pc.or_(right, missing).to_numpy(zero_copy_only=False), dtype=bool)


_FORMATS = tuple(
    NumberFormat(*way) for way in ((".", ""), (",", ""), (",", "."), (".", ","), (",", " "), (".", " "), (".", "'"))
)


def number_format(texts: Iterable[str], delimiter: str) -> NumberFormat:
    """Return the format that makes numbers of the most texts, the most usual one among equals.

    ``1,234`` is taken as 1234 between commas, where a decimal comma would be odd, and as 1.234 elsewhere.

    Examples
    --------
    >>> number_format(["1.234,5", "2"], ";").decimal
    ','
    """
    distinct = list(islice(dict.fromkeys(text for text in texts if not text.isalpha()), _TEXTS_TRIED))
    order = sorted(_FORMATS, key=lambda way: (not way.plain, way.decimal == delimiter))
    return max(order, key=lambda way: sum(way.is_number(text) for text in distinct))


def number_text(value: float, *, integer: bool = False, decimal: str = ".") -> str:
    """Return a number with the fewest digits that give the same bits; as an integer if it shall be one, and is.

    Examples
    --------
    >>> number_text(2.0), number_text(2.0, integer=True), number_text(2.5, integer=True, decimal=",")
    ('2.0', '2', '2,5')
    """
    if integer and integer_to_rounding(value):
        return str(round(value))
    return repr(float(value)).replace(".", decimal)


def delimited(column: Any, delimiter: str) -> Any:
    """Return a column of any type as bytes between delimiters; nothing where there is no value."""
    column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    if pa.types.is_float16(column.type):
        column = pa.array([None if np.isnan(value) else str(value) for value in column.to_numpy(zero_copy_only=False)])
    elif pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    try:
        texts = column if pa.types.is_binary(column.type) else column.cast(pa.string()).cast(pa.binary())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        texts = pa.array([None if value is None else str(value).encode() for value in column.to_pylist()], pa.binary())
    texts = pc.fill_null(texts, b"")
    special = pc.match_substring_regex(texts, f'["\r\n{re.escape(delimiter)}]')
    if pc.any(special).as_py():
        escaped = pc.binary_join_element_wise(b'"', pc.replace_substring(texts, b'"', b'""'), b'"', b"")
        texts = pc.if_else(special, escaped, texts)
    return texts
