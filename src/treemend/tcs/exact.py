"""Ranked distances in float64 as the method defines them (method, section 3), and the nearest rows by them.

The squared differences that count are summed one after the other, from the smallest to the largest, or in the order of
the columns where all of them count. Of equally distant rows the one with the lower number is nearer.
"""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from treemend.tcs.tree import AttributeTree

__all__ = ["insert", "n_kept", "nearest_at_node", "squared_distance"]


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
    gap = int(kept < width)
    while 0 < gap < width // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(gap, width):
            value, place = squares[k], k
            while place >= gap and squares[place - gap] > value:
                squares[place] = squares[place - gap]
                place -= gap
            squares[place] = value
        gap //= 3
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
def insert_value(values: NDArray[np.float64], value: float) -> None:
    """Insert a value into an ascending list, whose largest goes, if it is not larger than that."""
    place = len(values) - 1
    if value < values[place]:
        while place > 0 and values[place - 1] > value:
            values[place] = values[place - 1]
            place -= 1
        values[place] = value


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
def fold_cells(cells: NDArray[np.float32], folded: NDArray[np.float32]) -> None:
    """Take minima over every ``len(folded)``-th block of estimates; both have blocks x numbers."""
    folds, length = folded.shape
    for block in range(folds):
        for k in range(length):
            folded[block, k] = cells[block, k]
    for block in range(folds, len(cells)):
        fold = block % folds
        for k in range(length):
            folded[fold, k] = min(folded[fold, k], cells[block, k])


@njit(cache=True, nogil=True)
def upper_bound(
    folded: NDArray[np.float32], node: int, relative: float, absolute: float, smallest: NDArray[np.float32]
) -> float:
    """Return the estimate above which no row is among the nearest ``len(smallest)``.

    Folds are disjoint sets of rows, so the K-th smallest of their minima is not below the K-th smallest estimate; the
    root of an estimate differs from the distance by at most ``relative`` and ``absolute``.
    """
    last = len(smallest) - 1
    smallest[:] = np.inf
    for fold in range(folded.shape[0]):
        for lane in range(folded.shape[2]):
            value = folded[fold, node, lane]
            if value < smallest[last]:
                place = last
                while place > 0 and smallest[place - 1] > value:
                    smallest[place] = smallest[place - 1]
                    place -= 1
                smallest[place] = value
    if absolute == 0:
        return float(smallest[last])
    farthest = math.sqrt(smallest[last]) * (1 + relative) + absolute
    return ((farthest + absolute) / (1 - relative)) ** 2 * (1 + 1e-12)
