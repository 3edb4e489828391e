"""One table out of one file, several files, or a folder of Parquet files; the choice of its columns; and writers.

Columns that cannot be used, or say nothing about the others, are recognised and passed through: text, times, ids and
columns that are almost empty.
"""

import os
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from treemend import progress
from treemend.exceptions import ColumnsError, InputError
from treemend.files.arrow import ArrowFile, ArrowWriter, Batch, NpyWriter
from treemend.files.csv import CsvFile, CsvWriter
from treemend.files.formats import STANDARD_STREAM, NumberFormat, ReadOptions, format_of
from treemend.files.recognition import Column, recognise_columns
from treemend.tables import columns_difference, counted, listed, matching, shortened

Writer = CsvWriter | ArrowWriter | NpyWriter


class FileTable:
    """Files, folders of Parquet files, or ``-`` for standard input, as one table; only samples are read at first.

    ``paths`` must not be written to. Columns are called by their numbers where they are not ``named``.
    """

    def __init__(self, paths: Sequence[str], options: ReadOptions | None = None) -> None:
        self.options = options or ReadOptions()
        files = [file for path in paths for file in files_of(path)]
        self.paths = [file for file in files if file != STANDARD_STREAM]
        self.sources = [_open(file, self.options) for file in files]
        first = self.sources[0]
        self.names, self.named = first.names, first.named
        more = f" and {counted(len(files) - 1, 'more file')}" if len(files) > 1 else ""
        self.label = first.label + more
        doubled = [name for name, count in Counter(first.names).items() if count > 1]
        if doubled:
            raise ColumnsError(f"{first.label} has several columns named {listed(doubled)}. Rename them.")
        for source in self.sources[1:]:
            if source.names != first.names:
                difference = columns_difference(first.names, source.names).replace("\n", "; ")
                raise ColumnsError(f"{source.label} does not have the columns of {first.label}: {difference}.")

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
        found = recognise_columns(first.sample, first.names, first.numbers)
        return found if self.options.missing is None else tuple(replace(column, code=None) for column in found)

    @property
    def units(self) -> dict[int, str]:
        """The units that are written behind or before the numbers of columns, by the position of the column."""
        return {column: "".join(unit).strip() for column, unit in self.sources[0].units.items()}

    def positions(self, names: Sequence[str]) -> tuple[int, ...]:
        """Return where columns are, in the order of ``names``; a `ColumnsError` names all that are missing."""
        place = {name: position for position, name in enumerate(self.names)}
        missing = [name for name in names if name not in place]
        if missing:
            problem = f"{self.label} does not have all columns of the model; missing: {listed(missing)}"
            raise ColumnsError(f"{problem}. Rename its columns, or fit a model to rows of its kind.")
        return tuple(place[name] for name in names)

    def batches(self, columns: tuple[int, ...]) -> Iterator[Batch]:
        """Read all rows, as often as wanted; the values of batches have the order of ``columns``.

        A batch has about a million cells; a file without rows is one empty batch.
        """
        wrong = [self.columns[column] for column in columns if not self.columns[column].numeric]
        if wrong:
            problem = f"{len(wrong)} of {len(columns)} chosen columns do not hold numbers: {reasons(wrong)}"
            raise InputError(f"{self.label}: {problem}. Keep them out with --passthrough.")
        # Columns x codes; a column without one has NaN, which is equal to nothing.
        if self.options.missing:
            codes = np.tile(NumberFormat().numbers(pa.array(self.options.missing))[0], (len(columns), 1))
        else:
            codes = np.array([[self.columns[column].code] for column in columns], dtype=np.float64)
        decimals = tuple(column.decimals for column in self.columns)
        for index, source in enumerate(self.sources):
            for batch in source.batches(columns):
                for row, position in np.argwhere(np.isinf(batch.values)).tolist():
                    place = f"{batch.places[row]}, column {self.names[columns[position]]!r}"
                    remedy = "Drop such rows, or empty the cells to have them filled."
                    raise InputError(f"{place}: {batch.values[row, position]} is not a finite number. {remedy}")
                batch.values[(batch.values[:, :, None] == codes).any(axis=2)] = np.nan
                yield replace(batch, done=(index + batch.done) / len(self.sources), decimals=decimals)


