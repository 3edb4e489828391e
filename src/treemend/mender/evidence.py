"""Evidence: what a report needs to know beyond the result, gathered only when one is asked for.

Enters: what `TreeMender` knew while mending. Leaves: `Findings` for the report. Scores of nodes are not kept but made
again for the rows that a report shows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemend.calibration import NOTHING_DECLARED
from treemend.mender.judging import cleanness, node_counts, promises_nothing, touched_share
from treemend.mender.knowledge import Workshop
from treemend.report import Findings
from treemend.tables import Table

__all__ = ["Evidence"]


@dataclass(frozen=True, eq=False)
class Evidence:
    """What was seen while mending; arrays are rows x attributes, in the order of the columns.

    Attributes
    ----------
    workshop : Workshop
        As it was then.
    table : Table
        The suspect rows as read.
    filled : ndarray
        Values for the gaps.
    mask, missing : ndarray of bool
        Values judged corrupted, values that were missing.
    spread : ndarray
        The donors' spread.
    left_out : ndarray of int, one a row, or None
        The reference rows that these rows are, -1 for none.
    """

    workshop: Workshop
    table: Table
    filled: NDArray[np.float64]
    mask: NDArray[np.bool_]
    missing: NDArray[np.bool_]
    spread: NDArray[np.float64]
    left_out: NDArray[np.int64] | None

    def findings(self, *, in_detail: bool = True) -> Findings:
        """Lay out everything for a report; without detail, nothing is scored again."""
        knowledge, settings = self.workshop.knowledge, self.workshop.settings
        before = self.table.values
        return Findings(
            before=before,
            after=np.where(self.mask | self.missing, self.filled, before),
            mask=self.mask,
            tree=knowledge.tree,
            missing=self.missing,
            spread=self.spread,
            row_scores=self._row_scores() if in_detail else None,
            row_ids=_labels(self.table),
            names=self.table.names,
            node_scores=self._node_scores if in_detail else None,
            grid=self._grid(),
            asked_rate=settings.false_alarm_rate if settings.tau is None else None,
            tau=self._tau(),
            n_reference=self.workshop.reference.n_rows,
            reference_rate=touched_share(self.workshop),
            reference_low=self.workshop.to_columns(self.workshop.reference.low[None])[0],
            reference_high=self.workshop.to_columns(self.workshop.reference.high[None])[0],
        )

    def _tau(self) -> float | None:
        """Return the search's threshold: negative if nothing can be declared, None if only the search cannot."""
        tau = self.workshop.knowledge.threshold.tau
        if promises_nothing(self.workshop):
            return NOTHING_DECLARED
        return tau if tau >= 0 else None

    def _row_scores(self) -> NDArray[np.float64]:
        """Score the rows in which something was found; the others are NaN."""
        scores = np.full(len(self.mask), np.nan)
        touched = np.flatnonzero(self.mask.any(axis=1))
        if len(touched):
            own = None if self.left_out is None else self.left_out[touched]
            scores[touched] = cleanness(self.workshop, self._rows(touched), own)
        return scores

    def _node_scores(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        return self._counts(rows) / self.workshop.calibration.n_rows

    def _counts(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        left_out = None if self.left_out is None else self.left_out[rows]
        return node_counts(self.workshop, self._rows(rows), left_out)

    def _rows(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        return self.workshop.to_tree(self.table.values[rows])

    def _grid(self) -> tuple[int, ...] | None:
        grid = self.workshop.knowledge.grid
        return grid[:2] if grid is not None and grid[2] == 1 else grid


def _labels(table: Table) -> Any:
    """Return the names of the rows, where the table has some."""
    if isinstance(table.given, np.ndarray) or not table.given.implementation.is_pandas_like():
        return None
    return table.given.to_native().index
