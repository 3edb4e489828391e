"""Comparator networks that sort the attribute differences of every node of a tree.

Enters: the tree's intervals and how many of the smallest differences each node keeps. Leaves: flat arrays
of comparators and of the wires to sum, in the order in which the kernels run them (section 8 of the method:
sort at the leaves, merge upward).

A *wire* is a place that holds one number, at first attribute ``k``'s difference on wire ``k``. A comparator
puts the smaller of two numbers on its first wire. Merging is Batcher's odd-even merge for lists of any two
lengths; it leaves the numbers on the wires where they are, so each node also has a list of its wires in
ascending order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Comparator = tuple[int, int]


class NodeArrays(NamedTuple):
    """The tree as the kernels see it.

    Attributes
    ----------
    start, stop
        Node ``v`` spans attributes ``start[v]`` up to ``stop[v]``.
    left, right
        Children, ``-1`` at leaves.
    kept
        ``m`` of section 3.
    order
        All nodes, children before parents and subtree after subtree, so that what a node needs is still at hand.
    first_step, last_step
        Where in ``order`` a node's subtree begins, and where it ends with the node itself.
    slot
        A place for each node's result such that, in this order, none is overwritten before it has been used.
    """

    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    kept: NDArray[np.int64]
    order: NDArray[np.int64]
    first_step: NDArray[np.int64]
    last_step: NDArray[np.int64]
    slot: NDArray[np.int64]


class EvenLayout(NamedTuple):
    """Wires for an even tree: all leaves at one depth, each padded to the same power of two.

    Attributes
    ----------
    wire
        The wire of each attribute; empty if the tree is not even enough to gain by it.
    masks
        For nodes of 1, 2, 4 and 8 wires (in this order) and each wire: all bits set if, once the node is sorted, the
        wire is among the kept; else none.
    first_nodes
        The first of the nodes of 1, 2, 4 and 8 wires, 0 where there are none.
    """

    wire: NDArray[np.int64]
    masks: NDArray[np.int32]
    first_nodes: NDArray[np.int64]


class Network(NamedTuple):
    """Comparators and sums of all nodes; a node's own follow those of its children.

    Attributes
    ----------
    low, high
        Wires of each comparator, smaller number first.
    first
        Node ``v`` owns comparators ``first[v]`` up to ``first[v + 1]``.
    wires
        The wires that hold each node's kept differences when its comparators have run.
    first_wire
        Node ``v`` sums ``wires[first_wire[v]:first_wire[v + 1]]``.
    """

    low: NDArray[np.int32]
    high: NDArray[np.int32]
    first: NDArray[np.int64]
    wires: NDArray[np.int32]
    first_wire: NDArray[np.int64]


MOST_PADDING = 2.0


def no_layout() -> EvenLayout:
    """Return the layout of a tree that has none."""
    return EvenLayout(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32), np.zeros(4, dtype=np.int64))


def even_layout(nodes: NodeArrays) -> EvenLayout:
    """Return padded wires for a tree whose leaves are all at one depth, or none if they are not or are too uneven."""
    leaves = np.flatnonzero(nodes.left < 0)
    n_leaves = len(leaves)
    widths = nodes.stop[leaves] - nodes.start[leaves]
    padded = 1 << int(widths.max() - 1).bit_length()
    n_wires = n_leaves * padded
    numbered_by_level = n_leaves & (n_leaves - 1) == 0 and leaves[0] == n_leaves - 1
    if not numbered_by_level or n_wires < 16 or n_wires > MOST_PADDING * nodes.stop[0]:
        return no_layout()
    inner = np.arange(n_leaves - 1)
    if not np.array_equal(nodes.left[inner], 2 * inner + 1):
        return no_layout()
    wire = np.concatenate(
        [np.arange(width) + number * padded for number, width in enumerate(widths.tolist())], dtype=np.int64
    )
    masks = np.zeros((4, n_wires), dtype=np.int32)
    first_nodes = np.zeros(4, dtype=np.int64)
    for level, width in enumerate((1, 2, 4, 8)):
        if width >= padded:
            first_nodes[level] = n_wires // width - 1
            counts = nodes.kept[first_nodes[level] : first_nodes[level] + n_wires // width]
            masks[level] = -(np.arange(width) < counts[:, None]).astype(np.int32).ravel()
    return EvenLayout(wire, masks.ravel(), first_nodes)


def odd_even_merge(left: Sequence[int], right: Sequence[int], comparators: list[Comparator]) -> list[int]:
    """Append the comparators that merge two ascending lists of wires; return the wires in ascending order."""
    if not left or not right:
        return [*left, *right]
    if len(left) == 1 and len(right) == 1:
        comparators.append((left[0], right[0]))
        return [left[0], right[0]]
    even = odd_even_merge(left[0::2], right[0::2], comparators)
    odd = odd_even_merge(left[1::2], right[1::2], comparators)
    merged = [even[0]]
    for place in range(max(len(odd), len(even) - 1)):
        pair = [*odd[place : place + 1], *even[place + 1 : place + 2]]
        if len(pair) == 2:
            comparators.append((pair[0], pair[1]))
        merged += pair
    return merged


def smallest_of_two(left: Sequence[int], right: Sequence[int], count: int, comparators: list[Comparator]) -> list[int]:
    """Append the comparators that bring the ``count`` smallest of two ascending lists together, in no order."""
    smallest: list[int] = []
    others: list[int] = []
    for place, wire in enumerate(left):
        partner = count - 1 - place
        if 0 <= partner < len(right):
            comparators.append((wire, right[partner]))
        (smallest if partner >= 0 else others).append(wire)
    for place, wire in enumerate(right):
        partner = count - 1 - place
        paired = 0 <= partner < len(left)
        (smallest if partner >= 0 and not paired else others).append(wire)
    return smallest + others


def sort_wires(wires: Sequence[int], comparators: list[Comparator]) -> list[int]:
    """Append the comparators that sort the wires; return the wires in ascending order."""
    if len(wires) < 2:
        return list(wires)
    middle = len(wires) // 2
    return odd_even_merge(sort_wires(wires[:middle], comparators), sort_wires(wires[middle:], comparators), comparators)


def _halves(node: int, nodes: NodeArrays, ascending: list[list[int]], own: list[Comparator]) -> list[list[int]]:
    """Return the two ascending lists that make up a node, sorting them first if it is a leaf."""
    if nodes.left[node] >= 0:
        return [ascending[nodes.left[node]], ascending[nodes.right[node]]]
    wires = range(int(nodes.start[node]), int(nodes.stop[node]))
    middle = len(wires) // 2
    return [sort_wires(part, own) for part in (wires[:middle], wires[middle:])]


def full_network(nodes: NodeArrays) -> Network:
    """Return the network after which every node's kept wires stand in ascending order."""
    comparators, ascending = _sorted_nodes(nodes, select_at_root=False)
    return _flat(comparators, [wires[:count] for wires, count in zip(ascending, nodes.kept, strict=True)])


