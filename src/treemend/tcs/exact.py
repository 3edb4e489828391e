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
