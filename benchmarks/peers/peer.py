"""What a peer is, and how its threshold is set.

Enters: a peer fitted to the reference, clean and corrupted rows. Leaves: masks and repaired rows.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Fill", "Masks", "Peer", "Rows", "floored", "judge_and_repair", "row_threshold"]

Rows = NDArray[np.float64]
Masks = NDArray[np.bool_]


Fill = Callable[[Rows, Masks], Rows]


class Peer(Protocol):
    """A method that scores cells and fills gaps.

    Attributes
    ----------
    title : str
    cell_threshold : float
        Cells beyond this are suspect by the method's own rules, in a row that is.
    """

    title: str
    cell_threshold: float

    def fit(self, reference: Rows) -> "Peer":
        """Learn from clean rows."""
        ...

    def score(self, rows: Rows) -> Rows:
        """Return one score a cell; higher is more suspect."""
        ...

    def fillings(self) -> dict[str, Fill]:
        """Return ways to fill the masked cells of rows, by title."""
        ...


def row_threshold(scores: Rows, rate: float) -> float:
    """Return the smallest threshold that at most a share ``rate`` of the rows exceeds somewhere.

    Examples
    --------
    >>> row_threshold(np.arange(20.0)[:, None], 0.05)
    18.0
    """
    largest = np.sort(scores.max(axis=1))
    allowed = int(np.floor(rate * len(largest) + 1e-9))
    return float(largest[len(largest) - 1 - allowed])


def judge_and_repair(peer: Peer, fill: Fill, clean: Rows, rate: float) -> Callable[[Rows], tuple[Masks, Rows]]:
    """Return a function that judges and repairs rows, the rows' threshold set on clean ones.

    A row is found if some cell is beyond the rows' threshold. In it, all cells beyond the method's own threshold are
    corrupted: this finds more of a stretch and touches no further row.
    """
    for_rows = row_threshold(peer.score(clean), rate)
    for_cells = min(for_rows, peer.cell_threshold)

    def repair(rows: Rows) -> tuple[Masks, Rows]:
        scores = peer.score(rows)
        mask = (scores > for_cells) & (scores.max(axis=1) > for_rows)[:, None]
        return mask, fill(rows, mask) if mask.any() else rows

    return repair


def floored(units: Rows) -> Rows:
    """Return units of measure, none below half their median: what hardly varies must not drown the rest."""
    return np.asarray(np.maximum(units, 0.5 * np.median(units[units > 0])))
