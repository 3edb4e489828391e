"""Calibration: what is usual at each node, and how often the whole search alarms on clean rows (method, sections 4, 7).

Enters: the K-th radii of reference rows, each row left out of its own neighbours, rows x nodes. Leaves: scores of
any row at every node, and the threshold ``tau`` that keeps a promised false-alarm rate.

A reference row is judged the way a fresh row will be: it is left out of its own neighbours **and** out of the ranking.
A fresh row can be more unusual than all ``N`` reference rows, a row that takes part in its own ranking cannot; with
``tau * N`` often below ten, that one row would matter.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemend.kernels import alarm_curve
from treemend.reference import Reference
from treemend.tree import AttributeTree

__all__ = ["NOTHING_DECLARED", "Calibration", "Threshold", "calibrate", "largest_tau", "own_radii", "rate_at", "rates"]

NOTHING_DECLARED = -1.0
"""A tau below every score: no node is anomalous, no row is touched."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """The usual radii.

    Attributes
    ----------
    numbers : ndarray of int
        The reference rows that set the thresholds, ascending: all of them, or a sample.
    radii : ndarray, those rows x nodes
        Their left-out K-th radii, all reference rows being their neighbours.
    ascending : ndarray, nodes x those rows
        The same radii, sorted at each node.
    """

    numbers: NDArray[np.int64]
    radii: NDArray[np.float64]
    ascending: NDArray[np.float64]

    @property
    def n_rows(self) -> int:
        """Number of calibration rows."""
        return len(self.radii)

    def counts(self, radii: NDArray[np.float64]) -> NDArray[np.int64]:
        """Count, for each row and node, the calibration rows that are at least as unusual."""
        counts = np.empty(radii.shape, dtype=np.int64)
        for node, usual in enumerate(self.ascending):
            counts[:, node] = self.n_rows - np.searchsorted(usual, radii[:, node], side="left")
        return counts

    def places(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where reference rows stand among the calibration rows, -1 for those that are none."""
        place = np.minimum(np.searchsorted(self.numbers, numbers), self.n_rows - 1)
        return np.where(self.numbers[place] == numbers, place, -1)

    def left_out_counts(self) -> NDArray[np.int64]:
        """Count for the calibration rows themselves, each left out of the ranking."""
        return self.counts(self.radii) - 1

    def radius_at(self, level: int) -> NDArray[np.float64]:
        """Return the largest radius of each node that more than ``level`` calibration rows reach."""
        return np.asarray(self.ascending[:, self.n_rows - 1 - level])

    def scores(self, radii: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scores of section 4, between 0 (as unusual as can be) and 1."""
        return self.counts(radii) / self.n_rows


@dataclass(frozen=True)
class Threshold:
    """A threshold for scores, and the share of reference rows that the search touches at it."""

    tau: float
    rate: float


def calibrate(numbers: NDArray[np.int64], radii: NDArray[np.float64]) -> Calibration:
    """Sort the calibration rows' radii at each node."""
    return Calibration(numbers=numbers, radii=radii, ascending=np.ascontiguousarray(np.sort(radii, axis=0).T))


def own_radii(
    reference: Reference, calibration: Calibration, numbers: NDArray[np.int64], n_neighbors: int
) -> NDArray[np.float64]:
    """Return the left-out radii of reference rows, numbers x nodes; those of no calibration row are measured now."""
    places = calibration.places(numbers)
    radii = calibration.radii[places]
    unknown = np.flatnonzero(places < 0)
    if len(unknown):
        radii[unknown] = reference.left_out_radii(numbers[unknown], n_neighbors)
    return radii


def rates(calibration: Calibration, tree: AttributeTree, *, stop_at_root: bool) -> NDArray[np.float64]:
    """Return the share of reference rows in which the search declares something, for tau = 0, 1/N, 2/N, ... 1."""
    n_rows = calibration.n_rows
    alarms = alarm_curve(calibration.left_out_counts(), tree, n_rows + 1, stop_at_root=stop_at_root)
    return np.asarray(alarms / n_rows, dtype=np.float64)


def rate_at(calibration: Calibration, tree: AttributeTree, tau: float, *, stop_at_root: bool) -> Threshold:
    """Tell the false-alarm rate at a given ``tau``."""
    level = min(int(np.floor(tau * calibration.n_rows + 1e-9)), calibration.n_rows)
    return Threshold(tau=tau, rate=float(rates(calibration, tree, stop_at_root=stop_at_root)[level]))


def largest_tau(calibration: Calibration, tree: AttributeTree, rate: float, *, stop_at_root: bool) -> Threshold:
    """Find the largest ``tau`` up to which the search touches at most ``rate`` of the reference rows.

    The rate is not monotone: near ``tau = 1``, where all is anomalous, a search that stops at the root finds nothing.
    Where even ``tau = 0`` touches more, the reference is too small for the rate: the threshold then declares nothing.
    """
    share = rates(calibration, tree, stop_at_root=stop_at_root)
    level = int(np.argmax(share > rate)) - 1 if (share > rate).any() else len(share) - 1
    if level < 0:
        return Threshold(tau=NOTHING_DECLARED, rate=0.0)
    return Threshold(tau=level / calibration.n_rows, rate=float(share[level]))
