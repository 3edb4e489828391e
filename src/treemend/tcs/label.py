"""Labels without radii: a node is normal as soon as K reference rows are known to be within its limit.

A *witness* is such a row. A share of the reference is searched for witnesses at all nodes at once, which is enough for
most; the rest of the reference only at the nodes that are left, in exact arithmetic or by estimates, with exact
distances where these leave a doubt.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from treemend.tcs.exact import squared_distance

__all__ = ["FEWEST", "SHARE", "count_cells", "count_in_cells", "count_witnesses"]

SHARE = 16
FEWEST = 128
"""One reference row of SHARE is searched at all nodes first, FEWEST at least: trades what all nodes cost against what
is left to single ones (benchmarks/speed)."""


@njit(cache=True, nogil=True)
def count_witnesses(
    estimates: NDArray[np.float32],
    first_number: int,
    reference: NDArray[np.float64],
    rows: NDArray[np.float64],
    nodes: NDArray[np.int64],
    start: NDArray[np.int64],
    stop: NDArray[np.int64],
    kept: NDArray[np.int64],
    inner: NDArray[np.float32],
    outer: NDArray[np.float32],
    squares: NDArray[np.float64],
    n_neighbors: int,
    counts: NDArray[np.int64],
) -> None:
    """Add to ``counts``, rows x nodes, the reference rows within the limits, up to K.

    Parameters
    ----------
    estimates : ndarray, rows x blocks x columns x lanes
        Of the squared distances at some nodes, to reference rows from ``first_number`` on.
    nodes : ndarray of int64
        The node of each column.
    inner, outer : ndarray, rows x nodes
        An estimate up to ``inner`` is a witness, one above ``outer`` is not.
    squares : ndarray, one a node
        The largest exact square of a witness.
    """
    n_blocks, n_lanes = estimates.shape[1], estimates.shape[3]
    scratch = np.empty(reference.shape[1])
    for r in range(len(rows)):
        for column in range(len(nodes)):
            node = nodes[column]
            sure = possible = 0
            low, high = inner[r, node], outer[r, node]
            for block in range(n_blocks):
                for lane in range(n_lanes):
                    sure += estimates[r, block, column, lane] <= low
                    possible += estimates[r, block, column, lane] <= high
            count = counts[r, node] + sure
            if count < n_neighbors and possible > sure:
                for block in range(n_blocks):
                    for lane in range(n_lanes):
                        number = first_number + block * n_lanes + lane
                        in_doubt = low < estimates[r, block, column, lane] <= high
                        if in_doubt and count < n_neighbors and number < len(reference):
                            square = squared_distance(
                                reference, number, rows[r], start[node], stop[node], kept[node], scratch
                            )
                            count += square <= squares[node]
            counts[r, node] = min(count, n_neighbors)


@njit(cache=True, nogil=True)
def count_cells(minima: NDArray[np.float32], inner: NDArray[np.float32], counts: NDArray[np.int64]) -> None:
    """Add to ``counts``, rows x nodes, the cells whose smallest estimate is up to ``inner``: a witness each."""
    _, n_blocks, n_nodes, n_lanes = minima.shape
    for r in range(len(counts)):
        for node in range(n_nodes):
            low, count = inner[r, node], 0
            for block in range(n_blocks):
                for lane in range(n_lanes):
                    count += minima[r, block, node, lane] <= low
            counts[r, node] += count


@njit(cache=True, nogil=True)
def count_in_cells(
    minima: NDArray[np.float32],
    cells: NDArray[np.float64],
    rows: NDArray[np.float64],
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    outer: NDArray[np.float32],
    squares: NDArray[np.float64],
    n_neighbors: int,
    sums: NDArray[np.float64],
    counts: NDArray[np.int64],
) -> None:
    """Count witnesses exactly, up to K, where ``counts``, rows x nodes, are below K; all columns count.

    Parameters
    ----------
    minima : ndarray, rows x blocks x nodes x lanes
        The smallest estimates of cells, which need not be opened if that is above ``outer``; no blocks if unknown.
    cells, rows, begin, end
        Reference and rows with columns in fours, and the nodes' fours.
    sums : ndarray, rows of a cell
        Scratch.
    """
    _, n_blocks, n_nodes, n_lanes = minima.shape
    n_sums = len(sums)
    for r in range(len(counts)):
        for node in range(n_nodes):
            count = counts[r, node]
            cell = len(cells) if count >= n_neighbors else 0
            count = 0 if cell == 0 else count
            while count < n_neighbors and cell < len(cells):
                if n_blocks == 0 or minima[r, cell // n_lanes, node, cell % n_lanes] <= outer[r, node]:
                    for i in range(n_sums):
                        sums[i] = 0
                    for u in range(begin[node], end[node]):
                        x0, x1, x2, x3 = rows[r, 4 * u], rows[r, 4 * u + 1], rows[r, 4 * u + 2], rows[r, 4 * u + 3]
                        for i in range(n_sums):
                            d0 = cells[cell, u, i] - x0
                            d1 = cells[cell, u, n_sums + i] - x1
                            d2 = cells[cell, u, 2 * n_sums + i] - x2
                            d3 = cells[cell, u, 3 * n_sums + i] - x3
                            sums[i] = sums[i] + d0 * d0 + d1 * d1 + d2 * d2 + d3 * d3
                    for i in range(n_sums):
                        count += sums[i] <= squares[node]
                cell += 1
            counts[r, node] = count
