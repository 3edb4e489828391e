"""robpy's DDC (detecting deviating cells), filling by itself or by KNNImputer.

Set: defaults. A cell's score is its absolute standardised residual, its own threshold DDC's. Columns that DDC cannot
use (three values or fewer, or no spread in their middle half) are never flagged. To fill, flagged cells are taken as
missing and predicted once more, so that no flagged cell speaks for another.
"""

import warnings

import numpy as np
import pandas as pd
from benchmarks.peers.nearest_filling import NearestFilling
from benchmarks.peers.peer import Fill, Masks, Rows
from robpy.outliers.ddc import DDC

__all__ = ["DeviatingCells"]


class DeviatingCells:
    """Judges cells by their prediction from correlated columns."""

    title = "robpy DDC"
    cell_threshold = float(DDC().cutoff)

    def fit(self, reference: Rows) -> "DeviatingCells":
        """Fit DDC to the columns that it can use."""
        middle = np.quantile(reference, 0.75, axis=0) - np.quantile(reference, 0.25, axis=0)
        varied = np.array([len(np.unique(column)) > 3 for column in reference.T])
        self._usable = np.flatnonzero(varied & (middle > 0))
        self._filling = NearestFilling().fit(reference)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            self._detector = DDC().fit(self._frame(reference)) if len(self._usable) > 1 else None
        return self

    def score(self, rows: Rows) -> Rows:
        """Return absolute standardised residuals."""
        scores = np.zeros_like(rows)
        if self._detector is not None:
            _, residuals = self._detector.predict(self._frame(rows))
            scores[:, self._usable] = np.nan_to_num(np.abs(residuals), nan=0.0, posinf=0.0)
        return scores

    def fillings(self) -> dict[str, Fill]:
        """Fill with DDC's predictions, or from the nearest rows."""
        return {"its predictions": self._predict, "KNNImputer": self._filling.fill}

    def _predict(self, rows: Rows, mask: Masks) -> Rows:
        if self._detector is None:
            return rows
        gaps = self._frame(np.where(mask, np.nan, rows))
        predicted = rows.copy()
        predicted[:, self._usable] = self._detector.impute(gaps, impute_outliers=False).to_numpy()
        return np.where(mask, predicted, rows)

    def _frame(self, rows: Rows) -> pd.DataFrame:
        return pd.DataFrame(rows[:, self._usable])
