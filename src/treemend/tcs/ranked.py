"""Ranked distances at every node, for ``alpha < 1``: estimates in float32, by the sorting network of `network`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numba import njit
from numpy.typing import NDArray

from treemend.tcs.exact import kth_radii, n_kept
from treemend.tcs.network import FASTMATH, LANES, Network, build_network, estimate_block
from treemend.tcs.tree import AttributeTree

__all__ = ["RankedScan"]

ESTIMATES_TOGETHER = 500_000
"""Rows are scanned together up to this many estimates, which stay in a cache, while each block is read once for them
(benchmarks/speed)."""

PADDING = np.float32(1e16)
"""On wires without a column and for rows that fill up the last block: its square is larger than any other."""


@dataclass(frozen=True, eq=False)
class RankedScan:
    """Reference rows in blocks, blocks x eights of wires x 8 LANES, less ``centre``."""

    reference: NDArray[np.float64]
    centre: NDArray[np.float64]
    tree: AttributeTree
    alpha: float
    network: Network
    blocks: NDArray[np.float32]

    @classmethod
    def build(
        cls, reference: NDArray[np.float64], centre: NDArray[np.float64], tree: AttributeTree, alpha: float
    ) -> Self:
        """Lay rows out."""
        kept = np.array([n_kept(width, alpha) for width in (tree.stop - tree.start).tolist()])
        network = build_network(tree).counting(kept)
        n_rows, n_wires = len(reference), network.weights.shape[1]
        n_blocks = -(-n_rows // LANES)
        padded = np.full((n_blocks * LANES, n_wires), PADDING)
        padded[:n_rows, network.wire] = reference - centre
        blocks = np.ascontiguousarray(padded.reshape(n_blocks, LANES, n_wires // 8, 8).transpose(0, 2, 3, 1))
        return cls(reference, centre, tree, alpha, network, blocks.reshape(n_blocks, n_wires // 8, 8 * LANES))

    def radii(
        self,
        rows: NDArray[np.float64],
        left_out: NDArray[np.int64],
        n_neighbors: int,
        relative: NDArray[np.float64],
        errors: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return exact K-th radii, rows x nodes; the root of an estimate may be wrong by both kinds of errors."""
        radii, cells = np.empty(errors.shape), self.reference[:, :, None]
        no_seconds = np.empty((0, 0, 0, 0), dtype=np.float32)
        nodes = (self.tree.start, self.tree.stop)
        for part, estimates in self._estimates(rows, self.network, 0):
            errors_there = (relative, errors[part], radii[part])
            kth_radii(
                estimates, no_seconds, cells, rows[part], *nodes, left_out[part], self.alpha, *errors_there, n_neighbors
            )
        return radii

    def estimates(self, rows: NDArray[np.float64], node: int) -> Iterator[NDArray[np.float32]]:
        """Yield for each row estimates of the squared distances of all reference rows at one node."""
        for row in rows:
            [(_, network)] = self._networks(row[None])
            for _, estimates in self._estimates(row[None], network, node):
                yield estimates[0, :, node].ravel()

    def count_within(
        self, rows: NDArray[np.float64], n_neighbors: int, inner: NDArray[np.float32], outer: NDArray[np.float32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Count the reference rows with estimates up to ``inner`` and up to ``outer``, rows x nodes.

        The counting ends where K are up to ``inner``.
        """
        sure, possible = np.zeros((2, *inner.shape), dtype=np.int64)
        for at, network in self._networks(rows):
            found = np.zeros((2, len(at), self.tree.n_nodes), dtype=np.int64)
            wires = np.zeros(network.weights.size // len(network.weights) * LANES, dtype=np.float32)
            count_ranked(
                self.blocks,
                self._on_wires(rows[at]),
                network.passes,
                network.begin,
                network.weights,
                network.node_at,
                inner[at],
                outer[at],
                n_neighbors,
                LANES,
                wires,
                wires.reshape(-1, 8 * LANES),
                *found,
            )
            sure[at], possible[at] = found
        return sure, possible

    def _networks(self, rows: NDArray[np.float64]) -> Iterator[tuple[NDArray[np.intp], Network]]:
        """Yield rows with the network that they need: all complete ones, and each with missing values by itself."""
        missing = np.isnan(rows)
        complete = ~missing.any(axis=1)
        if complete.any():
            yield np.flatnonzero(complete), self.network
        for row in np.flatnonzero(~complete):
            observed = np.append(0, np.cumsum(~missing[row]))
            width = observed[self.tree.stop] - observed[self.tree.start]
            kept = np.array([min(count, n_kept(count, self.alpha)) for count in width.tolist()])
            yield np.array([row]), self.network.counting(kept)

    def _on_wires(self, rows: NDArray[np.float64]) -> NDArray[np.float32]:
        """Missing values are farther from all than any observed one, also from rows that fill up a block."""
        on_wires = np.zeros((len(rows), self.network.weights.shape[1]), dtype=np.float32)
        on_wires[:, self.network.wire] = np.where(np.isnan(rows), -PADDING, rows - self.centre)
        return on_wires

    def _estimates(
        self, rows: NDArray[np.float64], network: Network, node: int
    ) -> Iterator[tuple[slice, NDArray[np.float32]]]:
        """Yield estimates at a node and those below it, some rows at a time, rows x blocks x (nodes + 1) x LANES."""
        passes = network.passes[network.begin[node] : network.begin[node + 1]]
        n_blocks, n_columns, n_wires = len(self.blocks), self.tree.n_nodes + 1, network.weights.shape[1]
        on_wires, wires = self._on_wires(rows), np.zeros(n_wires * LANES, dtype=np.float32)
        together = max(1, min(len(rows), ESTIMATES_TOGETHER // (n_blocks * n_columns * LANES)))
        estimates = np.zeros((together, n_blocks, n_columns, LANES), dtype=np.float32)
        for first in range(0, len(rows), together):
            part = slice(first, min(first + together, len(rows)))
            network_at = (passes, network.weights, network.node_at, LANES, wires, wires.reshape(-1, 8 * LANES))
            estimate_rows(self.blocks, on_wires[part], *network_at, estimates)
            yield part, estimates


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def estimate_rows(
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
    """Fill ``estimates``, rows x blocks x (nodes + 1) x LANES."""
    for block in range(len(blocks)):
        for r in range(len(rows)):
            estimate_block(blocks[block], rows[r], passes, weights, node_at, lanes, wires, eights, estimates[r, block])


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def count_ranked(
    blocks: NDArray[np.float32],
    rows: NDArray[np.float32],
    passes: NDArray[np.int64],
    begin: NDArray[np.int64],
    weights: NDArray[np.float32],
    node_at: NDArray[np.int64],
    inner: NDArray[np.float32],
    outer: NDArray[np.float32],
    n_neighbors: int,
    lanes: int,
    wires: NDArray[np.float32],
    eights: NDArray[np.float32],
    sure: NDArray[np.int64],
    possible: NDArray[np.int64],
) -> None:
    """Count estimates up to ``inner`` and ``outer`` until K are up to ``inner``.

    Blocks are searched at all nodes at once as long as that is cheaper than the nodes in doubt one by one.
    """
    n_blocks, n_nodes = len(blocks), len(begin) - 1
    estimates = np.zeros((n_nodes + 1, LANES), dtype=np.float32)
    # Passes read and write all of their wires, merges more of them for wide nodes.
    cost = np.zeros(n_nodes)
    for node in range(n_nodes):
        for number in range(begin[node], begin[node + 1]):
            cost[node] += passes[number, 2] - passes[number, 1] + 4
    for r in range(len(rows)):
        searched, in_doubt = 0, np.inf
        while searched < n_blocks and in_doubt > cost[0]:
            these = passes[: begin[1]]
            estimate_block(blocks[searched], rows[r], these, weights, node_at, lanes, wires, eights, estimates)
            searched, in_doubt = searched + 1, 0.0
            for node in range(n_nodes):
                if sure[r, node] < n_neighbors:
                    count_lanes(estimates[node], inner[r, node], outer[r, node], r, node, sure, possible)
                    in_doubt += cost[node] * (sure[r, node] < n_neighbors)
        for node in range(n_nodes):
            these = passes[begin[node] : begin[node + 1]]
            block = searched
            while block < n_blocks and sure[r, node] < n_neighbors:
                estimate_block(blocks[block], rows[r], these, weights, node_at, lanes, wires, eights, estimates)
                count_lanes(estimates[node], inner[r, node], outer[r, node], r, node, sure, possible)
                block += 1


@njit(cache=True, nogil=True)
def count_lanes(
    estimates: NDArray[np.float32],
    low: float,
    high: float,
    r: int,
    node: int,
    sure: NDArray[np.int64],
    possible: NDArray[np.int64],
) -> None:
    """Add the estimates up to ``low`` and ``high`` to the counts of a row and node."""
    n_low = n_high = 0
    for i in range(len(estimates)):
        n_low += estimates[i] <= low
        n_high += estimates[i] <= high
    sure[r, node] += n_low
    possible[r, node] += n_high
