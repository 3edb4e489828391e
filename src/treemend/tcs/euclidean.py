"""Euclidean distances at every node, for ``alpha = 1``: estimates in float32, by sums of squares up the tree.

Reference rows stand side by side in blocks of `LANES`, columns in fours that do not cross the border of a leaf. Four
rows go through each block together. Only the two smallest estimates of each *cell* of reference rows are kept.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numba import njit

from treemend.tcs.exact import CELLS, FASTMATH, LANES, PADDING, ROWS_IN_CELL, Counting, Sought, count_up_to, kth_radii
from treemend.tcs.tree import F32, F64, I64, AttributeTree

__all__ = ["EuclideanScan"]

BY_NODE, AT_ONCE = 16.0, 48.0
"""What a block costs at one node, beside its columns, in columns, and at all nodes, in columns of the root: decides
when nodes are searched one by one (benchmarks/speed)."""

Four = tuple[float, float, float, float]
Nodes = tuple[I64, I64, I64, I64, I64]


@dataclass(frozen=True, eq=False)
class EuclideanScan:
    """Reference rows in two forms, columns in fours.

    A column has its ``place`` in the fours. ``nodes`` has for each node the first of its fours and the one after the
    last, the slot in which its sums are kept until its parent's are taken, siblings side by side, and its left child;
    and the order in which children come before their parents. ``blocks``, blocks x fours x 4 x LANES, are less
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
        slot = 2 * tree.depth
        slot[tree.right[tree.right >= 0]] += 1
        children_first = np.lexsort((-tree.start, tree.stop))
        n_rows, n_fours = len(reference), int(before[-1])
        n_blocks = -(-n_rows // LANES)
        padded = np.zeros((n_blocks * LANES, 4 * n_fours))
        padded[n_rows:] = PADDING
        padded[:n_rows, place] = reference
        by_cell = padded.reshape(n_blocks, ROWS_IN_CELL, CELLS, n_fours, 4).transpose(0, 2, 3, 4, 1)
        cells = np.ascontiguousarray(by_cell).reshape(n_blocks * CELLS, n_fours, 4 * ROWS_IN_CELL)
        padded[:n_rows, place] -= centre
        by_four = padded.astype(np.float32).reshape(n_blocks, LANES, n_fours, 4).transpose(0, 2, 3, 1)
        nodes = (before[tree.start], before[tree.stop], slot, tree.left, children_first)
        return cls(centre, tree, place, nodes, np.ascontiguousarray(by_four), cells)

    def radii(self, sought: Sought) -> F64:
        """Return exact K-th radii, rows x nodes."""
        together = self._in_quartets(sought.rows)
        sought = sought._replace(rows=self._in_fours(sought.rows))
        minima = np.empty((2, 4, len(self.blocks), len(self.tree.start), CELLS), dtype=np.float32)
        radii: F64 = euclidean_radii(self.blocks, self.nodes, self.cells, together, sought, minima)
        return radii

    def estimates(self, rows: F64, nodes: I64, alpha: float) -> F32:  # noqa: ARG002 - which is 1 here
        """Estimate the squared distances of all reference rows, at one node for each row, rows x reference rows."""
        centred, sums = self._centred(rows), np.empty((len(rows), len(self.blocks), LANES), dtype=np.float32)
        for row, node, of_row in zip(centred, nodes, sums, strict=True):
            sum_squares(self.blocks, row, self.nodes[0][node], self.nodes[1][node], of_row)
        return sums.reshape(len(rows), -1)

    def count_within(self, rows: F64, counting: Counting) -> None:
        """Count the reference rows with estimates up to two limits, until K are up to the first.

        Some blocks are searched at all nodes at once, as long as that is cheaper than the nodes in doubt one by one.
        """
        searched = np.zeros(len(rows), dtype=np.int64)
        count_at_once(self.blocks, self._in_quartets(rows), self.nodes, counting, searched)
        count_at_nodes(self.blocks, self._centred(rows), self.nodes, counting, searched)

    def _centred(self, rows: F64) -> F32:
        return self._in_fours(rows - self.centre).astype(np.float32)

    def _in_quartets(self, rows: F64) -> F32:
        """Return for each four rows and four columns the centred values of the first row, of the second, and so on."""
        n_rows, n_fours = len(rows), self.blocks.shape[1]
        padded = np.zeros((-(-n_rows // 4), 4, n_fours, 4), dtype=np.float32)
        padded.reshape(-1, 4 * n_fours)[:n_rows] = self._centred(rows)
        return np.ascontiguousarray(padded.transpose(0, 2, 1, 3)).reshape(-1, n_fours, 16)

    def _in_fours(self, rows: F64) -> F64:
        padded = np.zeros((len(rows), 4 * self.blocks.shape[1]))
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
            w = block[u, 0, i], block[u, 1, i], block[u, 2, i], block[u, 3, i]
            sums[s, i] = before * sums[s, i] + _square(w, a)
            sums[s, LANES + i] = before * sums[s, LANES + i] + _square(w, b)
            sums[s, 2 * LANES + i] = before * sums[s, 2 * LANES + i] + _square(w, c)
            sums[s, 3 * LANES + i] = before * sums[s, 3 * LANES + i] + _square(w, d)


@njit(forceinline=True, fastmath=FASTMATH)
def _two_smallest(low: float, high: float, x: float) -> tuple[float, float]:
    return min(low, x), min(high, max(low, x))


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def smallest_in_cells(blocks: F32, rows: F32, nodes: Nodes, minima: F32, seconds: F32) -> None:
    """Write the two smallest estimates of cells to ``minima`` and ``seconds``, four rows x blocks x nodes x CELLS."""
    n_cells, sums = minima.shape[3], np.zeros((nodes[2].max() + 1, 4 * LANES), dtype=np.float32)
    for block in range(len(blocks)):
        reference = blocks[block]
        for node in nodes[4]:
            _sum_quartet(reference, rows, node, nodes, sums)
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
                    minima[r, block, node, i], seconds[r, block, node, i] = low, high


@njit(cache=True, nogil=True)
def euclidean_radii(blocks: F32, nodes: Nodes, cells: F64, rows: F32, sought: Sought, scratch: F32) -> F64:
    """Return K-th radii, rows x nodes.

    ``scratch`` takes minima. If it were made here, the compiler would know its shape and unroll short loops.
    """
    minima, seconds, radii = scratch[0], scratch[1], np.empty(sought.absolute.shape)
    for quartet in range(len(rows)):
        smallest_in_cells(blocks, rows[quartet], nodes, minima, seconds)
        last = min(4 * quartet + 4, len(radii))
        kth_radii(minima, seconds, cells, (nodes[0], nodes[1]), 1.0, sought, 4 * quartet, last, radii)
    return radii


@njit(forceinline=True, fastmath=FASTMATH)
def _sum_node(block: F32, row: F32, begin: int, end: int, sums: F32) -> None:
    """Fill ``sums`` with the estimates of a block at the node of some fours."""
    for i in range(LANES):
        sums[i] = 0
    for u in range(begin, end):
        x = _four(row, u)
        for i in range(LANES):
            sums[i] = sums[i] + _square((block[u, 0, i], block[u, 1, i], block[u, 2, i], block[u, 3, i]), x)


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def count_at_once(blocks: F32, rows: F32, nodes: Nodes, counting: Counting, searched: I64) -> None:
    """Count estimates at some nodes, all at once, in as many blocks as ``searched`` says then.

    Four rows go through the blocks together, until it is cheaper to look at the nodes in doubt one by one.
    """
    sums, width = np.zeros((nodes[2].max() + 1, 4 * LANES), dtype=np.float32), nodes[1] - nodes[0]
    counts, k = counting.counts, counting.k
    for quartet in range(len(rows)):
        first, last = 4 * quartet, min(4 * quartet + 4, len(searched))
        block, in_doubt = 0, np.inf
        while in_doubt > AT_ONCE * width[0] and block < len(blocks):
            in_doubt, reference, four_rows = 0.0, blocks[block], rows[quartet]
            for node in nodes[4]:
                _sum_quartet(reference, four_rows, node, nodes, sums)
                for r in range(first, last):
                    if counts[0, r, node] < k:
                        of_row = sums[nodes[2][node], (r - first) * LANES : (r - first + 1) * LANES]
                        count_up_to(counting, r, node, of_row)
                        in_doubt += (counts[0, r, node] < k) * (width[node] + BY_NODE)
            block += 1
        searched[first:last] = block


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def sum_squares(blocks: F32, row: F32, begin: int, end: int, sums: F32) -> None:
    """Fill ``sums``, blocks x LANES, with estimates at one node."""
    for block in range(len(blocks)):
        _sum_node(blocks[block], row, begin, end, sums[block])


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def count_at_nodes(blocks: F32, rows: F32, nodes: Nodes, counting: Counting, searched: I64) -> None:
    """Count estimates at some nodes, one node after the other, in the blocks that have not been searched."""
    sums = np.empty(LANES, dtype=np.float32)
    for node in range(len(nodes[0])):
        for r in range(len(rows)):
            block = searched[r]
            while counting.counts[0, r, node] < counting.k and block < len(blocks):
                _sum_node(blocks[block], rows[r], nodes[0][node], nodes[1][node], sums)
                count_up_to(counting, r, node, sums)
                block += 1
