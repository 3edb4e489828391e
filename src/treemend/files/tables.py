"""One table out of one file, several files, or a folder of Parquet files; and the choice of its columns.

Enters: paths as the user gave them, names and patterns of columns. Leaves: a `FileTable`, which can be read in batches,
and the positions of the chosen columns.
"""

import fnmatch
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from treemend.exceptions import ColumnsError, InputError
from treemend.files.batches import Batch, Source
from treemend.files.kinds import STANDARD_STREAM, kind_of
from treemend.tables import columns_difference

__all__ = ["FileTable", "any_matches", "choose_columns", "files_of", "open_table"]


@dataclass(frozen=True, eq=False)
class FileTable:
    """Files that are one table.

    Attributes
    ----------
    sources : tuple of Source
        The files, in the order of the rows.
    paths : tuple of str
        Their paths, for what must not overwrite them.
    """

    sources: tuple[Source, ...]
    paths: tuple[str, ...]

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

    def batches(self, chosen: tuple[int, ...]) -> Iterator[tuple[Batch, float]]:
        """Read all rows; each batch comes with the share of the table that has been read."""
        names = tuple(self.names[column] for column in chosen)
        for index, source in enumerate(self.sources):
            for batch in source.batches(chosen):
                batch.check_not_infinite(names)
                yield batch, (index + batch.done) / len(self.sources)


def open_table(
    paths: Sequence[str],
    *,
    delimiter: str | None = None,
    header: bool = True,
    array: str | None = None,
    standard_input: Callable[[], BinaryIO] | None = None,
) -> FileTable:
    """Open files as one table; only their headers are read.

    Parameters
    ----------
    paths : sequence of str
        Files, folders of Parquet files, or ``-``.
    delimiter : str, optional
        Between the cells of texts, if it is not the usual one.
    header : bool
        Whether the first line of texts names the columns.
    array : str, optional
        Which array of NPZ files.
    standard_input : callable, optional
        Opens what ``-`` stands for, as often as it is read; standard input itself, only once, if it is left out.
    """
    files = [file for path in paths for file in files_of(path)]
    sources = tuple(_open(file, delimiter, header, array, standard_input) for file in files)
    first = sources[0]
    doubles = sorted({name for name in first.names if first.names.count(name) > 1}) if len(first.names) < 10_000 else []
    if doubles:
        raise ColumnsError(f"{first.label} has several columns named {doubles[0]!r}. Rename them.")
    for source in sources[1:]:
        if source.names != first.names:
            difference = columns_difference(first.names, source.names).replace("\n", "; ") or "other numbers of columns"
            raise ColumnsError(f"{source.label} does not have the columns of {first.label}: {difference}.")
    return FileTable(sources, tuple(file for file in files if file != STANDARD_STREAM))


def choose_columns(names: tuple[str, ...], wanted: Sequence[str] = (), unwanted: Sequence[str] = ()) -> tuple[int, ...]:
    """Return the positions of the wanted columns, in the order of the table.

    Parameters
    ----------
    names : tuple of str
        All columns.
    wanted, unwanted : sequence of str
        Names or patterns with ``*``, ``?`` and ``[...]``; without any, all columns are wanted.

    Examples
    --------
    >>> choose_columns(("id", "s1", "s2", "note"), wanted=["s*"], unwanted=["s2"])
    (1,)
    """
    for pattern in (*wanted, *unwanted):
        if not any_matches(names, pattern):
            known = ", ".join(names[:8]) + " ..." * (len(names) > 8)
            raise ColumnsError(f"No column is called {pattern!r} or matches it; there are {known}. Correct the name.")
    chosen = tuple(
        position
        for position, name in enumerate(names)
        if (not wanted or any(_matches(name, pattern) for pattern in wanted))
        and not any(_matches(name, pattern) for pattern in unwanted)
    )
    if not chosen:
        raise ColumnsError("No column is left to look at. Choose fewer columns to pass through.")
    return chosen


def any_matches(names: tuple[str, ...], pattern: str) -> bool:
    """Tell whether a column is called so, or matches."""
    return any(_matches(name, pattern) for name in names)


def _matches(name: str, pattern: str) -> bool:
    return name == pattern or fnmatch.fnmatchcase(name, pattern)


def files_of(path: str) -> list[str]:
    """Return the file itself, or the Parquet files of a folder by name; hidden ones are left out."""
    if path == STANDARD_STREAM or not Path(path).is_dir():
        return [path]
    hidden = (".", "_")
    found = sorted(
        file
        for file in Path(path).rglob("*.parquet")
        if file.is_file() and not any(part.startswith(hidden) for part in file.relative_to(path).parts)
    )
    if not found:
        raise InputError(f"{path} is a folder without Parquet files. Give files, or a folder with some.")
    return [str(file) for file in found]


def _open(
    path: str,
    delimiter: str | None,
    header: bool,
    array: str | None,
    standard_input: Callable[[], BinaryIO] | None,
) -> Source:
    kind = kind_of(path, delimiter)
    if path != STANDARD_STREAM and not Path(path).is_file():
        raise InputError(f"{path} is not there, or is no file. Check the path.")
    if kind.family == "text":
        from treemend.files.text_reading import TextSource

        if path == STANDARD_STREAM:
            opened = standard_input or (lambda: cast(BinaryIO, sys.stdin.buffer))
            stream = standard_input is None
            return TextSource("standard input", opened, kind.delimiter, header=header, stream=stream)
        return TextSource(path, lambda: open(path, "rb"), kind.delimiter, header=header)
    if kind.family in ("parquet", "feather"):
        from treemend.files.arrow import ArrowSource

        return ArrowSource(path, kind.family)
    from treemend.files.arrays import ArraySource

    return ArraySource(path, kind.family, array)
