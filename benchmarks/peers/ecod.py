"""PyOD's ECOD, its outlier score of single columns (the band of its explanations), and KNNImputer.

Set: defaults; a column's own threshold is the 95 % band of ECOD's explanations. ECOD counts new rows into its
distribution functions, so clean and corrupted rows are scored in small batches, which keeps them from passing for
usual by their number.
"""

import numpy as np
from benchmarks.peers.nearest_filling import NearestFilling
from benchmarks.peers.peer import Fill, Rows, floored
from pyod.models.ecod import ECOD

__all__ = ["ColumnECOD"]

_BATCH = 10


class ColumnECOD:
    """Judges every cell by its column alone."""

    title = "PyOD ECOD by columns"
    cell_threshold = 1.0

    def fit(self, reference: Rows) -> "ColumnECOD":
        """Learn the columns' distributions."""
        self._detector = ECOD().fit(reference)
        self._band = floored(np.quantile(self._detector.O, 0.95, axis=0))
        self._filling = NearestFilling().fit(reference)
        return self

    def score(self, rows: Rows) -> Rows:
        """Return ECOD's score of each cell, relative to the column's band."""
        scores = []
        for start in range(0, len(rows), _BATCH):
            batch = rows[start : start + _BATCH]
            self._detector.decision_function(batch)
            scores.append(self._detector.O[-len(batch) :] / self._band)
        return np.vstack(scores)

    def fillings(self) -> dict[str, Fill]:
        """Fill from the nearest rows."""
        return {"KNNImputer": self._filling.fill}
