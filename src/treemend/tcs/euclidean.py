"""Float32 estimates of Euclidean distances at every node, for ``alpha = 1``: sums of squares up the tree.

Reference rows stand side by side in blocks of `LANES`, columns in fours that do not cross the border of a leaf. Four
rows go through each block together. Only minima are kept: of the 8 reference rows that make a *cell* (docs/method.md,
section 2.10).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numba import njit
from numpy.typing import NDArray

from treemend.tcs.exact import kth_smallest, n_folds, smallest_of_folds
from treemend.tcs.label import FEWEST, SHARE, count_cells, count_in_cells
from treemend.tcs.tree import AttributeTree

__all__ = ["EuclideanScan", "Fours", "build_fours"]

LANES = 128
CELLS = 16
ROWS_IN_CELL = LANES // CELLS
BY_NODE = 3.0
"""Nodes in doubt are searched one by one as long as that costs this part of searching all (benchmarks/speed)."""

MINIMA_TOGETHER = 300_000
"""Rows are scanned before their minima are read up to this many minima, which stay in a cache (benchmarks/speed)."""

PADDING = np.float32(1e16)
"""For rows that fill up the last block: farther than any other."""

FASTMATH = {"nnan", "ninf", "nsz", "contract", "reassoc"}


@dataclass(frozen=True, eq=False)
class Fours:
    """Columns in fours, and in which order nodes are summed.

    Attributes
    ----------
    place : ndarray of int64, one a column
        The column's place in the fours.
    begin, end : ndarray of int64, one a node
        The fours of a node are ``begin`` to ``end - 1``.
    order : ndarray of int64, one a node
        Nodes, children before their parents, right before left.
    slot : ndarray of int64, one a node
        Where the node's sums are kept until its parent's are taken; siblings are neighbours.
    """

    place: NDArray[np.int64]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    order: NDArray[np.int64]
    slot: NDArray[np.int64]


def build_fours(tree: AttributeTree) -> Fours:
    """Arrange the tree's columns in fours."""
    width = tree.stop - tree.start
    before = np.zeros(tree.stop[0] + 1, dtype=np.int64)
    place = np.empty(tree.stop[0], dtype=np.int64)
    leaves = np.flatnonzero(tree.left < 0)
    for leaf in leaves[np.argsort(tree.start[leaves])]:
        first = before[tree.start[leaf]]
        place[tree.start[leaf] : tree.stop[leaf]] = 4 * first + np.arange(width[leaf])
        before[tree.stop[leaf]] = first - (-width[leaf] // 4)
    slot = np.zeros(len(width), dtype=np.int64)
    parents_first, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        parents_first.append(node)
        left, right = int(tree.left[node]), int(tree.right[node])
        if left >= 0:
            slot[left] = slot[node] // 2 * 2 + 2
            slot[right] = slot[left] + 1
            waiting += [left, right]
    return Fours(place, before[tree.start], before[tree.stop], np.array(parents_first[::-1]), slot)


@dataclass(frozen=True, eq=False)
class EuclideanScan:
    """Reference rows in two forms, columns in fours.

    Attributes
    ----------
    blocks : ndarray of float32, blocks x fours x 4 LANES
        Less ``centre``.
    cells : ndarray, cells x fours x 4 ROWS_IN_CELL
    """

    centre: NDArray[np.float64]
    tree: AttributeTree
    fours: Fours
    blocks: NDArray[np.float32]
    cells: NDArray[np.float64]

    @classmethod
    def build(
        cls,
        reference: NDArray[np.float64],
        centre: NDArray[np.float64],
        tree: AttributeTree,
        kept: NDArray[np.int64],  # noqa: ARG003 - as for RankedScan, and every column counts here
    ) -> Self:
        """Lay rows out."""
        fours = build_fours(tree)
        n_rows, n_fours = len(reference), int(fours.end[0])
        n_blocks = -(-n_rows // LANES)
        padded = np.zeros((n_blocks * LANES, 4 * n_fours))
        padded[n_rows:] = PADDING
        padded[:n_rows, fours.place] = reference
        by_cell = padded.reshape(n_blocks, ROWS_IN_CELL, CELLS, n_fours, 4).transpose(0, 2, 3, 4, 1)
        cells = np.ascontiguousarray(by_cell).reshape(n_blocks * CELLS, n_fours, 4 * ROWS_IN_CELL)
        padded[:n_rows, fours.place] -= centre
        by_four = padded.astype(np.float32).reshape(n_blocks, LANES, n_fours, 4).transpose(0, 2, 3, 1)
        blocks = np.ascontiguousarray(by_four).reshape(n_blocks, n_fours, 4 * LANES)
        return cls(centre, tree, fours, blocks, cells)

    def radii(
        self,
        rows: NDArray[np.float64],
        left_out: NDArray[np.int64],
        n_neighbors: int,
        relative: NDArray[np.float64],
        errors: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return exact K-th radii, rows x nodes; the root of an estimate may be wrong by both kinds of errors."""
        fours, radii = self.fours, np.empty(errors.shape)
        for part, exact, minima in self._minima(rows, self.blocks):
            euclidean_radii(
                minima,
                self.cells,
                exact,
                left_out[part],
                fours.begin,
                fours.end,
                relative,
                errors[part],
                n_neighbors,
                np.empty(ROWS_IN_CELL),
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
        fours, n_blocks = self.fours, len(self.blocks)
        counts = np.zeros(inner.shape, dtype=np.int64)
        width = self.tree.stop - self.tree.start

        def add_cells(at: NDArray[np.intp], blocks: NDArray[np.float32]) -> None:
            for part, _, minima in self._minima(rows[at], blocks):
                found = counts[at[part]]
                count_cells(minima, inner[at[part]], found)
                counts[at[part]] = found

        def count(at: NDArray[np.intp], exact: NDArray[np.float64], minima: NDArray[np.float32]) -> None:
            found, sums = counts[at], np.empty(ROWS_IN_CELL)
            count_in_cells(
                minima, self.cells, exact, fours.begin, fours.end, outer[at], squares, n_neighbors, sums, found
            )
            counts[at] = found

        n_first = -(-max(FEWEST, n_blocks * LANES // SHARE) // LANES)
        many = np.arange(len(rows))
        for blocks in (self.blocks[:n_first], self.blocks[n_first : 3 * n_first]):
            add_cells(many, blocks)
            by_node = (counts[many] < n_neighbors) @ (1.5 * width + 25) < BY_NODE * width[0]
            few, many = many[by_node], many[~by_node]
            nothing = np.empty((len(few), 0, len(width), CELLS), dtype=np.float32)
            count(few, self._in_fours(rows[few]), nothing)
        for part, exact, minima in self._minima(rows[many], self.blocks):
            counts[many[part]] = 0
            found = counts[many[part]]
            count_cells(minima, inner[many[part]], found)
            counts[many[part]] = found
            count(many[part], exact, minima)
        return counts < n_neighbors

    def _minima(
        self, rows: NDArray[np.float64], blocks: NDArray[np.float32]
    ) -> Iterator[tuple[slice, NDArray[np.float64], NDArray[np.float32]]]:
        """Yield some rows at a time, with columns in fours, and the smallest estimates of the blocks' cells."""
        fours = self.fours
        exact, centred = (self._in_fours(values) for values in (rows, rows - self.centre))
        n_fours = int(fours.end[0])
        by_quartet = centred.astype(np.float32).reshape(-1, 4, n_fours, 4).transpose(0, 2, 1, 3)
        together = np.ascontiguousarray(by_quartet).reshape(-1, n_fours, 16)
        sums = np.zeros((int(fours.slot.max()) + 1, 4 * LANES), dtype=np.float32)
        minima_of_four = 4 * max(1, len(blocks)) * self.tree.n_nodes * CELLS
        quartets = max(1, min(MINIMA_TOGETHER // minima_of_four, len(together)))
        minima = np.empty((4 * quartets, len(blocks), self.tree.n_nodes, CELLS), dtype=np.float32)
        for first in range(0, len(together), quartets):
            part = slice(4 * first, min(4 * (first + quartets), len(rows)))
            euclidean_minima(
                blocks,
                together[first : first + quartets],
                fours.order,
                fours.slot,
                fours.begin,
                fours.end,
                self.tree.left,
                LANES,
                CELLS,
                sums,
                minima,
            )
            yield part, exact[part], minima

    def _in_fours(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Put columns into fours, and add rows up to a multiple of four."""
        padded = np.zeros((-(-len(rows) // 4) * 4, 4 * int(self.fours.end[0])))
        padded[: len(rows), self.fours.place] = rows
        return padded


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def euclidean_minima(
    blocks: NDArray[np.float32],
    rows: NDArray[np.float32],
    order: NDArray[np.int64],
    slot: NDArray[np.int64],
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    left: NDArray[np.int64],
    lanes: int,
    n_cells: int,
    sums: NDArray[np.float32],
    minima: NDArray[np.float32],
) -> None:
    """Write the smallest estimates of cells to ``minima``, rows x blocks x nodes x CELLS.

    ``rows`` holds for each four rows and four columns the values of the first row, of the second, and so on.
    ``lanes`` and ``n_cells`` are `LANES` and `CELLS`, as numbers that the compiler does not know: loops of unknown
    length it vectorises, short ones it unrolls.
    """
    for step in range(len(rows) * len(blocks)):
        quartet, block = step // len(blocks), step % len(blocks)
        for node in order:
            s = slot[node]
            first = begin[node]
            if left[node] >= 0:
                first = end[node]
                below = slot[left[node]]
                for i in range(4 * lanes):
                    sums[s, i] = sums[below, i] + sums[below + 1, i]
            for u in range(first, end[node]):
                a0, a1, a2, a3 = rows[quartet, u, 0], rows[quartet, u, 1], rows[quartet, u, 2], rows[quartet, u, 3]
                b0, b1, b2, b3 = rows[quartet, u, 4], rows[quartet, u, 5], rows[quartet, u, 6], rows[quartet, u, 7]
                c0, c1, c2, c3 = rows[quartet, u, 8], rows[quartet, u, 9], rows[quartet, u, 10], rows[quartet, u, 11]
                d0, d1, d2, d3 = rows[quartet, u, 12], rows[quartet, u, 13], rows[quartet, u, 14], rows[quartet, u, 15]
                before = np.float32(u > first)
                for i in range(lanes):
                    r0 = blocks[block, u, i]
                    r1 = blocks[block, u, LANES + i]
                    r2 = blocks[block, u, 2 * LANES + i]
                    r3 = blocks[block, u, 3 * LANES + i]
                    a = (r0 - a0) ** 2 + (r1 - a1) ** 2 + (r2 - a2) ** 2 + (r3 - a3) ** 2
                    b = (r0 - b0) ** 2 + (r1 - b1) ** 2 + (r2 - b2) ** 2 + (r3 - b3) ** 2
                    c = (r0 - c0) ** 2 + (r1 - c1) ** 2 + (r2 - c2) ** 2 + (r3 - c3) ** 2
                    d = (r0 - d0) ** 2 + (r1 - d1) ** 2 + (r2 - d2) ** 2 + (r3 - d3) ** 2
                    sums[s, i] = before * sums[s, i] + a
                    sums[s, LANES + i] = before * sums[s, LANES + i] + b
                    sums[s, 2 * LANES + i] = before * sums[s, 2 * LANES + i] + c
                    sums[s, 3 * LANES + i] = before * sums[s, 3 * LANES + i] + d
            for r in range(4):
                j = r * LANES
                for i in range(n_cells):
                    low = min(sums[s, j + i], sums[s, j + CELLS + i])
                    low = min(low, sums[s, j + 2 * CELLS + i], sums[s, j + 3 * CELLS + i])
                    low = min(low, sums[s, j + 4 * CELLS + i], sums[s, j + 5 * CELLS + i])
                    low = min(low, sums[s, j + 6 * CELLS + i], sums[s, j + 7 * CELLS + i])
                    minima[4 * quartet + r, block, node, i] = low


@njit(cache=True, nogil=True)
def euclidean_radii(
    minima: NDArray[np.float32],
    cells: NDArray[np.float64],
    rows: NDArray[np.float64],
    left_out: NDArray[np.int64],
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    relative: NDArray[np.float64],
    absolute: NDArray[np.float64],
    n_neighbors: int,
    squares: NDArray[np.float64],
    radii: NDArray[np.float64],
) -> None:
    """Fill ``radii``, rows x nodes, with exact K-th radii.

    ``rows`` and ``cells`` have their columns in fours. ``squares``, ROWS_IN_CELL, is scratch.
    """
    _, n_blocks, n_nodes, n_lanes = minima.shape
    folds = n_folds(n_blocks, n_lanes, n_neighbors)
    folded = np.empty((folds, n_nodes * n_lanes), dtype=np.float32)
    smallest = np.empty((n_neighbors + 1, (n_nodes + 63) // 64 * 64), dtype=np.float32)
    listed, lanes_listed = np.empty(folds * n_lanes + 1, dtype=np.int64), np.empty(folds * n_lanes + 1, dtype=np.int64)
    opened = np.empty(n_blocks * n_lanes + 1, dtype=np.int64)
    found = np.empty(n_blocks * n_lanes * ROWS_IN_CELL + 1)
    nearest = np.empty(n_neighbors)
    for r in range(len(radii)):
        own = left_out[r]
        own_cell, own_place = own // LANES * CELLS + own % CELLS, own % LANES // CELLS
        rank = n_neighbors + (own >= 0)
        smallest_of_folds(minima[r].reshape(n_blocks, n_nodes * n_lanes), n_lanes, folded, smallest, rank)
        for node in range(n_nodes):
            far, near = 1 + relative[node], 1 - relative[node]
            error = absolute[r, node]
            farthest = math.sqrt(np.float64(smallest[rank - 1, node])) * far + error
            bound = ((farthest + error) / near) ** 2 * (1 + 1e-12)
            farthest = farthest * farthest * (1 + 1e-12)
            n_listed = 0
            for fold in range(folds):
                for lane in range(n_lanes):
                    listed[n_listed], lanes_listed[n_listed] = fold, lane
                    n_listed += folded[fold, node * n_lanes + lane] <= bound
            n_opened = 0
            for k in range(n_listed):
                lane = lanes_listed[k]
                for block in range(listed[k], n_blocks, folds):
                    opened[n_opened] = block * n_lanes + lane
                    n_opened += minima[r, block, node, lane] <= bound
            count = 0
            for k in range(n_opened):
                cell = opened[k]
                for i in range(len(squares)):
                    squares[i] = 0
                for u in range(begin[node], end[node]):
                    x0, x1, x2, x3 = rows[r, 4 * u], rows[r, 4 * u + 1], rows[r, 4 * u + 2], rows[r, 4 * u + 3]
                    for i in range(len(squares)):
                        d0 = cells[cell, u, i] - x0
                        d1 = cells[cell, u, ROWS_IN_CELL + i] - x1
                        d2 = cells[cell, u, 2 * ROWS_IN_CELL + i] - x2
                        d3 = cells[cell, u, 3 * ROWS_IN_CELL + i] - x3
                        squares[i] = squares[i] + d0 * d0 + d1 * d1 + d2 * d2 + d3 * d3
                if cell == own_cell and own >= 0:
                    squares[own_place] = np.inf
                for i in range(len(squares)):
                    found[count] = squares[i]
                    count += squares[i] <= farthest
            radii[r, node] = math.sqrt(kth_smallest(found, count, n_neighbors, nearest))
