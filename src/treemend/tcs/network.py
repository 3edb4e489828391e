"""Estimates of ranked distances by a sorting network: sort at the leaves, merge upward (docs/method.md, section 2.10).

Reference rows stand side by side in blocks of `LANES`, so that one instruction of the processor compares many of them.
A block's squared differences stand on *wires*, one for each column and some that pad every leaf to the same power of
two. Each node's wires are sorted by a bitonic network, left children ascending and right children descending, which
makes their concatenation the input of the parent's merge. The sum of a node's smallest squares is taken when its wires
have been sorted; the root is not sorted, since pairs of its halves tell which of them count.

The network is a list of *passes*, rows of (operation, first wire, last wire, width, stride or level). It is worked
through for every block, subtree by subtree, so that the wires stay in the processor's first cache.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from treemend.tcs.tree import AttributeTree

__all__ = ["LANES", "PADDING", "Network", "build_network", "ranked_estimates"]

LANES = 32
WIRES_IN_CACHE = 64
PADDING = np.float32(1e16)
"""On wires without a column and for rows that fill up the last block: its square is larger than any other."""

FASTMATH = {"nnan", "ninf", "nsz", "contract", "reassoc"}
Eight = tuple[float, float, float, float, float, float, float, float]
Pass = tuple[int, int, int, int, int]
NARROW, SQUARE, QUARTER, HALVE, MERGE, PAIR, ADD = range(7)


@dataclass(frozen=True, eq=False)
class Network:
    """Passes and what they need to know.

    Attributes
    ----------
    wire : ndarray of int64, one a column
        Where the column stands.
    passes : ndarray of int64, passes x 5
        See the module.
    weights : ndarray of float32, levels x wires
        1 for the wires whose squares count at the node of that level, once it is sorted.
    node_at : ndarray of int64
        The node at each place, places numbered breadth first from 1; one above the last node where there is none.
    """

    wire: NDArray[np.int64]
    passes: NDArray[np.int64]
    weights: NDArray[np.float32]
    node_at: NDArray[np.int64]

    def passes_of(self, node: int) -> NDArray[np.int64]:
        """Return the passes that take the sums of one node and of those below it."""
        if node == 0:
            return self.passes
        n_wires = self.weights.shape[1]
        place = int(np.flatnonzero(self.node_at == node)[0])
        width = n_wires >> (place.bit_length() - 1)
        begin = place * width - n_wires
        first, last = begin // 2 * 2, begin + max(width, 2)
        passes: list[Pass] = [(NARROW, first, last, 1, 0)] if self.passes[0, 0] == NARROW else []
        return np.array(passes + (_sorting_passes(begin, begin + width) if width >= 4 else []))


def build_network(tree: AttributeTree, kept: NDArray[np.int64]) -> Network:
    """Return the network that sorts every node but the root."""
    height = int(tree.depth.max())
    widest = int((tree.stop - tree.start)[tree.depth == height].max())
    levels = max(3, height + (widest - 1).bit_length())
    n_wires = 1 << levels
    position = np.zeros(len(tree.start), dtype=np.int64)
    for inner in np.flatnonzero(tree.left >= 0):
        position[tree.left[inner]] = 2 * position[inner]
        position[tree.right[inner]] = 2 * position[inner] + 1
    level = levels - tree.depth
    wire = np.empty(tree.stop[0], dtype=np.int64)
    weights = np.zeros((levels + 1, n_wires), dtype=np.float32)
    for node, start, stop in zip(range(len(level)), tree.start, tree.stop, strict=True):
        begin = int(position[node] << level[node])
        if tree.left[node] < 0:
            wire[start:stop] = np.arange(begin, begin + stop - start)
        first = begin if position[node] % 2 == 0 else begin + int((1 << level[node]) - kept[node])
        weights[level[node], first : first + kept[node]] = 1
    half, outright = n_wires // 2, max(0, int(kept[0]) - n_wires // 2)
    weights[levels] = 0
    weights[levels, : min(kept[0], half)] = 1
    weights[levels, n_wires - outright :] = 1
    passes: list[Pass] = [(NARROW, 0, n_wires, 1, 0)] if level.min() < 2 else []
    passes += _sorting_passes(0, half) + _sorting_passes(half, n_wires)
    paired = min(int(kept[0]), half) - outright
    passes += [(PAIR, outright, outright + paired, n_wires, n_wires - int(kept[0])), (ADD, 0, n_wires, n_wires, levels)]
    node_at = np.full(2 * n_wires, len(level), dtype=np.int64)
    node_at[(n_wires >> level) + position] = np.arange(len(level))
    return Network(wire, np.array(passes, dtype=np.int64), weights, node_at)


def _sorting_passes(begin: int, end: int) -> list[Pass]:
    """Return the passes that sort the wires of one node, of 4 wires at least."""
    width = end - begin
    if width > WIRES_IN_CACHE:
        middle = (begin + end) // 2
        return _sorting_passes(begin, middle) + _sorting_passes(middle, end) + _merging_passes(begin, end, width)
    passes: list[Pass] = [(SQUARE, begin, end, 4, 0)]
    merged = 8
    while merged <= width:
        passes += _merging_passes(begin, end, merged)
        merged *= 2
    return passes


def _merging_passes(begin: int, end: int, width: int) -> list[Pass]:
    """Return the passes that merge pairs of sorted nodes into nodes of ``width`` wires."""
    passes: list[Pass] = []
    stride = width // 2
    while stride >= 16:
        passes.append((QUARTER, begin, end, width, stride // 2))
        stride //= 4
    if stride == 8:
        passes.append((HALVE, begin, end, width, 8))
    return [*passes, (MERGE, begin, end, width, width.bit_length() - 1)]


@njit(forceinline=True)
def _eight(numbers: NDArray[np.float32], g: int) -> Eight:
    """Return the numbers of one eight of wires."""
    k = 8 * g
    low = (numbers[k], numbers[k + 1], numbers[k + 2], numbers[k + 3])
    return (*low, numbers[k + 4], numbers[k + 5], numbers[k + 6], numbers[k + 7])


@njit(forceinline=True)
def _load(eights: NDArray[np.float32], g: int, i: int) -> Eight:
    low = (eights[g, i], eights[g, LANES + i], eights[g, 2 * LANES + i], eights[g, 3 * LANES + i])
    high = (eights[g, 4 * LANES + i], eights[g, 5 * LANES + i], eights[g, 6 * LANES + i], eights[g, 7 * LANES + i])
    return low + high


@njit(forceinline=True)
def _store(eights: NDArray[np.float32], g: int, i: int, w: Eight) -> None:
    eights[g, i], eights[g, LANES + i], eights[g, 2 * LANES + i], eights[g, 3 * LANES + i] = w[0], w[1], w[2], w[3]
    eights[g, 4 * LANES + i], eights[g, 5 * LANES + i] = w[4], w[5]
    eights[g, 6 * LANES + i], eights[g, 7 * LANES + i] = w[6], w[7]


@njit(forceinline=True)
def _reversed(w: Eight) -> Eight:
    return w[7], w[6], w[5], w[4], w[3], w[2], w[1], w[0]


@njit(forceinline=True, fastmath=FASTMATH)
def _dot(v: Eight, w: Eight) -> float:
    low = v[0] * w[0] + v[1] * w[1] + v[2] * w[2] + v[3] * w[3]
    return low + v[4] * w[4] + v[5] * w[5] + v[6] * w[6] + v[7] * w[7]


@njit(forceinline=True, fastmath=FASTMATH)
def _merged(w: Eight) -> Eight:
    """Sort a bitonic sequence of eight."""
    a, b, c, d, e, f, g, h = w
    a, b, c, d, e, f, g, h = min(a, e), min(b, f), min(c, g), min(d, h), max(a, e), max(b, f), max(c, g), max(d, h)
    a, b, c, d, e, f, g, h = min(a, c), min(b, d), max(a, c), max(b, d), min(e, g), min(f, h), max(e, g), max(f, h)
    return min(a, b), max(a, b), min(c, d), max(c, d), min(e, f), max(e, f), min(g, h), max(g, h)


@njit(forceinline=True, fastmath=FASTMATH)
def _sorted_by_four(w: Eight) -> Eight:
    """Sort the first four up and the last four down."""
    a, b, c, d, e, f, g, h = w
    a, b, c, d, e, f, g, h = min(a, b), max(a, b), min(c, d), max(c, d), max(e, f), min(e, f), max(g, h), min(g, h)
    a, b, c, d, e, f, g, h = min(a, c), min(b, d), max(a, c), max(b, d), max(e, g), max(f, h), min(e, g), min(f, h)
    return a, min(b, c), max(b, c), d, e, max(f, g), min(f, g), h


@njit(forceinline=True, fastmath=FASTMATH)
def _squares(w: Eight, x: Eight) -> Eight:
    low = ((w[0] - x[0]) ** 2, (w[1] - x[1]) ** 2, (w[2] - x[2]) ** 2, (w[3] - x[3]) ** 2)
    high = ((w[4] - x[4]) ** 2, (w[5] - x[5]) ** 2, (w[6] - x[6]) ** 2, (w[7] - x[7]) ** 2)
    return low + high


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def ranked_estimates(
    blocks: NDArray[np.float32],
    rows: NDArray[np.float32],
    passes: NDArray[np.int64],
    weights: NDArray[np.float32],
    node_at: NDArray[np.int64],
    lanes: int,
    wires: NDArray[np.float32],
    eights: NDArray[np.float32],
    estimates: NDArray[np.float32],
) -> None:
    """Write the estimated squared distances of rows to ``estimates``, rows x blocks x columns x LANES.

    ``node_at`` gives the column of each place. ``lanes`` is `LANES`, as a number that the compiler does not know: loops
    of unknown length it vectorises, short ones it unrolls. ``wires`` and ``eights`` are two views of the same scratch.
    ``estimates`` holds finite numbers before.
    """
    n_wires = 8 * len(eights)
    for step in range(len(blocks) * len(rows)):
        block, r = step // len(rows), step % len(rows)
        for number in range(len(passes)):
            operation, begin, end, width, stride = passes[number]
            if operation == SQUARE:
                for g in range(begin // 8, (end + 7) // 8):
                    x, counts = _eight(rows[r], g), _eight(weights[2], g)
                    left, right = node_at[n_wires // 4 + 2 * g], node_at[n_wires // 4 + 2 * g + 1]
                    for i in range(lanes):
                        w = _sorted_by_four(_squares(_load(blocks[block], g, i), x))
                        _store(eights, g, i, w)
                        total = counts[0] * w[0] + counts[1] * w[1] + counts[2] * w[2] + counts[3] * w[3]
                        estimates[r, block, left, i] = total
                        total = counts[4] * w[4] + counts[5] * w[5] + counts[6] * w[6] + counts[7] * w[7]
                        estimates[r, block, right, i] = total
            elif operation == MERGE:
                for g in range(begin // 8, end // 8):
                    counts = _eight(weights[stride], g)
                    node = node_at[n_wires // width + 8 * g // width]
                    before = np.float32(8 * g % width > 0)
                    if 8 * g // width % 2 == 0:
                        for i in range(lanes):
                            w = _merged(_load(eights, g, i))
                            _store(eights, g, i, w)
                            estimates[r, block, node, i] = before * estimates[r, block, node, i] + _dot(counts, w)
                    else:
                        for i in range(lanes):
                            w = _reversed(_merged(_reversed(_load(eights, g, i))))
                            _store(eights, g, i, w)
                            estimates[r, block, node, i] = before * estimates[r, block, node, i] + _dot(counts, w)
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
                    counts = _eight(weights[stride], g)
                    before = np.float32(g > 0)
                    for i in range(lanes):
                        total = _dot(counts, _load(eights, g, i))
                        estimates[r, block, 0, i] = before * estimates[r, block, 0, i] + total
            else:
                for g in range(begin // 2, end // 2):
                    x0, x1 = rows[r, 2 * g], rows[r, 2 * g + 1]
                    eight, first = g // 4, g % 4 * 2 * LANES
                    both = weights[1, 2 * g] + weights[1, 2 * g + 1] > 1
                    node = node_at[n_wires // 2 + g]
                    left, right = node_at[n_wires + 2 * g], node_at[n_wires + 2 * g + 1]
                    for i in range(lanes):
                        a = (blocks[block, eight, first + i] - x0) ** 2
                        b = (blocks[block, eight, first + LANES + i] - x1) ** 2
                        estimates[r, block, left, i], estimates[r, block, right, i] = a, b
                        estimates[r, block, node, i] = a + b if both else min(a, b)
