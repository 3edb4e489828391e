"""Moves that improve the set of overwritten cells of a row: cells toggled, borders moved, runs added or put back."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemend.mender.compiled import kernel
from treemend.mender.evidence import FOREIGN, NOISE, SHIFT
from treemend.mender.swept import (
    Law,
    Space,
    State,
    alone_densities,
    inlined,
    log_sum,
    prefix_gains,
    student,
    sweep,
    toggle_gains,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Labels = NDArray[np.int8]
Booleans = NDArray[np.bool_]

KEPT, PUT_BACK = -1, -2
BORDER_MOVES = 12
# Largest share of a row that a set may cover in the search, and that a further run may have.
MOST_OUT, LONGEST_FURTHER_RUN = 0.7, 0.35


class Mixture(NamedTuple):
    """The density of the observed cells, as kernels read it."""

    centre: Floats  # K x d
    covariance: Floats  # K x d x d
    precision: Floats  # K x d x d
    log_weight: Floats  # K
    log_det: Floats  # K, half the log determinant of the precision
    information: Floats  # K, sum of the precision


class Rules(NamedTuple):
    """How cells lie, what sets cost, and how long the search goes on."""

    joined: Booleans  # d
    edges: Integers
    prior: Floats  # d + 2 x d + 2: of n cells in R runs
    extra: Floats  # 5: what each kind costs beyond noise
    widest: int
    reach: int
    rounds: int
    steps: int


@kernel
def new_space(d: int) -> Space:
    """Return memory for rows of d cells."""
    return Space(np.empty(d, np.int64), np.empty((d, d)), np.empty((2, d)), np.empty(d), np.empty(d))


@kernel
def count_runs(labels: Labels, joined: Booleans, kind: int) -> tuple[int, int]:
    """Return how many cells of a kind there are (any kind: -1), and in how many runs."""
    n, runs = 0, 0
    for j in range(len(labels)):
        if labels[j] >= 0 and (kind < 0 or labels[j] == kind):
            n += 1
            if j == 0 or not joined[j] or labels[j - 1] < 0 or (kind >= 0 and labels[j - 1] != kind):
                runs += 1
    return n, runs


@kernel
def _noise_beside(labels: Labels, joined: Booleans, lo: int, hi: int) -> int:
    """Return how many of the two runs beside the cells lo to hi are of noise."""
    beside = 0
    if lo > 0 and joined[lo] and labels[lo - 1] == NOISE:
        beside += 1
    if hi < len(labels) and joined[hi] and labels[hi] == NOISE:
        beside += 1
    return beside


@inlined
def grow_cells(law: Law, rules: Rules, state: State, u: Floats, labels: Labels, space: Space) -> None:
    """Toggle the best cell while that gains; a set does not become empty again."""
    d = len(u)
    n, runs = count_runs(labels, rules.joined, NOISE)
    n_out = count_runs(labels, rules.joined, -1)[0]
    only_noise = n == n_out
    for _ in range(rules.steps):
        toggle_gains(state, law, d - n_out, space.gains)
        best, at, best_runs = 1e-6, -1, 0
        for j in range(d):
            if labels[j] > NOISE:
                continue
            beside = _noise_beside(labels, rules.joined, j, j + 1)
            if labels[j] == NOISE:
                if only_noise and n == 1:
                    continue
                change, new_runs, value = -1, runs + beside - 1, space.gains[j] - u[j]
            else:
                if n_out + 1 > MOST_OUT * d:
                    continue
                change, new_runs, value = 1, runs + 1 - beside, space.gains[j] + u[j]
            value += rules.prior[n + change, new_runs] - rules.prior[n, runs]
            if value > best:
                best, at, best_runs = value, j, new_runs
        if at < 0:
            break
        change = -1 if labels[at] == NOISE else 1
        n, n_out, runs = n + change, n_out + change, best_runs
        labels[at] = KEPT if labels[at] == NOISE else NOISE
        sweep(state, at)


@kernel
def _border_cells(rules: Rules, state: State, lo: int, hi: int, side: int, sign: int, order: Integers) -> int:
    """Fill ``order`` with the cells that a border could take in (sign 1) or give back (sign -1); return how many.

    ``side`` is 1 for the upper border and -1 for the lower one.
    """
    m = 0
    if sign == 1:
        at = hi if side == 1 else lo - 1
        while 0 <= at < len(rules.joined) and m < rules.reach and hi - lo + m < rules.widest:
            if state.out[at] or not rules.joined[at if side == 1 else at + 1]:
                break
            order[m] = at
            m += 1
            at += side
    else:
        at = hi - 1 if side == 1 else lo
        while m < rules.reach and hi - lo - m > 1:
            order[m] = at
            m += 1
            at -= side
    return m


@inlined
def move_borders(
    mix: Mixture,
    law: Law,
    rules: Rules,
    state: State,
    away: Floats,
    donors: Integers,
    u: Floats,
    labels: Labels,
    lo: int,
    hi: int,
    kind: int,
    space: Space,
) -> tuple[int, int]:
    """Move the borders of a run of noise or foreign cells while its log odds grow."""
    d = len(u)
    for _ in range(BORDER_MOVES):
        n, runs = count_runs(labels, rules.joined, NOISE)
        n_out = count_runs(labels, rules.joined, -1)[0]
        best, best_side, best_m = 1e-6, 0, 0
        for side in (1, -1):
            if kind == FOREIGN:
                # The run by itself, and all it could become at this border: prefixes from the other border.
                m = _border_cells(rules, state, lo, hi, side, 1, space.order)
                for a in range(m + hi - lo):
                    space.order[a] = lo + a if side == 1 else hi - 1 - a
                alone_densities(mix.covariance, away, mix.log_weight, donors, law, m + hi - lo, space)
            for sign in (1, -1):
                m = _border_cells(rules, state, lo, hi, side, sign, space.order)
                if m == 0:
                    continue
                prefix_gains(state, law, d - n_out, m, sign, space)
                slopes = 0.0
                for a in range(m):
                    slopes += sign * u[space.order[a]]
                    if kind == FOREIGN:
                        alone = space.alone[hi - lo - 1 + sign * (a + 1)] - space.alone[hi - lo - 1]
                        value = space.gains[a] + alone
                    else:
                        value = space.gains[a] + slopes + rules.prior[n + sign * (a + 1), runs] - rules.prior[n, runs]
                    if value > best:
                        best, best_side, best_m = value, side, sign * (a + 1)
        if best_side == 0:
            break
        sign = 1 if best_m > 0 else -1
        m = _border_cells(rules, state, lo, hi, best_side, sign, space.order)
        for a in range(abs(best_m)):
            labels[space.order[a]] = kind if sign == 1 else KEPT
            sweep(state, space.order[a])
        if best_side == 1:
            hi += best_m
        else:
            lo -= best_m
    return lo, hi


@inlined
def best_run_move(
    mix: Mixture,
    law: Law,
    rules: Rules,
    state: State,
    away: Floats,
    donors: Integers,
    u: Floats,
    labels: Labels,
    foreign_too: bool,
    space: Space,
) -> tuple[int, int, int]:
    """Return borders and kind of the best whole-run move: a run that goes out, or comes back (PUT_BACK); lo -1: none.

    Short runs begin anywhere, long ones begin or end at an edge of the coarse windows.
    """
    d = len(u)
    order = space.order
    n, runs = count_runs(labels, rules.joined, NOISE)
    n_out = count_runs(labels, rules.joined, -1)[0]
    longest, short = max(2, int(LONGEST_FURTHER_RUN * d)), max(6, d // 12)
    edge = np.zeros(d + 1, np.bool_)
    for at in rules.edges:
        edge[at] = True
    best, best_lo, best_hi, best_kind = 1e-6, -1, -1, -1
    for side in (1, -1):
        for start in range(d + 1):
            at = start if side == 1 else start - 1
            if (side == -1 and not edge[start]) or at < 0 or at >= d or labels[at] > NOISE:
                continue
            back = labels[at] == NOISE
            far = longest if edge[start] else short
            m = 0
            while 0 <= at < d and m < far and labels[at] <= NOISE and (labels[at] == NOISE) == back:
                if m > 0 and not rules.joined[at if side == 1 else at + 1]:
                    break
                order[m] = at
                m += 1
                at += side
            sign = -1 if back else 1
            prefix_gains(state, law, d - n_out, m, sign, space)
            if foreign_too and not back:
                alone_densities(mix.covariance, away, mix.log_weight, donors, law, m, space)
            slopes = 0.0
            for a in range(m):
                slopes += sign * u[order[a]]
                lo, hi = min(order[0], order[a]), max(order[0], order[a]) + 1
                new_n = n + sign * (a + 1)
                if (new_n < 1 and n == n_out) or (not back and n_out + a + 1 > MOST_OUT * d):
                    continue
                new_runs = runs + sign * (1 - _noise_beside(labels, rules.joined, lo, hi))
                change = space.gains[a] + rules.prior[new_n, new_runs] - rules.prior[n, runs]
                if change + slopes > best:
                    best, best_lo, best_hi, best_kind = change + slopes, lo, hi, PUT_BACK if back else NOISE
                if foreign_too and not back and a > 0:
                    value = change + space.alone[a] - rules.extra[FOREIGN]
                    if value > best:
                        best, best_lo, best_hi, best_kind = value, lo, hi, FOREIGN
    return best_lo, best_hi, best_kind


@inlined
def best_shift(
    mix: Mixture, law: Law, rules: Rules, r: Floats, q: Floats, chosen: Integers, lo: int, hi: int
) -> tuple[float, int, int]:
    """Return the log density of the row with a common shift of its best run near lo to hi, and that run."""
    n_components, d = len(chosen), r.shape[1]
    first, last = max(0, lo - rules.reach), min(d, hi + rules.reach)
    m = last - first
    sums = np.zeros((n_components, m, m + 1))
    for i in range(n_components):
        for b in range(m):
            for c in range(m):
                sums[i, b, c + 1] = sums[i, b, c] + mix.precision[chosen[i], first + b, first + c]
    terms = np.empty(n_components)
    information, force = np.empty(n_components), np.empty(n_components)
    best, best_lo, best_hi = -np.inf, lo, hi
    for start in range(first, min(last, lo + rules.reach + 1)):
        for i in range(n_components):
            information[i], force[i] = 0.0, 0.0
        for b in range(start, min(last, start + rules.widest)):
            if b > start and not rules.joined[b]:
                break
            for i in range(n_components):
                line = sums[i, b - first]
                before = line[b - first] - line[start - first]
                information[i] += 2.0 * before + line[b - first + 1] - line[b - first]
                force[i] += r[chosen[i], b]
            if b + 1 < hi - rules.reach:
                continue
            for i in range(n_components):
                k = chosen[i]
                growth = 1.0 + SHIFT * SHIFT * information[i]
                level = mix.log_weight[k] + law.constants[d] + mix.log_det[k] - 0.5 * math.log(growth)
                terms[i] = student(level, d, q[k] - SHIFT * SHIFT * force[i] ** 2 / growth, law.tail)
            value = log_sum(terms)
            if value > best:
                best, best_lo, best_hi = value, start, b + 1
    return best, best_lo, best_hi
