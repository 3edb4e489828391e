"""The density of what is left of a row when any set of cells is out, and what each further move would change.

The state of a row has for every component a swept matrix W (at first the precision P; only its lower triangle is kept),
a vector r (at first P (z - centre)), the quadratic form q of the kept cells and half the log determinant ld of their
precision. To sweep a cell takes it out, or puts it back, in O(d^2) a component; what that would change is known for
every cell without sweeping, and for all prefixes of an ordered list of cells by one Cholesky factorisation.

All sums have a fixed order, so that a row's result has the same bits in any company.
"""

import math

import numpy as np
from numpy.typing import NDArray

from treemend.mender.compiled import kernel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

# Components this many nats behind the best one are dropped from the search in a row.
FAR_BEHIND = 8.0


@kernel
def log_sum(terms: Floats) -> float:
    """Return the log of the sum of exponentials."""
    top = terms[0]
    for k in range(1, len(terms)):
        top = max(top, terms[k])
    total = 0.0
    for k in range(len(terms)):
        if terms[k] > top - 40.0:
            total += math.exp(terms[k] - top)
    return top + math.log(total)


@kernel
def student(level: float, n: int, q: float, tail: float) -> float:
    """Return the log density of n cells whose quadratic form is q; ``level`` is what does not depend on q."""
    return level - 0.5 * (tail + n) * math.log1p(max(q, 0.0) / tail)


@kernel
def kept_density(log_weight: Floats, ld: Floats, q: Floats, constants: Floats, n: int, tail: float) -> float:
    """Return the log density of the n kept cells."""
    terms = np.empty(len(q))
    for k in range(len(q)):
        terms[k] = student(log_weight[k] + constants[n] + ld[k], n, q[k], tail)
    return log_sum(terms)


@kernel
def sweep(W: Floats, r: Floats, q: Floats, ld: Floats, out: Booleans, j: int) -> None:
    """Take cell j out, or put it back if it is out."""
    sign = -1.0 if out[j] else 1.0
    n_components, d, _ = W.shape
    line = np.empty(d)
    for k in range(n_components):
        w = W[k]
        for a in range(j):
            line[a] = w[j, a]
        for a in range(j, d):
            line[a] = w[a, j]
        pivot = line[j]
        force = r[k, j] / pivot
        q[k] -= r[k, j] * force
        ld[k] -= 0.5 * math.log(abs(pivot))
        for a in range(d):
            r[k, a] -= line[a] * force
        for a in range(d):
            part = line[a] / pivot
            if part != 0.0:
                for b in range(a + 1):
                    w[a, b] -= part * line[b]
        for a in range(j):
            w[j, a] = sign * line[a] / pivot
        for a in range(j + 1, d):
            w[a, j] = sign * line[a] / pivot
        w[j, j] = -1.0 / pivot
        r[k, j] = sign * force
    out[j] = not out[j]


@kernel
def toggle_gains(
    W: Floats,
    r: Floats,
    q: Floats,
    ld: Floats,
    log_weight: Floats,
    constants: Floats,
    tail: float,
    n: int,
    out: Booleans,
    gains: Floats,
) -> None:
    """Fill ``gains`` with the change of the log density of the n kept cells by toggling each cell."""
    n_components = len(q)
    d = len(gains)
    terms = np.empty(n_components)
    before = kept_density(log_weight, ld, q, constants, n, tail)
    for j in range(d):
        m = n + 1 if out[j] else n - 1
        for k in range(n_components):
            w = W[k, j, j]
            level = log_weight[k] + constants[m] + ld[k] - 0.5 * math.log(abs(w))
            terms[k] = student(level, m, q[k] - r[k, j] * r[k, j] / w, tail)
        gains[j] = log_sum(terms) - before


@kernel
def solve_along(upper: Floats, n: int, values: Floats) -> None:
    """Solve the transposed upper triangle against ``values[:n]`` in place."""
    for k in range(n):
        y = values[k] / upper[k, k]
        values[k] = y
        for j in range(k + 1, n):
            values[j] -= y * upper[k, j]


@kernel
def prefix_forms(
    matrix: Floats, sign: float, vector: Floats, order: Integers, m: int, upper: Floats, out: Floats
) -> None:
    """Fill ``out`` (2, m): forms of ``sign * matrix`` and halves of log determinants, of all prefixes of ``order``.

    The form is that of ``vector`` in the inverse of the prefix's block; only the lower triangle of ``matrix`` is read.
    """
    values = out[0]
    half = 0.0
    for i in range(m):
        a = order[i]
        for j in range(i):
            b = order[j]
            values[j] = sign * (matrix[a, b] if a >= b else matrix[b, a])
        solve_along(upper, i, values)
        left = sign * matrix[a, a]
        for j in range(i):
            left -= values[j] * values[j]
            upper[j, i] = values[j]
        left = max(left, 1e-14)
        upper[i, i] = math.sqrt(left)
        half += 0.5 * math.log(left)
        out[1, i] = half
    for i in range(m):
        values[i] = vector[order[i]]
    solve_along(upper, m, values)
    total = 0.0
    for i in range(m):
        total += values[i] * values[i]
        values[i] = total


@kernel
def prefix_gains(
    W: Floats,
    r: Floats,
    q: Floats,
    ld: Floats,
    log_weight: Floats,
    constants: Floats,
    tail: float,
    n: int,
    order: Integers,
    m: int,
    sign: int,
    upper: Floats,
    forms: Floats,
    gains: Floats,
) -> None:
    """Fill ``gains[:m]``: change of the log density of the n kept cells by toggling ``order[:1]``, ``order[:2]``, ...

    All of them are kept (sign 1) or all of them are out (sign -1).
    """
    n_components = len(q)
    terms = np.empty((m, n_components))
    for k in range(n_components):
        prefix_forms(W[k], float(sign), r[k], order, m, upper, forms)
        for a in range(m):
            kept = n - sign * (a + 1)
            level = log_weight[k] + constants[kept] + ld[k] - forms[1, a]
            terms[a, k] = student(level, kept, q[k] - sign * forms[0, a], tail)
    before = kept_density(log_weight, ld, q, constants, n, tail)
    for a in range(m):
        gains[a] = log_sum(terms[a]) - before


@kernel
def alone_densities(
    covariance: Floats,
    away: Floats,
    log_weight: Floats,
    constants: Floats,
    tail: float,
    order: Integers,
    m: int,
    upper: Floats,
    forms: Floats,
    densities: Floats,
) -> None:
    """Fill ``densities[:m]`` with the log density of ``order[:1]``, ``order[:2]``, ... by themselves."""
    n_components = len(log_weight)
    terms = np.empty((m, n_components))
    for k in range(n_components):
        prefix_forms(covariance[k], 1.0, away[k], order, m, upper, forms)
        for a in range(m):
            terms[a, k] = student(log_weight[k] + constants[a + 1] - forms[1, a], a + 1, forms[0, a], tail)
    for a in range(m):
        densities[a] = log_sum(terms[a])
