"""Estimates of ranked distances by a sorting network: sort at the leaves, merge upward (docs/method.md, section 2.10).

Reference rows stand side by side in blocks of `LANES`, so that one instruction of the processor compares many of them.
A block's squared differences stand on *wires*, one for each column and some that pad every leaf to the same power of
two. Each node's wires are sorted by a bitonic network, left children ascending and right children descending, which
makes their concatenation the input of the parent's merge. The sum of a node's smallest squares is taken when its wires
have been sorted; the root is not sorted, since pairs of its halves tell which of them count.

The network is a list of *passes*, rows of (operation, first wire, last wire, width, stride or level). It is worked
through for every block, subtree by subtree, so that the wires stay in the processor's first cache.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from treemend.tcs.exact import FASTMATH
from treemend.tcs.tree import F32, I64

__all__ = ["LANES", "Network", "dot", "eight", "estimate_block", "load", "merged", "sorted_by_four"]

LANES = 32
Eight = tuple[float, float, float, float, float, float, float, float]
NARROW, SQUARE, QUARTER, HALVE, MERGE, PAIR, ADD = range(7)


class Network(NamedTuple):
    """Passes and what they need to know.

    ``node_at`` has the node at each place, places numbered breadth first from 1, and one above the last node where
    there is none. The passes for node ``v`` and those below it are ``begin[v]`` to ``begin[v + 1] - 1``. ``weights``,
    levels x wires, are 1 for the wires whose squares count at the node of that level, once it is sorted.
    """

    node_at: I64
    passes: I64
    begin: I64
    weights: F32


@njit(forceinline=True)
def eight(numbers: F32, g: int) -> Eight:
    """Return the numbers of one eight of wires."""
    k = 8 * g
    low = (numbers[k], numbers[k + 1], numbers[k + 2], numbers[k + 3])
    return (*low, numbers[k + 4], numbers[k + 5], numbers[k + 6], numbers[k + 7])


@njit(forceinline=True)
def load(eights: F32, g: int, i: int) -> Eight:
    """Return the numbers on one eight of wires in one lane."""
    low = (eights[g, i], eights[g, LANES + i], eights[g, 2 * LANES + i], eights[g, 3 * LANES + i])
    high = (eights[g, 4 * LANES + i], eights[g, 5 * LANES + i], eights[g, 6 * LANES + i], eights[g, 7 * LANES + i])
    return low + high


@njit(forceinline=True)
def _store(eights: F32, g: int, i: int, w: Eight) -> None:
    eights[g, i], eights[g, LANES + i], eights[g, 2 * LANES + i], eights[g, 3 * LANES + i] = w[0], w[1], w[2], w[3]
    eights[g, 4 * LANES + i], eights[g, 5 * LANES + i] = w[4], w[5]
    eights[g, 6 * LANES + i], eights[g, 7 * LANES + i] = w[6], w[7]


@njit(forceinline=True, fastmath=FASTMATH)
def dot(v: Eight, w: Eight) -> float:
    """Return the sum of products."""
    low = v[0] * w[0] + v[1] * w[1] + v[2] * w[2] + v[3] * w[3]
    return low + v[4] * w[4] + v[5] * w[5] + v[6] * w[6] + v[7] * w[7]


@njit(forceinline=True, fastmath=FASTMATH)
def merged(w: Eight) -> Eight:
    """Sort a bitonic sequence of eight."""
    a, b, c, d, e, f, g, h = w
    a, b, c, d, e, f, g, h = min(a, e), min(b, f), min(c, g), min(d, h), max(a, e), max(b, f), max(c, g), max(d, h)
    a, b, c, d, e, f, g, h = min(a, c), min(b, d), max(a, c), max(b, d), min(e, g), min(f, h), max(e, g), max(f, h)
    return min(a, b), max(a, b), min(c, d), max(c, d), min(e, f), max(e, f), min(g, h), max(g, h)


@njit(forceinline=True, fastmath=FASTMATH)
def sorted_by_four(w: Eight, x: Eight) -> Eight:
    """Return the squared differences, the first four sorted up and the last four down."""
    a, b, c, d = (w[0] - x[0]) ** 2, (w[1] - x[1]) ** 2, (w[2] - x[2]) ** 2, (w[3] - x[3]) ** 2
    e, f, g, h = (w[4] - x[4]) ** 2, (w[5] - x[5]) ** 2, (w[6] - x[6]) ** 2, (w[7] - x[7]) ** 2
    a, b, c, d, e, f, g, h = min(a, b), max(a, b), min(c, d), max(c, d), max(e, f), min(e, f), max(g, h), min(g, h)
    a, b, c, d, e, f, g, h = min(a, c), min(b, d), max(a, c), max(b, d), max(e, g), max(f, h), min(e, g), min(f, h)
    return a, min(b, c), max(b, c), d, e, max(f, g), min(f, g), h


@njit(forceinline=True, fastmath=FASTMATH)
def estimate_block(block: F32, row: F32, network: Network, top: int, wires: F32, estimates: F32) -> None:
    """Write the estimated squared distances of a row to a block to ``estimates``, (nodes + 1) x LANES.

    Node ``top`` and those below it are estimated. ``wires`` is scratch. ``estimates`` holds finite numbers before;
    its last row is for places without a node.
    """
    weights, node_at, eights = network.weights, network.node_at, wires.reshape(-1, 8 * LANES)
    # As a number that the compiler does not know: loops of unknown length it vectorises, short ones it unrolls.
    lanes = estimates.shape[1]
    n_wires = 8 * len(eights)
    for number in range(network.begin[top], network.begin[top + 1]):
        operation, begin, end, width, stride = network.passes[number]
        if operation == SQUARE:
            for g in range(begin // 8, (end + 7) // 8):
                x, counts = eight(row, g), eight(weights[2], g)
                left, right = node_at[n_wires // 4 + 2 * g], node_at[n_wires // 4 + 2 * g + 1]
                for i in range(lanes):
                    w = sorted_by_four(load(block, g, i), x)
                    _store(eights, g, i, w)
                    total = counts[0] * w[0] + counts[1] * w[1] + counts[2] * w[2] + counts[3] * w[3]
                    estimates[left, i] = total
                    total = counts[4] * w[4] + counts[5] * w[5] + counts[6] * w[6] + counts[7] * w[7]
                    estimates[right, i] = total
        elif operation == MERGE:
            for g in range(begin // 8, end // 8):
                counts = eight(weights[stride], g)
                node = node_at[n_wires // width + 8 * g // width]
                before = np.float32(8 * g % width > 0)
                if 8 * g // width % 2 == 0:
                    for i in range(lanes):
                        w = merged(load(eights, g, i))
                        _store(eights, g, i, w)
                        estimates[node, i] = before * estimates[node, i] + dot(counts, w)
                else:
                    for i in range(lanes):
                        w = merged(load(eights, g, i)[::-1])[::-1]
                        _store(eights, g, i, w)
                        estimates[node, i] = before * estimates[node, i] + dot(counts, w)
        elif operation == QUARTER:
            length = np.uint64(stride * LANES)
            for first in range(begin, end, 4 * stride):
                i0 = np.uint64(first * LANES)
                i1, i2, i3 = i0 + length, i0 + length + length, i0 + length + length + length
                if first // width % 2 == 1:
                    i0, i1, i2, i3 = i3, i2, i1, i0
                for i in range(length):
                    a, b, c, d = wires[i0 + i], wires[i1 + i], wires[i2 + i], wires[i3 + i]
                    a, b, c, d = min(a, c), min(b, d), max(a, c), max(b, d)
                    wires[i0 + i], wires[i1 + i] = min(a, b), max(a, b)
                    wires[i2 + i], wires[i3 + i] = min(c, d), max(c, d)
        elif operation == HALVE:
            length = np.uint64(stride * LANES)
            for first in range(begin, end, 2 * stride):
                i0, i1 = np.uint64(first * LANES), np.uint64(first * LANES) + length
                if first // width % 2 == 1:
                    i0, i1 = i1, i0
                for i in range(length):
                    a, b = wires[i0 + i], wires[i1 + i]
                    wires[i0 + i], wires[i1 + i] = min(a, b), max(a, b)
        elif operation == PAIR:
            i0, i1 = np.uint64(begin * LANES), np.uint64((begin + stride) * LANES)
            for i in range(np.uint64((end - begin) * LANES)):
                wires[i0 + i] = min(wires[i0 + i], wires[i1 + i])
        elif operation == ADD:
            for g in range(begin // 8, end // 8):
                counts = eight(weights[stride], g)
                before = np.float32(g > 0)
                for i in range(lanes):
                    total = dot(counts, load(eights, g, i))
                    estimates[0, i] = before * estimates[0, i] + total
        else:
            for g in range(begin // 2, end // 2):
                x0, x1 = row[2 * g], row[2 * g + 1]
                octet, first = g // 4, g % 4 * 2 * LANES
                one, other = weights[0, 2 * g], weights[0, 2 * g + 1]
                of_both = weights[1, 2 * g] + weights[1, 2 * g + 1]
                node = node_at[n_wires // 2 + g]
                left, right = node_at[n_wires + 2 * g], node_at[n_wires + 2 * g + 1]
                for i in range(lanes):
                    a = (block[octet, first + i] - x0) ** 2
                    b = (block[octet, first + LANES + i] - x1) ** 2
                    estimates[left, i], estimates[right, i] = one * a, other * b
                    estimates[node, i] = a + b if of_both > 1 else of_both * min(a, b)
