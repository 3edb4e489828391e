"""A Gaussian cell-wise handler: the idea of cellWise's cellHandler, written here for rows with a clean reference.

One Gaussian for whole rows. Cells are taken out of a row one after the other, each time the one whose absence makes
the rest most likely; a cell's score is how much it gained, made to fall along the row's path so that one threshold
cuts the path in two. What was taken out is filled by its conditional mean given the rest. Set: mean and covariance of
the reference (which is clean, so nothing has to be robust), shrunk after Ledoit and Wolf on columns of unit variance;
a path goes on until 60 % of the cells are out; a cell's own threshold is the 99 % quantile of chi-squared, as
cellHandler has it.
"""

import numpy as np
from benchmarks.peers.peer import Fill, Masks, Rows, floored
from scipy.stats import chi2
from sklearn.covariance import LedoitWolf

__all__ = ["GaussianCells"]

_LONGEST_PATH = 0.6


class GaussianCells:
    """Judges cells by one Gaussian for whole rows."""

    title = "Gaussian cell-wise handler"
    cell_threshold = float(chi2.ppf(0.99, df=1))

    def fit(self, reference: Rows) -> "GaussianCells":
        """Estimate the Gaussian."""
        self._mean, self._deviation = reference.mean(axis=0), floored(reference.std(axis=0))
        standardised = (reference - self._mean) / self._deviation
        self._covariance = LedoitWolf(assume_centered=True).fit(standardised).covariance_
        self._precision = np.linalg.inv(self._covariance)
        return self

    def score(self, rows: Rows) -> Rows:
        """Return each cell's gain on its row's path."""
        return np.array([self._path_gains(values) for values in self._standardised(rows)])

    def fillings(self) -> dict[str, Fill]:
        """Fill with conditional means."""
        return {"conditional mean": self._fill}

    def _fill(self, rows: Rows, mask: Masks) -> Rows:
        filled, standardised = rows.copy(), self._standardised(rows)
        for number in np.flatnonzero(mask.any(axis=1)):
            gap = mask[number]
            rest = ~gap
            weights = np.linalg.solve(self._covariance[np.ix_(rest, rest)], standardised[number, rest])
            estimate = self._covariance[np.ix_(gap, rest)] @ weights
            filled[number, gap] = self._mean[gap] + self._deviation[gap] * estimate
        return filled

    def _standardised(self, rows: Rows) -> Rows:
        return np.asarray((rows - self._mean) / self._deviation)

    def _path_gains(self, values: Rows) -> Rows:
        precision = self._precision.copy()
        pulled = precision @ values
        inside = np.ones(len(values), dtype=bool)
        order, gains = [], []
        for _ in range(int(_LONGEST_PATH * len(values))):
            diagonal = np.where(inside, np.diag(precision), np.inf)
            gain = np.where(inside, pulled**2 / diagonal, -np.inf)
            out = int(gain.argmax())
            order.append(out)
            gains.append(float(gain[out]))
            column = precision[:, out].copy()
            pulled -= column * (pulled[out] / column[out])
            precision -= np.outer(column, column / column[out])
            inside[out] = False
        falling = np.zeros(len(values))
        falling[order] = np.maximum.accumulate(np.array(gains)[::-1])[::-1]
        return falling