def pruned_network(nodes: NodeArrays) -> Network:
    """Return the network after which every node's kept wires hold its smallest numbers, in any order.

    Comparators that can change no sum are left out, and the root only selects.
    """
    comparators, ascending = _sorted_nodes(nodes, select_at_root=True)
    kept = [wires[:count] for wires, count in zip(ascending, nodes.kept, strict=True)]
    return _flat(_needed(comparators, kept, int(nodes.stop[0])), kept)


def _sorted_nodes(nodes: NodeArrays, *, select_at_root: bool) -> tuple[list[list[Comparator]], list[list[int]]]:
    n_nodes = len(nodes.start)
    comparators: list[list[Comparator]] = [[] for _ in range(n_nodes)]
    ascending: list[list[int]] = [[] for _ in range(n_nodes)]
    for node in reversed(range(n_nodes)):
        left, right = _halves(node, nodes, ascending, comparators[node])
        if node == 0 and select_at_root:
            ascending[node] = smallest_of_two(left, right, int(nodes.kept[node]), comparators[node])
        else:
            ascending[node] = odd_even_merge(left, right, comparators[node])
    return comparators, ascending


def _needed(comparators: list[list[Comparator]], kept: list[list[int]], n_wires: int) -> list[list[Comparator]]:
    """Leave out the comparators that no sum depends on.

    Walks backward in time and keeps, for every wire, a class: numbers on wires of one class may be
    exchanged without changing any later sum. A comparator within one class does nothing. The inputs of a
    comparator that counts form a class of their own, because it treats them alike.
    """
    classes = [0] * n_wires
    fresh = 1
    needed: list[list[Comparator]] = []
    for own, wires in zip(comparators, kept, strict=True):
        renamed: dict[int, int] = {}
        for wire in wires:
            if classes[wire] not in renamed:
                renamed[classes[wire]] = fresh
                fresh += 1
            classes[wire] = renamed[classes[wire]]
        counting = []
        for low, high in reversed(own):
            if classes[low] != classes[high]:
                counting.append((low, high))
                classes[low] = classes[high] = fresh
                fresh += 1
        needed.append(counting[::-1])
    return needed


def _flat(comparators: list[list[Comparator]], kept: list[list[int]]) -> Network:
    pairs = np.array([pair for own in comparators for pair in own], dtype=np.int32).reshape(-1, 2)
    return Network(
        low=np.ascontiguousarray(pairs[:, 0]),
        high=np.ascontiguousarray(pairs[:, 1]),
        first=np.cumsum([0] + [len(own) for own in comparators], dtype=np.int64),
        wires=np.array([wire for wires in kept for wire in wires], dtype=np.int32),
        first_wire=np.cumsum([0] + [len(wires) for wires in kept], dtype=np.int64),
    )
