"""Distances of rows with missing values: over the observed columns, stretched to the width of the node.

The published method knows no missing values. A distance over ``w'`` observed of ``w`` columns is multiplied by the
root of ``m(w) / m(w')``, with ``m`` the number of differences that count, so that it can be compared with the reference
rows' own distances. Where nothing of a node was observed, all rows are at distance 0.
"""

import numpy as np
from numpy.typing import NDArray

from treemend.tcs.exact import nearest_at_node
from treemend.tcs.ranked import n_kept

__all__ = ["nearest_observed"]


def nearest_observed(
    reference: NDArray[np.float64],
    row: NDArray[np.float64],
    left_out: int,
    start: int,
    stop: int,
    alpha: float,
    n_neighbors: int,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return distances and numbers of the reference rows nearest to one row over one node's columns."""
    observed = start + np.flatnonzero(~np.isnan(row[start:stop]))
    width = len(observed)
    if width == 0:
        numbers = np.arange(n_neighbors + 1)
        return np.zeros(n_neighbors), numbers[numbers != left_out][:n_neighbors]
    distances = np.empty((1, n_neighbors))
    numbers = np.empty((1, n_neighbors), dtype=np.int64)
    kept = n_kept(width, alpha)
    own = np.array([left_out])
    nearest_at_node(reference[:, observed], row[None, observed], own, 0, width, kept, distances, numbers)
    return distances[0] * np.sqrt(n_kept(stop - start, alpha) / kept), numbers[0]
