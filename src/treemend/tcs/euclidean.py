"""Float32 estimates of Euclidean distances at every node, for ``alpha = 1``: sums of squares up the tree.

Reference rows stand side by side in blocks of `LANES`, columns in fours that do not cross the border of a leaf. Four rows
go through each block together. Only minima are kept: of the 8 reference rows that make a *cell* (method, section 8).
"""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from treemend.tcs.tree import AttributeTree

__all__ = ["CELLS", "LANES", "ROWS_TOGETHER", "Fours", "build_fours", "euclidean_blocks", "euclidean_minima"]

LANES = 128
CELLS = 16
ROWS_TOGETHER = 4
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
    first : ndarray of int64, one a node and one more
        The fours of a leaf.
    order : ndarray of int64, one a node
        Nodes, children before their parents, right before left.
    slot : ndarray of int64, one a node
        Where the node's sums are kept until its parent's are taken; siblings are neighbours.
    """

    place: NDArray[np.int64]
    first: NDArray[np.int64]
    order: NDArray[np.int64]
    slot: NDArray[np.int64]


def build_fours(tree: AttributeTree) -> Fours:
    """Arrange the tree's columns in fours."""
    width = tree.stop - tree.start
    first = np.concatenate([[0], np.cumsum(np.where(tree.left < 0, -(-width // 4), 0))])
    place = np.empty(tree.stop[0], dtype=np.int64)
    for leaf in np.flatnonzero(tree.left < 0):
        place[tree.start[leaf] : tree.stop[leaf]] = 4 * first[leaf] + np.arange(width[leaf])
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
    return Fours(place, first, np.array(parents_first[::-1]), slot)


def euclidean_blocks(centred: NDArray[np.float64], fours: Fours) -> NDArray[np.float32]:
    """Lay rows out in blocks, blocks x fours x 4 LANES."""
    n_rows, n_fours = len(centred), int(fours.first[-1])
    n_blocks = -(-n_rows // LANES)
    padded = np.zeros((n_blocks * LANES, 4 * n_fours), dtype=np.float32)
    padded[:n_rows, fours.place] = centred
    padded[n_rows:] = PADDING
    blocks = padded.reshape(n_blocks, LANES, n_fours, 4).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(blocks).reshape(n_blocks, n_fours, 4 * LANES)


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def euclidean_minima(
    blocks: NDArray[np.float32],
    rows: NDArray[np.float32],
    order: NDArray[np.int64],
    slot: NDArray[np.int64],
    first: NDArray[np.int64],
    left: NDArray[np.int64],
    lanes: int,
    n_cells: int,
    sums: NDArray[np.float32],
    minima: NDArray[np.float32],
) -> None:
    """Write the smallest estimates of cells to ``minima``, 4 rows x blocks x nodes x CELLS.

    ``rows`` holds for each four of columns the values of the first row, of the second, and so on. ``lanes`` and
    ``n_cells`` are `LANES` and `CELLS`, as numbers that the compiler does not know: loops of unknown length it
    vectorises, short ones it unrolls.
    """
    for block in range(len(blocks)):
        for node in order:
            s = slot[node]
            if left[node] >= 0:
                below = slot[left[node]]
                for l in range(4 * lanes):
                    sums[s, l] = sums[below, l] + sums[below + 1, l]
            for u in range(first[node], first[node + 1]):
                a0, a1, a2, a3 = rows[u, 0], rows[u, 1], rows[u, 2], rows[u, 3]
                b0, b1, b2, b3 = rows[u, 4], rows[u, 5], rows[u, 6], rows[u, 7]
                c0, c1, c2, c3 = rows[u, 8], rows[u, 9], rows[u, 10], rows[u, 11]
                d0, d1, d2, d3 = rows[u, 12], rows[u, 13], rows[u, 14], rows[u, 15]
                before = np.float32(u > first[node])
                for l in range(lanes):
                    r0 = blocks[block, u, l]
                    r1 = blocks[block, u, LANES + l]
                    r2 = blocks[block, u, 2 * LANES + l]
                    r3 = blocks[block, u, 3 * LANES + l]
                    a = (r0 - a0) ** 2 + (r1 - a1) ** 2 + (r2 - a2) ** 2 + (r3 - a3) ** 2
                    b = (r0 - b0) ** 2 + (r1 - b1) ** 2 + (r2 - b2) ** 2 + (r3 - b3) ** 2
                    c = (r0 - c0) ** 2 + (r1 - c1) ** 2 + (r2 - c2) ** 2 + (r3 - c3) ** 2
                    d = (r0 - d0) ** 2 + (r1 - d1) ** 2 + (r2 - d2) ** 2 + (r3 - d3) ** 2
                    sums[s, l] = before * sums[s, l] + a
                    sums[s, LANES + l] = before * sums[s, LANES + l] + b
                    sums[s, 2 * LANES + l] = before * sums[s, 2 * LANES + l] + c
                    sums[s, 3 * LANES + l] = before * sums[s, 3 * LANES + l] + d
            for r in range(4):
                i = r * LANES
                for l in range(n_cells):
                    low = min(sums[s, i + l], sums[s, i + CELLS + l])
                    low = min(low, min(sums[s, i + 2 * CELLS + l], sums[s, i + 3 * CELLS + l]))
                    low = min(low, min(sums[s, i + 4 * CELLS + l], sums[s, i + 5 * CELLS + l]))
                    low = min(low, min(sums[s, i + 6 * CELLS + l], sums[s, i + 7 * CELLS + l]))
                    minima[r, block, node, l] = low
