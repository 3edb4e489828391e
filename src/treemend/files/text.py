"""Rows of texts: every cell keeps the characters it came with.

Enters: lines. Leaves: their cells, raw (with quotes, as they stand) and as texts.

Lines are cut here and not by the csv module, since that forgets quotes, line ends and blank lines. Nothing is
evaluated: a text such as ``=1+1`` is a text.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemend.exceptions import InputError

__all__ = ["TextRows", "number_of", "quoted", "raw_cells", "unquoted"]

_MISSING = frozenset({"", "na", "n/a", "null", "none"})


@dataclass(frozen=True, eq=False)
class TextRows:
    """Lines as they stood, and their cells with quotes and blanks."""

    lines: list[str]
    cells: list[list[str]]
    delimiter: str

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.cells[0])

    def texts(self, column: int) -> list[str]:
        """Return a column without quotes."""
        return [unquoted(cells[column]) for cells in self.cells]

    def arrow(self, column: int) -> Any:
        """Return a column as texts."""
        import pyarrow

        return pyarrow.array(self.texts(column), pyarrow.string())

    def array(self) -> NDArray[Any]:
        """Return the cells as numbers."""
        try:
            return np.array([[number_of(unquoted(cell)) for cell in cells] for cells in self.cells], dtype=np.float64)
        except ValueError as error:
            raise InputError(f"A table with texts cannot become an array: {error}. Write CSV or Parquet.") from None


def raw_cells(content: str, delimiter: str) -> list[str] | None:
    """Cut a line with quotes into its cells as they stand; None if a quote is still open.

    Examples
    --------
    >>> raw_cells('1,"a, b",3', ",")
    ['1', '"a, b"', '3']
    >>> raw_cells('1,"a', ",") is None
    True
    """
    cells: list[str] = []
    begin = 0
    while True:
        end = begin
        if content.startswith('"', begin):
            end = content.find('"', begin + 1)
            while end >= 0 and content.startswith('""', end):
                end = content.find('"', end + 2)
            if end < 0:
                return None
        stop = content.find(delimiter, end)
        if stop < 0:
            return [*cells, content[begin:]]
        cells.append(content[begin:stop])
        begin = stop + len(delimiter)


def number_of(text: str) -> float:
    """Return a cell's number; NaN where nothing stands, or one of the usual words for that.

    Examples
    --------
    >>> number_of(" 1.5"), number_of(""), number_of("NA")
    (1.5, nan, nan)
    """
    text = text.strip()
    if text.lower() in _MISSING:
        return float("nan")
    if "_" in text:
        raise ValueError(f"could not convert string to float: {text!r}")
    return float(text)


def unquoted(cell: str) -> str:
    """Return a cell without its quotes."""
    if len(cell) >= 2 and cell[0] == cell[-1] == '"':
        return cell[1:-1].replace('""', '"')
    return cell


def quoted(text: str, delimiter: str) -> str:
    """Return a text as a cell, in quotes if it needs them."""
    if delimiter in text or '"' in text or "\n" in text or "\r" in text:
        return '"' + text.replace('"', '""') + '"'
    return text
