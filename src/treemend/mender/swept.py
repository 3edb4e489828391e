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

from treemend.arrays import Booleans, Floats, Integers, Labels
from treemend.mender.compiled import inner_kernel

FORM, LOG_DET = 0, 1
# Cells that are swept in one pass over the matrix.
LINES = 4


class Mixture(NamedTuple):
    """The density of the observed cells, as kernels read it."""

    centre: Floats  # K x d
    covariance: Floats  # K x d x d
    precision: Floats  # K x d x d
    log_weight: Floats  # K
    log_det: Floats  # K, half the log determinant of the precision


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
    lines: Floats  # LINES x d + 1
    terms: Floats  # K: log density of a row, or of what is kept of it
    rests: Floats  # K: quadratic form of what is kept


class Law(NamedTuple):
    """What all components share: constants (d + 1) of Student densities, and their tail."""

    constants: Floats
    tail: float


@inner_kernel
def new_space(n_components: int, d: int) -> Space:
    """Return memory for rows of d cells."""
    order, work, lines = np.empty(d, np.int64), np.empty((d + 1, d)), np.empty((LINES, d + 1))
    terms, rests = np.empty(n_components), np.empty(n_components)
    return Space(order, work, np.empty((2, d)), np.empty(d), lines, terms, rests)


LEAST_PIVOT = 1e-14


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
def _take_line(state: State, j: int, lines: Floats, n: int) -> None:
    """Toggle cell j in all but W, which still has to lose the outer square of line n divided by its pivot p.

    What the lines before it change is not in W yet, either; W[j, j] becomes ``-1/p``. Behind its d numbers, a line has
    ``1/p``.
    """
    w, r, line, d = state.W, state.r, lines[n], len(state.r)
    for a in range(j):
        line[a] = w[j, a]
    for a in range(j, d):
        line[a] = w[a, j]
    for other in range(n):
        part = lines[other, j] * lines[other, d]
        for a in range(d):
            line[a] -= part * lines[other, a]
    pivot, sign = line[j], -1.0 if state.out[j] else 1.0
    force = r[j] / pivot
    state.totals[FORM] -= r[j] * force
    state.totals[LOG_DET] -= 0.5 * math.log(abs(pivot))
    for a in range(d):
        r[a] -= line[a] * force
    r[j], line[j], line[d] = sign * force, pivot - sign, 1.0 / pivot
    state.out[j] = not state.out[j]


@inner_kernel
def sweep(state: State, j: int, lines: Floats) -> None:
    """Take cell j out, or put it back if it is out."""
    w, line, d = state.W, lines[0], len(state.r)
    _take_line(state, j, lines, 0)
    for a in range(d):
        part = line[a] * line[d]
        for b in range(a + 1):
            w[a, b] -= part * line[b]
    w[j, j] = -line[d]


@inner_kernel
def sweep_to(state: State, labels: Labels, lines: Floats) -> None:
    """Take cells out, and put others back, until those with a label are out: `LINES` of them in one pass over W."""
    w, out, d = state.W, state.out, len(labels)
    cells = np.empty(LINES, np.int64)
    first, second, third, fourth = lines[0], lines[1], lines[2], lines[3]
    n = 0
    for j in range(d):
        if (labels[j] >= 0) != out[j]:
            cells[n] = j
            _take_line(state, j, lines, n)
            n += 1
        if n < LINES and (j < d - 1 or n == 0):
            continue
        lines[n:] = 0.0
        for a in range(d):
            p, q, s, t = first[a] * first[d], second[a] * second[d], third[a] * third[d], fourth[a] * fourth[d]
            for b in range(a + 1):
                w[a, b] -= p * first[b] + q * second[b] + s * third[b] + t * fourth[b]
        for i in range(n):
            value = -lines[i, d]
            for later in range(i + 1, n):
                value -= lines[later, cells[i]] ** 2 * lines[later, d]
            w[cells[i], cells[i]] = value
        n = 0


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


@inner_kernel
def prefix_forms(
    matrix: Floats, sign: float, vector: Floats, order: Integers, m: int, work: Floats, out: Floats
) -> None:
    """Fill ``out`` (2, m): forms of ``sign * matrix`` and halves of log determinants, of all prefixes of ``order``.

    The form is that of ``vector`` in the inverse of the prefix's block; only the lower triangle of ``matrix`` is read.
    """
    eliminate(matrix, sign, order, m, work, out[1])
    substitute(vector, order, m, work, out[0])


@inner_kernel
def eliminate(matrix: Floats, sign: float, order: Integers, m: int, work: Floats, halves: Floats) -> None:
    """Eliminate one cell after the other; fill halves of log determinants, and ``work`` for `substitute`."""
    # The first cell comes last, so that all loops begin with 0: others do not become vector instructions.
    for i in range(m):
        a = order[m - 1 - i]
        for j in range(i + 1):
            b = order[m - 1 - j]
            work[i, j] = sign * matrix[max(a, b), min(a, b)]
    half = 0.0
    for n in range(m):
        i = m - 1 - n
        pivot = max(work[i, i], LEAST_PIVOT)
        half += 0.5 * math.log(pivot)
        halves[n] = half
        for a in range(i):
            part = work[i, a] / pivot
            for b in range(a + 1):
                work[a, b] -= part * work[i, b]


@inner_kernel
def substitute(vector: Floats, order: Integers, m: int, work: Floats, forms: Floats) -> None:
    """Fill the forms of a vector in the inverses of the blocks of all prefixes, from the work of `eliminate`."""
    values, total = work[len(work) - 1], 0.0
    for i in range(m):
        values[i] = vector[order[m - 1 - i]]
    for n in range(m):
        i = m - 1 - n
        force = values[i] / max(work[i, i], LEAST_PIVOT)
        total += values[i] * force
        forms[n] = total
        for a in range(i):
            values[a] -= work[i, a] * force


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
