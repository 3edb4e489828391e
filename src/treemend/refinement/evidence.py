"""From evidence to a verdict with a promised rate (method, section 10).

Enters: the evidence of clean rows for each of several explanations, weighed by models that have not seen those rows.
Leaves: a common scale on which the explanations compete, and a threshold for the winner.

What is guaranteed: if the clean statistics and a fresh clean row's statistic are exchangeable, the row exceeds
`conformal_threshold` with probability at most the rate, for any N. What is only nearly so: the tails are learnt on the
same clean rows (two numbers for each explanation), and a fresh row is weighed by a model of all reference rows where
each clean row was weighed by a model of four fifths of them, which makes the verdict on fresh rows a little milder.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

EDGE = 0.2
LEAST_SLOPE = 1.0


@dataclass(frozen=True)
class Tails:
    """The upper tail of each explanation's evidence on clean rows: exponential beyond ``edge``."""

    edge: Floats
    slope: Floats

    def surprise(self, evidence: Floats) -> Floats:
        """Return minus the log probability that a clean row has as much evidence; 0 below the edge.

        Parameters
        ----------
        evidence : ndarray of shape (n, explanations)
            One column for each explanation.
        """
        beyond = evidence - self.edge
        return np.where(beyond > 0, -math.log(EDGE) + beyond / self.slope, 0.0)


def learn_tails(evidence: Floats) -> Tails:
    """Learn the tails from clean rows' evidence (n, explanations).

    The edge leaves a fifth of the rows beyond it; the slope is the mean excess, but at least 1: a log likelihood ratio
    under a true model falls off that fast by itself.

    Examples
    --------
    >>> clean = np.random.default_rng(0).exponential(3.0, size=(10_000, 1))
    >>> tails = learn_tails(clean)
    >>> float(np.exp(-tails.surprise(np.quantile(clean, [[0.99]])))[0, 0].round(2))
    0.01
    """
    edge = np.quantile(evidence, 1 - EDGE, axis=0)
    excess = np.maximum(evidence - edge, 0).mean(axis=0) / EDGE
    return Tails(edge, np.maximum(excess, LEAST_SLOPE))


def conformal_threshold(clean: Floats, false_alarm_rate: float) -> float:
    """Return the statistic that a fresh clean row exceeds with probability at most ``false_alarm_rate``.

    Parameters
    ----------
    clean : ndarray of shape (N,)
        Statistics of clean rows, sorted.
    false_alarm_rate : float
        The rate asked for; below 1 / (N + 1) nothing can be promised, and the threshold is infinite.

    Examples
    --------
    >>> conformal_threshold(np.arange(1.0, 20.0), 0.1), conformal_threshold(np.arange(1.0, 20.0), 0.01)
    (18.0, inf)
    """
    # The small number keeps (N + 1)(1 - rate) from passing an integer by rounding alone.
    rank = math.ceil((len(clean) + 1) * (1 - false_alarm_rate) - 1e-9)
    return math.inf if rank > len(clean) else float(clean[max(rank, 1) - 1])
