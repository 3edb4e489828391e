"""The density of what is left of a row when any set of cells is out, and what each further move would change.

The state of a row has for every component a swept matrix W (at first the precision P; only its lower triangle is kept),
a vector r (at first P (z - centre)), the quadratic form q of the kept cells and half the log determinant ld of their
precision. To sweep a cell takes it out, or puts it back, in O(d^2) a component; what that would change is known for
every cell without sweeping, and for all prefixes of an ordered list of cells by one Cholesky factorisation.

All sums have a fixed order, so that a row's result has the same bits in any company.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

from treemend.mender.compiled import kernel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

# Components this many nats behind the best one are dropped from the search in a row: with fewer, a component that only
# explains the row once several runs are out is lost.
FAR_BEHIND = 30.0
FAR_BEHIND_IN_WIDE_ROWS = 8.0
NARROW = 100


Function = TypeVar("Function", bound=Callable[..., Any])


def inlined(function: Function) -> Function:
    """Compile ``function`` as a part of the one kernel that calls it, which takes less time than by itself as well."""
    return cast(Function, numba.njit(nogil=True, error_model="numpy", inline="always")(function))


class State(NamedTuple):
    """A row with some cells out, under some components."""

    W: Floats  # K x d x d, lower triangles
    r: Floats  # K x d
    q: Floats  # K
    ld: Floats  # K
    log_weight: Floats  # K
    out: Booleans  # d


class Space(NamedTuple):
    """Memory that the moves of a row share."""

    order: Integers  # d
    upper: Floats  # d x d
    forms: Floats  # 2 x d
    gains: Floats  # d
    alone: Floats  # d


class Law(NamedTuple):
    """What all components share: constants (d + 1) of Student densities, and their tail."""

    constants: Floats
    tail: float


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
    return float(top + math.log(total))


@kernel
def student(level: float, n: int, q: float, tail: float) -> float:
    """Return the log density of n cells whose quadratic form is q; ``level`` is what does not depend on q."""
    return level - 0.5 * (tail + n) * math.log1p(max(q, 0.0) / tail)


@kernel
def kept_density(state: State, law: Law, n: int) -> float:
    """Return the log density of the n kept cells."""
    terms = np.empty(len(state.q))
    for k in range(len(terms)):
        level = state.log_weight[k] + law.constants[n] + state.ld[k]
        terms[k] = student(level, n, state.q[k], law.tail)
    return log_sum(terms)


@kernel
def sweep(state: State, j: int) -> None:
    """Take cell j out, or put it back if it is out."""
    sign = -1.0 if state.out[j] else 1.0
    n_components, d = state.r.shape
    line = np.empty(d)
    for k in range(n_components):
        w, r = state.W[k], state.r[k]
        for a in range(j):
            line[a] = w[j, a]
        for a in range(j, d):
            line[a] = w[a, j]
        pivot = line[j]
        force = r[j] / pivot
        state.q[k] -= r[j] * force
        state.ld[k] -= 0.5 * math.log(abs(pivot))
        for a in range(d):
            r[a] -= line[a] * force
        for a in range(d):
            part = line[a] / pivot
            for b in range(a + 1):
                w[a, b] -= part * line[b]
        for a in range(j):
            w[j, a] = sign * line[a] / pivot
        for a in range(j + 1, d):
            w[a, j] = sign * line[a] / pivot
        w[j, j] = -1.0 / pivot
        r[j] = sign * force
    state.out[j] = not state.out[j]


@kernel
def toggle_gains(state: State, law: Law, n: int, gains: Floats) -> None:
    """Fill ``gains`` with the change of the log density of the n kept cells by toggling each cell."""
    n_components = len(state.q)
    terms = np.empty(n_components)
    before = kept_density(state, law, n)
    for j in range(len(gains)):
        m = n + 1 if state.out[j] else n - 1
        for k in range(n_components):
            w = state.W[k, j, j]
            level = state.log_weight[k] + law.constants[m] + state.ld[k] - 0.5 * math.log(abs(w))
            terms[k] = student(level, m, state.q[k] - state.r[k, j] * state.r[k, j] / w, law.tail)
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
def prefix_gains(state: State, law: Law, n: int, m: int, sign: int, space: Space) -> None:
    """Fill ``space.gains[:m]``: change of the log density of the n kept cells by toggling prefixes of ``space.order``.

    All of these cells are kept (sign 1) or all of them are out (sign -1).
    """
    n_components = len(state.q)
    terms = np.empty((m, n_components))
    for k in range(n_components):
        prefix_forms(state.W[k], float(sign), state.r[k], space.order, m, space.upper, space.forms)
        for a in range(m):
            kept = n - sign * (a + 1)
            level = state.log_weight[k] + law.constants[kept] + state.ld[k] - space.forms[1, a]
            terms[a, k] = student(level, kept, state.q[k] - sign * space.forms[0, a], law.tail)
    before = kept_density(state, law, n)
    for a in range(m):
        space.gains[a] = log_sum(terms[a]) - before


@kernel
def alone_densities(
    covariance: Floats, away: Floats, log_weight: Floats, chosen: Integers, law: Law, m: int, space: Space
) -> None:
    """Fill ``space.alone[:m]`` with the log density of prefixes of ``space.order[:m]`` by themselves.

    ``chosen`` are the components that are considered.
    """
    n_components = len(chosen)
    terms = np.empty((m, n_components))
    for i in range(n_components):
        k = chosen[i]
        prefix_forms(covariance[k], 1.0, away[k], space.order, m, space.upper, space.forms)
        for a in range(m):
            level = log_weight[k] + law.constants[a + 1] - space.forms[1, a]
            terms[a, i] = student(level, a + 1, space.forms[0, a], law.tail)
    for a in range(m):
        space.alone[a] = log_sum(terms[a])


@kernel
def drop_unlikely(state: State, law: Law, n: int) -> State:
    """Return the state under the components that are not far behind the best one; the others' memory is reused."""
    n_components, d = state.r.shape
    terms = np.empty(n_components)
    top = -np.inf
    for k in range(n_components):
        level = state.log_weight[k] + law.constants[n] + state.ld[k]
        terms[k] = student(level, n, state.q[k], law.tail)
        top = max(top, terms[k])
    kept = 0
    for k in range(n_components):
        if terms[k] > top - (FAR_BEHIND if d <= NARROW else FAR_BEHIND_IN_WIDE_ROWS):
            if kept < k:
                for a in range(d):
                    state.r[kept, a] = state.r[k, a]
                    for b in range(a + 1):
                        state.W[kept, a, b] = state.W[k, a, b]
                state.q[kept], state.ld[kept], state.log_weight[kept] = state.q[k], state.ld[k], state.log_weight[k]
            kept += 1
    return State(state.W[:kept], state.r[:kept], state.q[:kept], state.ld[:kept], state.log_weight[:kept], state.out)
