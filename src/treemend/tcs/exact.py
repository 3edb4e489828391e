"""Ranked distances in float64 as the method defines them (docs/method.md, section 2.3), and the nearest rows by them.

The squared differences that count are summed one after the other, from the smallest to the largest, or in the order of
the columns where all of them count. Of equally distant rows the one with the lower number is nearer. Which rows are
measured is decided by estimates in float32, whose roots are wrong by a part ``relative`` and by ``absolute`` at most.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from treemend.tcs.tree import F32, F64, I64

__all__ = ["Counting", "Sought", "count_up_to", "kth_radii", "nearest_by_estimates", "squared_distance"]

CELLS = 16
ROWS_IN_CELL = 8
LANES = CELLS * ROWS_IN_CELL
"""Row ``i`` of a block of LANES reference rows belongs to the block's cell ``i % CELLS``."""

PADDING = np.float32(1e16)
"""Where a block has no row or no column: its square is larger than any other."""

FASTMATH = {"nnan", "ninf", "nsz", "contract", "reassoc"}

MARGIN, FLOAT32_MARGIN = 1e-12, 2e-7
"""Cover the rounding of the bounds themselves, which are computed in float64, and their rounding to float32."""

Ends = tuple[I64, I64]
Errors = tuple[F64, F64]
Found = tuple[F64, I64]


class Sought(NamedTuple):
    """Rows whose K-th radii are sought, and errors, one a node and rows x nodes."""

    rows: F64
    relative: F64
    absolute: F64
    k: int


class Counting(NamedTuple):
    """Two limits of estimates, 2 x rows x nodes, and how many are up to each, counted until K are up to the first."""

    limits: F32
    k: int
    counts: I64


@njit(forceinline=True, fastmath=FASTMATH)
def count_up_to(counting: Counting, r: int, node: int, estimates: F32) -> None:
    """Add to the counts how many estimates are up to each of two limits."""
    limits, counts = counting.limits, counting.counts
    low, high = limits[0, r, node], limits[1, r, node]
    n_low = n_high = np.float32(0)
    for i in range(len(estimates)):
        n_low += np.float32(estimates[i] <= low)
        n_high += np.float32(estimates[i] <= high)
    counts[0, r, node] += np.int64(n_low)
    counts[1, r, node] += np.int64(n_high)


@njit(cache=True, nogil=True)
def _insert(ascending: F64, place: int, value: float) -> int:
    """Insert a value into the numbers before ``place``, of which larger ones move up by one; return where it is."""
    while place > 0 and ascending[place - 1] > value:
        ascending[place] = ascending[place - 1]
        place -= 1
    ascending[place] = value
    return place


@njit(cache=True, nogil=True)
def squared_distance(one: F64, other: F64, start: int, stop: int, alpha: float, squares: F64) -> float:
    """Return the sum of the smallest squared differences of some columns, NaN left out; ``squares`` is scratch."""
    width = 0
    for k in range(start, stop):
        difference = one[k] - other[k]
        squares[width] = difference * difference
        width += not math.isnan(difference)
    kept = min(width, max(1, math.floor(alpha * width + 1e-9)))
    if kept < width > 32:
        squares[:width].sort()
    elif kept < width:
        # For few numbers, a call of Numba's sort takes longer than sorting by insertion.
        for k in range(1, width):
            _insert(squares, k, squares[k])
    total = 0.0
    for k in range(kept):
        total += squares[k]
    return total


@njit(cache=True, nogil=True)
def _kth_smallest(values: F64, count: int, k: int, scratch: F64) -> float:
    """Return the k-th smallest, counted from 1, of the first ``count`` values; ``scratch`` takes k numbers."""
    if count < k:
        return np.inf
    for place in range(k):
        scratch[place] = np.inf
    for i in range(count):
        if values[i] < scratch[k - 1]:
            _insert(scratch, k - 1, values[i])
    return float(scratch[k - 1])


