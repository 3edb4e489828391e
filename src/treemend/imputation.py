"""Imputation: what most likely stood in a declared stretch (method, section 6).

Enters: the suspect rows as they came, the declared nodes, the reference. Leaves: values for the declared attributes, in
the reference's own units. For a declared node the K reference rows nearest on its sibling's attributes are the donors;
"map" takes the one that is most usual at the parent, "nearest" the nearest.
"""

import numpy as np
from numpy.typing import NDArray

from treemend.kernels import PackedReference, node_neighbors
from treemend.tree import AttributeTree

__all__ = ["IMPUTATIONS", "fill_from_siblings"]

IMPUTATIONS = ("map", "nearest")


def fill_from_siblings(
    rows: NDArray[np.float64],
    declared: NDArray[np.bool_],
    tree: AttributeTree,
    packed: PackedReference,
    reference: NDArray[np.float64],
    radii: NDArray[np.float64],
    *,
    n_neighbors: int,
    imputation: str,
    left_out: NDArray[np.int64] | None = None,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Copy every declared node's attributes from a reference row that agrees on the sibling.

    Parameters
    ----------
    rows : ndarray, rows x attributes
        Scaled suspect rows, in the order of the tree, as they came.
    declared : ndarray of bool, rows x nodes
        From `treemend.separation.declare`; never the root.
    tree : AttributeTree
    packed : PackedReference
        The scaled reference, as kernels want it.
    reference : ndarray, reference rows x attributes
        The reference in the units of the result, in the order of the tree.
    radii : ndarray, reference rows x nodes
        Left-out radii of the reference rows; the smallest is the most usual.
    n_neighbors : int
        Number of donors, K.
    imputation : "map" or "nearest"
        Which donor to take; of equally usual donors the nearest.
    left_out : ndarray of int, one a row, optional
        Reference row that must not serve as a donor: the row's own copy.
    n_jobs : int, optional
        Number of threads.

    Returns
    -------
    ndarray, rows x attributes
        Filled where declared, NaN elsewhere.
    """
    filled = np.full((len(rows), tree.n_features), np.nan)
    row, node = np.nonzero(declared)
    if len(row) == 0:
        return filled
    parent = tree.parent[node]
    sibling = tree.left[parent] + tree.right[parent] - node
    donors, _ = node_neighbors(
        packed,
        rows[row],
        sibling,
        n_neighbors,
        exclude=None if left_out is None else left_out[row],
        n_jobs=n_jobs,
    )
    choice = donors[:, 0]
    if imputation == "map":
        best = np.argmin(radii[donors, parent[:, None]], axis=1)
        choice = donors[np.arange(len(donors)), best]
    for one in np.unique(node):
        here = node == one
        stretch = slice(tree.start[one], tree.stop[one])
        filled[row[here], stretch] = reference[choice[here], stretch]
    return filled
