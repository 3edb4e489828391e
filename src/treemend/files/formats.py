"""How files are written: the format by the ending, compression, numbers in text files; and options for reading."""

import bz2
import gzip
import io
import lzma
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from treemend.arrays import Booleans, Floats
from treemend.exceptions import InputError, ParameterError

STANDARD_STREAM = "-"
_SPREADSHEET_ERRORS = {"#n/a", "#div/0!", "#value!", "#ref!", "#num!", "#name?", "#null!"}
MISSING_WORDS = frozenset(
    {"", "na", "n/a", "<na>", "nan", "null", "none", "nil", "?", "-", "--", ".", *_SPREADSHEET_ERRORS}
)
_TEXTS_TRIED = 2_000
_SYMBOLS, _BLANK = "%|‰|°C|°F|[$€£¥]", "[ \u00a0\u202f]"
_UNITS = "EUR|USD|GBP|CHF|kg|g|mg|t|km|m|cm|mm|l|ml|h|min|s|ms|V|mV|A|mA|W|kW|kWh|MWh|Hz|kHz|K|bar|mbar|hPa|kPa|Pa|ppm"
_BEHIND = rf"{_BLANK}?(?:{_SYMBOLS})|{_BLANK}(?:{_UNITS}|km/h|m/s)"
_WITH_UNIT = re.compile(rf"([$€£¥]{_BLANK}?)?[+-]?(?:[\d.,'\u2019]|{_BLANK}\d)*\d({_BEHIND})?", re.ASCII)
_THOUSANDS = {"": "", ".": r"\.", ",": ",", " ": _BLANK, "'": "['\u2019]"}
"""What divides groups of three digits, and the pattern of all that looks the same."""
# How to open a compressed file, and how to compress a piece of one: files may consist of several pieces. The same bytes
# give the same file.
COMPRESSIONS: dict[str, tuple[Any, Callable[[bytes], bytes]]] = {
    "": (nullcontext, bytes),
    ".gz": (gzip.open, partial(gzip.compress, mtime=0)),
    ".bz2": (bz2.open, bz2.compress),
    ".xz": (lzma.open, lzma.compress),
    ".zst": (
        lambda file: io.BufferedReader(pa.CompressedInputStream(file, "zstd")),
        partial(pa.compress, codec="zstd", asbytes=True),
    ),
}


@dataclass(frozen=True)
class Format:
    """How a file is laid out: its family, the usual delimiter of text, if there is one, and the compression."""

    family: str
    delimiter: str = ""
    compression: str = ""

    def read_blocks(
        self, label: str, opened: Callable[[], BinaryIO], length: int, skip: int = 0
    ) -> Iterator[tuple[bytes, bool, float]]:
        """Read blocks of bytes; tell whether one is the last, and the share of the file that has been read."""
        try:
            with opened() as file, COMPRESSIONS[self.compression][0](file) as content:
                size, ended = max(1, os.fstat(file.fileno()).st_size), False
                content.read(skip)
                while not ended:
                    block = content.read(length)
                    ended = len(block) < length
                    yield block, ended, 1.0 if ended else min(1.0, file.tell() / size)
        except (OSError, EOFError, lzma.LZMAError, zlib.error, pa.ArrowException) as error:
            raise InputError(f"{label} cannot be read or is damaged: {error}. Get a fresh copy of the file.") from None


_FORMATS = {
    ".csv": Format("csv", ","),
    ".tsv": Format("csv", "\t"),
    ".txt": Format("csv"),
    ".parquet": Format("parquet"),
    ".feather": Format("feather"),
    ".arrow": Format("feather"),
    ".npy": Format("npy"),
    ".npz": Format("npz"),
}


def format_of(path: str) -> Format:
    """Return the format of a path; ``-`` is CSV."""
    if path == STANDARD_STREAM:
        return _FORMATS[".csv"]
    endings = [ending.lower() for ending in Path(path).suffixes]
    compression = endings.pop() if endings and endings[-1] in COMPRESSIONS else ""
    found = _FORMATS.get(endings[-1] if endings else "")
    if found is None:
        ending = f"the ending {Path(path).suffix!r}" if Path(path).suffix else "no ending that names a format"
        known = f"{', '.join(_FORMATS)} are known, text files also with {', '.join(filter(None, COMPRESSIONS))}"
        raise InputError(f"{path} has {ending}, and only {known}. Save it as CSV, or rename it.")
    if compression and found.family != "csv":
        raise InputError(f"{path} is compressed, and only text files can be. Decompress it first.")
    return replace(found, compression=compression)


