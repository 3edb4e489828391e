"""Evidence: what a report needs to know beyond the result, gathered only when one is asked for.

Enters: what `TreeMender` knew while mending. Leaves: `Findings` for the report. What spoke against each row is kept;
scores of nodes are not, but made again for the rows that a report shows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemend.calibration import NOTHING_DECLARED
from treemend.mender.judging import cleanness, node_counts, promises_nothing, touched_share
from treemend.mender.knowledge import Workshop
from treemend.mender.weighing import ALL_EXPLANATIONS, Surprise
from treemend.report import Findings, Reasons
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
    surprise : Surprise or None
        What spoke against each row, where search and context were weighed together.
    """

    workshop: Workshop
    table: Table
    filled: NDArray[np.float64]
    mask: NDArray[np.bool_]
    missing: NDArray[np.bool_]
    spread: NDArray[np.float64]
    left_out: NDArray[np.int64] | None
    surprise: Surprise | None

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
            row_scores=self._row_scores(in_detail),
            reasons=self._reasons(),
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

    def _row_scores(self, in_detail: bool) -> NDArray[np.float64] | None:
        """Score the rows in which something was found; the others are NaN."""
        if self.surprise is None and not in_detail:
            return None
        scores = np.full(len(self.mask), np.nan)
        touched = np.flatnonzero(self.mask.any(axis=1))
        if self.surprise is not None:
            scores[touched] = -self.surprise.statistic[touched]
        elif len(touched):
            own = None if self.left_out is None else self.left_out[touched]
            scores[touched] = cleanness(self.workshop, self._rows(touched), own)
        return scores

    def _reasons(self) -> Reasons | None:
        """Tell what spoke against each row, and how many reference rows show as much evidence, itself not counted."""
        surprise, scales = self.surprise, self.workshop.knowledge.scales
        if surprise is None or scales is None:
            return None
        statistics = np.sort(scales.statistics)
        as_much = len(statistics) - np.searchsorted(statistics, surprise.statistic, side="left")
        if self.left_out is not None:
            as_much = as_much - np.isin(self.left_out, scales.rows)
        return Reasons(
            explanation=np.array(ALL_EXPLANATIONS)[surprise.explanation],
            explained=self.workshop.to_columns(surprise.explained) & self.mask,
            as_much_evidence=as_much,
            n_weighed=len(statistics),
        )

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
