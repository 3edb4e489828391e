"""The format of a file by its ending, how its rows are read, and files that are compressed."""

import bz2
import gzip
import io
import lzma
import re
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from treemend.exceptions import InputError, ParameterError

STANDARD_STREAM = "-"


@dataclass(frozen=True)
class Format:
    """How a file is laid out: its family, the usual delimiter of text, if there is one, and the compression."""

    family: str
    delimiter: str = ""
    compression: str = ""


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


def format_of(path: str) -> Format:
    """Return the format of a path; ``-`` is CSV.

    Examples
    --------
    >>> format_of("rows.CSV.gz")
    Format(family='csv', delimiter=',', compression='.gz')
    """
    if path == STANDARD_STREAM:
        return _FORMATS[".csv"]
    endings = [ending.lower() for ending in Path(path).suffixes]
    compression = endings.pop() if endings and endings[-1] in COMPRESSIONS else ""
    found = _FORMATS.get(endings[-1] if endings else "")
    if found is None:
        ending = f"the ending {Path(path).suffix!r}" if Path(path).suffix else "no ending that names a format"
        raise InputError(
            f"{path} has {ending}, and only {', '.join(_FORMATS)} are known, text files also with "
            f"{', '.join(filter(None, COMPRESSIONS))}. Save it as CSV, or rename it."
        )
    if compression and found.family != "csv":
        raise InputError(f"{path} is compressed, and only text files can be. Decompress it first.")
    return replace(found, compression=compression)


@dataclass(frozen=True)
class ReadOptions:
    """How tables are read; None recognises it.

    ``thousands`` divides groups of three digits. ``missing`` are texts or numbers that stand for missing values, beside
    empty cells, ``NA`` and the like; with None, numbers such as -999 are, too, where they are repeated and far from all
    others. ``array`` is which one of NPZ files.
    """

    delimiter: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    no_header: bool = False
    missing: Sequence[str] | None = None
    array: str | None = None

    def __post_init__(self) -> None:
        if self.delimiter is not None and not re.fullmatch(r'[^"\r\n\x7f-\U0010ffff]', self.delimiter):
            raise ParameterError(f"The delimiter must be one ASCII character and not a quote, got {self.delimiter!r}.")
        if self.decimal not in (None, ".", ","):
            raise ParameterError(f"The decimal point must be '.' or ',', got {self.decimal!r}.")
        if self.thousands not in (None, "", ".", ",") or self.thousands == (self.decimal or "."):
            raise ParameterError(
                f"The thousands separator must be '.' or ',' and not the decimal point, got {self.thousands!r}."
            )
