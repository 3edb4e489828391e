"""Reference rows laid out for the kernels.

Enters: reference rows (attributes in the tree's order), the tree, and ``alpha``. Leaves:
``PackedReference``, plain arrays that pickle and ship to workers (sections 2, 3 and 8 of the method).

The rows stand in blocks of ``LANES``: within a block, attribute by attribute, the ``LANES`` rows lie side
by side. There are two copies, both multiplied by a power of two (exact) that brings the widest difference
between reference rows to about 1: the float64 rows themselves, and float32 estimates taken from the middle
of each attribute. The last block is padded with rows at infinity, which are nobody's neighbours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from treemend.kernels.networks import (
    EvenLayout,
    Network,
    NodeArrays,
    even_layout,
    full_network,
    no_layout,
    pruned_network,
)

LANES = 16
FARTHEST = 1e15
WIDEST_EXPONENT = 96
TERMS_AT_A_TIME = 32
TERMS_BETWEEN_LOOKS = 8


class TreeLike(Protocol):
    """A binary tree over attributes as flat arrays, numbered breadth first; leaves have ``left = right = -1``."""

    @property
    def start(self) -> NDArray[np.int64]: ...
    @property
    def stop(self) -> NDArray[np.int64]: ...
    @property
    def left(self) -> NDArray[np.int64]: ...
    @property
    def right(self) -> NDArray[np.int64]: ...


@dataclass(frozen=True)
class PackedReference:
    """Reference rows in lane blocks, with what the kernels need to know about the tree.

    Attributes
    ----------
    alpha
        Share of the attributes that count (section 3).
    n_rows, n_attributes
        Shape of the reference.
    exponent
        Rows were multiplied by ``2 ** -exponent``.
    centre
        Middle of each attribute, in scaled units, of shape (n_attributes,).
    exact
        Scaled rows, float64, of shape (n_blocks, n_attributes, LANES).
    estimate
        Scaled rows minus ``centre``, float32, of shape (n_blocks, n_attributes or more, LANES): if ``alpha`` is 1, an
        unused attribute makes their number odd.
    nodes
        The tree.
    spread
        Norm of the attributes' largest distances from ``centre``, for each node: bounds the error of
        ``estimate``.
    roundings
        For each node, how many roundings an estimated squared distance goes through at most.
    layout
        Wires of ``estimate``'s attributes, if ``alpha`` is less than 1 and the tree is even; ``estimate`` then
        has as many attributes as there are wires, and infinity on those that pad.
    network, sorting_network
        Comparators for the estimates and for exact distances; empty if ``alpha`` is 1, or not needed.
    """

    alpha: float
    n_rows: int
    n_attributes: int
    exponent: int
    centre: NDArray[np.float64]
    exact: NDArray[np.float64]
    estimate: NDArray[np.float32]
    nodes: NodeArrays
    spread: NDArray[np.float64]
    roundings: NDArray[np.float64]
    layout: EvenLayout
    network: Network
    sorting_network: Network

    @property
    def n_nodes(self) -> int:
        """Number of nodes of the tree."""
        return len(self.nodes.start)

    def reference_rows(self, indices: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the scaled reference rows of the given indices, of shape (rows, n_attributes)."""
        return np.ascontiguousarray(self.exact[indices // LANES, :, indices % LANES])


def kept(width: int, alpha: float) -> int:
    """Return how many of ``width`` attributes count: ``m`` of section 3.

    >>> kept(10, 0.7), kept(3, 0.1)
    (7, 1)
    """
    return max(1, math.floor(alpha * width + 1e-9))


def pack(
    values: NDArray[np.float64],
    tree: TreeLike,
    alpha: float,
    *,
    extremes: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
) -> PackedReference:
    """Lay reference rows out for the kernels.

    Parameters
    ----------
    values
        Reference rows, of shape (N, d), attributes in the tree's order.
    tree
        Flat arrays; node 0 is the root and spans all attributes.
    alpha
        Share of a node's attributes that count, in (0, 1].
    extremes
        Smallest and largest value of each attribute in the whole reference, where ``values`` are a part of it.
    """
    low, high = (values.min(axis=0), values.max(axis=0)) if extremes is None else extremes
    exponent = _scale_exponent(low, high)
    scaled = np.ldexp(values, -exponent)
    lowest, highest = np.ldexp(low, -exponent), np.ldexp(high, -exponent)
    centre = lowest / 2 + highest / 2
    spread = np.maximum(highest - centre, centre - lowest)
    nodes = _node_arrays(tree, alpha)
    ranked = alpha < 1
    layout = even_layout(nodes) if ranked else no_layout()
    estimate = scaled - centre
    if len(layout.wire):
        padded = np.full((len(values), len(layout.masks) // 4), np.inf)
        padded[:, layout.wire] = estimate
        estimate = padded
    elif not ranked:
        # An odd number of cache lines to a block: else the same attribute of all blocks would share few places of a cache.
        estimate = np.pad(estimate, ((0, 0), (0, 1 - values.shape[1] % 2)))
    return PackedReference(
        alpha=alpha,
        n_rows=values.shape[0],
        n_attributes=values.shape[1],
        exponent=exponent,
        centre=centre,
        exact=_lane_blocks(scaled, np.dtype(np.float64)),
        estimate=_lane_blocks(estimate, np.dtype(np.float32)),
        nodes=nodes,
        spread=np.array([np.linalg.norm(spread[a:b]) for a, b in zip(nodes.start, nodes.stop, strict=True)]),
        roundings=_roundings(nodes, alpha),
        layout=layout,
        network=pruned_network(nodes) if ranked and not len(layout.wire) else _no_network(nodes),
        sorting_network=full_network(nodes) if ranked else _no_network(nodes),
    )


def scale_rows(packed: PackedReference, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rows in the reference's scaled units, drawn in to at most ``FARTHEST`` from the reference's middle."""
    with np.errstate(over="ignore", under="ignore"):
        scaled = np.ldexp(rows, -packed.exponent)
    return np.clip(scaled, packed.centre - FARTHEST, packed.centre + FARTHEST)


def estimate_rows(packed: PackedReference, scaled: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return scaled rows on the footing of ``packed.estimate``."""
    wires = packed.layout.wire if len(packed.layout.wire) else slice(packed.n_attributes)
    rows = np.zeros((len(scaled), packed.estimate.shape[1]), dtype=np.float32)
    rows[:, wires] = scaled - packed.centre
    return rows


def lane_aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return an uninitialised array that begins at a cache line, so that no lanes straddle two."""
    size = math.prod(shape) * dtype.itemsize
    raw = np.empty(size + 64, dtype=np.uint8)
    first = -raw.ctypes.data % 64
    return raw[first : first + size].view(dtype).reshape(shape)


def _scale_exponent(lowest: NDArray[np.float64], highest: NDArray[np.float64]) -> int:
    """Return the exponent of the widest difference, or larger where the values themselves would be enormous."""
    half_width = float(np.max(highest / 2 - lowest / 2))
    largest = float(max(np.max(np.abs(lowest)), np.max(np.abs(highest))))
    if largest == 0:
        return 0
    largest_exponent = math.frexp(largest)[1]
    if half_width == 0:
        return largest_exponent
    return max(math.frexp(half_width)[1] + 1, largest_exponent - WIDEST_EXPONENT)


def _lane_blocks(rows: NDArray[np.float64], dtype: np.dtype[Any]) -> NDArray[Any]:
    n_rows, n_attributes = rows.shape
    n_blocks = -(-n_rows // LANES)
    blocks = lane_aligned((n_blocks, n_attributes, LANES), dtype)
    blocks[-1] = np.inf
    for block in range(n_blocks):
        part = rows[block * LANES : (block + 1) * LANES]
        blocks[block, :, : len(part)] = part.T
    return blocks


def _node_arrays(tree: TreeLike, alpha: float) -> NodeArrays:
    start, stop, left, right = (
        np.ascontiguousarray(array, dtype=np.int64) for array in (tree.start, tree.stop, tree.left, tree.right)
    )
    counts = np.array([kept(width, alpha) for width in (stop - start).tolist()], dtype=np.int64)
    return NodeArrays(start, stop, left, right, counts, *_subtree_order(left, right))


def _subtree_order(left: NDArray[np.int64], right: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """Return ``order``, ``first_step``, ``last_step`` and ``slot`` of ``NodeArrays``; a level has two slots."""
    slot = np.zeros(len(left), dtype=np.int64)
    parents_first, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        parents_first.append(node)
        if left[node] >= 0:
            slot[left[node]] = slot[node] // 2 * 2 + 2
            slot[right[node]] = slot[left[node]] + 1
            waiting += [left[node], right[node]]
    order = np.array(parents_first[::-1], dtype=np.int64)
    last_step = np.argsort(order).astype(np.int64)
    first_step = last_step.copy()
    for node in order[left[order] >= 0]:
        first_step[node] = first_step[left[node]]
    return order, first_step, last_step, slot


def _roundings(nodes: NodeArrays, alpha: float) -> NDArray[np.float64]:
    """Count a subtraction, a square and the additions: in leaves and then up the tree, or in groups."""
    widths = nodes.stop - nodes.start
    if alpha < 1:
        in_groups = np.minimum(widths, TERMS_AT_A_TIME) + -(-widths // TERMS_AT_A_TIME)
        counts: NDArray[np.float64] = 12.0 + np.maximum(in_groups, -(-widths // 4))
        return counts
    levels = int(nodes.slot.max()) // 2
    in_leaves = np.minimum(widths, int(widths[nodes.left < 0].max()) + levels)
    in_groups = np.minimum(widths, TERMS_BETWEEN_LOOKS) + 1 + -(-widths // TERMS_BETWEEN_LOOKS)
    return np.asarray(4.0 + np.maximum(in_leaves, in_groups), dtype=np.float64)


def _no_network(nodes: NodeArrays) -> Network:
    nothing, offsets = np.empty(0, dtype=np.int32), np.zeros(len(nodes.start) + 1, dtype=np.int64)
    return Network(nothing, nothing, offsets, nothing, offsets)
