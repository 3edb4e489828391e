"""PyOD's KNN, one detector for each of 8 or 16 segments, and KNNImputer.

Set: 8 neighbours, the distance to the 8th, as the tree search has it. Segments become comparable by dividing a score by
the 95 % quantile of the reference rows' own scores in that segment, and this quotient's own threshold is 1.
"""

import numpy as np
from benchmarks.peers.nearest_filling import NearestFilling
from benchmarks.peers.peer import Fill, Rows, floored
from pyod.models.knn import KNN

__all__ = ["SegmentKNN"]


class SegmentKNN:
    """Judges whole segments.

    Parameters
    ----------
    n_segments : int
    """

    cell_threshold = 1.0

    def __init__(self, n_segments: int) -> None:
        self.title = f"PyOD KNN on {n_segments} segments"
        self._n_segments = n_segments

    def fit(self, reference: Rows) -> "SegmentKNN":
        """Fit one detector a segment."""
        self._segments = np.array_split(np.arange(reference.shape[1]), min(self._n_segments, reference.shape[1]))
        self._detectors = [KNN(n_neighbors=8, method="largest").fit(reference[:, part]) for part in self._segments]
        self._units = floored(np.array([np.quantile(one.decision_scores_, 0.95) for one in self._detectors]))
        self._filling = NearestFilling().fit(reference)
        return self

    def score(self, rows: Rows) -> Rows:
        """Return the score of a cell's segment."""
        scores = np.empty_like(rows)
        for part, detector, unit in zip(self._segments, self._detectors, self._units, strict=True):
            scores[:, part] = (detector.decision_function(rows[:, part]) / unit)[:, None]
        return scores

    def fillings(self) -> dict[str, Fill]:
        """Fill from the nearest rows."""
        return {"KNNImputer": self._filling.fill}
