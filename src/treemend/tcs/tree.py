"""The attribute tree (docs/method.md, section 2.2), and column orders for rows that are not sequences."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

__all__ = ["AttributeTree", "build_tree", "grid_order"]

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class AttributeTree:
    """A binary tree whose nodes are intervals of columns, as flat arrays with one entry a node.

    Nodes are numbered breadth first: the root is node 0, and children follow their parents.

    Parameters
    ----------
    start, stop : ndarray of int64
        The node holds the columns ``start`` to ``stop - 1``.
    parent, left, right : ndarray of int64
        Neighbouring nodes, -1 for none.
    depth : ndarray of int64
        0 at the root.

    Examples
    --------
    >>> tree = build_tree(5, depth=2)
    >>> list(zip(tree.start.tolist(), tree.stop.tolist()))
    [(0, 5), (0, 2), (2, 5), (0, 1), (1, 2), (2, 3), (3, 5)]
    >>> tree.sibling.tolist()
    [-1, 2, 1, 4, 3, 6, 5]
    """

    start: I64
    stop: I64
    parent: I64
    left: I64
    right: I64
    depth: I64

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.start)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.stop[0])

    @property
    def height(self) -> int:
        """Depth of the deepest node."""
        return int(self.depth.max())

    @cached_property
    def sibling(self) -> I64:
        """The other child of each node's parent; -1 at the root."""
        sibling = self.left[self.parent] + self.right[self.parent] - np.arange(self.n_nodes)
        sibling[0] = -1
        return sibling


def build_tree(n_features: int, depth: int) -> AttributeTree:
    """Halve the interval of all columns level by level, down to ``depth`` or to single columns.

    Parameters
    ----------
    n_features : int
        Number of columns, at least 1.
    depth : int
        Depth of the leaves; a leaf of one column may lie higher.

    Returns
    -------
    AttributeTree
        The tree. A node of odd width has the narrower half on the left.
    """
    nodes = [(0, n_features, -1, 0)]
    for node, (begin, end, _, level) in enumerate(nodes):
        if level < depth and end - begin >= 2:
            middle = (begin + end) // 2
            nodes += [(begin, middle, node, level + 1), (middle, end, node, level + 1)]
    start, stop, parent, level_of = np.array(nodes, dtype=np.int64).T.copy()
    left, right = np.full((2, len(nodes)), -1)
    left[parent[1::2]], right[parent[2::2]] = np.arange(1, len(nodes), 2), np.arange(2, len(nodes), 2)
    return AttributeTree(start, stop, parent, left, right, level_of)


def grid_order(height: int, width: int, channels: int = 1) -> I64:
    """Order the cells of a grid so that the attribute tree halves it by column and by row in turn.

    `TCS` takes its columns as a sequence. Pictures are mended after a permutation of their columns, here and back:
    ``order = grid_order(16, 16)``, then ``TCS().fit(clean[:, order]).mend(suspect[:, order])``, and
    ``repaired[:, np.argsort(order)]`` for the result. Any other order of columns is applied in the same way.

    Parameters
    ----------
    height, width : int
        Size of the grid, whose cells come row by row.
    channels : int, default 1
        Numbers a cell; they stay together.

    Returns
    -------
    ndarray of int64
        The columns in their new order.

    Notes
    -----
    The longer side is halved, the horizontal one if both are equal. The tree's nodes are rectangles of the grid down to
    the depth at which a side is odd; below that they follow the order closely.

    Examples
    --------
    >>> grid_order(2, 4).tolist()
    [0, 4, 1, 5, 2, 6, 3, 7]
    """
    cells = np.arange(height * width * channels, dtype=np.int64).reshape(height, width, channels)
    return np.concatenate([part.ravel() for part in _halved(cells)])


def _halved(cells: I64) -> Sequence[I64]:
    height, width = cells.shape[:2]
    if height == width == 1:
        return [cells]
    axis = 1 if width >= height else 0
    low, high = np.split(cells, [cells.shape[axis] // 2], axis=axis)
    return [*_halved(low), *_halved(high)]
