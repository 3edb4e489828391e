"""One component's density of what is left of a row when any set of cells is out, and what each further move changes.

The state has a swept matrix W (at first the precision P; only its lower triangle is kept), a vector r (at first
P (z - centre)), the quadratic form q of the kept cells and half the log determinant ld of their precision. To sweep a
cell takes it out, or puts it back, in O(d^2); what that would change is known for every cell without sweeping, and for
all prefixes of an ordered list of cells by one Cholesky factorisation.

All sums have a fixed order, so that a row's result has the same bits in any company.
"""

import math
from typing import NamedTuple

import numpy as np

from treemend.arrays import Booleans, Floats, Integers
from treemend.mender.compiled import inner_kernel, merged_kernel

FORM, LOG_DET = 0, 1


class State(NamedTuple):
    """A row with some cells out, under one component."""

    W: Floats  # d x d, lower triangle
    r: Floats  # d
    totals: Floats  # q and ld
    out: Booleans  # d


class Space(NamedTuple):
    """Memory that the moves of a row share."""

    order: Integers  # d
    work: Floats  # d + 1 x d
    forms: Floats  # 2 x d
    gains: Floats  # d
    line: Floats  # d


class Law(NamedTuple):
    """What all components share: constants (d + 1) of Student densities, and their tail."""

    constants: Floats
    tail: float


@inner_kernel
def new_space(d: int) -> Space:
    """Return memory for rows of d cells."""
    return Space(np.empty(d, np.int64), np.empty((d + 1, d)), np.empty((2, d)), np.empty(d), np.empty(d))


@inner_kernel
def largest(terms: Floats) -> int:
    """Return where the largest number is, the first of several."""
    best = 0
    for k in range(1, len(terms)):
        if terms[k] > terms[best]:
            best = k
    return best


@inner_kernel
def log_sum(terms: Floats) -> float:
    """Return the log of the sum of exponentials."""
    top, total = terms[0], 0.0
    for k in range(1, len(terms)):
        top = max(top, terms[k])
    for k in range(len(terms)):
        if terms[k] > top - 40.0:
            total += math.exp(terms[k] - top)
    return float(top + math.log(total))


@inner_kernel
def student(level: float, n: int, q: float, tail: float) -> float:
    """Return the log density of n cells whose quadratic form is q; ``level`` is what does not depend on q."""
    return level - 0.5 * (tail + n) * math.log(1.0 + max(q, 0.0) / tail)


@inner_kernel
def kept_density(state: State, law: Law, n: int) -> float:
    """Return the log density of the n kept cells, without the component's weight."""
    return student(law.constants[n] + state.totals[LOG_DET], n, state.totals[FORM], law.tail)


@inner_kernel
def sweep(state: State, j: int, line: Floats) -> None:
    """Take cell j out, or put it back if it is out."""
    sign = -1.0 if state.out[j] else 1.0
    w, r = state.W, state.r
    d = len(r)
    for a in range(d):
        line[a] = w[j, a] if a < j else w[a, j]
    pivot = line[j]
    force = r[j] / pivot
    state.totals[FORM] -= r[j] * force
    state.totals[LOG_DET] -= 0.5 * math.log(abs(pivot))
    for a in range(d):
        r[a] -= line[a] * force
    for a in range(d):
        part = line[a] / pivot
        for b in range(a + 1 if a != j else 0):
            w[a, b] -= part * line[b]
        w[max(a, j), min(a, j)] = sign * part
    w[j, j] = -1.0 / pivot
    r[j] = sign * force
    state.out[j] = not state.out[j]


@inner_kernel
def toggle_gains(state: State, law: Law, n: int, gains: Floats) -> None:
    """Fill ``gains`` with the change of the log density of the n kept cells by toggling each cell."""
    before = kept_density(state, law, n)
    q, level = state.totals[FORM], state.totals[LOG_DET]
    for j in range(len(gains)):
        m = n + 1 if state.out[j] else n - 1
        w = state.W[j, j]
        at = level + law.constants[m] - 0.5 * math.log(abs(w))
        gains[j] = student(at, m, q - state.r[j] * state.r[j] / w, law.tail) - before


@merged_kernel
def prefix_forms(
    matrix: Floats, sign: float, vector: Floats, order: Integers, m: int, work: Floats, out: Floats
) -> None:
    """Fill ``out`` (2, m): forms of ``sign * matrix`` and halves of log determinants, of all prefixes of ``order``.

    The form is that of ``vector`` in the inverse of the prefix's block; only the lower triangle of ``matrix`` is read.
    """
    # The first cell comes last, so that all loops begin with 0: others do not become vector instructions.
    values, total, half = work[len(work) - 1], 0.0, 0.0
    for i in range(m):
        a = order[m - 1 - i]
        values[i] = vector[a]
        for j in range(i + 1):
            b = order[m - 1 - j]
            work[i, j] = sign * matrix[max(a, b), min(a, b)]
    # Gaussian elimination, one cell after the other.
    for n in range(m):
        i = m - 1 - n
        pivot = max(work[i, i], 1e-14)
        force = values[i] / pivot
        total += values[i] * force
        half += 0.5 * math.log(pivot)
        out[0, n], out[1, n] = total, half
        for a in range(i):
            values[a] -= work[i, a] * force
        for a in range(i):
            part = work[i, a] / pivot
            for b in range(a + 1):
                work[a, b] -= part * work[i, b]


@inner_kernel
def prefix_gains(state: State, law: Law, n: int, m: int, space: Space) -> None:
    """Fill ``space.gains[:m]``: change of the log density of the n kept cells by toggling prefixes of ``space.order``.

    All of these cells are kept, or all of them are out.
    """
    sign = -1 if state.out[space.order[0]] else 1
    prefix_forms(state.W, float(sign), state.r, space.order, m, space.work, space.forms)
    before = kept_density(state, law, n)
    for a in range(m):
        kept = n - sign * (a + 1)
        level = law.constants[kept] + state.totals[LOG_DET] - space.forms[1, a]
        space.gains[a] = student(level, kept, state.totals[FORM] - sign * space.forms[0, a], law.tail) - before
