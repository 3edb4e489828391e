"""One component of the density on part of a row: its observed cells, and its gaps given them.

With n observed cells and m gaps, everything comes from one Cholesky factor: of the gaps' precision P_mm where m <= n,
of the observed cells' covariance S_oo otherwise. Sums are taken in a fixed order, row by row.
"""

import math

import numpy as np
from numpy.typing import NDArray

from treemend.mender.compiled import kernel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Components behind the likeliest by more than this (in nats) do not count.
FAR_BEHIND = 14.0


@kernel
def split_cells(row: Floats, seen: Integers, gaps: Integers) -> int:
    """Write the places of observed and of missing cells; return how many are observed."""
    n = 0
    m = 0
    for j in range(len(row)):
        if np.isnan(row[j]):
            gaps[m] = j
            m += 1
        else:
            seen[n] = j
            n += 1
    return n


@kernel
def factorise(matrix: Floats, size: int, column: Floats) -> float:
    """Replace the lower triangle by its Cholesky factor; return the sum of the logs of its diagonal."""
    total = 0.0
    for a in range(size):
        root = math.sqrt(max(matrix[a, a], 1e-300))
        matrix[a, a] = root
        total += math.log(root)
        for b in range(a + 1, size):
            matrix[b, a] /= root
            column[b] = matrix[b, a]
        for b in range(a + 1, size):
            f = column[b]
            for c in range(a + 1, b + 1):
                matrix[b, c] -= f * column[c]
    return total


@kernel
def condition(
    row: Floats,
    centre: Floats,
    covariance: Floats,
    precision: Floats,
    log_det: float,
    seen: Integers,
    n: int,
    gaps: Integers,
    factor: Floats,
    solved: Floats,
    column: Floats,
    expected: Floats,
) -> tuple[float, float]:
    """Condition one component on the observed cells of a row.

    Returns the quadratic form of the observed cells and half the log determinant of their precision; writes the gaps'
    expected deviations from the centre to ``expected`` and the Cholesky factor (see the module) to ``factor``.
    """
    d = len(row)
    m = d - n
    q = 0.0
    if m > n:
        for a in range(n):
            for b in range(a + 1):
                factor[a, b] = covariance[seen[a], seen[b]]
        half = -factorise(factor, n, column)
        for a in range(n):
            v = row[seen[a]] - centre[seen[a]]
            for b in range(a):
                v -= factor[a, b] * solved[b]
            solved[a] = v / factor[a, a]
            q += solved[a] * solved[a]
        for a in range(n - 1, -1, -1):
            v = solved[a]
            for b in range(a + 1, n):
                v -= factor[b, a] * column[b]
            column[a] = v / factor[a, a]
        for a in range(m):
            expected[a] = 0.0
        for b in range(n):
            for a in range(m):
                expected[a] += column[b] * covariance[seen[b], gaps[a]]
        return q, half
    column[:d] = 0.0
    for b in range(n):
        away = row[seen[b]] - centre[seen[b]]
        for a in range(d):
            column[a] += away * precision[seen[b], a]
    for b in range(n):
        q += (row[seen[b]] - centre[seen[b]]) * column[seen[b]]
    for a in range(m):
        solved[a] = column[gaps[a]]
        for b in range(a + 1):
            factor[a, b] = precision[gaps[a], gaps[b]]
    half = log_det - factorise(factor, m, column)
    for a in range(m):
        v = solved[a]
        for b in range(a):
            v -= factor[a, b] * solved[b]
        solved[a] = v / factor[a, a]
        q -= solved[a] * solved[a]
    for a in range(m - 1, -1, -1):
        v = solved[a]
        for b in range(a + 1, m):
            v -= factor[b, a] * column[b]
        column[a] = v / factor[a, a]
        expected[a] = -column[a]
    return max(q, 0.0), half


@kernel
def reduce_gaps(
    covariance: Floats, seen: Integers, n: int, gaps: Integers, m: int, factor: Floats, reduced: Floats
) -> None:
    """Write what the gaps' conditional covariance is made of, after `condition`.

    ``reduced`` (m x m) becomes the inverse of the factor of P_mm where m <= n: the covariance is ``reduced' reduced``;
    otherwise (n x m) ``G = factor^-1 S_om``: the covariance is ``S_mm - G' G``.
    """
    if m > n:
        for a in range(n):
            for c in range(m):
                reduced[a, c] = covariance[seen[a], gaps[c]]
            for b in range(a):
                f = factor[a, b]
                for c in range(m):
                    reduced[a, c] -= f * reduced[b, c]
            f = 1.0 / factor[a, a]
            for c in range(m):
                reduced[a, c] *= f
        return
    for a in range(m):
        for c in range(a):
            reduced[a, c] = 0.0
        for b in range(a):
            f = factor[a, b]
            for c in range(b + 1):
                reduced[a, c] -= f * reduced[b, c]
        f = 1.0 / factor[a, a]
        for c in range(a):
            reduced[a, c] *= f
        reduced[a, a] = f


@kernel
def gap_variances(covariance: Floats, n: int, gaps: Integers, m: int, reduced: Floats, variance: Floats) -> None:
    """Write the diagonal of the gaps' conditional covariance, after `reduce_gaps`."""
    if m > n:
        for c in range(m):
            variance[c] = covariance[gaps[c], gaps[c]]
        for a in range(n):
            for c in range(m):
                variance[c] -= reduced[a, c] * reduced[a, c]
        for c in range(m):
            variance[c] = max(variance[c], 0.0)
        return
    for c in range(m):
        variance[c] = 0.0
    for a in range(m):
        for c in range(a + 1):
            variance[c] += reduced[a, c] * reduced[a, c]


@kernel
def gap_covariance(covariance: Floats, n: int, gaps: Integers, m: int, reduced: Floats, found: Floats) -> None:
    """Write the lower triangle of the gaps' conditional covariance to ``found`` (m x m), after `reduce_gaps`."""
    if m > n:
        for a in range(m):
            for b in range(a + 1):
                found[a, b] = covariance[gaps[a], gaps[b]]
        for r in range(n):
            for a in range(m):
                f = reduced[r, a]
                for b in range(a + 1):
                    found[a, b] -= f * reduced[r, b]
        return
    for a in range(m):
        for b in range(a + 1):
            found[a, b] = 0.0
    for r in range(m):
        for a in range(r + 1):
            f = reduced[r, a]
            for b in range(a + 1):
                found[a, b] += f * reduced[r, b]


@kernel
def to_shares(level: Floats) -> int:
    """Replace log densities by shares, 0 for components far behind; return the likeliest."""
    best = level.argmax()
    top = level[best]
    total = 0.0
    for k in range(len(level)):
        level[k] = math.exp(level[k] - top) if level[k] > top - FAR_BEHIND else 0.0
        total += level[k]
    for k in range(len(level)):
        level[k] /= total
    return int(best)


@kernel
def pick(share: Floats, uniform: float) -> int:
    """Return the component that a uniform random number in [0, 1) falls to."""
    last = 0
    for k in range(len(share)):
        if share[k] > 0.0:
            last = k
            uniform -= share[k]
            if uniform < 0.0:
                break
    return last
