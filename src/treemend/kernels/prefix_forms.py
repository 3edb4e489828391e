"""Quadratic forms of nested blocks, all from one factorisation.

Enters: a positive definite matrix, a vector, and an order of its coordinates. Leaves: for the first coordinate of the
order, the first two, and so on: the vector's quadratic form in the inverse of that block, and the block's log
determinant. ``borders`` finds the ends of a stretch by them (section 10 of the method).

The Cholesky factor is built row by row, every row by the same sweep over the finished ones that also solves for the
vector. The sweep updates all later values by four finished rows at a time, which is what vector registers like.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from treemend.kernels.flags import called
from treemend.kernels.workspace import float_table, floats


@called
def _solve_along(upper: NDArray[np.float64], n: int, values: NDArray[np.float64]) -> None:
    """Solve the transposed upper triangle against ``values[:n]`` in place, four rows at a time."""
    k = 0
    while k + 4 <= n:
        y0 = values[k] / upper[k, k]
        y1 = (values[k + 1] - y0 * upper[k, k + 1]) / upper[k + 1, k + 1]
        y2 = (values[k + 2] - y0 * upper[k, k + 2] - y1 * upper[k + 1, k + 2]) / upper[k + 2, k + 2]
        y3 = values[k + 3] - y0 * upper[k, k + 3] - y1 * upper[k + 1, k + 3] - y2 * upper[k + 2, k + 3]
        y3 /= upper[k + 3, k + 3]
        values[k], values[k + 1], values[k + 2], values[k + 3] = y0, y1, y2, y3
        k += 4
        later = values[k:n]
        row0, row1, row2, row3 = upper[k - 4, k:n], upper[k - 3, k:n], upper[k - 2, k:n], upper[k - 1, k:n]
        for j in range(len(later)):
            later[j] = later[j] - y0 * row0[j] - y1 * row1[j] - y2 * row2[j] - y3 * row3[j]
    while k < n:
        y0 = values[k] / upper[k, k]
        values[k] = y0
        for j in range(k + 1, n):
            values[j] -= y0 * upper[k, j]
        k += 1


@called
def prefix_forms(
    matrix: NDArray[np.float64], vector: NDArray[np.float64], order: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return quadratic forms of the vector in the inverse of the matrix, and log determinants, of every prefix of ``order``."""
    m = len(order)
    upper = float_table(m, m)  # the transposed Cholesky factor
    values = floats(m)
    quadratic = floats(m)
    log_det = floats(m)
    total = 0.0
    for i in range(m):
        line = matrix[order[i]]
        for j in range(i):
            values[j] = line[order[j]]
        _solve_along(upper, i, values)
        left = line[order[i]]
        for j in range(i):
            left -= values[j] * values[j]
            upper[j, i] = values[j]
        upper[i, i] = math.sqrt(left)
        total += math.log(left)
        log_det[i] = total
    for j in range(m):
        values[j] = vector[order[j]]
    _solve_along(upper, m, values)
    total = 0.0
    for j in range(m):
        total += values[j] * values[j]
        quadratic[j] = total
    return quadratic, log_det
