"""From evidence to one statistic a row, and from that to p-values.

Each kind of evidence is put on the scale of its own upper tail on clean rows; the largest counts. A p-value is the
conformal one, ``(1 + number of reference statistics >= T) / (N + 1)``: if the reference statistics and that of a fresh
clean row are exchangeable, it is at most ``a`` with probability at most ``a``, for any N. Beyond the 90 % quantile of
the reference statistics a generalised Pareto tail refines it; below ``1 / (N + 1)`` that is an extrapolation.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# The tail begins at this upper share of the clean rows.
EDGE = 0.2
# A log likelihood ratio under a true model falls off this fast by itself.
LEAST_SLOPE = 1.0
PARETO_SHARE = 0.1
FEWEST_IN_TAIL = 10
LARGEST_SHAPE = 0.45


@dataclass(frozen=True)
class Tails:
    """The upper tail of each kind of evidence on clean rows: exponential beyond ``edge``."""

    edge: Floats
    slope: Floats

    def statistic(self, evidence: Floats) -> Floats:
        """Return one number a row, higher is odder: the largest excess over an edge, in units of its slope."""
        return np.asarray(((evidence - self.edge) / self.slope).max(axis=1))

    def leading(self, evidence: Floats) -> Integers:
        """Return which kind of evidence decides the statistic."""
        return np.asarray(((evidence - self.edge) / self.slope).argmax(axis=1))


def learn_tails(evidence: Floats) -> Tails:
    """Learn the tails from the evidence (n, kinds) of clean rows.

    Examples
    --------
    >>> clean = np.random.default_rng(0).exponential(3.0, size=(10_000, 1))
    >>> bool(abs(learn_tails(clean).slope[0] - 3.0) < 0.2)
    True
    """
    edge = np.quantile(evidence, 1 - EDGE, axis=0)
    excess = np.maximum(evidence - edge, 0).mean(axis=0) / EDGE
    return Tails(edge, np.maximum(excess, LEAST_SLOPE))


def crossed_statistics(evidence: Floats, fold: Integers) -> Floats:
    """Return the statistics of clean rows, each scaled by tails learnt on the other folds."""
    statistic = np.empty(len(evidence))
    for out in np.unique(fold):
        others = fold != out
        tails = learn_tails(evidence[others] if others.any() else evidence)
        statistic[~others] = tails.statistic(evidence[~others])
    return statistic


@dataclass(frozen=True)
class Calibration:
    """Reference statistics, ascending; -inf for rows that would be left alone whatever the threshold."""

    statistics: Floats

    def p_values(self, statistic: Floats, *, own: bool = False) -> Floats:
        """Return conformal p-values; equal statistics count as larger, so that ties are conservative.

        Parameters
        ----------
        statistic : (n,)
        own : bool
            Whether the rows are the reference rows themselves: then each is compared with the others.
        """
        n = len(self.statistics)
        at_least = n - np.searchsorted(self.statistics, statistic, side="left")
        return np.asarray((at_least if own else at_least + 1) / max(n + (not own), 1))

    def tail_p_values(self, statistic: Floats) -> Floats:
        """Return p-values with a Pareto tail beyond the 90 % quantile; finer than 1 / (N + 1), there extrapolated."""
        p = self.p_values(statistic)
        n = len(self.statistics)
        k = max(round(PARETO_SHARE * n), FEWEST_IN_TAIL)
        if k >= n or not np.isfinite(self.statistics[n - k - 1]):
            return p
        u = self.statistics[n - k - 1]
        excess = self.statistics[n - k :] - u
        mean, variance = float(excess.mean()), float(excess.var())
        if mean <= 0:
            return p
        shape = min(max(0.5 * (1 - mean**2 / variance) if variance > 0 else 0.0, 0.0), LARGEST_SHAPE)
        z = np.maximum(statistic - u, 0) / (mean * (1 - shape))
        survival = np.exp(-z) if shape == 0 else (1 + shape * z) ** (-1 / shape)
        return np.where(statistic > u, (k + 1) / (n + 1) * survival, p)

    def threshold(self, rate: float) -> float:
        """Return the statistic above which rows are declared at a rate; infinite if none can be.

        A row's conformal p-value is at most the rate exactly where its statistic is above this reference statistic.
        """
        n = len(self.statistics)
        # The small number keeps (N + 1) rate from falling below an integer by rounding alone.
        allowed = math.floor((n + 1) * rate + 1e-9) - 1
        if allowed < 0:
            return math.inf
        return float(self.statistics[n - 1 - allowed]) if allowed < n else -math.inf
