"""What was found in some rows, as plain arrays; the only thing the report knows of mending.

Enters: arrays in the order of the columns. Leaves: the same arrays, checked against each other.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from treemend.exceptions import InputError
from treemend.report.reasons import Reasons
from treemend.tree import AttributeTree

__all__ = ["Findings", "NodeScores"]

NodeScores: TypeAlias = Callable[[NDArray[np.int64]], NDArray[np.float64]]
"""Takes numbers of rows, returns their scores at every node, rows x nodes."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Findings:
    """Rows before and after, and what is known about them.

    Attributes
    ----------
    before, after : ndarray, rows x attributes
        The rows as they came and as they are now; NaN where a value was missing.
    mask : ndarray of bool, rows x attributes
        True where a value was found to be corrupted.
    tree : AttributeTree
        The tree that was searched.
    missing : ndarray of bool, rows x attributes, optional
        True where a value was missing when the row came.
    spread : ndarray, rows x attributes, optional
        Standard deviation of the donors' values where something was put back, NaN elsewhere.
    row_scores : ndarray, one a row, optional
        How clean each row is; higher is cleaner, as ``score_samples`` says it.
    reasons : Reasons, optional
        Which explanation spoke against each row.
    row_ids : sequence, optional
        Names of the rows, of any kind that can be told as text; their numbers by default.
    names : sequence of str, optional
        Names of the attributes; their numbers, or pixels, by default.
    node_scores : callable or ndarray of rows x nodes, optional
        Scores of the nodes: a function of the numbers of the rows that the report shows, or all of them.
    grid : tuple of int, optional
        ``(height, width)`` or ``(height, width, channels)`` if rows are images.
    asked_rate : float, optional
        The false-alarm rate that was asked for; None if a threshold was given instead.
    tau : float, optional
        The threshold in force: a node is anomalous if its score is at most this; negative if nothing can be declared.
    n_reference : int, optional
        Number of reference rows.
    reference_rate : float, optional
        Share of the reference rows that are touched, each judged by the others.
    reference_low, reference_high : ndarray, one entry an attribute, optional
        The smallest and the largest value in the reference.
    """

    before: NDArray[np.float64]
    after: NDArray[np.float64]
    mask: NDArray[np.bool_]
    tree: AttributeTree
    missing: NDArray[np.bool_] | None = None
    spread: NDArray[np.float64] | None = None
    row_scores: NDArray[np.float64] | None = None
    reasons: Reasons | None = None
    row_ids: Sequence[object] | None = None
    names: Sequence[str] | None = None
    node_scores: NodeScores | NDArray[np.float64] | None = None
    grid: tuple[int, ...] | None = None
    asked_rate: float | None = None
    tau: float | None = None
    n_reference: int | None = None
    reference_rate: float | None = None
    reference_low: NDArray[np.float64] | None = None
    reference_high: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        n_rows, n_features = self.before.shape
        reasons = self.reasons
        by_cell = {
            "after": self.after,
            "mask": self.mask,
            "missing": self.missing,
            "spread": self.spread,
            "explained": None if reasons is None else reasons.explained,
        }
        for name, array in by_cell.items():
            if array is not None and array.shape != self.before.shape:
                raise InputError(f"{name} must have the shape of before, {self.before.shape}, got {array.shape}.")
        by_row = {
            "row_scores": self.row_scores,
            "row_ids": self.row_ids,
            "explanation": None if reasons is None else reasons.explanation,
            "as_much_evidence": None if reasons is None else reasons.as_much_evidence,
        }
        by_attribute = {"names": self.names, "reference_low": self.reference_low, "reference_high": self.reference_high}
        for entries, expected, word in ((by_row, n_rows, "row"), (by_attribute, n_features, "attribute")):
            for name, given in entries.items():
                if given is not None and len(given) != expected:
                    raise InputError(f"{name} must have one entry for each {word}, {expected}, got {len(given)}.")
        if self.tree.n_features != n_features:
            raise InputError(f"The tree must have {n_features} attributes as before has, got {self.tree.n_features}.")
        if self.grid is not None and (len(self.grid) not in {2, 3} or int(np.prod(self.grid)) != n_features):
            raise InputError(
                f"grid must be (height, width) or (height, width, channels) with {n_features} entries in all, got "
                f"{self.grid!r}."
            )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.before)

    @property
    def only_missing(self) -> NDArray[np.bool_]:
        """Return True where a value was missing and not found corrupted."""
        if self.missing is None:
            return np.zeros(self.mask.shape, dtype=bool)
        return np.asarray(self.missing & ~self.mask)

    def scores_of(self, rows: NDArray[np.int64]) -> NDArray[np.float64] | None:
        """Return the scores of the nodes for some rows, if they are known."""
        if self.node_scores is None:
            return None
        return self.node_scores(rows) if callable(self.node_scores) else np.asarray(self.node_scores)[rows]
