"""z-scores of single cells and scikit-learn's IterativeImputer.

Set: mean and standard deviation of the reference, 2.5 as a cell's own threshold; Bayesian ridge regressions in at most
5 rounds, each on the 30 best correlated columns where there are more, learnt from the reference and the cells that are
left of the suspect rows.
"""

import warnings

import numpy as np
from benchmarks.peers.peer import Fill, Masks, Rows, floored
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer

__all__ = ["ZScores"]

_MOST_PREDICTORS = 30
_ROUNDS = 5


class ZScores:
    """Judges every cell by its distance from its column's mean."""

    title = "z-scores"
    cell_threshold = 2.5

    def fit(self, reference: Rows) -> "ZScores":
        """Learn means and deviations."""
        self._reference = reference
        self._mean, self._deviation = reference.mean(axis=0), floored(reference.std(axis=0))
        return self

    def score(self, rows: Rows) -> Rows:
        """Return absolute z-scores."""
        return np.asarray(np.abs(rows - self._mean) / self._deviation)

    def fillings(self) -> dict[str, Fill]:
        """Fill by chained regressions."""
        return {"IterativeImputer": self._fill}

    def _fill(self, rows: Rows, mask: Masks) -> Rows:
        touched = mask.any(axis=1)
        together = np.vstack([self._reference, np.where(mask, np.nan, rows)[touched]])
        n_features = rows.shape[1]
        imputer = IterativeImputer(
            max_iter=_ROUNDS,
            n_nearest_features=_MOST_PREDICTORS if n_features > _MOST_PREDICTORS else None,
            skip_complete=True,
            min_value=self._reference.min(axis=0) - 1e-9,
            max_value=self._reference.max(axis=0) + 1e-9,
            random_state=0,
        )
        filled = rows.copy()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            filled[touched] = imputer.fit_transform(together)[len(self._reference) :]
        return filled
