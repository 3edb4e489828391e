"""Ranked distances at every node, for ``alpha < 1``: estimates in float32, by the sorting network of `network`."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numba import njit
from numpy.typing import NDArray

from treemend.tcs import network as operations
from treemend.tcs.exact import FASTMATH, PADDING, Counting, Ends, Sought, kth_radii
from treemend.tcs.near import NearRows, count_near, count_ranked
from treemend.tcs.network import LANES, Network, estimate_block
from treemend.tcs.tree import F32, F64, I64, AttributeTree

__all__ = ["RankedScan", "n_kept"]


SAMPLE = 16
"""Rows of a part that say in which column it is widest: more take longer to lay out and place rows little better."""

Pass = tuple[int, int, int, int, int]


def n_kept(width: NDArray[Any], alpha: float) -> I64:
    """Return how many of ``width`` squared differences count."""
    return np.asarray(np.maximum(1, np.floor(alpha * width + 1e-9)), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class RankedScan:
    """Reference rows in blocks, blocks x eights of wires x 8 LANES, less ``centre``; each column has its ``wire``.

    At each node so many squares are ``kept``.
    """

    reference: F64
    centre: F64
    tree: AttributeTree
    alpha: float
    wire: I64
    kept: I64
    network: Network
    blocks: F32

    @classmethod
    def build(cls, reference: F64, centre: F64, tree: AttributeTree, alpha: float) -> Self:
        """Lay rows out."""
        wire, network = _build_network(tree)
        kept = n_kept(tree.stop - tree.start, alpha)
        network = _counting(network, kept)
        n_rows, n_wires = len(reference), network.weights.shape[1]
        n_blocks = -(-n_rows // LANES)
        padded = np.full((n_blocks * LANES, n_wires), PADDING)
        padded[:n_rows, wire] = reference - centre
        blocks = np.ascontiguousarray(padded.reshape(n_blocks, LANES, n_wires // 8, 8).transpose(0, 2, 3, 1))
        in_lanes = blocks.reshape(n_blocks, n_wires // 8, 8 * LANES)
        return cls(reference, centre, tree, alpha, wire, kept, network, in_lanes)

    def radii(self, sought: Sought) -> F64:
        """Return exact K-th radii, rows x nodes."""
        ends, cells = (self.tree.start, self.tree.stop), self.reference[:, :, None]
        radii = np.empty_like(sought.absolute)
        for at, network in self._networks(sought.rows, self.alpha):
            some = sought._replace(rows=sought.rows[at], absolute=sought.absolute[at])
            radii[at] = ranked_radii(self.blocks, self._on_wires(some.rows), network, cells, ends, self.alpha, some)
        return radii

    def estimates(self, rows: F64, nodes: I64, alpha: float) -> F32:
        """Estimate the squared distances of all reference rows, at one node for each row, rows x reference rows."""
        found, on_wires = np.empty((len(rows), len(self.blocks), LANES), dtype=np.float32), self._on_wires(rows)
        estimates = np.zeros((len(self.blocks), len(self.tree.start) + 1, LANES), dtype=np.float32)
        for at, network in self._networks(rows, alpha):
            for r in at:
                estimate_row(self.blocks, on_wires[r], network, nodes[r], estimates)
                found[r] = estimates[:, nodes[r]]
        return found.reshape(len(rows), -1)

    def count_within(self, rows: F64, counting: Counting) -> None:
        """Count the reference rows with estimates up to two limits, until K are up to the first."""
        on_wires, (of_root, of_narrow) = self._on_wires(rows), self.near
        count_near(of_narrow, on_wires, self.kept, counting)
        wide = np.setdiff1d(np.arange(len(self.kept)), of_narrow.nodes)
        count_ranked(of_root, on_wires, self.network, wide, self.tree.parent, counting)

    @cached_property
    def near(self) -> tuple[NearRows, NearRows]:
        """Reference rows in an order of their own for the root, and for each narrow node."""
        n_wires, root = self.network.weights.shape[1], np.zeros(1, dtype=np.int64)
        width = n_wires >> self.tree.depth
        narrow = np.flatnonzero(width <= 8)
        rows = self.blocks.reshape(len(self.blocks), n_wires, LANES).transpose(0, 2, 1).reshape(-1, n_wires)
        rows = rows[: len(self.reference)]
        of_narrow = _build_near(rows, narrow, self.wire[self.tree.start[narrow]], width[narrow])
        return _build_near(rows, root, root, width[:1]), of_narrow

    def _networks(self, rows: F64, alpha: float) -> Iterator[tuple[NDArray[np.intp], Network]]:
        """Yield rows with the network for them: all complete ones, and each with missing values by itself."""
        missing = np.isnan(rows)
        complete = ~missing.any(axis=1) & (alpha == self.alpha)
        if complete.any():
            yield np.flatnonzero(complete), self.network
        for row in np.flatnonzero(~complete):
            observed = np.append(0, np.cumsum(~missing[row]))
            width = observed[self.tree.stop] - observed[self.tree.start]
            yield np.array([row]), _counting(self.network, np.minimum(width, n_kept(width, alpha)))

    def _on_wires(self, rows: F64) -> F32:
        """Missing values are farther from all than any observed one, also from rows that fill up a block."""
        on_wires = np.zeros((len(rows), self.network.weights.shape[1] + 8), dtype=np.float32)
        on_wires[:, self.wire] = np.where(np.isnan(rows), -PADDING, rows - self.centre)
        return on_wires


def _build_near(rows: F32, nodes: I64, begin: I64, width: I64) -> NearRows:
    """Lay out reference rows, rows x wires, for nodes of some wires each."""
    n_blocks, n_eights = -(-len(rows) // LANES), -(-max(width, default=0) // 8)
    n_splits = 1 << (n_blocks.bit_length() - 1)
    column, cut = (np.zeros((len(nodes), n_splits), dtype=dtype) for dtype in (np.int64, np.float32))
    blocks = np.full((len(nodes), n_blocks, 8 * n_eights, LANES), PADDING)
    for n, (low, high) in enumerate(zip(begin, begin + width, strict=True)):
        in_order = np.full((n_blocks * LANES, high - low), PADDING)
        in_order[: len(rows)] = rows[_halved_again(rows[:, low:high], column[n], cut[n]), low:high]
        blocks[n, :, : high - low] = in_order.reshape(n_blocks, LANES, -1).transpose(0, 2, 1)
    return NearRows(nodes, begin, column, cut, blocks.reshape(len(nodes), n_blocks, n_eights, 8 * LANES))


def _halved_again(rows: F32, column: I64, cut: F32) -> I64:
    """Return an order of rows, halved at medians of the widest columns, and write which and where."""
    n_rows, n_splits = len(rows), len(cut)
    # As many as can be halved: the last ones stand for the first again, and are left out in the end.
    order = np.arange(-(-n_rows // n_splits) * n_splits)
    for level in range(n_splits.bit_length() - 1):
        parts, at = order.reshape(1 << level, -1), slice(1 << level, 2 << level)
        n_left = parts.shape[1] // 2
        sample = rows[parts[:, :: max(1, parts.shape[1] // SAMPLE)] % n_rows]
        column[at] = np.argmax(np.ptp(sample, axis=1), axis=1)
        values = rows[parts % n_rows, column[at, None]]
        turn = np.argpartition(values, n_left, axis=1)
        order, cut[at] = np.take_along_axis(parts, turn, 1), np.take_along_axis(values, turn, 1)[:, n_left]
    return order.ravel()[order.ravel() < n_rows]


def _build_network(tree: AttributeTree) -> tuple[I64, Network]:
    """Return each column's wire, and the network that sorts every node but the root; no square counts yet."""
    height = int(tree.depth.max())
    widest = int((tree.stop - tree.start)[tree.depth == height].max())
    levels = max(3, height + (widest - 1).bit_length())
    n_wires = 1 << levels
    place = np.ones(len(tree.start), dtype=np.int64)
    for inner in np.flatnonzero(tree.left >= 0):
        place[[tree.left[inner], tree.right[inner]]] = 2 * place[inner], 2 * place[inner] + 1
    width = n_wires >> tree.depth
    first = place * width - n_wires
    wire = np.empty(int(tree.stop[0]), dtype=np.int64)
    for leaf in np.flatnonzero(tree.left < 0):
        columns = slice(tree.start[leaf], tree.stop[leaf])
        wire[columns] = first[leaf] + np.arange(columns.stop - columns.start)
    node_at = np.full(2 * n_wires, len(tree.start), dtype=np.int64)
    node_at[place] = np.arange(len(tree.start))
    passes, begin, half = [], [0], n_wires // 2
    for low, high in zip(first.tolist(), (first + width).tolist(), strict=True):
        if width.min() < 4:
            passes.append((operations.NARROW, low // 2 * 2, max(high, low // 2 * 2 + 2), 1, 0))
        if high - low == n_wires:
            passes += _sorting_passes(0, half) + _sorting_passes(half, n_wires)
            passes += [(operations.PAIR, 0, 0, n_wires, 0), (operations.ADD, 0, n_wires, n_wires, levels)]
        elif high - low >= 4:
            passes += _sorting_passes(low, high)
        begin.append(len(passes))
    weights = np.zeros((levels + 1, n_wires), dtype=np.float32)
    return wire, Network(node_at, np.array(passes), np.array(begin), weights)


def _sorting_passes(begin: int, end: int) -> list[Pass]:
    """Return the passes that sort the wires of one node, of 4 wires at least."""
    passes: list[Pass] = [(operations.SQUARE, begin, end, 4, 0)]
    for level in range(3, (end - begin).bit_length()):
        stride = 1 << (level - 1)
        while stride >= 16:
            passes.append((operations.QUARTER, begin, end, 1 << level, stride // 2))
            stride //= 4
        if stride == 8:
            passes.append((operations.HALVE, begin, end, 1 << level, 8))
        passes.append((operations.MERGE, begin, end, 1 << level, level))
    return passes


def _counting(network: Network, kept: I64) -> Network:
    """Return the network in which so many squares count at each node."""
    n_wires, weights = len(network.node_at) // 2, np.zeros_like(network.weights)
    places = np.argsort(network.node_at, kind="stable")[: len(kept)]
    for place, count in zip(places.tolist(), kept.tolist(), strict=True):
        level = n_wires.bit_length() - place.bit_length()
        first = (place << level) - n_wires + (place % 2) * ((1 << level) - count)
        weights[level, first : first + count] = 1
    # Of the root's halves, sorted in opposite directions, the smaller one of each pair counts.
    count = int(kept[0])
    outright, paired = max(0, count - n_wires // 2), min(count, n_wires // 2)
    weights[-1] = 0
    weights[-1, :paired] = 1
    weights[-1, n_wires - outright :] = 1
    passes = network.passes.copy()
    passes[network.begin[1] - 2] = operations.PAIR, outright, paired, n_wires, n_wires - count
    return network._replace(passes=passes, weights=weights)


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def estimate_row(blocks: F32, row: F32, network: Network, top: int, estimates: F32) -> None:
    """Fill ``estimates``, blocks x (nodes + 1) x LANES, at a node and those below it."""
    wires = np.zeros(LANES * network.weights.shape[1], dtype=np.float32)
    for block in range(len(blocks)):
        estimate_block(blocks[block], row, network, top, wires, estimates[block])


@njit(cache=True, nogil=True)
def ranked_radii(
    blocks: F32, on_wires: F32, network: Network, cells: F64, ends: Ends, alpha: float, sought: Sought
) -> F64:
    """Return K-th radii, rows x nodes."""
    radii, no_seconds = np.empty(sought.absolute.shape), np.empty((0, 0, 0, 0), dtype=np.float32)
    estimates = np.zeros((1, len(blocks), sought.absolute.shape[1] + 1, LANES), dtype=np.float32)
    for r in range(len(radii)):
        estimate_row(blocks, on_wires[r], network, 0, estimates[0])
        kth_radii(estimates, no_seconds, cells, ends, alpha, sought, r, r + 1, radii)
    return radii
