"""Judging: which values of suspect rows were overwritten (method, sections 4 and 5).

Enters: suspect rows, scaled, in the order of the tree, and a `Workshop`. Leaves: a `Verdict` on every row.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemend.mender.knowledge import Workshop
from treemend.radii import suspect_radii
from treemend.separation import attribute_mask, declare, turning_levels

__all__ = ["Verdict", "cleanness", "judge", "node_counts", "offset"]


@dataclass(frozen=True, eq=False)
class Verdict:
    """What was found.

    Attributes
    ----------
    declared : ndarray of bool, rows x nodes
        Nodes at which corruption is declared.
    mask : ndarray of bool, rows x attributes
        Attributes judged corrupted, in the order of the tree.
    """

    declared: NDArray[np.bool_]
    mask: NDArray[np.bool_]


def node_counts(
    workshop: Workshop, rows: NDArray[np.float64], left_out: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Count, for every row and node, the reference rows that are at least as unusual.

    ``left_out`` names the reference rows that ``rows`` are, -1 for none; they are judged by the others.
    """
    if left_out is not None:
        known = left_out >= 0
        counts = np.empty((len(rows), workshop.tree.n_nodes), dtype=np.int64)
        counts[known] = workshop.calibration.left_out_counts()[left_out[known]]
        counts[~known] = node_counts(workshop, rows[~known])
        return counts
    settings = workshop.settings
    radii = suspect_radii(
        rows,
        workshop.tree,
        workshop.packed,
        workshop.filler.reference,
        settings.n_neighbors,
        n_jobs=settings.n_jobs,
    )
    return workshop.calibration.counts(radii)


def judge(workshop: Workshop, counts: NDArray[np.int64]) -> Verdict:
    """Search the tree of every row."""
    declared = declare(
        counts / workshop.calibration.n_rows,
        workshop.tree,
        workshop.knowledge.threshold.tau,
        stop_at_root=workshop.settings.stop_at_root,
    )
    return Verdict(declared=declared, mask=attribute_mask(declared, workshop.tree))


def cleanness(workshop: Workshop, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return, for every row, the ``tau`` at which its verdict turns; higher is cleaner.

    The search is not monotone: raising ``tau`` can let a row go that was found before. So this is the turning point
    nearest to the threshold in force: for a corrupted row the smallest threshold down to which it stays found, for a
    clean one the next threshold at which it would be found.
    """
    n_rows = workshop.calibration.n_rows
    turning = turning_levels(
        counts, workshop.tree, workshop.level(), n_rows + 1, stop_at_root=workshop.settings.stop_at_root
    )
    return turning / n_rows


def offset(workshop: Workshop) -> float:
    """Return the boundary of `cleanness` between corrupted and clean: half a reference row above the threshold."""
    return (workshop.level() + 0.5) / workshop.calibration.n_rows
