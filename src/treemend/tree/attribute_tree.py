"""The binary tree over attributes, as flat arrays (method, section 2).

Enters: a `Part` with all attributes, and the depth. Leaves: an `AttributeTree`. Nodes are numbered level by level, the
root is node 0, children stand after their parents. ``order`` puts the attributes side by side so that every node is one
interval ``[start, stop)`` of them: kernels see intervals only, whatever the layout.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemend.tree.layouts import Part

__all__ = ["AttributeTree", "build_tree", "default_depth"]

_LEAF_WIDTH = 4
_DEEPEST = 8


@dataclass(frozen=True, eq=False)
class AttributeTree:
    """A binary tree over attributes.

    Attributes
    ----------
    start, stop : ndarray of int, one entry a node
        The node holds the attributes ``order[start:stop]``.
    parent, left, right : ndarray of int, one entry a node
        Neighbouring nodes, -1 where there is none.
    depth : ndarray of int, one entry a node
        0 at the root.
    order : ndarray of int, one entry an attribute
        The attributes as they lie in the tree.

    Examples
    --------
    >>> from treemend.tree import lay_out
    >>> tree = build_tree(lay_out("sequence", 5), depth=2)
    >>> [tree.order[a:b].tolist() for a, b in zip(tree.start, tree.stop)]
    [[0, 1, 2, 3, 4], [0, 1], [2, 3, 4], [0], [1], [2], [3, 4]]
    >>> tree.sibling(3)
    4
    """

    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    parent: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    depth: NDArray[np.int64]
    order: NDArray[np.int64]

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.start)

    @property
    def n_features(self) -> int:
        """Number of attributes."""
        return len(self.order)

    @property
    def height(self) -> int:
        """Depth of the deepest node."""
        return int(self.depth.max())

    def sibling(self, node: int) -> int:
        """Return the other child of the node's parent; the root has none and gives -1."""
        parent = int(self.parent[node])
        if parent < 0:
            return -1
        return int(self.left[parent] + self.right[parent] - node)


def default_depth(n_features: int) -> int:
    """Return the depth that leaves about four attributes a leaf, as the paper's deepest tree does.

    Examples
    --------
    >>> [default_depth(d) for d in (2, 8, 30, 64, 256)]
    [1, 1, 3, 4, 6]
    """
    if n_features <= _LEAF_WIDTH:
        return 1
    return min(_DEEPEST, math.ceil(math.log2(n_features / _LEAF_WIDTH)))


def build_tree(root: Part, depth: int) -> AttributeTree:
    """Cut a part level by level until ``depth``, or until single attributes remain.

    Parameters
    ----------
    root : Part
        All attributes.
    depth : int
        Depth of the leaves; leaves of one attribute may lie higher.

    Returns
    -------
    AttributeTree
        The tree, as flat arrays.
    """
    parts: list[Part] = [root]
    widths = [len(root.attributes())]
    start, parent, left, right, level = [0], [-1], [-1], [-1], [0]
    node = 0
    while node < len(parts):
        if level[node] < depth and widths[node] >= 2:
            low, high = parts[node].halves()
            left[node], right[node] = len(parts), len(parts) + 1
            for half, first in ((low, start[node]), (high, start[node] + len(low.attributes()))):
                parts.append(half)
                widths.append(len(half.attributes()))
                start.append(first)
                parent.append(node)
                left.append(-1)
                right.append(-1)
                level.append(level[node] + 1)
        node += 1
    order = np.empty(widths[0], dtype=np.int64)
    for node, part in enumerate(parts):
        if left[node] < 0:
            order[start[node] : start[node] + widths[node]] = part.attributes()
    return AttributeTree(
        start=np.array(start),
        stop=np.array(start) + np.array(widths),
        parent=np.array(parent),
        left=np.array(left),
        right=np.array(right),
        depth=np.array(level),
        order=order,
    )
