"""Radii of suspect rows at every node, also of rows with missing values (method, section 4).

Enters: scaled rows in the order of the tree, NaN where a value is missing, and the reference. Leaves: the distance to
the K-th nearest reference row at every node. Missing attributes are ignored: the distance is taken over the observed
ones and stretched to the number of attributes that would have counted, so that it can be compared with the reference's.
A node of which nothing was observed has radius 0: nothing can be said against it.
"""

import numpy as np
from numpy.typing import NDArray

from treemend.kernels import PackedReference, kept, node_radii, pack
from treemend.tree import AttributeTree, restrict

__all__ = ["suspect_radii"]


def suspect_radii(
    rows: NDArray[np.float64],
    tree: AttributeTree,
    packed: PackedReference,
    reference: NDArray[np.float64],
    n_neighbors: int,
    *,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Return the K-th radius of every row at every node.

    Parameters
    ----------
    rows : ndarray, rows x attributes
        Scaled, in the order of the tree; NaN where missing.
    tree : AttributeTree
    packed : PackedReference
        The reference for complete rows.
    reference : ndarray, reference rows x attributes
        The same reference rows, scaled, in the order of the tree.
    n_neighbors : int
    n_jobs : int, optional

    Returns
    -------
    ndarray, rows x nodes
    """
    missing = np.isnan(rows)
    if not missing.any():
        return node_radii(packed, rows, n_neighbors, n_jobs=n_jobs)
    radii = np.zeros((len(rows), tree.n_nodes))
    patterns, pattern_of = np.unique(missing, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        alike = np.flatnonzero(pattern_of.ravel() == number)
        if not pattern.any():
            radii[alike] = node_radii(packed, rows[alike], n_neighbors, n_jobs=n_jobs)
        elif not pattern.all():
            radii[alike] = _observed_radii(
                rows[alike], ~pattern, tree, reference, n_neighbors, packed.alpha, n_jobs=n_jobs
            )
    return radii


def _observed_radii(
    rows: NDArray[np.float64],
    observed: NDArray[np.bool_],
    tree: AttributeTree,
    reference: NDArray[np.float64],
    n_neighbors: int,
    alpha: float,
    *,
    n_jobs: int | None,
) -> NDArray[np.float64]:
    """Return the radii of rows that miss the same attributes."""
    restriction = restrict(tree, observed)
    packed = pack(np.ascontiguousarray(reference[:, observed]), restriction.tree, alpha)
    found = node_radii(packed, np.ascontiguousarray(rows[:, observed]), n_neighbors, n_jobs=n_jobs)
    before = np.concatenate(([0], np.cumsum(observed)))
    n_observed = before[tree.stop] - before[tree.start]
    stretch = np.array(
        [
            np.sqrt(kept(int(width), alpha) / kept(int(left), alpha)) if left else 0.0
            for width, left in zip(tree.stop - tree.start, n_observed, strict=True)
        ]
    )
    return np.asarray(found[:, restriction.node_of] * stretch, dtype=np.float64)
