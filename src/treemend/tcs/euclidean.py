"""Euclidean distances at every node, for ``alpha = 1``: estimates in float32, by sums of squares up the tree.

Reference rows stand side by side in blocks of `LANES`, columns in fours that do not cross the border of a leaf. Four
rows go through each block together. Only the two smallest estimates of each *cell* of reference rows are kept.
"""

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numba import njit
from numpy.typing import NDArray

from treemend.tcs.exact import CELLS, FASTMATH, LANES, PADDING, ROWS_IN_CELL, Errors, count_up_to, kth_radii
from treemend.tcs.tree import F32, F64, I64, AttributeTree

__all__ = ["EuclideanScan"]

MINIMA_TOGETHER = 300_000
"""Rows are scanned before their minima are read up to this many minima, which stay in a cache (benchmarks/speed)."""

BY_NODE, AT_ONCE = 5.0, 16.0
"""What a block costs at one node, beside its columns, in columns, and at all nodes, in columns of the root: decides
when nodes are searched one by one (benchmarks/speed)."""

Four = tuple[float, float, float, float]
Nodes = tuple[I64, I64, I64, I64, I64]


@dataclass(frozen=True, eq=False)
class EuclideanScan:
    """Reference rows in two forms, columns in fours.

    A column has its ``place`` in the fours. ``nodes`` has for each node the first of its fours and the one after the
    last, the slot in which its sums are kept until its parent's are taken, siblings side by side, and its left child;
    and the order in which children come before their parents. ``blocks``, blocks x fours x 4 LANES, are less
    ``centre``; ``cells`` are cells x fours x 4 ROWS_IN_CELL.
    """

    centre: F64
    tree: AttributeTree
    place: I64
    nodes: Nodes
    blocks: F32
    cells: F64

    @classmethod
    def build(cls, reference: F64, centre: F64, tree: AttributeTree) -> Self:
        """Lay rows out."""
        before = np.zeros(len(centre) + 1, dtype=np.int64)
        place = np.empty(len(centre), dtype=np.int64)
        leaves = np.flatnonzero(tree.left < 0)
        for leaf in leaves[np.argsort(tree.start[leaves])]:
            columns = slice(tree.start[leaf], tree.stop[leaf])
            place[columns] = 4 * before[columns.start] + np.arange(columns.stop - columns.start)
            before[columns.stop] = place[columns.stop - 1] // 4 + 1
        slot = np.zeros(len(tree.start), dtype=np.int64)
        parents_first, waiting = [], [0]
        while waiting:
            node = waiting.pop()
            parents_first.append(node)
            left, right = int(tree.left[node]), int(tree.right[node])
            if left >= 0:
                slot[left] = slot[node] // 2 * 2 + 2
                slot[right] = slot[left] + 1
                waiting += [left, right]
        n_rows, n_fours = len(reference), int(before[-1])
        n_blocks = -(-n_rows // LANES)
        padded = np.zeros((n_blocks * LANES, 4 * n_fours))
        padded[n_rows:] = PADDING
        padded[:n_rows, place] = reference
        by_cell = padded.reshape(n_blocks, ROWS_IN_CELL, CELLS, n_fours, 4).transpose(0, 2, 3, 4, 1)
        cells = np.ascontiguousarray(by_cell).reshape(n_blocks * CELLS, n_fours, 4 * ROWS_IN_CELL)
        padded[:n_rows, place] -= centre
        by_four = padded.astype(np.float32).reshape(n_blocks, LANES, n_fours, 4).transpose(0, 2, 3, 1)
        blocks = np.ascontiguousarray(by_four).reshape(n_blocks, n_fours, 4 * LANES)
        nodes = (before[tree.start], before[tree.stop], slot, tree.left, np.array(parents_first[::-1]))
        return cls(centre, tree, place, nodes, blocks, cells)

    def radii(self, rows: F64, left_out: I64, n_neighbors: int, errors: Errors) -> F64:
        """Return exact K-th radii, rows x nodes."""
        radii, exact = np.empty(errors[1].shape), self._in_fours(rows, np.float64)
        together = self._in_quartets(self._in_fours(rows - self.centre))
        size = (len(self.blocks), len(self.tree.start), CELLS)
        quartets = max(1, min(MINIMA_TOGETHER // (4 * math.prod(size)), len(together)))
        minima, seconds = np.empty((2, 4 * quartets, *size), dtype=np.float32)
        for first in range(0, len(together), quartets):
            smallest_in_cells(self.blocks, together[first : first + quartets], self.nodes, minima, seconds)
            part = slice(4 * first, 4 * (first + quartets))
            some, own, wrong = exact[part], left_out[part], (errors[0], errors[1][part])
            kth_radii(minima, seconds, self.cells, some, self.nodes[:2], own, 1.0, wrong, n_neighbors, radii[part])
        return radii

    def estimates(self, rows: F64, nodes: I64, alpha: float) -> F32:  # noqa: ARG002 - which is 1 here
        """Estimate the squared distances of all reference rows, at one node for each row, rows x reference rows."""
        missing, sums = np.isnan(rows), np.empty((len(rows), len(self.blocks), LANES), dtype=np.float32)
        observed, centred = self._in_fours(~missing), self._in_fours(np.where(missing, 0, rows - self.centre))
        for r, node in enumerate(nodes):
            sum_squares(self.blocks, centred[r], observed[r], self.nodes[0][node], self.nodes[1][node], sums[r])
        return sums.reshape(len(rows), -1)

    def count_within(self, rows: F64, n_neighbors: int, limits: F32) -> I64:
        """Count the reference rows with estimates up to two limits, 2 x rows x nodes, until K are up to the first.

        Some blocks are searched at all nodes at once, as long as that is cheaper than the nodes in doubt one by one.
        """
        missing, counts = np.isnan(rows), np.zeros(limits.shape, dtype=np.int64)
        observed, centred = self._in_fours(~missing), self._in_fours(np.where(missing, 0, rows - self.centre))
        searched, complete = np.zeros(len(rows), dtype=np.int64), np.flatnonzero(~missing.any(axis=1))
        together = self._in_quartets(centred[complete])
        count_at_all(self.blocks, together, complete, self.nodes, limits, n_neighbors, counts, searched)
        count_at_nodes(self.blocks, centred, observed, self.nodes, limits, n_neighbors, counts, searched)
        return counts

    def _in_quartets(self, centred: F32) -> F32:
        """Return for each four rows and four columns the values of the first row, of the second, and so on."""
        n_rows, n_fours = len(centred), self.blocks.shape[1]
        padded = np.zeros((-(-n_rows // 4), 4, n_fours, 4), dtype=np.float32)
        padded.reshape(-1, 4 * n_fours)[:n_rows] = centred
        return np.ascontiguousarray(padded.transpose(0, 2, 1, 3)).reshape(-1, n_fours, 16)

    def _in_fours(self, rows: NDArray[Any], dtype: type = np.float32) -> NDArray[Any]:
        padded = np.zeros((len(rows), 4 * self.blocks.shape[1]), dtype=dtype)
        padded[:, self.place] = rows
        return padded


@njit(forceinline=True)
def _four(numbers: F32, u: int) -> Four:
    return numbers[4 * u], numbers[4 * u + 1], numbers[4 * u + 2], numbers[4 * u + 3]


@njit(forceinline=True, fastmath=FASTMATH)
def _square(v: Four, w: Four) -> float:
    return (v[0] - w[0]) ** 2 + (v[1] - w[1]) ** 2 + (v[2] - w[2]) ** 2 + (v[3] - w[3]) ** 2


@njit(forceinline=True, fastmath=FASTMATH)
def _sum_quartet(block: F32, row: F32, node: int, nodes: Nodes, sums: F32) -> None:
    """Write the sums of squares of four rows at a node to its slot of ``sums``; those below it are there."""
    begin, end, slot, left, _ = nodes
    # As a number that the compiler does not know: loops of unknown length it vectorises, short ones it unrolls.
    lanes = sums.shape[1] // 4
    s = slot[node]
    first = begin[node]
    if left[node] >= 0:
        first = end[node]
        below = slot[left[node]]
        for i in range(4 * lanes):
            sums[s, i] = sums[below, i] + sums[below + 1, i]
    for u in range(first, end[node]):
        a, b, c, d = _four(row[u], 0), _four(row[u], 1), _four(row[u], 2), _four(row[u], 3)
        before = np.float32(u > first)
        for i in range(lanes):
            w = block[u, i], block[u, LANES + i], block[u, 2 * LANES + i], block[u, 3 * LANES + i]
            sums[s, i] = before * sums[s, i] + _square(w, a)
            sums[s, LANES + i] = before * sums[s, LANES + i] + _square(w, b)
            sums[s, 2 * LANES + i] = before * sums[s, 2 * LANES + i] + _square(w, c)
            sums[s, 3 * LANES + i] = before * sums[s, 3 * LANES + i] + _square(w, d)


@njit(forceinline=True, fastmath=FASTMATH)
def _two_smallest(low: float, high: float, x: float) -> tuple[float, float]:
    return min(low, x), min(high, max(low, x))


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def smallest_in_cells(blocks: F32, rows: F32, nodes: Nodes, minima: F32, seconds: F32) -> None:
    """Write the two smallest estimates of cells to ``minima`` and ``seconds``, rows x blocks x nodes x CELLS."""
    n_cells, sums = minima.shape[3], np.zeros((nodes[2].max() + 1, 4 * LANES), dtype=np.float32)
    for step in range(len(rows) * len(blocks)):
        quartet, block = step // len(blocks), step % len(blocks)
        reference, some = blocks[block], rows[quartet]
        for node in nodes[4]:
            _sum_quartet(reference, some, node, nodes, sums)
            s = nodes[2][node]
            for r in range(4):
                j = r * LANES
                for i in range(n_cells):
                    low, x = sums[s, j + i], sums[s, j + CELLS + i]
                    low, high = _two_smallest(min(low, x), max(low, x), sums[s, j + 2 * CELLS + i])
                    low, high = _two_smallest(low, high, sums[s, j + 3 * CELLS + i])
                    low, high = _two_smallest(low, high, sums[s, j + 4 * CELLS + i])
                    low, high = _two_smallest(low, high, sums[s, j + 5 * CELLS + i])
                    low, high = _two_smallest(low, high, sums[s, j + 6 * CELLS + i])
                    low, high = _two_smallest(low, high, sums[s, j + 7 * CELLS + i])
                    minima[4 * quartet + r, block, node, i], seconds[4 * quartet + r, block, node, i] = low, high


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def count_at_all(
    blocks: F32, rows: F32, numbers: I64, nodes: Nodes, limits: F32, n_neighbors: int, counts: I64, searched: I64
) -> None:
    """Count estimates up to two limits at all nodes, in as many blocks as ``searched`` says then.

    Four rows go through the blocks together, until it is cheaper to look at the nodes in doubt one by one.
    """
    sums = np.zeros((nodes[2].max() + 1, 4 * LANES), dtype=np.float32)
    width = nodes[1] - nodes[0]
    for quartet in range(len(rows)):
        some, in_doubt = numbers[4 * quartet : 4 * quartet + 4], np.inf
        while in_doubt > AT_ONCE * width[0] and searched[some[0]] < len(blocks):
            in_doubt, block, four_rows = 0.0, blocks[searched[some[0]]], rows[quartet]
            for node in nodes[4]:
                _sum_quartet(block, four_rows, node, nodes, sums)
                for i, r in enumerate(some):
                    if counts[0, r, node] < n_neighbors:
                        count_up_to(limits, r, node, sums[nodes[2][node], i * LANES : (i + 1) * LANES], counts)
                        in_doubt += (counts[0, r, node] < n_neighbors) * (width[node] + BY_NODE)
            searched[some] += 1


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def sum_squares(blocks: F32, row: F32, weights: F32, begin: int, end: int, sums: F32) -> None:
    """Fill ``sums``, blocks x LANES, with estimates at one node; ``weights`` are 0 where a value is missing."""
    lanes = sums.shape[1]
    for block in range(len(blocks)):
        for i in range(lanes):
            sums[block, i] = 0
        for u in range(begin, end):
            (x0, x1, x2, x3), (w0, w1, w2, w3) = _four(row, u), _four(weights, u)
            for i in range(lanes):
                d0, d1 = blocks[block, u, i] * w0 - x0, blocks[block, u, LANES + i] * w1 - x1
                d2, d3 = blocks[block, u, 2 * LANES + i] * w2 - x2, blocks[block, u, 3 * LANES + i] * w3 - x3
                sums[block, i] = sums[block, i] + d0 * d0 + d1 * d1 + d2 * d2 + d3 * d3


@njit(cache=True, nogil=True)
def count_at_nodes(
    blocks: F32, rows: F32, weights: F32, nodes: Nodes, limits: F32, n_neighbors: int, counts: I64, searched: I64
) -> None:
    """Count estimates up to two limits until K are up to the first, one node after the other, in the other blocks."""
    begin, end = nodes[:2]
    sums = np.empty((1, LANES), dtype=np.float32)
    for r in range(len(rows)):
        for node in range(len(begin)):
            block = searched[r]
            while counts[0, r, node] < n_neighbors and block < len(blocks):
                sum_squares(blocks[block : block + 1], rows[r], weights[r], begin[node], end[node], sums)
                count_up_to(limits, r, node, sums[0], counts)
                block += 1