@njit(cache=True, nogil=True)
def nearest_by_estimates(
    estimates: F32, reference: F64, rows: F64, left_out: I64, columns: Ends, alpha: float, errors: Errors, found: Found
) -> None:
    """Fill ``found``, distances and numbers, with the reference rows nearest to each row over its columns.

    ``estimates`` are rows x reference rows; ``columns`` and ``errors``, relative and absolute, have one entry a row.
    """
    (relative, absolute), (distances, numbers) = errors, found
    n_rows, k = numbers.shape
    squares, smallest = np.empty(reference.shape[1]), np.empty(k + 1)
    for r in range(n_rows):
        kth = math.sqrt(_kth_smallest(estimates[r], len(reference), k + (left_out[r] >= 0), smallest))
        bound = ((kth * (1 + relative[r]) + 2 * absolute[r]) / (1 - relative[r])) ** 2 * (1 + MARGIN)
        distances[r] = np.inf
        for number in range(len(reference)):
            if number == left_out[r] or estimates[r, number] > bound:
                continue
            square = squared_distance(reference[number], rows[r], columns[0][r], columns[1][r], alpha, squares)
            if math.sqrt(square) < distances[r, k - 1]:
                place = _insert(distances[r], k - 1, math.sqrt(square))
                for i in range(k - 1, place, -1):
                    numbers[r, i] = numbers[r, i - 1]
                numbers[r, place] = number


