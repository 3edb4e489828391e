"""One table out of one file, several files, or a folder of Parquet files; the choice of its columns; and writers.

Columns that cannot be used, or say nothing about the others, are recognised and passed through: text, times, ids and
columns that are almost empty.
"""

import fnmatch
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from treemend.exceptions import ColumnsError, InputError
from treemend.files.arrow import ArrowFile, ArrowWriter
from treemend.files.batch import Batch, Source, Writer
from treemend.files.cells import NumberFormat
from treemend.files.csv import CsvFile, CsvWriter
from treemend.files.formats import STANDARD_STREAM, ReadOptions, format_of
from treemend.files.npy import NpyFile, NpyWriter, NpzWriter
from treemend.files.recognition import Column, recognise_columns
from treemend.tables import columns_difference, shortened

__all__ = [
    "ColumnChoice",
    "FileTable",
    "any_matches",
    "choose_columns",
    "describe_missing",
    "files_of",
    "match_columns",
    "open_table",
    "open_writer",
    "write_columns",
]


@dataclass(frozen=True, eq=False)
class FileTable:
    """Files that are one table, in the order of the rows; ``paths`` must not be written to."""

    sources: tuple[Source, ...]
    paths: tuple[str, ...]
    options: ReadOptions

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns; their numbers if they have no names."""
        return self.sources[0].names

    @property
    def named(self) -> bool:
        """Whether the columns have names."""
        return self.sources[0].named

    @property
    def label(self) -> str:
        """What to call the table."""
        more = f" and {len(self.sources) - 1} more" if len(self.sources) > 1 else ""
        return f"{self.sources[0].label}{more}"

    @property
    def n_rows(self) -> int | None:
        """Number of rows, if all files tell it without being read."""
        counts = [source.n_rows for source in self.sources]
        return None if None in counts else sum(count for count in counts if count is not None)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was recognised and may be wrong, a sentence each without its full stop."""
        codes = [f"{column.code:g} in {column.name!r}" for column in self.columns if column.code is not None]
        taken = [f"{self.label}: taken as missing: {shortened(codes)}; --missing none keeps them"] if codes else []
        return (*self.sources[0].notes, *taken)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """What the columns hold, told from a sample of the first file."""
        first = self.sources[0]
        found = recognise_columns(first.sample(), first.names, first.numbers)
        return found if self.options.missing is None else tuple(replace(column, code=None) for column in found)

    def positions(self, names: Sequence[str]) -> tuple[int, ...]:
        """Return where columns are, in the order of ``names``; a `ColumnsError` names all that are missing."""
        place = {name: position for position, name in enumerate(self.names)}
        missing = [name for name in names if name not in place]
        if missing:
            raise ColumnsError(
                f"{self.label} does not have all columns of the model; missing: {shortened([*map(repr, missing)])}. "
                "Rename its columns, or fit a model to rows of its kind."
            )
        return tuple(place[name] for name in names)

    def identifiers(self, columns: tuple[int, ...]) -> tuple[int, ...]:
        """Return where ids and times are, other than in ``columns``: what tells a reader which row is meant."""
        others = (column for column in self.columns if column.position not in set(columns))
        return tuple(column.position for column in others if column.kind in ("id", "time"))

    def batches(self, columns: tuple[int, ...], max_rows: int | None = None) -> Iterator[Batch]:
        """Read all rows, as often as wanted unless they come from a stream.

        The values of batches have the order of ``columns``. A batch has at most ``max_rows`` rows, or about a million
        cells; a file without rows is one empty batch.
        """
        self._check_usable(columns)
        codes = self._missing_codes(columns)
        first = 0
        integers = frozenset(column.position for column in self.columns if column.integer)
        for index, source in enumerate(self.sources):
            for batch in source.batches(columns):
                batch.check_not_infinite(self.names)
                if codes.size:
                    batch.values[(batch.values[:, :, None] == codes).any(axis=2)] = np.nan
                done = (index + batch.done) / len(self.sources)
                yield from replace(batch, first=first, done=done, integers=integers).parts(max_rows)
                first += len(batch)

    def _missing_codes(self, columns: tuple[int, ...]) -> NDArray[np.float64]:
        """Return numbers that stand for missing values, columns x codes; NaN where a column has none."""
        given = [float(text) for text in self.options.missing or () if NumberFormat().is_number(text)]
        if given:
            return np.tile(np.array(given), (len(columns), 1))
        found = np.array([[self.columns[column].code] for column in columns], dtype=np.float64)
        return found[:, ~np.isnan(found).all(axis=0)]

    def _check_usable(self, columns: tuple[int, ...]) -> None:
        wrong = [self.columns[column] for column in columns if not self.columns[column].numeric]
        if wrong:
            raise InputError(
                f"{self.label}: {len(wrong)} of {len(columns)} chosen columns do not hold numbers: {_reasons(wrong)}. "
                "Keep them out with --passthrough."
            )


