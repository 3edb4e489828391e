"""Nearest rows by ranked distances, for ``alpha < 1``: estimates of all rows, exact distances where they decide."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numba import njit
from numpy.typing import NDArray

from treemend.tcs.exact import kth_smallest, n_folds, smallest_of_folds, squared_distance
from treemend.tcs.label import FEWEST, SHARE, count_witnesses
from treemend.tcs.network import LANES, PADDING, Network, build_network, ranked_estimates
from treemend.tcs.tree import AttributeTree

__all__ = ["RankedScan", "n_kept"]

ESTIMATES_TOGETHER = 500_000
"""Rows are scanned together up to this many estimates, which stay in a cache, while each block is read once for them
(benchmarks/speed)."""


def n_kept(width: int, alpha: float) -> int:
    """Return how many of ``width`` squared differences count (docs/method.md, section 2.3).

    Examples
    --------
    >>> n_kept(10, 0.7), n_kept(3, 0.1)
    (7, 1)
    """
    return max(1, math.floor(alpha * width + 1e-9))


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
        self,
        rows: NDArray[np.float64],
        left_out: NDArray[np.int64],
        n_neighbors: int,
        relative: NDArray[np.float64],
        errors: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return exact K-th radii, rows x nodes; the root of an estimate may be wrong by both kinds of errors."""
        tree, radii = self.tree, np.empty(errors.shape)
        for part, estimates in self._estimates(rows, self.blocks, self.network.passes, self.network.node_at):
            ranked_radii(
                estimates,
                self.reference,
                rows[part],
                left_out[part],
                tree.start,
                tree.stop,
                self.kept,
                relative,
                errors[part],
                n_neighbors,
                radii[part],
            )
        return radii

    def candidates(
        self,
        rows: NDArray[np.float64],
        left_out: NDArray[np.int64],
        node: int,
        n_neighbors: int,
        relative: float,
        errors: NDArray[np.float64],
    ) -> Iterator[NDArray[np.intp]]:
        """Yield for each row the numbers of the reference rows that may be among its nearest at one node, ascending."""
        column = np.where(self.network.node_at == node, 0, 1)
        for part, estimates in self._estimates(rows, self.blocks, self.network.passes_of(node), column):
            for own, error, found in zip(left_out[part], errors[part], estimates[:, :, 0], strict=False):
                roots = np.sqrt(found.ravel()[: len(self.reference)].astype(np.float64))
                rank = n_neighbors - 1 + (own >= 0)
                bound = np.partition(roots, rank)[rank] * (1 + relative) + 2 * error
                yield np.flatnonzero(roots * (1 - relative) <= bound * (1 + 1e-12))

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

        blocks = slice(0, min(-(-max(FEWEST, len(self.reference) // SHARE) // LANES), len(self.blocks)))
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


@njit(cache=True, nogil=True)
def ranked_radii(
    estimates: NDArray[np.float32],
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
    """Fill ``radii``, rows x nodes, with exact K-th radii.

    Of the rows whose estimates are not above a bound, those are measured that may have the K-th distance by their
    estimates. Estimates that cannot be wrong, where ``absolute`` is 0, are taken for the squares that they estimate.
    """
    _, n_blocks, n_nodes, n_lanes = estimates.shape
    folds = n_folds(n_blocks, n_lanes, n_neighbors)
    folded = np.empty((folds, n_nodes * n_lanes), dtype=np.float32)
    smallest = np.empty((n_neighbors + 1, (n_nodes + 63) // 64 * 64), dtype=np.float32)
    squares = np.empty(reference.shape[1])
    listed = np.empty(folds * n_lanes + 1, dtype=np.int64)
    numbers = np.empty(n_blocks * n_lanes + 1, dtype=np.int64)
    found = np.empty(n_blocks * n_lanes + 1)
    nearest = np.empty(n_neighbors)
    for r in range(len(rows)):
        rank = n_neighbors + (left_out[r] >= 0)
        smallest_of_folds(estimates[r].reshape(n_blocks, n_nodes * n_lanes), n_lanes, folded, smallest, rank)
        for node in range(len(start)):
            far, near = 1 + relative[node], 1 - relative[node]
            error, top = absolute[r, node], np.float64(smallest[rank - 1, node])
            bound = ((math.sqrt(top) * far + 2 * error) / near) ** 2 * (1 + 1e-12)
            if error == 0:
                # K rows have estimates up to this one, so that only smaller ones matter; there may be many equal ones.
                bound = top * (1 - 1e-9) if top > 0 else -1.0
            n_listed = 0
            for fold in range(folds):
                for lane in range(n_lanes):
                    listed[n_listed] = fold * n_lanes + lane
                    n_listed += folded[fold, node * n_lanes + lane] <= bound
            count = 0
            for k in range(n_listed):
                lane = listed[k] % n_lanes
                for block in range(listed[k] // n_lanes, n_blocks, folds):
                    number = block * n_lanes + lane
                    numbers[count] = number
                    found[count] = estimates[r, block, node, lane]
                    count += (found[count] <= bound) & (number != left_out[r])
            radius = math.sqrt(min(top, kth_smallest(found, count, n_neighbors, nearest)))
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
