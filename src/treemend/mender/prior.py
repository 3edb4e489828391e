"""How likely a set of cells is to be overwritten before its values are seen.

A two-state Markov chain along the row whose two probabilities are unknown (Beta laws), so that the row itself says
whether bad cells come in runs, and how often.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln

Floats = NDArray[np.float64]

START, CALM, STAY, LEAVE = 0.5, 5.0, 0.5, 1.0
IMPOSSIBLE = -1e9


def run_prior(d: int, price: float = 0.0) -> Floats:
    """Return the log prior odds (d + 2, d + 2) of n cells in R runs against none.

    Parameters
    ----------
    d : int
        Cells of a row.
    price : float
        What the first run costs beyond the chain: the misfit of the density, measured on clean rows. The R-th run costs
        a R-th of it, since a row that has one bad run may have others.

    Examples
    --------
    >>> prior = run_prior(20)
    >>> bool(prior[4, 1] > prior[4, 4])
    True
    """
    n, runs = np.mgrid[: d + 2, : d + 2].astype(np.float64)
    possible = (runs <= n) & (runs <= d - n + 1) & (n <= d) & ((runs > 0) | (n == 0))
    stay, calm = np.maximum(n - runs, 0), np.maximum(d - n - runs + 1, 0)
    harmonic = np.append(0.0, np.cumsum(1 / np.arange(1, d + 2)))
    prior = betaln(runs + START, calm + CALM) - betaln(START, d + 1 + CALM)
    prior += betaln(stay + STAY, runs + LEAVE) - betaln(STAY, LEAVE) - price * harmonic
    prior[~possible] = IMPOSSIBLE
    prior[0, 0] = 0.0
    return np.asarray(prior)
