"""Whether flat arrays are a tree: asked of trees that come from a file, before kernels walk them.

Enters: an `AttributeTree` whose arrays have the right lengths. Leaves: None, or what is wrong with it in words.
"""

import numpy as np

from treemend.tree.attribute_tree import AttributeTree

__all__ = ["tree_problem"]


def tree_problem(tree: AttributeTree) -> str | None:
    """Tell what keeps the arrays from being an attribute tree.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from treemend.tree import build_tree, lay_out
    >>> tree = build_tree(lay_out("sequence", 4), depth=1)
    >>> tree_problem(tree) is None
    True
    >>> tree_problem(replace(tree, order=np.array([0, 1, 1, 3])))
    'has an order that is no permutation of the attributes'
    """
    n_features = tree.n_features
    if tree.n_nodes == 0 or n_features == 0:
        return "has no node or no attribute"
    if not np.array_equal(np.sort(tree.order), np.arange(n_features)):
        return "has an order that is no permutation of the attributes"
    if (tree.start[0], tree.stop[0], tree.parent[0], tree.depth[0]) != (0, n_features, -1, 0):
        return "has a root that does not hold all attributes"
    return _children_problem(tree)


def _children_problem(tree: AttributeTree) -> str | None:
    inner = np.flatnonzero(tree.left >= 0)
    leaf = np.flatnonzero(tree.left < 0)
    left, right = tree.left[inner], tree.right[inner]
    children = np.column_stack([left, right]).ravel()
    if (tree.left[leaf] != -1).any() or (tree.right[leaf] != -1).any():
        return "has a node with one child"
    if not np.array_equal(children, np.arange(1, tree.n_nodes)):
        return "has nodes that are not numbered level by level"
    if not np.array_equal(tree.parent[children], np.repeat(inner, 2)) or (inner >= left).any():
        return "has parents that do not know their children"
    if not np.array_equal(tree.depth[children], np.repeat(tree.depth[inner] + 1, 2)):
        return "has wrong depths"
    fits = (
        (tree.start[left] == tree.start[inner])
        & (tree.start[left] < tree.stop[left])
        & (tree.stop[left] == tree.start[right])
        & (tree.start[right] < tree.stop[right])
        & (tree.stop[right] == tree.stop[inner])
    )
    return None if fits.all() else "has children that do not share their parent's attributes"
