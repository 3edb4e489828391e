"""The baseline M-NN: rows cut into M segments, each tested and filled on its own, without a search.

Enters: reference rows, suspect rows, M, tau. Leaves: the suspect rows, repaired. Segments are leaves of an attribute
tree of depth log2 M, tested with the Euclidean distance at the same tau; an anomalous segment is copied from the
reference row that is nearest on the neighbouring segment, the other one of its pair.
"""

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from treemend import TCS

__all__ = ["SegmentBaseline"]


class SegmentBaseline:
    """M-NN, fitted once for every tau.

    Parameters
    ----------
    n_segments : int
        M, a power of two.
    n_neighbors : int
        K of the test.
    """

    def __init__(self, n_segments: int, n_neighbors: int = 8) -> None:
        self.n_segments = n_segments
        self.n_neighbors = n_neighbors

    def fit(self, reference: NDArray[np.float64], suspects: NDArray[np.float64]) -> "SegmentBaseline":
        """Score all segments of the suspects and find their donors; neither depends on tau."""
        depth = self.n_segments.bit_length() - 1
        tcs = TCS(tau=0.5, alpha=1.0, depth=depth, n_neighbors=self.n_neighbors).fit(reference)
        tree = tcs.tree_
        leaves = np.flatnonzero(tree.left < 0)
        leaves = leaves[np.argsort(tree.start[leaves])]
        self._stretches = [slice(tree.start[leaf], tree.stop[leaf]) for leaf in leaves]
        self._scores = tcs.score_nodes(suspects)[:, leaves]
        self._reference, self._suspects = reference, suspects
        self._nearest = [_nearest(reference[:, stretch], suspects[:, stretch]) for stretch in self._stretches]
        return self

    def repaired(self, tau: float) -> NDArray[np.float64]:
        """Return the suspects with every anomalous segment filled."""
        repaired = self._suspects.copy()
        for segment, stretch in enumerate(self._stretches):
            anomalous = np.flatnonzero(self._scores[:, segment] <= tau)
            donors = self._nearest[self._neighbour(segment)][anomalous]
            repaired[anomalous, stretch] = self._reference[donors, stretch]
        return repaired

    def _neighbour(self, segment: int) -> int:
        other = segment ^ 1
        return other if other < len(self._stretches) else segment - 1


def _nearest(reference: NDArray[np.float64], suspects: NDArray[np.float64]) -> NDArray[np.intp]:
    search = NearestNeighbors(n_neighbors=1).fit(reference)
    return search.kneighbors(suspects, return_distance=False)[:, 0]