@dataclass(frozen=True)
class ColumnChoice:
    """Positions of the columns to look at, and columns that are passed through though nobody asked for that."""

    columns: tuple[int, ...]
    passed: tuple[Column, ...] = ()

    @property
    def note(self) -> str:
        """One line that names the columns passed through, empty if there are none."""
        return f"passed through: {_reasons(self.passed)}" if self.passed else ""


def choose_columns(table: FileTable, wanted: Sequence[str] = (), unwanted: Sequence[str] = ()) -> ColumnChoice:
    """Choose columns by names or patterns; if none are wanted by name, leave out what does not hold measurements."""
    asked = match_columns(table.names, wanted, unwanted)
    if wanted:
        return ColumnChoice(asked)
    passed = tuple(table.columns[position] for position in asked if table.columns[position].kind != "number")
    left = tuple(position for position in asked if table.columns[position].kind == "number")
    if not left:
        raise InputError(
            f"{table.label} has no column of numbers to look at: {_reasons(passed)}. Choose columns with --columns, or "
            "give --delimiter or --decimal if cells are cut or read wrongly."
        )
    return ColumnChoice(left, passed)


def _reasons(columns: Sequence[Column]) -> str:
    return shortened([f"{column.name!r} ({column.reason})" for column in columns], most=20)


def match_columns(names: tuple[str, ...], wanted: Sequence[str] = (), unwanted: Sequence[str] = ()) -> tuple[int, ...]:
    """Return the positions of the wanted columns, in the order of the table; of all if none are named.

    Names may be patterns with ``*``, ``?`` and ``[...]``.

    Examples
    --------
    >>> match_columns(("id", "s1", "s2", "note"), wanted=["s*"], unwanted=["s2"])
    (1,)
    """
    unknown = [pattern for pattern in (*wanted, *unwanted) if not any_matches(names, pattern)]
    if unknown:
        raise ColumnsError(
            f"No column is called {' or '.join(map(repr, unknown))} or matches it; there are {shortened(names)}. "
            "Correct the name."
        )
    chosen = tuple(
        position
        for position, name in enumerate(names)
        if (not wanted or any_matches((name,), *wanted)) and not any_matches((name,), *unwanted)
    )
    if not chosen:
        raise ColumnsError("No column is left to look at. Choose fewer columns to pass through.")
    return chosen


def any_matches(names: Sequence[str], *patterns: str) -> bool:
    """Tell whether one of the names is one of the patterns, or matches it."""
    return any(name == pattern or fnmatch.fnmatchcase(name, pattern) for name in names for pattern in patterns)


def describe_missing(names: Sequence[str], n_missing: NDArray[np.int64], n_rows: int) -> str:
    """Name the columns that lack most values, for tables in which hardly a row is complete.

    Examples
    --------
    >>> describe_missing(["a", "b"], np.array([1, 95]), 100)
    "'b' is empty in 95% of the rows"
    """
    order = np.argsort(-n_missing, kind="stable")
    worst = [column for column in order if n_missing[column] * 2 > n_rows] or [int(order[0])]
    return shortened(
        [f"{names[column]!r} is empty in {n_missing[column] / max(1, n_rows):.0%} of the rows" for column in worst]
    )


