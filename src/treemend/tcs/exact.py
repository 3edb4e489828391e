"""Ranked distances in float64 as the method defines them (docs/method.md, section 2.3), and the nearest rows by them.

The squared differences that count are summed one after the other, from the smallest to the largest, or in the order of
the columns where all of them count. Of equally distant rows the one with the lower number is nearer.
"""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["kth_smallest", "n_folds", "nearest_at_node", "smallest_of_folds", "squared_distance"]


@njit(cache=True, nogil=True)
def n_folds(n_blocks: int, n_lanes: int, n_neighbors: int) -> int:
    """Return how many folds to take minima over.

    Few make the search for the K-th smallest short, many make what is read of each fold short; there must be clearly
    more minima than neighbours for a tight bound (benchmarks/speed).
    """
    shortest = int(math.sqrt(n_blocks)) * 16 // n_lanes
    return min(n_blocks, max(shortest, (2 * n_neighbors + 1) // n_lanes + 1))


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
    return float(scratch[k - 1])


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
    cells: NDArray[np.float32], n_lanes: int, folded: NDArray[np.float32], smallest: NDArray[np.float32], rank: int
) -> None:
    """Fill ``smallest``, ranks x nodes, with the smallest minima of folds at every node, ascending.

    Parameters
    ----------
    cells : ndarray, blocks x (nodes x lanes)
        Estimates, or the smallest of several.
    folded : ndarray, folds x (nodes x lanes)
        Filled with minima over every ``folds``-th block. Folds are disjoint sets of rows, so the K-th smallest of their
        minima is not below the K-th smallest estimate.
    smallest : ndarray
        With a multiple of 64 nodes, so that loops over them leave no rest.
    rank : int
        How many.
    """
    folds, length = folded.shape
    n_columns = smallest.shape[1]
    passed_on = np.zeros(n_columns, dtype=np.float32)
    smallest[:rank] = np.inf
    for fold in range(folds):
        for k in range(length):
            folded[fold, k] = cells[fold, k]
        for block in range(fold + folds, len(cells), folds):
            for k in range(length):
                folded[fold, k] = min(folded[fold, k], cells[block, k])
        for lane in range(n_lanes):
            for node in range(length // n_lanes):
                passed_on[node] = folded[fold, node * n_lanes + lane]
            for k in range(rank):
                for node in range(n_columns):
                    value, low = passed_on[node], smallest[k, node]
                    smallest[k, node] = min(low, value)
                    passed_on[node] = max(low, value)
