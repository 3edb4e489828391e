"""One component of the density on part of a row: its observed cells, and its gaps given them.

Let S be the covariance, P the precision, e the row minus the centre, o the observed cells and m the gaps. Gaussian
elimination of whichever are fewer leaves what is known of the gaps (a Schur complement):

- observed cells out of ``[S_oo S_om; S_mo S_mm]`` and ``(e_o, 0)``: the gaps' covariance, and minus their expectation;
- gaps out of ``[P_mm I; I 0]`` and ``((P e)_m, 0)``: minus the gaps' covariance, and their expectation.

Sums are taken in a fixed order, row by row.
"""

import math
from typing import cast

import numpy as np

from treemend.arrays import Floats, Integers
from treemend.mender.compiled import inner_kernel

# What `condition` is to tell of the gaps.
NOTHING, VARIANCES, COVARIANCE = cast(list[int], np.arange(3))


@inner_kernel
def split_cells(row: Floats, places: Integers) -> int:
    """Write the places of observed cells, then those of missing ones; return how many are observed."""
    n = 0
    for j in range(len(row)):
        if not np.isnan(row[j]):
            places[n] = j
            n += 1
    m = n
    for j in range(len(row)):
        if np.isnan(row[j]):
            places[m] = j
            m += 1
    return n


@inner_kernel
def condition(
    row: Floats,
    centre: Floats,
    covariance: Floats,
    precision: Floats,
    log_det: float,
    places: Integers,
    n: int,
    wanted: int,
    expected: Floats,
    matrix: Floats,
) -> tuple[float, float]:
    """Condition one component on the observed cells of a row.

    Returns the quadratic form of the observed cells and half the log determinant of their precision. Unless `NOTHING`
    is wanted of the gaps, writes their expected deviations from the centre to ``expected``, and the diagonal or the
    lower triangle of their covariance (m x m) to ``matrix``; both are scratch space (d, d x d).
    """
    d = len(row)
    m = d - n
    column = np.zeros(d)
    q = 0.0
    if m <= n:
        sign, half, n_out = -1.0, log_det, m
        size = 2 * m if wanted else m
        for b in range(n):
            away = row[places[b]] - centre[places[b]]
            for a in range(d):
                column[a] += away * precision[places[b], a]
        for b in range(n):
            q += (row[places[b]] - centre[places[b]]) * column[places[b]]
        for a in range(m):
            expected[a] = column[places[n + a]]
            for b in range(a + 1):
                matrix[a, b] = precision[places[n + a], places[n + b]]
        for a in range(m, size):
            expected[a] = 0.0
            for b in range(a + 1):
                matrix[a, b] = 1.0 if b == a - m else 0.0
    else:
        sign, half, n_out = 1.0, 0.0, n
        size = d if wanted else n
        for a in range(size):
            expected[a] = row[places[a]] - centre[places[a]] if a < n else 0.0
            for b in range(a + 1):
                matrix[a, b] = covariance[places[a], places[b]]
    for a in range(n_out):
        pivot = max(matrix[a, a], 1e-300)
        half -= 0.5 * math.log(pivot)
        q += sign * expected[a] * expected[a] / pivot
        for b in range(a + 1, size):
            column[b] = matrix[b, a]
        for b in range(a + 1, size):
            if column[b] == 0.0:
                continue
            f = column[b] / pivot
            expected[b] -= f * expected[a]
            for c in range(a + 1, b if wanted == COVARIANCE else min(b, n_out)):
                matrix[b, c] -= f * column[c]
            matrix[b, b] -= f * column[b]
    for a in range(size - n_out):
        expected[a] = -sign * expected[n_out + a]
        for b in range(a + 1):
            matrix[a, b] = sign * matrix[n_out + a, n_out + b]
    return max(q, 0.0), half


@inner_kernel
def factorise(matrix: Floats, size: int) -> None:
    """Replace the lower triangle by its Cholesky factor."""
    for a in range(size):
        for b in range(a + 1):
            v = matrix[a, b]
            for c in range(b):
                v -= matrix[a, c] * matrix[b, c]
            matrix[a, b] = math.sqrt(max(v, 0.0)) if a == b else v / max(matrix[b, b], 1e-150)
