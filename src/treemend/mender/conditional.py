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
from treemend.mender.compiled import inner_kernel, kernel
from treemend.mender.swept import Law, Mixture, largest

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
    rest, n_out = m if wanted else 0, min(m, n)
    # What is left comes first, and what is eliminated last.
    if m <= n:
        sign, half = -1.0, log_det
        for b in range(n):
            away = row[places[b]] - centre[places[b]]
            for a in range(d):
                column[a] += away * precision[places[b], a]
        for b in range(n):
            q += (row[places[b]] - centre[places[b]]) * column[places[b]]
        for i in range(rest + m):
            cell = places[n + i - rest] if i >= rest else -1
            expected[i] = column[cell] if i >= rest else 0.0
            for b in range(min(rest, i + 1)):
                matrix[i, b] = 1.0 if i - rest == b else 0.0
            for b in range(rest, i + 1):
                matrix[i, b] = precision[cell, places[n + b - rest]]
    else:
        sign, half = 1.0, 0.0
        for i in range(rest + n):
            cell = places[n + i if i < rest else i - rest]
            expected[i] = row[cell] - centre[cell] if i >= rest else 0.0
            for b in range(i + 1):
                matrix[i, b] = covariance[cell, places[n + b if b < rest else b - rest]]
    # From the last on: loops that begin with 0 become vector instructions.
    for i in range(rest + n_out - 1, rest - 1, -1):
        pivot = max(matrix[i, i], 1e-300)
        force = expected[i] / pivot
        half -= 0.5 * math.log(pivot)
        q += sign * expected[i] * force
        for b in range(i):
            expected[b] -= matrix[i, b] * force
        for b in range(i):
            part = matrix[i, b] / pivot
            if part == 0.0:
                continue
            if b < rest and wanted == VARIANCES:
                matrix[b, b] -= part * matrix[i, b]
                continue
            for c in range(b + 1):
                matrix[b, c] -= part * matrix[i, c]
    for a in range(rest):
        expected[a] *= -sign
        for b in range(a + 1):
            matrix[a, b] *= sign
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


@kernel
def expect_incomplete(rows: Floats, mix: Mixture, law: Law, level: Floats, form: Floats) -> None:
    """Write each component's log density (n x K) and quadratic form of the observed cells of each row.

    A component whose level is minus infinity on entry is passed over, unless all are: the likely ones may be gone.
    """
    d = rows.shape[1]
    centre, covariance, precision, log_weight, log_det = mix
    constants, tail = law
    places, expected, matrix = np.empty(d, np.int64), np.empty(d), np.empty((d, d))
    for i in range(len(rows)):
        n = split_cells(rows[i], places)
        none_is_likely = level[i, largest(level[i])] == -math.inf
        for k in range(len(centre)):
            if level[i, k] == -math.inf and not none_is_likely:
                form[i, k] = 0.0
                continue
            q, half = condition(
                rows[i], centre[k], covariance[k], precision[k], log_det[k], places, n, NOTHING, expected, matrix
            )
            form[i, k] = q
            level[i, k] = log_weight[k] + constants[n] + half - 0.5 * (tail + n) * math.log1p(q / tail)


@kernel
def add_incomplete(
    rows: Floats, mix: Mixture, share: Floats, weight: Floats, least_share: float, first: Floats, second: Floats
) -> None:
    """Add rows to the sums: expected deviations times ``weight``, conditional covariances times ``share``."""
    d = rows.shape[1]
    centre, covariance, precision, _, _ = mix
    places, matrix = np.empty(d, np.int64), np.empty((d, d))
    expected, away = np.empty(d), np.empty(d)
    for i in range(len(rows)):
        n = split_cells(rows[i], places)
        for k in range(len(centre)):
            if share[i, k] < least_share:
                continue
            condition(rows[i], centre[k], covariance[k], precision[k], 0.0, places, n, COVARIANCE, expected, matrix)
            for a in range(d):
                j = places[a]
                away[j] = rows[i, j] - centre[k, j] if a < n else expected[a - n]
            for a in range(d):
                f = weight[i, k] * away[a]
                first[k, a] += f
                for b in range(d):
                    second[k, a, b] += f * away[b]
            for a in range(d - n):
                for b in range(a + 1):
                    f = share[i, k] * matrix[a, b]
                    second[k, places[n + a], places[n + b]] += f
                    if b < a:
                        second[k, places[n + b], places[n + a]] += f
