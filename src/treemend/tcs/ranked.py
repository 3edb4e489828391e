"""Float32 estimates of ranked distances at every node, for ``alpha < 1``: sort at the leaves and merge upward.

Reference rows stand side by side in blocks of `LANES`, so that one instruction of the processor compares many of them.
A block's squared differences stand on *wires*, one for each column and some that pad every leaf to the same power of two.
Each node's wires are sorted by a bitonic network, left children ascending and right children descending, which makes
their concatenation the input of the parent's merge (method, section 8). The sum of a node's smallest squares is taken
when its wires have been sorted; the root is not sorted, since pairs of its halves tell which of them count.

The network is a list of *passes*, rows of (operation, first wire, last wire, width, stride). It is worked through for
every block, subtree by subtree, so that the wires stay in the processor's first cache.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numba import njit
from numpy.typing import NDArray

from treemend.tcs.exact import kth_smallest, n_folds, relative_errors, round_up, smallest_of_folds, squared_distance
from treemend.tcs.label import count_witnesses, first_share
from treemend.tcs.tree import AttributeTree

__all__ = ["Network", "RankedScan", "build_network"]

LANES = 32
WIRES_IN_CACHE = 64
ESTIMATES_TOGETHER = 500_000
"""Rows are scanned together up to this many estimates: blocks are read once for them, and their estimates stay in a cache."""

PADDING = np.float32(1e16)
"""On wires without a column and for rows that fill up the last block: its square is larger than any other."""

NARROW, SQUARE, QUARTER, HALVE, MERGE, PAIR, ADD = range(7)
FASTMATH = {"nnan", "ninf", "nsz", "contract", "reassoc"}


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
        passes = [(NARROW, first, last, 1, 0)] if self.passes[0, 0] == NARROW else []
        return np.array(passes + (_sorting_passes(begin, begin + width) if width >= 4 else []))


def build_network(tree: AttributeTree, kept: NDArray[np.int64]) -> Network:
    """Return the network that sorts every node but the root."""
    height = int(tree.depth.max())
    widest = int((tree.stop - tree.start)[tree.depth == height].max())
    levels = max(3, height + (widest - 1).bit_length())
    n_wires = 1 << levels
    position = np.zeros(len(tree.start), dtype=np.int64)
    for node in np.flatnonzero(tree.left >= 0):
        position[tree.left[node]] = 2 * position[node]
        position[tree.right[node]] = 2 * position[node] + 1
    level = levels - tree.depth
    wire = np.empty(tree.stop[0], dtype=np.int64)
    weights = np.zeros((levels + 1, n_wires), dtype=np.float32)
    for node, (start, stop) in enumerate(zip(tree.start, tree.stop, strict=True)):
        begin = position[node] << level[node]
        if tree.left[node] < 0:
            wire[start:stop] = np.arange(begin, begin + stop - start)
        first = begin if position[node] % 2 == 0 else begin + (1 << level[node]) - kept[node]
        weights[level[node], first : first + kept[node]] = 1
    half, outright = n_wires // 2, max(0, kept[0] - n_wires // 2)
    weights[levels] = 0
    weights[levels, : min(kept[0], half)] = 1
    weights[levels, n_wires - outright :] = 1
    passes = [(NARROW, 0, n_wires, 1, 0)] if level.min() < 2 else []
    passes += _sorting_passes(0, half) + _sorting_passes(half, n_wires)
    paired = min(int(kept[0]), half) - outright
    passes += [(PAIR, outright, outright + paired, n_wires, n_wires - int(kept[0])), (ADD, 0, n_wires, n_wires, levels)]
    node_at = np.full(2 * n_wires, len(level), dtype=np.int64)
    node_at[(n_wires >> level) + position] = np.arange(len(level))
    return Network(wire, np.array(passes, dtype=np.int64), weights, node_at)


def _sorting_passes(begin: int, end: int) -> list[tuple[int, ...]]:
    """Return the passes that sort the wires of one node, of 4 wires at least."""
    width = end - begin
    if width > WIRES_IN_CACHE:
        middle = (begin + end) // 2
        return _sorting_passes(begin, middle) + _sorting_passes(middle, end) + _merging_passes(begin, end, width)
    passes = [(SQUARE, begin, end, 4, 0)]
    merged = 8
    while merged <= width:
        passes += _merging_passes(begin, end, merged)
        merged *= 2
    return passes


def _merging_passes(begin: int, end: int, width: int) -> list[tuple[int, ...]]:
    """Return the passes that merge pairs of sorted nodes into nodes of ``width`` wires."""
    passes = []
    stride = width // 2
    while stride >= 16:
        passes.append((QUARTER, begin, end, width, stride // 2))
        stride //= 4
    if stride == 8:
        passes.append((HALVE, begin, end, width, 8))
    return [*passes, (MERGE, begin, end, width, width.bit_length() - 1)]


@dataclass(frozen=True, eq=False)
class RankedScan:
    """Reference rows in blocks, blocks x eights of wires x 8 LANES, less ``centre``."""

    reference: NDArray[np.float64]
    centre: NDArray[np.float64]
    tree: AttributeTree
    kept: NDArray[np.int64]
    network: Network
    blocks: NDArray[np.float32]

    @classmethod
    def build(
        cls,
        reference: NDArray[np.float64],
        centre: NDArray[np.float64],
        tree: AttributeTree,
        kept: NDArray[np.int64],
    ) -> Self:
        """Lay rows out."""
        network = build_network(tree, kept)
        n_rows, n_wires = len(reference), network.weights.shape[1]
        n_blocks = -(-n_rows // LANES)
        padded = np.full((n_blocks * LANES, n_wires), PADDING)
        padded[:n_rows, network.wire] = reference - centre
        blocks = np.ascontiguousarray(padded.reshape(n_blocks, LANES, n_wires // 8, 8).transpose(0, 2, 3, 1))
        return cls(reference, centre, tree, kept, network, blocks.reshape(n_blocks, n_wires // 8, 8 * LANES))

    def radii(
        self, rows: NDArray[np.float64], left_out: NDArray[np.int64], n_neighbors: int, errors: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return exact K-th radii, rows x nodes; ``errors`` of estimates are also rows x nodes."""
        tree, n_blocks = self.tree, len(self.blocks)
        radii = np.empty(errors.shape)
        folded = np.zeros((n_folds(n_blocks, LANES, n_neighbors), LANES, round_up(tree.n_nodes + 1)), dtype=np.float32)
        for part, estimates in self._estimates(rows, self.blocks, self.network.passes, self.network.node_at):
            ranked_radii(
                estimates,
                folded,
                self.reference,
                rows[part],
                left_out[part],
                tree.start,
                tree.stop,
                self.kept,
                relative_errors(tree),
                errors[part],
                n_neighbors,
                radii[part],
            )
        return radii

    def labels(
        self,
        rows: NDArray[np.float64],
        n_neighbors: int,
        inner: NDArray[np.float32],
        outer: NDArray[np.float32],
        squares: NDArray[np.float64],
    ) -> NDArray[np.bool_]:
        """Return whether fewer than K reference rows are within the limits, rows x nodes; see `label`."""
        tree, network = self.tree, self.network
        counts = np.zeros(inner.shape, dtype=np.int64)

        def count(at: NDArray[np.intp], blocks: slice, top: int) -> None:
            """Count at all nodes of the subtree below ``top``."""
            inside = (tree.start >= tree.start[top]) & (tree.stop <= tree.stop[top]) & (tree.depth >= tree.depth[top])
            nodes = np.flatnonzero(inside)
            column = np.full(tree.n_nodes + 1, len(nodes))
            column[nodes] = np.arange(len(nodes))
            found, passes = counts[at], network.passes_of(top)
            for part, estimates in self._estimates(rows[at], self.blocks[blocks], passes, column[network.node_at]):
                count_witnesses(
                    estimates,
                    blocks.start * LANES,
                    self.reference,
                    rows[at[part]],
                    nodes,
                    tree.start,
                    tree.stop,
                    self.kept,
                    inner[at[part]],
                    outer[at[part]],
                    squares,
                    n_neighbors,
                    found[part],
                )
            counts[at] = found

        blocks = slice(0, min(first_share(len(self.reference), LANES), len(self.blocks)))
        count(np.arange(len(rows)), blocks, 0)
        while blocks.stop < len(self.blocks):
            blocks = slice(blocks.stop, min(3 * blocks.stop, len(self.blocks)))
            in_doubt = counts < n_neighbors
            searched = np.zeros(counts.shape, dtype=np.bool_)
            for node in range(tree.n_nodes):
                above = searched[:, tree.parent[node]] & (node > 0)
                searched[:, node] = above | in_doubt[:, node]
                at = np.flatnonzero(in_doubt[:, node] & ~above)
                if len(at):
                    count(at, blocks, node)
        return counts < n_neighbors

    def _estimates(
        self,
        rows: NDArray[np.float64],
        blocks: NDArray[np.float32],
        passes: NDArray[np.int64],
        node_at: NDArray[np.int64],
    ) -> Iterator[tuple[slice, NDArray[np.float32]]]:
        """Yield estimates of some rows at a time, rows x blocks x columns x LANES."""
        network, n_columns = self.network, max(2, int(node_at.max()) + 1)
        on_wires = np.zeros((len(rows), network.weights.shape[1]), dtype=np.float32)
        on_wires[:, network.wire] = rows - self.centre
        wires = np.zeros(network.weights.shape[1] * LANES, dtype=np.float32)
        together = max(1, min(len(rows), ESTIMATES_TOGETHER // (len(blocks) * n_columns * LANES)))
        estimates = np.zeros((together, len(blocks), n_columns, LANES), dtype=np.float32)
        for first in range(0, len(rows), together):
            part = slice(first, first + together)
            ranked_estimates(
                blocks,
                on_wires[part],
                passes,
                network.weights,
                node_at,
                LANES,
                wires,
                wires.reshape(-1, 8 * LANES),
                estimates,
            )
            yield part, estimates


@njit(forceinline=True)
def _eight(numbers: NDArray[np.float32], g: int) -> tuple[float, float, float, float, float, float, float, float]:
    """Return the numbers of one eight of wires."""
    first = 8 * g
    return (
        numbers[first],
        numbers[first + 1],
        numbers[first + 2],
        numbers[first + 3],
        numbers[first + 4],
        numbers[first + 5],
        numbers[first + 6],
        numbers[first + 7],
    )


@njit(forceinline=True, fastmath=FASTMATH)
def _merged_eight(
    a: float, b: float, c: float, d: float, e: float, f: float, g: float, h: float
) -> tuple[float, float, float, float, float, float, float, float]:
    """Sort a bitonic sequence of eight."""
    a, e = min(a, e), max(a, e)
    b, f = min(b, f), max(b, f)
    c, g = min(c, g), max(c, g)
    d, h = min(d, h), max(d, h)
    a, c = min(a, c), max(a, c)
    b, d = min(b, d), max(b, d)
    e, g = min(e, g), max(e, g)
    f, h = min(f, h), max(f, h)
    return min(a, b), max(a, b), min(c, d), max(c, d), min(e, f), max(e, f), min(g, h), max(g, h)


@njit(forceinline=True, fastmath=FASTMATH)
def _sorted_four(a: float, b: float, c: float, d: float) -> tuple[float, float, float, float]:
    a, b = min(a, b), max(a, b)
    c, d = min(c, d), max(c, d)
    a, c = min(a, c), max(a, c)
    b, d = min(b, d), max(b, d)
    return a, min(b, c), max(b, c), d


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
    """Write the estimated squared distances of rows to ``estimates``, rows x blocks x nodes x LANES.

    ``lanes`` is `LANES`, as a number that the compiler does not know: loops of unknown length it vectorises, short ones
    it unrolls. ``wires`` and ``eights`` are two views of the same scratch. ``estimates`` has one node more, for sums
    that belong to no node, and holds finite numbers before.
    """
    n_wires = 8 * len(eights)
    for step in range(len(blocks) * len(rows)):
        block, r = step // len(rows), step % len(rows)
        for number in range(len(passes)):
            operation, begin, end, width, stride = passes[number]
            if operation == SQUARE:
                for g in range(begin // 8, (end + 7) // 8):
                    x0, x1, x2, x3, x4, x5, x6, x7 = _eight(rows[r], g)
                    w0, w1, w2, w3, w4, w5, w6, w7 = _eight(weights[2], g)
                    left, right = node_at[n_wires // 4 + 2 * g], node_at[n_wires // 4 + 2 * g + 1]
                    for l in range(lanes):
                        a, b, c, d = _sorted_four(
                            (blocks[block, g, l] - x0) ** 2,
                            (blocks[block, g, LANES + l] - x1) ** 2,
                            (blocks[block, g, 2 * LANES + l] - x2) ** 2,
                            (blocks[block, g, 3 * LANES + l] - x3) ** 2,
                        )
                        eights[g, l] = a
                        eights[g, LANES + l] = b
                        eights[g, 2 * LANES + l] = c
                        eights[g, 3 * LANES + l] = d
                        estimates[r, block, left, l] = w0 * a + w1 * b + w2 * c + w3 * d
                        a, b, c, d = _sorted_four(
                            (blocks[block, g, 4 * LANES + l] - x4) ** 2,
                            (blocks[block, g, 5 * LANES + l] - x5) ** 2,
                            (blocks[block, g, 6 * LANES + l] - x6) ** 2,
                            (blocks[block, g, 7 * LANES + l] - x7) ** 2,
                        )
                        eights[g, 4 * LANES + l] = d
                        eights[g, 5 * LANES + l] = c
                        eights[g, 6 * LANES + l] = b
                        eights[g, 7 * LANES + l] = a
                        estimates[r, block, right, l] = w4 * d + w5 * c + w6 * b + w7 * a
            elif operation == MERGE:
                for g in range(begin // 8, end // 8):
                    w0, w1, w2, w3, w4, w5, w6, w7 = _eight(weights[stride], g)
                    node = node_at[n_wires // width + 8 * g // width]
                    before = np.float32(8 * g % width > 0)
                    if 8 * g // width % 2 == 0:
                        for l in range(lanes):
                            a, b, c, d, e, f, h, i = _merged_eight(
                                eights[g, l],
                                eights[g, LANES + l],
                                eights[g, 2 * LANES + l],
                                eights[g, 3 * LANES + l],
                                eights[g, 4 * LANES + l],
                                eights[g, 5 * LANES + l],
                                eights[g, 6 * LANES + l],
                                eights[g, 7 * LANES + l],
                            )
                            eights[g, l] = a
                            eights[g, LANES + l] = b
                            eights[g, 2 * LANES + l] = c
                            eights[g, 3 * LANES + l] = d
                            eights[g, 4 * LANES + l] = e
                            eights[g, 5 * LANES + l] = f
                            eights[g, 6 * LANES + l] = h
                            eights[g, 7 * LANES + l] = i
                            total = w0 * a + w1 * b + w2 * c + w3 * d + w4 * e + w5 * f + w6 * h + w7 * i
                            estimates[r, block, node, l] = before * estimates[r, block, node, l] + total
                    else:
                        for l in range(lanes):
                            i, h, f, e, d, c, b, a = _merged_eight(
                                eights[g, 7 * LANES + l],
                                eights[g, 6 * LANES + l],
                                eights[g, 5 * LANES + l],
                                eights[g, 4 * LANES + l],
                                eights[g, 3 * LANES + l],
                                eights[g, 2 * LANES + l],
                                eights[g, LANES + l],
                                eights[g, l],
                            )
                            eights[g, l] = a
                            eights[g, LANES + l] = b
                            eights[g, 2 * LANES + l] = c
                            eights[g, 3 * LANES + l] = d
                            eights[g, 4 * LANES + l] = e
                            eights[g, 5 * LANES + l] = f
                            eights[g, 6 * LANES + l] = h
                            eights[g, 7 * LANES + l] = i
                            total = w0 * a + w1 * b + w2 * c + w3 * d + w4 * e + w5 * f + w6 * h + w7 * i
                            estimates[r, block, node, l] = before * estimates[r, block, node, l] + total
            elif operation == QUARTER:
                length = np.uint64(stride * LANES)
                for first in range(begin, end, 4 * stride):
                    i0 = np.uint64(first * LANES)
                    i1, i2, i3 = i0 + length, i0 + length + length, i0 + length + length + length
                    if first // width % 2 == 1:
                        i0, i1, i2, i3 = i3, i2, i1, i0
                    for l in range(length):
                        a, b, c, d = wires[i0 + l], wires[i1 + l], wires[i2 + l], wires[i3 + l]
                        a, c = min(a, c), max(a, c)
                        b, d = min(b, d), max(b, d)
                        wires[i0 + l] = min(a, b)
                        wires[i1 + l] = max(a, b)
                        wires[i2 + l] = min(c, d)
                        wires[i3 + l] = max(c, d)
            elif operation == HALVE:
                length = np.uint64(stride * LANES)
                for first in range(begin, end, 2 * stride):
                    i0 = np.uint64(first * LANES)
                    i1 = i0 + length
                    if first // width % 2 == 1:
                        i0, i1 = i1, i0
                    for l in range(length):
                        a, b = wires[i0 + l], wires[i1 + l]
                        wires[i0 + l] = min(a, b)
                        wires[i1 + l] = max(a, b)
            elif operation == PAIR:
                i0 = np.uint64(begin * LANES)
                i1 = np.uint64((begin + stride) * LANES)
                for l in range(np.uint64((end - begin) * LANES)):
                    wires[i0 + l] = min(wires[i0 + l], wires[i1 + l])
            elif operation == ADD:
                for g in range(begin // 8, end // 8):
                    w0, w1, w2, w3, w4, w5, w6, w7 = _eight(weights[stride], g)
                    before = np.float32(g > 0)
                    for l in range(lanes):
                        total = (
                            w0 * eights[g, l]
                            + w1 * eights[g, LANES + l]
                            + w2 * eights[g, 2 * LANES + l]
                            + w3 * eights[g, 3 * LANES + l]
                            + w4 * eights[g, 4 * LANES + l]
                            + w5 * eights[g, 5 * LANES + l]
                            + w6 * eights[g, 6 * LANES + l]
                            + w7 * eights[g, 7 * LANES + l]
                        )
                        estimates[r, block, 0, l] = before * estimates[r, block, 0, l] + total
            else:
                for g in range(begin // 2, end // 2):
                    x0, x1 = rows[r, 2 * g], rows[r, 2 * g + 1]
                    eight, j = g // 4, (g % 4) * 2 * LANES
                    both = weights[1, 2 * g] + weights[1, 2 * g + 1] > 1
                    left, right, node = (
                        node_at[n_wires + 2 * g],
                        node_at[n_wires + 2 * g + 1],
                        node_at[n_wires // 2 + g],
                    )
                    for l in range(lanes):
                        a = (blocks[block, eight, j + l] - x0) ** 2
                        b = (blocks[block, eight, j + LANES + l] - x1) ** 2
                        estimates[r, block, left, l] = a
                        estimates[r, block, right, l] = b
                        estimates[r, block, node, l] = a + b if both else min(a, b)


@njit(cache=True, nogil=True)
def ranked_radii(
    estimates: NDArray[np.float32],
    folded: NDArray[np.float32],
    reference: NDArray[np.float64],
    rows: NDArray[np.float64],
    left_out: NDArray[np.int64],
    start: NDArray[np.int64],
    stop: NDArray[np.int64],
    kept: NDArray[np.int64],
    relative: NDArray[np.float64],
    absolute: NDArray[np.float64],
    n_neighbors: int,
    radii: NDArray[np.float64],
) -> None:
    """Fill ``radii``, rows x nodes, with exact K-th radii; ``folded``, folds x LANES x nodes, is scratch.

    Of the rows whose estimates are not above a bound, those are measured that may have the K-th distance by their
    estimates. Estimates that cannot be wrong, where ``absolute`` is 0, are taken for the squares that they estimate.
    """
    _, n_blocks, _, n_lanes = estimates.shape
    folds = len(folded)
    smallest = np.empty((n_neighbors + 1, folded.shape[2]), dtype=np.float32)
    squares = np.empty(reference.shape[1])
    listed = np.empty(folds * n_lanes + 1, dtype=np.int64)
    numbers = np.empty(n_blocks * n_lanes + 1, dtype=np.int64)
    found = np.empty(n_blocks * n_lanes + 1)
    nearest = np.empty(n_neighbors)
    for r in range(len(rows)):
        rank = n_neighbors + (left_out[r] >= 0)
        smallest_of_folds(estimates[r], folded, smallest, rank)
        for node in range(len(start)):
            far, near = 1 + relative[node], 1 - relative[node]
            error = absolute[r, node]
            if error == 0:
                far = near = 1.0
            largest = (math.sqrt(np.float64(smallest[rank - 1, node])) * far + 2 * error) / near
            bound = largest * largest * (1 + 1e-12)
            n_listed = 0
            for fold in range(folds):
                for lane in range(n_lanes):
                    listed[n_listed] = fold * n_lanes + lane
                    n_listed += folded[fold, lane, node] <= bound
            count = 0
            for k in range(n_listed):
                lane = listed[k] % n_lanes
                for block in range(listed[k] // n_lanes, n_blocks, folds):
                    number = block * n_lanes + lane
                    numbers[count] = number
                    found[count] = estimates[r, block, node, lane]
                    count += (found[count] <= bound) & (number != left_out[r])
            radius = math.sqrt(kth_smallest(found, count, n_neighbors, nearest))
            if error > 0:
                # The K-th distance lies between these two, and so does the distance of the row that has it.
                low, high = radius * near - error, radius * far + error
                below = (max(0.0, low - error) / far) ** 2 * (1 - 1e-12)
                above = ((high + error) / near) ** 2 * (1 + 1e-12)
                n_below, n_open = 0, 0
                for k in range(count):
                    if found[k] < below:
                        n_below += 1
                    elif found[k] <= above and numbers[k] < len(reference):
                        found[n_open] = squared_distance(
                            reference, numbers[k], rows[r], start[node], stop[node], kept[node], squares
                        )
                        n_open += 1
                radius = math.sqrt(kth_smallest(found, n_open, n_neighbors - n_below, nearest))
            radii[r, node] = radius