def open_table(paths: Sequence[str], options: ReadOptions | None = None, *, reread: bool = False) -> FileTable:
    """Open files, folders of Parquet files, or ``-`` for standard input, as one table; only samples are read.

    Standard input can be read more than once if ``reread`` keeps it in a temporary file.
    """
    options = options or ReadOptions()
    files = [file for path in paths for file in files_of(path)]
    sources = tuple(_open(file, options, reread) for file in files)
    first = sources[0]
    doubled = [name for name, count in Counter(first.names).items() if count > 1]
    if doubled:
        raise ColumnsError(f"{first.label} has several columns named {shortened([*map(repr, doubled)])}. Rename them.")
    for source in sources[1:]:
        if source.names != first.names:
            difference = columns_difference(first.names, source.names).replace("\n", "; ")
            raise ColumnsError(f"{source.label} does not have the columns of {first.label}: {difference}.")
    return FileTable(sources, tuple(file for file in files if file != STANDARD_STREAM), options)


def files_of(path: str) -> list[str]:
    """Return the file itself, or the Parquet files of a folder by name; hidden ones are left out."""
    if path == STANDARD_STREAM or not Path(path).is_dir():
        return [path]
    found = sorted(
        file
        for file in Path(path).rglob("*.parquet")
        if file.is_file() and not any(part.startswith((".", "_")) for part in file.relative_to(path).parts)
    )
    if not found:
        raise InputError(f"{path} is a folder without Parquet files. Give files, or a folder with some.")
    return [str(file) for file in found]


def _open(path: str, options: ReadOptions, reread: bool) -> Source:
    kind = format_of(path)
    if path == STANDARD_STREAM:
        opened = _kept_input() if reread else lambda: cast(BinaryIO, sys.stdin.buffer)
        return CsvFile("standard input", opened, kind.delimiter, "", options, once=not reread)
    if not Path(path).is_file():
        raise InputError(f"{path} does not exist, or is not a file. Check the path.")
    if kind.family == "csv":
        return CsvFile(path, lambda: open(path, "rb"), kind.delimiter, kind.compression, options)
    if kind.family in ("parquet", "feather"):
        return ArrowFile(path, kind.family)
    return NpyFile(path, kind.family, options.array)


def _kept_input() -> Callable[[], BinaryIO]:
    """Copy standard input into a file without a name, which can be read more than once."""
    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy, 2**20)
        copy.flush()
        descriptor = os.dup(copy.fileno())

    def opened() -> BinaryIO:
        os.lseek(descriptor, 0, os.SEEK_SET)
        return os.fdopen(os.dup(descriptor), "rb")

    return opened


def open_writer(
    path: str,
    file: BinaryIO,
    *,
    like: FileTable | None = None,
    named: bool = True,
    delimiter: str | None = None,
    keep_integers: bool = True,
) -> Writer:
    """Return a writer of the format that the path tells, into a file that the caller closes.

    If ``like`` is the table whose rows will come, its header, delimiter, types and metadata are kept where formats
    agree; else text files get a header if columns are ``named``, and a usual delimiter if none is given.
    """
    kind = format_of(path)
    first = None if like is None else like.sources[0]
    if kind.family == "csv":
        source = first if isinstance(first, CsvFile) else None
        if delimiter is None and source is not None and kind.delimiter in ("", source.usual_delimiter):
            delimiter = source.delimiter
        delimiter = delimiter or kind.delimiter or ","
        header = source.preamble if source is not None and source.delimiter == delimiter else None
        names = named if like is None else like.named
        return CsvWriter(file, kind.compression, delimiter, names if header is None else header)
    if kind.family in ("parquet", "feather"):
        schema = first.schema if isinstance(first, ArrowFile) else None
        return ArrowWriter(file, kind.family, Path(path).absolute().parent, schema, keep_integers=keep_integers)
    return NpyWriter(file) if kind.family == "npy" else NpzWriter(file)


def write_columns(path: str, file: BinaryIO, columns: Mapping[str, Any]) -> None:
    """Write named columns of equal length, such as findings, in the format that the path tells."""
    writer = open_writer(path, file)
    writer.write_table(pa.table(dict(columns)))
    writer.close()
