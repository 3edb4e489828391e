"""Separation: from scores to the stretches that were overwritten (method, section 5, Algorithm TCS).

Enters: scores or counts of all nodes, rows x nodes, and a threshold. Leaves: the declared nodes, the mask of
attributes, and for every row how far the threshold is from changing the verdict. The search itself is a kernel; here it
is only asked.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemend.kernels import declared_nodes
from treemend.tree import AttributeTree

__all__ = ["attribute_mask", "declare", "turning_levels"]


def declare(
    scores: NDArray[Any], tree: AttributeTree, tau: float | NDArray[Any], *, stop_at_root: bool
) -> NDArray[np.bool_]:
    """Return the nodes at which corruption is declared, rows x nodes; ``tau`` in the units of the scores."""
    return declared_nodes(scores <= tau, tree, stop_at_root=stop_at_root)


def attribute_mask(declared: NDArray[np.bool_], tree: AttributeTree) -> NDArray[np.bool_]:
    """Return the declared attributes, rows x attributes, in the order of the tree."""
    mask = np.zeros((len(declared), tree.n_features), dtype=bool)
    for node in np.flatnonzero(declared.any(axis=0)):
        mask[declared[:, node], tree.start[node] : tree.stop[node]] = True
    return mask


def turning_levels(
    counts: NDArray[np.int64], tree: AttributeTree, level: int, n_levels: int, *, stop_at_root: bool
) -> NDArray[np.int64]:
    """Find for each row the level nearest to ``level`` at which its verdict turns.

    A node is anomalous at a level if its count is at most that level. For a row with something declared at ``level``:
    the lowest level down to which that stays so. For a row with nothing declared: the next level above at which
    something is, or ``n_levels`` if there is none.

    Parameters
    ----------
    counts : ndarray of int, rows x nodes
        From `Calibration.counts`.
    level : int
        The level in force.
    n_levels : int
        One above the highest level.
    """
    from treemend.kernels.turning import find_turning_levels

    turning = np.empty(len(counts), dtype=np.int64)
    find_turning_levels(np.ascontiguousarray(counts), tree.left, tree.right, stop_at_root, level, n_levels, turning)
    return turning
