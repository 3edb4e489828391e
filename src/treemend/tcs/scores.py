"""Scores of nodes (docs/method.md, section 2.4): how a K-th radius ranks among the reference rows' own.

The score of a row at a node is ``count / N``, the share of the ``N`` reference rows whose left-out radius is at least
as large. A node is anomalous at ``tau`` exactly if its count is at most ``level_at(tau, N)``, which is the case exactly
if its radius is larger than `radius_limits` at that level.
"""

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["counts_at_least", "left_out_counts", "level_at", "radius_limits"]


def counts_at_least(radii: NDArray[np.float64], ascending: NDArray[np.float64]) -> NDArray[np.int64]:
    """Count the reference rows that are at least as unusual.

    Parameters
    ----------
    radii : ndarray, rows x nodes
        K-th radii.
    ascending : ndarray, nodes x reference rows
        The reference rows' left-out radii, sorted at each node.

    Returns
    -------
    ndarray of int64, rows x nodes

    Examples
    --------
    >>> counts_at_least(np.array([[0.5], [2.0], [9.0]]), np.array([[1.0, 2.0, 3.0]])).ravel().tolist()
    [3, 2, 0]
    """
    counts = np.empty(radii.shape, dtype=np.int64)
    for node, usual in enumerate(ascending):
        counts[:, node] = len(usual) - np.searchsorted(usual, radii[:, node], side="left")
    return counts


def left_out_counts(radii: NDArray[np.float64], ascending: NDArray[np.float64]) -> NDArray[np.int64]:
    """Count for reference rows, each left out of the ranking as it was left out of its own neighbours.

    A fresh row can be more unusual than all reference rows; a row that took part in its own ranking could not.
    """
    return counts_at_least(radii, ascending) - 1


def level_at(tau: float, n_rows: int) -> int:
    """Return the largest count whose score is at most ``tau``; -1 if there is none.

    Examples
    --------
    >>> level_at(0.1, 30), level_at(0.0, 30), level_at(-1.0, 30)
    (3, 0, -1)
    """
    return max(-1, min(math.floor(tau * n_rows + 1e-9), n_rows))


def radius_limits(ascending: NDArray[np.float64], level: int) -> NDArray[np.float64]:
    """Return the radius of each node beyond which its count is at most ``level``.

    Examples
    --------
    >>> ascending = np.array([[1.0, 2.0, 3.0]])
    >>> [radius_limits(ascending, level).item() for level in (-1, 0, 1, 3)]
    [inf, 3.0, 2.0, -inf]
    """
    n_nodes, n_rows = ascending.shape
    if 0 <= level < n_rows:
        return np.ascontiguousarray(ascending[:, n_rows - 1 - level])
    return np.full(n_nodes, np.inf if level < 0 else -np.inf)
