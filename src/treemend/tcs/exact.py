"""Ranked distances in float64 as the method defines them (method, section 3), and the nearest rows by them.

The squared differences that count are summed one after the other, from the smallest to the largest, or in the order of
the columns where all of them count. Of equally distant rows the one with the lower number is nearer.
"""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["insert", "n_kept", "nearest_at_node", "squared_distance"]


def n_kept(width: int, alpha: float) -> int:
    """Return how many of ``width`` squared differences count.

    Examples
    --------
    >>> n_kept(10, 0.7), n_kept(3, 0.1)
    (7, 1)
    """
    return max(1, math.floor(alpha * width + 1e-9))


@njit(cache=True, nogil=True)
def squared_distance(
    one: NDArray[np.float64],
    other: NDArray[np.float64],
    start: int,
    stop: int,
    kept: int,
    squares: NDArray[np.float64],
) -> float:
    """Return the sum of the ``kept`` smallest squared differences of two rows' columns; ``squares`` is scratch."""
    width = stop - start
    for k in range(width):
        difference = one[start + k] - other[start + k]
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
                square = squared_distance(reference[number], rows[row], start, stop, kept, squares)
                insert(distances[row], numbers[row], math.sqrt(square), number)


@njit(cache=True, nogil=True, fastmath={"nnan"})
def fold_cells(cells: NDArray[np.float32], folded: NDArray[np.float32]) -> None:
    """Take minima over every ``len(folded)``-th block of estimates; both have blocks x numbers."""
    n_folds, length = folded.shape
    for block in range(n_folds):
        for k in range(length):
            folded[block, k] = cells[block, k]
    for block in range(n_folds, len(cells)):
        fold = block % n_folds
        for k in range(length):
            folded[fold, k] = min(folded[fold, k], cells[block, k])


@njit(cache=True, nogil=True)
def exact_radii(
    cells: NDArray[np.float32],
    folded: NDArray[np.float32],
    rows_in_cell: int,
    reference: NDArray[np.float64],
    row: NDArray[np.float64],
    left_out: int,
    start: NDArray[np.int64],
    stop: NDArray[np.int64],
    kept: NDArray[np.int64],
    relative: NDArray[np.float64],
    absolute: NDArray[np.float64],
    distances: NDArray[np.float64],
    radii: NDArray[np.float64],
) -> None:
    """Fill ``radii`` with one row's exact K-th radius at every node.

    Parameters
    ----------
    cells : ndarray, blocks x nodes x lanes
        The smallest estimate of the squared distances to the rows of a cell: cell ``lane`` of ``block`` has the rows
        ``(block * rows_in_cell + i) * lanes + lane``.
    folded : ndarray, folds x nodes x lanes
        Minima over every ``folds``-th block of ``cells``.
    relative, absolute : ndarray, one a node
        How far the root of an estimate may be from the distance.
    distances : ndarray, K
        Scratch.

    Notes
    -----
    The folds are disjoint sets of rows, so the K-th smallest of their minima is not below the K-th smallest estimate.
    Rows whose estimate is above it, by more than the errors, are no neighbours.
    """
    n_blocks, _, n_lanes = cells.shape
    n_neighbors = len(distances)
    rank = n_neighbors + (left_out >= 0)
    smallest = np.empty(rank, dtype=np.float32)
    squares = np.empty(reference.shape[1])
    for node in range(len(start)):
        smallest[:] = np.inf
        for fold in range(len(folded)):
            for lane in range(n_lanes):
                value = folded[fold, node, lane]
                if value < smallest[rank - 1]:
                    place = rank - 1
                    while place > 0 and smallest[place - 1] > value:
                        smallest[place] = smallest[place - 1]
                        place -= 1
                    smallest[place] = value
        farthest = math.sqrt(smallest[rank - 1]) * (1 + relative[node]) + absolute[node]
        bound = ((farthest + absolute[node]) / (1 - relative[node])) ** 2 * (1 + 1e-12)
        distances[:] = np.inf
        for fold in range(len(folded)):
            for lane in range(n_lanes):
                if folded[fold, node, lane] <= bound:
                    for block in range(fold, n_blocks, len(folded)):
                        if cells[block, node, lane] <= bound:
                            for i in range(rows_in_cell):
                                number = (block * rows_in_cell + i) * n_lanes + lane
                                if number < len(reference) and number != left_out:
                                    square = squared_distance(
                                        reference[number], row, start[node], stop[node], kept[node], squares
                                    )
                                    if square < distances[n_neighbors - 1]:
                                        place = n_neighbors - 1
                                        while place > 0 and distances[place - 1] > square:
                                            distances[place] = distances[place - 1]
                                            place -= 1
                                        distances[place] = square
        radii[node] = math.sqrt(distances[n_neighbors - 1])
