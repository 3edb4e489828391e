"""Judging: which values of suspect rows were overwritten (method, sections 4, 5 and 10).

Enters: suspect rows, scaled, in the order of the tree, and a `Workshop`. Leaves: a `Verdict` on every row.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemend.calibration import NOTHING_DECLARED, own_radii
from treemend.kernels import declared_nodes
from treemend.mender.knowledge import Workshop
from treemend.mender.weighing import SEARCH, Surprise, level_evidence, refine_declared, weigh_rows
from treemend.separation import attribute_mask, turning_levels

__all__ = [
    "Verdict",
    "anomalous_nodes",
    "cleanness",
    "judge",
    "node_counts",
    "offset",
    "promises_nothing",
    "touched_share",
]

_ROWS_TO_TRY = 256
_WORTH_LOOKING = 0.4


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
    workshop: Workshop,
    rows: NDArray[np.float64],
    left_out: NDArray[np.int64] | None = None,
    *,
    level: int | None = None,
) -> NDArray[np.int64]:
    """Count, for every row and node, the calibration rows that are at least as unusual.

    Parameters
    ----------
    workshop : Workshop
    rows : ndarray, rows x attributes
        Scaled, in the order of the tree, NaN where missing.
    left_out : ndarray of int, one a row, optional
        The reference rows that these rows are, -1 for none; they are judged by the others.
    level : int, optional
        Rows of which no node has a count of at most this may be given any larger counts, which is quicker.
    """
    counts = np.empty((len(rows), workshop.tree.n_nodes), dtype=np.int64)
    own = np.full(len(rows), -1) if left_out is None else left_out
    known = own >= 0
    n_neighbors, calibration = workshop.settings.n_neighbors, workshop.calibration
    if known.any():
        radii = own_radii(workshop.reference, calibration, own[known], n_neighbors)
        counts[known] = calibration.counts(radii) - (calibration.places(own[known]) >= 0)[:, None]
    for part in _parts(~known, first=_ROWS_TO_TRY if level is not None else len(rows)):
        unusual: NDArray[np.bool_] = np.ones(len(part), dtype=bool)
        if level is not None:
            unusual = np.any(anomalous_nodes(workshop, rows[part], level), axis=1)
            # Where most rows are unusual, looking first is work done twice.
            level = level if unusual.mean() < _WORTH_LOOKING else None
        counts[part[~unusual]] = calibration.n_rows
        if unusual.any():
            counts[part[unusual]] = calibration.counts(workshop.reference.radii(rows[part[unusual]], n_neighbors))
    return counts


def anomalous_nodes(workshop: Workshop, rows: NDArray[np.float64], level: int) -> NDArray[np.bool_]:
    """Tell which nodes of fresh rows have a count of at most ``level``, without counting where that can be avoided."""
    calibration, n_neighbors = workshop.calibration, workshop.settings.n_neighbors
    if not 0 <= level < calibration.n_rows:
        return np.full((len(rows), workshop.tree.n_nodes), level >= 0)
    radius = calibration.radius_at(level)
    holes = np.isnan(rows).any(axis=1)
    anomalous = np.empty((len(rows), workshop.tree.n_nodes), dtype=bool)
    if holes.any():
        anomalous[holes] = workshop.reference.radii(rows[holes], n_neighbors) > radius
    if not holes.all():
        anomalous[~holes] = workshop.reference.beyond(rows[~holes], radius, n_neighbors)
    return anomalous


def _parts(chosen: NDArray[np.bool_], first: int) -> list[NDArray[np.intp]]:
    """Return the chosen rows in two parts, ``first`` of them in the first."""
    places = np.flatnonzero(chosen)
    return [part for part in (places[:first], places[first:]) if len(part)]


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
    if _weighs(workshop):
        limit = _limit(workshop)
        counts = node_counts(workshop, rows, left_out, level=_deciding_level(workshop, limit))
        surprise = _weighed(workshop, rows, counts, limit, left_out)
        return Verdict(declared=np.zeros(counts.shape, dtype=bool), mask=surprise.mask, surprise=surprise)
    if left_out is None:
        anomalous = anomalous_nodes(workshop, rows, workshop.level())
    else:
        anomalous = node_counts(workshop, rows, left_out) <= workshop.level()
    declared = declared_nodes(anomalous, workshop.tree, stop_at_root=workshop.settings.stop_at_root)
    mask = attribute_mask(declared, workshop.tree)
    if workshop.knowledge.scales is not None:
        mask = refine_declared(workshop.bench, workshop.knowledge.scales, rows, mask)
    return Verdict(declared=declared, mask=mask)


def _deciding_level(workshop: Workshop, limit: float) -> int:
    """Return the largest level at which something declared makes a row corrupted by itself; -1 if none does."""
    scales, n_rows = workshop.knowledge.scales, workshop.calibration.n_rows
    if scales is None:
        return -1
    evidence = np.full((n_rows, SEARCH + 1), -np.inf)
    evidence[:, SEARCH] = level_evidence(np.arange(n_rows), n_rows)
    return int(np.count_nonzero(scales.tails.surprise(evidence)[:, SEARCH] > limit)) - 1


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