@njit(cache=True, nogil=True, fastmath={"nnan"})
def _smallest_of_folds(cells: F32, n_lanes: int, folded: F32, smallest: F32) -> None:
    """Fill ``smallest``, ranks x nodes, with the smallest minima of folds at every node, ascending.

    ``folded``, folds x (nodes x lanes), takes minima over every ``folds``-th block: disjoint sets of rows, so that the
    K-th smallest of them is not below the K-th smallest estimate.
    """
    folds, length = folded.shape
    n_columns = smallest.shape[1]
    passed_on = np.zeros(n_columns, dtype=np.float32)
    smallest[:] = np.inf
    for fold in range(folds):
        for k in range(length):
            folded[fold, k] = cells[fold, k]
        for block in range(fold + folds, len(cells), folds):
            for k in range(length):
                folded[fold, k] = min(folded[fold, k], cells[block, k])
        for lane in range(n_lanes):
            for node in range(length // n_lanes):
                passed_on[node] = folded[fold, node * n_lanes + lane]
            for k in range(len(smallest)):
                for node in range(n_columns):
                    value, low = passed_on[node], smallest[k, node]
                    smallest[k, node] = min(low, value)
                    passed_on[node] = max(low, value)


@njit(cache=True, nogil=True)
def _measure(cells: F64, cell: int, row: F64, columns: tuple[int, int], alpha: float, squares: F64) -> int:
    """Write the squared distances of a cell's rows to ``squares``, and return how many there are."""
    begin, end = columns
    if cells.shape[2] == 1:
        squares[0] = squared_distance(cells[cell].ravel(), row, begin, end, alpha, squares)
        return 1
    in_cell = squares[:ROWS_IN_CELL]
    in_cell[:] = 0
    for u in range(begin, end):
        x0, x1, x2, x3 = row[4 * u], row[4 * u + 1], row[4 * u + 2], row[4 * u + 3]
        for i in range(len(in_cell)):
            d0 = cells[cell, u, i] - x0
            d1 = cells[cell, u, ROWS_IN_CELL + i] - x1
            d2 = cells[cell, u, 2 * ROWS_IN_CELL + i] - x2
            d3 = cells[cell, u, 3 * ROWS_IN_CELL + i] - x3
            in_cell[i] = in_cell[i] + d0 * d0 + d1 * d1 + d2 * d2 + d3 * d3
    return ROWS_IN_CELL


@njit(cache=True, nogil=True)
def kth_radii(
    minima: F32, seconds: F32, cells: F64, ends: Ends, alpha: float, sought: Sought, first: int, last: int, radii: F64
) -> None:
    """Fill ``radii``, rows x nodes, with the exact K-th radii of some of the rows.

    ``minima`` and ``seconds``, rows x blocks x nodes x lanes, are the two smallest estimates of cells of reference
    rows. Where a cell is one row there are no seconds; otherwise ``cells`` and ``ends`` have columns in fours.

    Estimates say between which two radii the K-th one lies. Measured are the cells between them, and those of which
    more than the nearest row may count. Estimates that cannot be wrong, where their absolute error is 0, are taken for
    the squares that they estimate.
    """
    begin, end = ends
    rows, relative, absolute, n_neighbors = sought
    _, n_blocks, n_columns, n_lanes = minima.shape
    # Few folds make the search for the K-th smallest short, many make what is read of each fold short; there must be
    # clearly more minima than neighbours for a tight bound (benchmarks/speed).
    folds = max(int(math.sqrt(n_blocks)) * 16 // n_lanes, (2 * n_neighbors + 1) // n_lanes + 1)
    folds = min(n_blocks, folds)
    folded = np.empty((folds, n_columns * n_lanes), dtype=np.float32)
    smallest = np.empty((n_neighbors, (n_columns + 15) // 16 * 16), dtype=np.float32)
    opened = np.empty(n_blocks * n_lanes + 1, dtype=np.int64)
    values = np.empty((n_blocks * n_lanes + 1) * ROWS_IN_CELL)
    found = np.empty((n_blocks * n_lanes + 1) * ROWS_IN_CELL)
    nearest, squares = np.empty(n_neighbors), np.empty(cells.shape[1] + ROWS_IN_CELL)
    for r in range(first, last):
        _smallest_of_folds(minima[r - first].reshape(n_blocks, n_columns * n_lanes), n_lanes, folded, smallest)
        for node in range(len(begin)):
            far, near, columns = 1 + relative[node], 1 - relative[node], (begin[node], end[node])
            error, top = absolute[r, node], np.float64(smallest[n_neighbors - 1, node])
            bound = ((math.sqrt(top) * far + 2 * error) / near) ** 2 * (1 + MARGIN)
            if error == 0:
                # K rows have estimates up to this one, so that only smaller ones matter; there may be many equal ones.
                bound = top * (1 - 1e-9) if top > 0 else -1.0
            n_open = n_found = 0
            for fold in range(folds):
                for lane in range(n_lanes):
                    if folded[fold, node * n_lanes + lane] > bound:
                        continue
                    for block in range(fold, n_blocks, folds):
                        if minima[r - first, block, node, lane] > bound:
                            continue
                        cell = block * n_lanes + lane
                        if len(seconds) == 0 or seconds[r - first, block, node, lane] > bound:
                            opened[n_open], values[n_open] = cell, minima[r - first, block, node, lane]
                            n_open += 1
                            continue
                        for i in range(_measure(cells, cell, rows[r], columns, alpha, squares)):
                            found[n_found] = squares[i]
                            n_found += squares[i] <= bound
            values[n_open : n_open + n_found] = found[:n_found]
            kth = min(top, _kth_smallest(values, n_open + n_found, n_neighbors, nearest))
            if error > 0:
                # The K-th distance lies between these two, and so does the distance of the row that has it.
                low, high = math.sqrt(kth) * near - error, math.sqrt(kth) * far + error
                below = (max(0.0, low - error) / far) ** 2 * (1 - MARGIN)
                above = ((high + error) / near) ** 2 * (1 + MARGIN)
                n_below = 0
                for k in range(n_open):
                    if values[k] < below:
                        n_below += 1
                    elif values[k] <= above and opened[k] < len(cells):
                        for i in range(_measure(cells, opened[k], rows[r], columns, alpha, squares)):
                            found[n_found] = squares[i]
                            n_found += squares[i] <= bound
                kth = _kth_smallest(found, n_found, n_neighbors - n_below, nearest)
            radii[r, node] = math.sqrt(kth)