def choose_columns(
    table: FileTable, wanted: Sequence[str] = (), unwanted: Sequence[str] = ()
) -> tuple[tuple[int, ...], tuple[Column, ...]]:
    """Choose columns by names or patterns with ``*``, ``?`` and ``[...]``.

    If none are wanted by name, those that do not hold measurements are left out. Returns the positions of the columns
    to look at, in the order of the table, and the columns that are passed through though nobody asked for it.
    """
    unknown = [pattern for pattern in (*wanted, *unwanted) if not matching(table.names, pattern)]
    if unknown:
        problem = f"No column is called or matches {' or '.join(map(repr, unknown))}"
        raise ColumnsError(f"{problem}; there are {shortened(table.names)}. Correct the name.")
    kept_out = set(matching(table.names, *unwanted))
    asked = [position for position in matching(table.names, *(wanted or "*")) if position not in kept_out]
    if not asked:
        raise ColumnsError("No column is left to look at. Choose fewer columns to pass through.")
    left = tuple(position for position in asked if wanted or table.columns[position].kind == "number")
    passed = tuple(table.columns[position] for position in asked if position not in left)
    if not left:
        remedy = "Choose columns with --columns, or give --delimiter or --decimal if cells are cut or read wrongly."
        raise InputError(f"{table.label} has no column of numbers to look at: {reasons(passed)}. {remedy}")
    return left, passed


def reasons(columns: Sequence[Column]) -> str:
    """Name columns, and why they are not looked at."""
    return shortened([f"{column.name!r} ({column.reason})" for column in columns], most=20)


def files_of(path: str) -> list[str]:
    """Return the file itself, or the Parquet files of a folder by name; hidden ones are left out."""
    if path == STANDARD_STREAM or not Path(path).is_dir():
        return [path]
    files = sorted(file for file in Path(path).rglob("*.parquet") if file.is_file())
    found = [str(file) for file in files if not re.search(r"(?:^|[/\\])[._]", str(file.relative_to(path)))]
    if not found:
        raise InputError(f"{path} is a folder without Parquet files. Give files, or a folder with some.")
    return found


def _open(path: str, options: ReadOptions) -> CsvFile | ArrowFile:
    if path == STANDARD_STREAM:
        return CsvFile("standard input", _kept_input(), format_of(path), options)
    if not Path(path).is_file():
        raise InputError(f"{path} does not exist, or is not a file. Check the path.")
    kind = format_of(path)
    if kind.family == "csv":
        return CsvFile(path, lambda: open(path, "rb"), kind, options)
    return ArrowFile(path, kind.family)


def _kept_input() -> Callable[[], BinaryIO]:
    """Copy standard input into a file without a name, which can be read more than once."""
    with tempfile.TemporaryFile() as copy, progress.step("reading standard input"):
        shutil.copyfileobj(sys.stdin.buffer, copy, 2**20)
        copy.flush()
        descriptor = os.dup(copy.fileno())

    def opened() -> BinaryIO:
        os.lseek(descriptor, 0, os.SEEK_SET)
        return os.fdopen(os.dup(descriptor), "rb")

    return opened


def open_writer(
    path: str, file: BinaryIO, *, like: FileTable | None = None, named: bool = True, delimiter: str | None = None
) -> Writer:
    """Return a writer of the format that the path tells, into a file that the caller closes.

    If ``like`` is the table whose rows will come, its header and delimiter are kept in text files; else those get a
    header if columns are ``named``, and a usual delimiter if none is given.
    """
    kind = format_of(path)
    if kind.family != "csv":
        return NpyWriter(file, kind.family) if kind.family in ("npy", "npz") else ArrowWriter(file, kind.family)
    source = None if like is None else like.sources[0]
    if isinstance(source, CsvFile):
        usual = kind.delimiter in ("", source.usual_delimiter)
        delimiter = delimiter or (source.delimiter if usual else kind.delimiter)
        if delimiter == source.delimiter:
            return CsvWriter(file, kind, delimiter, source.preamble)
    return CsvWriter(file, kind, delimiter or kind.delimiter or ",", named if like is None else like.named)
