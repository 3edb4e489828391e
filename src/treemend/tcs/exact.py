"""Ranked distances in float64 as the method defines them (method, section 3), and the nearest rows by them.

The squared differences that count are summed one after the other, from the smallest to the largest, or in the order of
the columns where all of them count. Of equally distant rows the one with the lower number is nearer.
"""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from treemend.tcs.tree import AttributeTree

__all__ = [
    "kth_smallest",
    "n_folds",
    "n_kept",
    "nearest_at_node",
    "relative_errors",
    "round_up",
    "smallest_of_folds",
    "squared_distance",
]


def n_kept(width: int, alpha: float) -> int:
    """Return how many of ``width`` squared differences count.

    Examples
    --------
    >>> n_kept(10, 0.7), n_kept(3, 0.1)
    (7, 1)
    """
    return max(1, math.floor(alpha * width + 1e-9))


def relative_errors(tree: AttributeTree) -> NDArray[np.float64]:
    """Bound the relative error of the root of a float32 sum of squares, one a node: half a rounding for each term."""
    return np.asarray(0.6 * 2.0**-24 * (tree.stop - tree.start + 8))


def n_folds(n_blocks: int, n_lanes: int, n_neighbors: int) -> int:
    """Return how many folds to take minima over.

    Few make the search for the K-th smallest short, many make what is read of each fold short; there must be clearly
    more minima than neighbours for a tight bound (benchmarks/speed).
    """
    return min(n_blocks, max(math.isqrt(n_blocks) * 16 // n_lanes, -(-2 * (n_neighbors + 1) // n_lanes)))


def round_up(n_nodes: int) -> int:
    """Return a multiple of 64 for loops over nodes: a compiler that takes 64 at a time leaves no rest."""
    return -(-n_nodes // 64) * 64


@njit(cache=True, nogil=True)
def sort_values(values: NDArray[np.float64], count: int) -> None:
    """Sort the first ``count`` values in place."""
    gap = 1
    while gap < count // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(gap, count):
            value, place = values[k], k
            while place >= gap and values[place - gap] > value:
                values[place] = values[place - gap]
                place -= gap
            values[place] = value
        gap //= 3


@njit(cache=True, nogil=True)
def kth_smallest(values: NDArray[np.float64], count: int, k: int, scratch: NDArray[np.float64]) -> float:
    """Return the k-th smallest, counted from 1, of the first ``count`` values; ``scratch`` takes k numbers."""
    for place in range(k):
        scratch[place] = np.inf
    for i in range(count):
        value = values[i]
        if value < scratch[k - 1]:
            place = k - 1
            while place > 0 and scratch[place - 1] > value:
                scratch[place] = scratch[place - 1]
                place -= 1
            scratch[place] = value
    return scratch[k - 1]


@njit(cache=True, nogil=True)
def squared_distance(
    reference: NDArray[np.float64],
    number: int,
    row: NDArray[np.float64],
    start: int,
    stop: int,
    kept: int,
    squares: NDArray[np.float64],
) -> float:
    """Return the sum of the ``kept`` smallest squared differences of some columns; ``squares`` is scratch."""
    width = stop - start
    for k in range(width):
        difference = reference[number, start + k] - row[start + k]
        squares[k] = difference * difference
    if kept < width:
        sort_values(squares, width)
    total = 0.0
    for k in range(kept):
        total += squares[k]
    return total


@njit(cache=True, nogil=True)
def insert(distances: NDArray[np.float64], numbers: NDArray[np.int64], distance: float, number: int) -> None:
    """Insert a row into the ascending list of the nearest, by distance, then by number, if it belongs there."""
    place = len(distances) - 1
    if distance > distances[place] or (distance == distances[place] and number > numbers[place]):
        return
    while place > 0 and (
        distances[place - 1] > distance or (distances[place - 1] == distance and numbers[place - 1] > number)
    ):
        distances[place], numbers[place] = distances[place - 1], numbers[place - 1]
        place -= 1
    distances[place], numbers[place] = distance, number


@njit(cache=True, nogil=True)
def nearest_at_node(
    reference: NDArray[np.float64],
    rows: NDArray[np.float64],
    left_out: NDArray[np.int64],
    start: int,
    stop: int,
    kept: int,
    distances: NDArray[np.float64],
    numbers: NDArray[np.int64],
) -> None:
    """Fill ``distances`` and ``numbers``, rows x K, with the nearest reference rows over one node's columns."""
    squares = np.empty(stop - start)
    for row in range(len(rows)):
        distances[row] = np.inf
        numbers[row] = len(reference)
        for number in range(len(reference)):
            if number != left_out[row]:
                square = squared_distance(reference, number, rows[row], start, stop, kept, squares)
                insert(distances[row], numbers[row], math.sqrt(square), number)


@njit(cache=True, nogil=True, fastmath={"nnan"})
def smallest_of_folds(
    cells: NDArray[np.float32], folded: NDArray[np.float32], smallest: NDArray[np.float32], rank: int
) -> None:
    """Fill ``smallest``, ranks x nodes, with the smallest minima of folds at every node, ascending.

    Parameters
    ----------
    cells : ndarray, blocks x nodes x lanes
        Estimates, or the smallest of several.
    folded : ndarray, folds x lanes x nodes
        Minima over every ``folds``-th block. Folds are disjoint sets of rows, so the K-th smallest of their minima is
        not below the K-th smallest estimate. There may be more nodes than in ``cells``, so that loops over them have a
        round number of turns.
    rank : int
        How many.
    """
    folds, n_lanes, n_columns = folded.shape
    n_blocks, n_nodes, _ = cells.shape
    turned = np.empty((n_nodes, n_lanes), dtype=np.float32)
    for fold in range(folds):
        for node in range(n_nodes):
            for lane in range(n_lanes):
                turned[node, lane] = cells[fold, node, lane]
        for block in range(fold + folds, n_blocks, folds):
            for node in range(n_nodes):
                for lane in range(n_lanes):
                    turned[node, lane] = min(turned[node, lane], cells[block, node, lane])
        for node in range(n_nodes):
            for lane in range(n_lanes):
                folded[fold, lane, node] = turned[node, lane]
    smallest[:rank] = np.inf
    passed_on = np.empty(n_columns, dtype=np.float32)
    for fold in range(folds):
        for lane in range(n_lanes):
            for node in range(n_columns):
                passed_on[node] = folded[fold, lane, node]
            for k in range(rank):
                for node in range(n_columns):
                    value, low = passed_on[node], smallest[k, node]
                    smallest[k, node] = min(low, value)
                    passed_on[node] = max(low, value)
