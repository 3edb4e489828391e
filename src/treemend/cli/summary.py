"""The summary: one dictionary that says what was found, for people, ``--json`` and whoever draws a report.

Enters: batches as they were judged. Leaves: counts, the columns hit most, the rows hit most, by file and line.
"""

import heapq
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemend.files import Batch

__all__ = ["Summary"]

_ROWS_LISTED = 100


class Summary:
    """Counts over all batches.

    Parameters
    ----------
    names : tuple of str
        The columns that were looked at.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.n_rows = 0
        self.n_rows_found = 0
        self._hits = np.zeros(len(names), dtype=np.int64)
        self._worst: list[tuple[int, int, str, list[str]]] = []

    @property
    def n_cells_found(self) -> int:
        """Number of cells judged corrupted."""
        return int(self._hits.sum())

    def add(self, batch: Batch, mask: NDArray[np.bool_]) -> None:
        """Count a batch."""
        widths = mask.sum(axis=1)
        found = np.flatnonzero(widths)
        for row in found:
            entry = (int(widths[row]), -(self.n_rows + int(row)))
            if len(self._worst) < _ROWS_LISTED or entry > self._worst[0][:2]:
                columns = [self.names[column] for column in np.flatnonzero(mask[row])]
                keep = heapq.heappush if len(self._worst) < _ROWS_LISTED else heapq.heapreplace
                keep(self._worst, (*entry, batch.place(int(row)), columns))
        self._hits += mask.sum(axis=0)
        self.n_rows += len(mask)
        self.n_rows_found += len(found)

    def worst_rows(self) -> list[dict[str, Any]]:
        """Return the rows with the most corrupted cells, worst first."""
        return [
            {"row": -place, "where": where, "cells": cells, "columns": columns}
            for cells, place, where, columns in sorted(self._worst, reverse=True)
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return all counts as plain values."""
        order = np.argsort(-self._hits, kind="stable")
        return {
            "rows": self.n_rows,
            "columns": len(self.names),
            "cells": self.n_rows * len(self.names),
            "corrupted_rows": self.n_rows_found,
            "corrupted_cells": self.n_cells_found,
            "hits_by_column": [
                {"column": self.names[column], "cells": int(self._hits[column])}
                for column in order
                if self._hits[column]
            ],
            "worst_rows": self.worst_rows(),
        }

    def sentence(self) -> str:
        """Say it in one line."""
        if self.n_rows_found == 0:
            return f"nothing found in {self.n_rows} rows"
        return (
            f"{self.n_rows_found} of {self.n_rows} rows hold something overwritten, {self.n_cells_found} cells in all"
        )
