"""Seriation: an order for columns whose order means nothing.

Enters: reference rows. Leaves: a permutation of the columns in which those that go together stand side by side, so that
a node of the tree holds attributes that can speak for each other.
"""

import numpy as np
from numpy.typing import NDArray

__all__ = ["correlated_order"]


def correlated_order(reference: NDArray[np.float64]) -> NDArray[np.int64]:
    """Order columns by optimal leaf ordering of their correlations' strengths.

    Parameters
    ----------
    reference : ndarray, rows x attributes

    Returns
    -------
    ndarray of int
        The columns, in their new order. A constant column goes with no other.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(size=(2, 100, 1))
    >>> correlated_order(np.hstack([a, b, -a, b + 0.1 * a])).tolist()
    [0, 2, 3, 1]
    """
    n_features = reference.shape[1]
    if n_features <= 2:
        return np.arange(n_features)
    from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
    from scipy.spatial.distance import squareform

    with np.errstate(invalid="ignore", divide="ignore"):
        strength = np.abs(np.corrcoef(reference, rowvar=False))
    apart = 1 - np.nan_to_num(np.clip(strength, 0, 1))
    np.fill_diagonal(apart, 0)
    condensed = squareform(apart, checks=False)
    joined = optimal_leaf_ordering(linkage(condensed, method="average"), condensed)
    return np.asarray(leaves_list(joined), dtype=np.int64)
