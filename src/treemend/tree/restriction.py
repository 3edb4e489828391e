"""The tree that is left when some attributes are missing.

Enters: an attribute tree and the attributes that were observed. Leaves: a smaller binary tree over those, and for every
node of the old tree the node of the new one that holds what is left of it. Kernels then need to know nothing of missing
values.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemend.tree.attribute_tree import AttributeTree

__all__ = ["Restriction", "restrict"]


@dataclass(frozen=True, eq=False)
class Restriction:
    """A tree over the observed attributes.

    Attributes
    ----------
    tree : AttributeTree
        Over the observed attributes, numbered 0, 1, ... in the order of the old tree.
    node_of : ndarray of int, one entry a node of the old tree
        The node of the new tree with the same observed attributes; -1 where nothing was observed.
    """

    tree: AttributeTree
    node_of: NDArray[np.int64]


def restrict(tree: AttributeTree, observed: NDArray[np.bool_]) -> Restriction:
    """Leave out the attributes that were not observed; a node of which only one half is left becomes that half.

    Parameters
    ----------
    tree : AttributeTree
    observed : ndarray of bool, one an attribute
        In the order of the tree; at least one is True.

    Examples
    --------
    >>> from treemend.tree import build_tree, lay_out
    >>> left = restrict(build_tree(lay_out("sequence", 4), 2), np.array([True, False, True, True]))
    >>> left.node_of
    array([ 0,  1,  2,  1, -1,  3,  4])
    """
    before = np.concatenate(([0], np.cumsum(observed)))
    start, stop = before[tree.start], before[tree.stop]
    kept = stop > start
    inner = tree.left >= 0
    whole = kept & (~inner | (kept[tree.left] & kept[tree.right]))
    # Level by level from below: a node of which one half is left is that half.
    stands_for = np.where(whole, np.arange(tree.n_nodes), -1)
    for node in range(tree.n_nodes - 1, -1, -1):
        if kept[node] and not whole[node]:
            half = tree.left[node] if kept[tree.left[node]] else tree.right[node]
            stands_for[node] = stands_for[half]
    chosen = _breadth_first(tree, stands_for)
    number = np.full(tree.n_nodes, -1, dtype=np.int64)
    number[chosen] = np.arange(len(chosen))
    node_of = np.where(stands_for >= 0, number[stands_for], -1)

    is_inner = inner[chosen]
    left = np.where(is_inner, node_of[tree.left[chosen]], -1)
    right = np.where(is_inner, node_of[tree.right[chosen]], -1)
    parent = np.full(len(chosen), -1, dtype=np.int64)
    depth = np.zeros(len(chosen), dtype=np.int64)
    for inner_node in np.flatnonzero(is_inner):
        children = [left[inner_node], right[inner_node]]
        parent[children], depth[children] = inner_node, depth[inner_node] + 1
    restricted = AttributeTree(
        start=start[chosen],
        stop=stop[chosen],
        parent=parent,
        left=left,
        right=right,
        depth=depth,
        order=np.arange(int(before[-1])),
    )
    return Restriction(tree=restricted, node_of=node_of)


def _breadth_first(tree: AttributeTree, stands_for: NDArray[np.int64]) -> NDArray[np.int64]:
    """List the nodes of the old tree that the new one is made of, level by level."""
    found = [int(stands_for[0])]
    for node in found:
        if tree.left[node] >= 0:
            found += [int(stands_for[tree.left[node]]), int(stands_for[tree.right[node]])]
    return np.array(found, dtype=np.int64)
