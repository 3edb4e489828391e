"""Writing CSV and TSV: untouched lines are the same bytes; in touched lines, all cells but the repaired ones are.

Enters: rows of any family. Leaves: lines. Numbers are written with the fewest digits that give the same bits again.
"""

import io
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from treemend.files.batches import Rows
from treemend.files.text import TextRows, quoted

__all__ = ["TextWriter"]


class TextWriter:
    """A CSV or TSV file being written."""

    def __init__(
        self, file: BinaryIO, names: tuple[str, ...] | None, delimiter: str, header_line: str | None = None
    ) -> None:
        self._file = io.TextIOWrapper(file, encoding="utf-8", errors="surrogateescape", newline="", write_through=False)
        self._delimiter = delimiter
        self._line_is_open = False
        if header_line:
            self._put(header_line)
        elif names is not None:
            self._put(delimiter.join(quoted(name, delimiter) for name in names) + "\n")

    def write(self, rows: Rows, chosen: tuple[int, ...], filled: NDArray[np.float64], mask: NDArray[np.bool_]) -> None:
        """Write lines as they stood, but for the repaired cells."""
        if isinstance(rows, TextRows) and rows.delimiter == self._delimiter:
            touched: NDArray[np.bool_] = np.any(mask, axis=1)
            for row, line in enumerate(rows.lines):
                self._put(self._spliced(rows, row, chosen, filled[row], mask[row]) if touched[row] else line)
            return
        columns = self._columns(rows, chosen, filled, mask)
        for cells in zip(*columns, strict=True):
            self._put(self._delimiter.join(cells) + "\n")

    def close(self) -> None:
        """Flush; the file itself stays open for whoever opened it."""
        self._file.flush()
        self._file.detach()

    def _put(self, line: str) -> None:
        if self._line_is_open:
            self._file.write("\n")
        self._file.write(line)
        self._line_is_open = not line.endswith(("\n", "\r"))

    def _spliced(
        self,
        rows: TextRows,
        row: int,
        chosen: tuple[int, ...],
        filled: NDArray[np.float64],
        mask: NDArray[np.bool_],
    ) -> str:
        cells = list(rows.cells[row])
        ending = rows.lines[row][len(self._delimiter.join(cells)) :]
        for place in np.flatnonzero(mask):
            cells[chosen[place]] = repr(float(filled[place]))
        return self._delimiter.join(cells) + ending

    def _columns(
        self, rows: Rows, chosen: tuple[int, ...], filled: NDArray[np.float64], mask: NDArray[np.bool_]
    ) -> list[list[str]]:
        place = {column: position for position, column in enumerate(chosen)}
        columns = []
        for column in range(rows.width):
            texts = [quoted(text, self._delimiter) for text in rows.texts(column)]
            if column in place:
                for row in np.flatnonzero(mask[:, place[column]]):
                    texts[row] = repr(float(filled[row, place[column]]))
            columns.append(texts)
        return columns