@dataclass(frozen=True)
class ReadOptions:
    """How tables are read; None recognises it."""

    delimiter: str | None = None
    decimal: str | None = None
    thousands: str | None = None  # between groups of three digits
    no_header: bool = False
    # What stands for missing values beside empty cells, NA and the like; None: also numbers such as -999, where they
    # are repeated and far from all others.
    missing: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if self.delimiter is not None and not re.fullmatch(r'[^"\r\n\x7f-\U0010ffff]', self.delimiter):
            raise ParameterError(f"The delimiter must be one ASCII character and not a quote, got {self.delimiter!r}.")
        if self.decimal not in (None, ".", ","):
            raise ParameterError(f"The decimal point must be '.' or ',', got {self.decimal!r}.")
        if self.thousands not in (None, *_THOUSANDS) or self.thousands == (self.decimal or "."):
            allowed = "'.', ',', a space or an apostrophe, and not the decimal point"
            raise ParameterError(f"The thousands separator must be {allowed}, got {self.thousands!r}.")


@dataclass(frozen=True)
class NumberFormat:
    """How numbers are written, and which words, in lower case, stand for missing values; thousands may be divided."""

    decimal: str = "."
    thousands: str = ""
    missing: frozenset[str] = MISSING_WORDS

    def numbers(self, texts: Any) -> tuple[Floats, Booleans]:
        """Convert a pyarrow array of strings; also tell where one is neither a number nor a missing value."""
        texts = pc.utf8_trim_whitespace(texts)
        digits = r"\d+" + (rf"|[1-9]\d{{0,2}}(?:{_THOUSANDS[self.thousands]}\d{{3}})+" if self.thousands else "")
        point, exponent = re.escape(self.decimal), r"(?:[eE][+-]?\d+)?"
        size = rf"(?:(?:{digits})(?:{point}\d*)?|{point}\d+){exponent}|[iI][nN][fF](?:[iI][nN][iI][tT][yY])?"
        right = pc.match_substring_regex(texts, f"^[+-]?(?:{size})$")
        missing = pc.is_in(pc.ascii_lower(texts), value_set=pa.array(sorted(self.missing)))
        numbers = pc.if_else(pc.and_not(right, missing), texts, pa.scalar(None, pa.string()))
        if self.thousands:
            numbers = pc.replace_substring_regex(numbers, _THOUSANDS[self.thousands], "")
        if self.decimal != ".":
            numbers = pc.replace_substring(numbers, self.decimal, ".")
        values = pc.cast(numbers, pa.float64()).to_numpy(zero_copy_only=False)
        return values, ~np.asarray(pc.or_(right, missing).to_numpy(zero_copy_only=False), dtype=bool)


_GROUPED = (NumberFormat(*signs) for signs in (",.", ".,", ", ", ". ", ".'", ",'"))
_NUMBER_FORMATS = (NumberFormat(), NumberFormat(","), *_GROUPED)


def common_unit(texts: Iterable[str]) -> tuple[str, str] | None:
    """Return what stands before and behind every number; None if there is nothing, or not the same."""
    unit = None
    for text in map(str.strip, texts):
        if text.lower() not in MISSING_WORDS:
            found = _WITH_UNIT.fullmatch(text)
            if found is None or not any(found.groups()) or unit not in (None, found.groups("")):
                return None
            unit = found[1] or "", found[2] or ""
    return unit


def number_format(texts: Iterable[str], delimiter: str) -> NumberFormat:
    """Return the format that makes numbers of the most texts, the most usual one among equals.

    ``1,234`` is taken as 1234 between commas, where a decimal comma would be odd, and as 1.234 elsewhere.
    """
    distinct = pa.array(islice(dict.fromkeys(text for text in texts if not text.isalnum()), _TEXTS_TRIED), pa.string())
    order = sorted(_NUMBER_FORMATS, key=lambda way: (way != NumberFormat(), way.decimal == delimiter))
    return min(order, key=lambda way: int(way.numbers(distinct)[1].sum()))
