"""Judging: which values of suspect rows were overwritten (method, sections 4, 5 and 10).

Enters: suspect rows, scaled, in the order of the tree, and a `Workshop`. Leaves: a `Verdict` on every row.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemend.calibration import NOTHING_DECLARED
from treemend.mender.knowledge import Workshop
from treemend.mender.weighing import Surprise, refine_declared, weigh_rows
from treemend.radii import suspect_radii
from treemend.separation import attribute_mask, declare, turning_levels

__all__ = ["Verdict", "cleanness", "judge", "node_counts", "offset", "promises_nothing", "touched_share"]


@dataclass(frozen=True, eq=False)
class Verdict:
    """What was found.

    Attributes
    ----------
    declared : ndarray of bool, rows x nodes
        Nodes at which the search declares corruption; empty of meaning where more than the search was asked.
    mask : ndarray of bool, rows x attributes
        Attributes judged corrupted, in the order of the tree.
    surprise : Surprise or None
        What spoke, where search and context were weighed together.
    """

    declared: NDArray[np.bool_]
    mask: NDArray[np.bool_]
    surprise: Surprise | None = None


def node_counts(
    workshop: Workshop, rows: NDArray[np.float64], left_out: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Count, for every row and node, the reference rows that are at least as unusual.

    ``left_out`` names the reference rows that ``rows`` are, -1 for none; they are judged by the others.
    """
    if left_out is not None:
        known = left_out >= 0
        counts = np.empty((len(rows), workshop.tree.n_nodes), dtype=np.int64)
        counts[known] = workshop.calibration.left_out_counts(left_out[known])
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


def judge(workshop: Workshop, rows: NDArray[np.float64], left_out: NDArray[np.int64] | None = None) -> Verdict:
    """Tell which attributes of every row were overwritten.

    Parameters
    ----------
    workshop : Workshop
    rows : ndarray, rows x attributes
        Scaled, in the order of the tree, NaN where missing.
    left_out : ndarray of int, one a row, optional
        The reference rows that these rows are, -1 for none; they are judged by the others.
    """
    counts = node_counts(workshop, rows, left_out)
    if _weighs(workshop):
        surprise = _weighed(workshop, rows, counts, _limit(workshop), left_out)
        return Verdict(declared=np.zeros(counts.shape, dtype=bool), mask=surprise.mask, surprise=surprise)
    declared = declare(
        counts / workshop.calibration.n_rows,
        workshop.tree,
        workshop.knowledge.threshold.tau,
        stop_at_root=workshop.settings.stop_at_root,
    )
    mask = attribute_mask(declared, workshop.tree)
    if workshop.knowledge.scales is not None:
        mask = refine_declared(workshop.bench, workshop.knowledge.scales, rows, mask)
    return Verdict(declared=declared, mask=mask)


def cleanness(
    workshop: Workshop, rows: NDArray[np.float64], left_out: NDArray[np.int64] | None = None
) -> NDArray[np.float64]:
    """Return a score for every row; higher is cleaner.

    With ``refine=True`` and a false-alarm rate: the log of how often a clean row has as much evidence against it.
    Otherwise the ``tau`` at which the search's verdict turns. The search is not monotone: raising ``tau`` can let a row
    go that was found before. So this is the turning point nearest to the threshold in force: for a corrupted row the
    smallest threshold down to which it stays found, for a clean one the next threshold at which it would be found.
    ``left_out`` is as for `judge`.
    """
    counts = node_counts(workshop, rows, left_out)
    if _weighs(workshop):
        return -_weighed(workshop, rows, counts, np.inf, left_out).statistic
    n_rows = workshop.calibration.n_rows
    turning = turning_levels(
        counts, workshop.tree, workshop.level(), n_rows + 1, stop_at_root=workshop.settings.stop_at_root
    )
    return turning / n_rows


def offset(workshop: Workshop) -> float:
    """Return the boundary of `cleanness` between corrupted and clean rows.

    For the search, half a reference row above the threshold, since a row at the threshold counts as corrupted.
    """
    if _weighs(workshop):
        return float(np.nextafter(-_limit(workshop), -np.inf))
    return (workshop.level() + 0.5) / workshop.calibration.n_rows


def touched_share(workshop: Workshop) -> float:
    """Return the share of the reference rows, each judged by the others, that are found corrupted."""
    scales = workshop.knowledge.scales
    if scales is not None and _weighs(workshop):
        return float(np.mean(scales.statistics > _limit(workshop)))
    return workshop.knowledge.threshold.rate


def promises_nothing(workshop: Workshop) -> bool:
    """Tell whether the reference is too small for the rate, so that nothing will ever be declared."""
    if _weighs(workshop):
        return bool(np.isinf(_limit(workshop)))
    return workshop.knowledge.threshold.tau == NOTHING_DECLARED


def _weighs(workshop: Workshop) -> bool:
    """Tell whether search and context are weighed together; with a tau of the user's, the search alone decides."""
    return workshop.knowledge.scales is not None and workshop.settings.tau is None


def _limit(workshop: Workshop) -> float:
    scales, rate = workshop.knowledge.scales, workshop.settings.false_alarm_rate
    return np.inf if scales is None or rate is None else scales.threshold(rate)


def _weighed(
    workshop: Workshop,
    rows: NDArray[np.float64],
    counts: NDArray[np.int64],
    limit: float,
    left_out: NDArray[np.int64] | None,
) -> Surprise:
    scales = workshop.knowledge.scales
    if scales is None:
        raise AssertionError("rows are weighed only where scales were learnt")
    return weigh_rows(workshop.bench, scales, rows, counts, limit, left_out)
