"""The format of a file by its ending, and files that are compressed."""

import bz2
import gzip
import io
import lzma
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

from treemend.exceptions import InputError, ParameterError

__all__ = ["STANDARD_STREAM", "Format", "ReadOptions", "compressed", "decompressed", "format_of"]

STANDARD_STREAM = "-"


@dataclass(frozen=True)
class Format:
    """How a file is laid out: its family, the usual delimiter of text, if there is one, and the compression."""

    family: str
    delimiter: str = ""
    compression: str = ""


@dataclass(frozen=True)
class ReadOptions:
    """How tables are read; None recognises it.

    Attributes
    ----------
    delimiter : str or None
        Between the cells of text files.
    decimal : {".", ","} or None
        Decimal point.
    thousands : {".", ",", ""} or None
        Between groups of three digits.
    header : bool
        Whether the first line of text files names the columns.
    missing : tuple of str or None
        Texts or numbers that stand for missing values, beside empty cells, ``NA`` and the like. With None, also numbers
        such as -999 are taken so, where they are repeated and far from all others.
    array : str or None
        Which array of NPZ files.
    """

    delimiter: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    header: bool = True
    missing: tuple[str, ...] | None = None
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


_FAMILIES = {
    ".csv": Format("csv", ","),
    ".tsv": Format("csv", "\t"),
    ".txt": Format("csv"),
    ".parquet": Format("parquet"),
    ".feather": Format("feather"),
    ".arrow": Format("feather"),
    ".npy": Format("npy"),
    ".npz": Format("npz"),
}
_COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")


def format_of(path: str) -> Format:
    """Return the format of a path; ``-`` is CSV.

    Examples
    --------
    >>> format_of("rows.CSV.gz")
    Format(family='csv', delimiter=',', compression='.gz')
    """
    if path == STANDARD_STREAM:
        return _FAMILIES[".csv"]
    endings = [ending.lower() for ending in Path(path).suffixes]
    compression = endings.pop() if endings and endings[-1] in _COMPRESSIONS else ""
    found = _FAMILIES.get(endings[-1] if endings else "")
    if found is None:
        raise InputError(
            f"{path} has the ending {Path(path).suffix or 'of no file'!r}, and only {', '.join(_FAMILIES)} are known, "
            f"text files also with {', '.join(_COMPRESSIONS)}. Save it as CSV, or rename it."
        )
    if compression and found.family != "csv":
        raise InputError(f"{path} is compressed, and only text files can be. Decompress it first.")
    return replace(found, compression=compression)


_OPENERS: dict[str, Any] = {"": lambda file, _: file, ".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


def decompressed(file: BinaryIO, compression: str) -> BinaryIO:
    """Return a stream of what a compressed file holds; the file itself where the compression is empty."""
    if compression == ".zst":
        return io.BufferedReader(pa.CompressedInputStream(file, "zstd"))
    return cast(BinaryIO, _OPENERS[compression](file, "rb"))


def compressed(file: BinaryIO, compression: str) -> BinaryIO:
    """Return a stream that compresses into a file, which stays open; the same bytes give the same file."""
    if compression == ".gz":
        return cast(BinaryIO, gzip.GzipFile("", "wb", fileobj=file, mtime=0))
    if compression == ".zst":
        return cast(BinaryIO, pa.CompressedOutputStream(_KeptOpen(file), "zstd"))
    return cast(BinaryIO, _OPENERS[compression](file, "wb"))


class _KeptOpen(io.RawIOBase):
    """A file to write to that pyarrow, which closes what it is given, cannot close."""

    def __init__(self, file: BinaryIO) -> None:
        self.write = file.write  # type: ignore[method-assign]

    def writable(self) -> bool:
        return True
