"""The set of overwritten cells of a declared row, and the kind of each of its runs.

From each start (the best window for noise, foreign and shifted, the stuck run, nothing) the set is improved while its
log odds grow: borders of a run are moved, single cells toggled, whole runs added or put back. The start that ends with
the largest log odds J is kept: ``J = log p(kept) - log p(row) + sum of log slopes over noise cells + sum of log p(run
alone) over foreign runs [+ gain of the shift] + prior(n, R)``.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemend.mender.compiled import kernel
from treemend.mender.evidence import FOREIGN, NOISE, SHIFT, SHIFTED, SINGLE, STUCK
from treemend.mender.swept import (
    FAR_BEHIND,
    alone_densities,
    kept_density,
    log_sum,
    prefix_forms,
    prefix_gains,
    student,
    sweep,
    toggle_gains,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Labels = NDArray[np.int8]
Booleans = NDArray[np.bool_]

KEPT = -1
ROUNDS = 10
BORDER_MOVES = 12
# Largest share of a row that a set may cover in the search, and that a further run may have.
MOST_OUT = 0.7
LONGEST_FURTHER_RUN = 0.35
PUT_BACK = -2


class Mixture(NamedTuple):
    """The density of the observed cells, as kernels read it."""

    centre: Floats  # K x d
    covariance: Floats  # K x d x d
    precision: Floats  # K x d x d
    log_weight: Floats  # K
    log_det: Floats  # K, half the log determinant of the precision
    constants: Floats  # d + 1
    tail: float


class Rules(NamedTuple):
    """How cells lie, and what sets cost."""

    joined: Booleans  # d
    edges: Integers
    prior: Floats  # d + 2 x d + 2: of n cells in R runs
    extra: Floats  # 5: what each kind costs beyond noise
    widest: int
    reach: int


class State(NamedTuple):
    """A row with some cells out; see `swept`."""

    W: Floats  # K x d x d
    r: Floats  # K x d
    q: Floats  # K
    ld: Floats  # K
    out: Booleans  # d


class Space(NamedTuple):
    """Memory that the moves of a row share."""

    order: Integers  # d
    upper: Floats  # d x d
    forms: Floats  # 2 x d
    gains: Floats  # d
    alone: Floats  # d


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


@kernel
def grow_cells(mix: Mixture, rules: Rules, state: State, u: Floats, labels: Labels, steps: int, space: Space) -> float:
    """Toggle the best cell while that gains; return the sum of the gains. A set does not become empty again."""
    d = len(u)
    n, runs = count_runs(labels, rules.joined, NOISE)
    n_out = 0
    for j in range(d):
        n_out += labels[j] >= 0
    only_noise = n == n_out
    most = int(MOST_OUT * d)
    total = 0.0
    for _ in range(steps):
        toggle_gains(
            state.W,
            state.r,
            state.q,
            state.ld,
            mix.log_weight,
            mix.constants,
            mix.tail,
            d - n_out,
            state.out,
            space.gains,
        )
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
                if n_out >= most:
                    continue
                change, new_runs, value = 1, runs + 1 - beside, space.gains[j] + u[j]
            value += rules.prior[n + change, new_runs] - rules.prior[n, runs]
            if value > best:
                best, at, best_runs = value, j, new_runs
        if at < 0:
            break
        change = -1 if labels[at] == NOISE else 1
        n += change
        n_out += change
        runs = best_runs
        labels[at] = KEPT if labels[at] == NOISE else NOISE
        sweep(state.W, state.r, state.q, state.ld, state.out, at)
        total += best
    return total


@kernel
def _move_borders(
    mix: Mixture,
    rules: Rules,
    state: State,
    away: Floats,
    u: Floats,
    labels: Labels,
    lo: int,
    hi: int,
    kind: int,
    space: Space,
) -> tuple[int, int]:
    """Move the borders of a run of noise or foreign cells while its log odds grow."""
    d = len(u)
    order, gains, alone = space.order, space.gains, space.alone
    for _ in range(BORDER_MOVES):
        n, runs = count_runs(labels, rules.joined, NOISE)
        n_out = count_runs(labels, rules.joined, -1)[0]
        best, best_side, best_m = 1e-6, -1, 0
        for side in range(2):
            step = 1 if side == 1 else -1
            if kind == FOREIGN:
                # By itself: every prefix from the other border, up to what can be added here.
                m = 0
                at = lo if side == 1 else hi - 1
                while 0 <= at < d and m < rules.widest and (m < hi - lo + rules.reach):
                    if m >= hi - lo and (state.out[at] or not rules.joined[at if side == 1 else at + 1]):
                        break
                    order[m] = at
                    m += 1
                    at += step
                alone_densities(
                    mix.covariance,
                    away,
                    mix.log_weight,
                    mix.constants,
                    mix.tail,
                    order,
                    m,
                    space.upper,
                    space.forms,
                    alone,
                )
            for sign in (1, -1):
                m = 0
                at = (hi if side == 1 else lo - 1) if sign == 1 else (hi - 1 if side == 1 else lo)
                if sign == 1:
                    while 0 <= at < d and m < rules.reach and hi - lo + m < rules.widest:
                        if state.out[at] or not rules.joined[at if side == 1 else at + 1]:
                            break
                        order[m] = at
                        m += 1
                        at += step
                else:
                    while m < rules.reach and hi - lo - m > 1:
                        order[m] = at
                        m += 1
                        at -= step
                if m == 0:
                    continue
                prefix_gains(
                    state.W,
                    state.r,
                    state.q,
                    state.ld,
                    mix.log_weight,
                    mix.constants,
                    mix.tail,
                    d - n_out,
                    order,
                    m,
                    sign,
                    space.upper,
                    space.forms,
                    gains,
                )
                slopes = 0.0
                for a in range(m):
                    slopes += sign * u[order[a]]
                    if kind == FOREIGN:
                        value = gains[a] + alone[hi - lo + sign * (a + 1) - 1] - alone[hi - lo - 1]
                    else:
                        value = gains[a] + slopes + rules.prior[n + sign * (a + 1), runs] - rules.prior[n, runs]
                    if value > best:
                        best, best_side, best_m = value, side, sign * (a + 1)
        if best_side < 0:
            break
        for _ in range(abs(best_m)):
            if best_m > 0:
                at = hi if best_side == 1 else lo - 1
            else:
                at = hi - 1 if best_side == 1 else lo
            labels[at] = kind if best_m > 0 else KEPT
            sweep(state.W, state.r, state.q, state.ld, state.out, at)
            if best_side == 1:
                hi += 1 if best_m > 0 else -1
            else:
                lo -= 1 if best_m > 0 else -1
    return lo, hi


@kernel
def _best_run_move(
    mix: Mixture, rules: Rules, state: State, away: Floats, u: Floats, labels: Labels, foreign_too: bool, space: Space
) -> tuple[float, int, int, int]:
    """Return the gain, borders and kind of the best whole-run move: a run that goes out, or comes back (PUT_BACK).

    Short runs begin anywhere, long ones begin or end at an edge of the coarse windows.
    """
    d = len(u)
    order, gains, alone = space.order, space.gains, space.alone
    n, runs = count_runs(labels, rules.joined, NOISE)
    n_out = count_runs(labels, rules.joined, -1)[0]
    longest, short = max(2, int(LONGEST_FURTHER_RUN * d)), max(6, d // 12)
    edge = np.zeros(d + 1, np.bool_)
    for at in rules.edges:
        edge[at] = True
    best, best_lo, best_hi, best_kind = 1e-6, -1, -1, -1
    for step in (1, -1):
        for start in range(d + 1):
            at = start if step == 1 else start - 1
            if (step == -1 and not edge[start]) or at < 0 or at >= d or labels[at] > NOISE:
                continue
            back = labels[at] == NOISE
            far = longest if edge[start] else short
            m = 0
            while 0 <= at < d and m < far and labels[at] <= NOISE and (labels[at] == NOISE) == back:
                if m > 0 and not rules.joined[at if step == 1 else at + 1]:
                    break
                order[m] = at
                m += 1
                at += step
            sign = -1 if back else 1
            prefix_gains(
                state.W,
                state.r,
                state.q,
                state.ld,
                mix.log_weight,
                mix.constants,
                mix.tail,
                d - n_out,
                order,
                m,
                sign,
                space.upper,
                space.forms,
                gains,
            )
            if foreign_too and not back:
                alone_densities(
                    mix.covariance,
                    away,
                    mix.log_weight,
                    mix.constants,
                    mix.tail,
                    order,
                    m,
                    space.upper,
                    space.forms,
                    alone,
                )
            slopes = 0.0
            for a in range(m):
                slopes += sign * u[order[a]]
                lo, hi = min(order[0], order[a]), max(order[0], order[a]) + 1
                new_runs = runs + sign * (1 - _noise_beside(labels, rules.joined, lo, hi))
                new_n = n + sign * (a + 1)
                if (new_n < 1 and n == n_out) or (not back and n_out + a + 1 > MOST_OUT * d):
                    continue
                change = gains[a] + rules.prior[new_n, new_runs] - rules.prior[n, runs]
                if change + slopes > best:
                    best, best_lo, best_hi, best_kind = change + slopes, lo, hi, PUT_BACK if back else NOISE
                if foreign_too and not back and a > 0:
                    value = change + alone[a] - rules.extra[FOREIGN]
                    if value > best:
                        best, best_lo, best_hi, best_kind = value, lo, hi, FOREIGN
    return best, best_lo, best_hi, best_kind


@kernel
def _best_shift(
    mix: Mixture, rules: Rules, r: Floats, q: Floats, ld: Floats, lo: int, hi: int
) -> tuple[float, int, int]:
    """Return the log density of the row with a common shift of its best run near lo to hi, and that run."""
    n_components, d = r.shape
    first, last = max(0, lo - rules.reach), min(d, hi + rules.reach)
    m = last - first
    sums = np.zeros((n_components, m, m + 1))
    for k in range(n_components):
        for b in range(m):
            for c in range(m):
                sums[k, b, c + 1] = sums[k, b, c] + mix.precision[k, first + b, first + c]
    terms = np.empty(n_components)
    information, force = np.empty(n_components), np.empty(n_components)
    best, best_lo, best_hi = -np.inf, lo, hi
    for start in range(first, min(last, lo + rules.reach + 1)):
        information[:] = 0.0
        force[:] = 0.0
        for b in range(start, min(last, start + rules.widest)):
            if b > start and not rules.joined[b]:
                break
            for k in range(n_components):
                line = sums[k, b - first]
                before = line[b - first] - line[start - first]
                information[k] += 2.0 * before + line[b - first + 1] - line[b - first]
                force[k] += r[k, b]
            if b + 1 < hi - rules.reach:
                continue
            for k in range(n_components):
                growth = 1.0 + SHIFT * SHIFT * information[k]
                level = mix.log_weight[k] + mix.constants[d] + ld[k] - 0.5 * math.log(growth)
                terms[k] = student(level, d, q[k] - SHIFT * SHIFT * force[k] ** 2 / growth, mix.tail)
            value = log_sum(terms)
            if value > best:
                best, best_lo, best_hi = value, start, b + 1
    return best, best_lo, best_hi


@kernel
def likely_components(
    mix: Mixture, r: Floats, q: Floats, cells: Integers, m: int, space: Space, likely: Booleans
) -> None:
    """Mark the components that are not far behind the best one once ``cells[:m]`` are out."""
    n_components, d = r.shape
    terms = np.empty(n_components)
    top = -np.inf
    for k in range(n_components):
        form, half = 0.0, 0.0
        if m > 0:
            prefix_forms(mix.precision[k], 1.0, r[k], cells, m, space.upper, space.forms)
            form, half = space.forms[0, m - 1], space.forms[1, m - 1]
        level = mix.log_weight[k] + mix.constants[d - m] + mix.log_det[k] - half
        terms[k] = student(level, d - m, q[k] - form, mix.tail)
        top = max(top, terms[k])
    for k in range(n_components):
        if terms[k] > top - FAR_BEHIND:
            likely[k] = True


@kernel
def search(
    mix: Mixture,
    rules: Rules,
    state: State,
    away: Floats,
    u: Floats,
    whole: float,
    kind: int,
    start: Integers,
    m: int,
    space: Space,
    labels: Labels,
) -> float:
    """Find the set of one row from one start; return its log odds, and fill ``labels`` with kinds (-1: kept).

    ``state`` is that of the row with nothing out; ``start[:m]`` are the cells to begin with.
    """
    d = len(u)
    labels[:] = KEPT
    bonus = -rules.extra[kind]
    lo, hi = 0, 0
    moved = 0.0
    if m > 0 and kind != STUCK:
        lo, hi = start[0], start[0]
        for a in range(m):
            lo, hi = min(lo, start[a]), max(hi, start[a])
        hi += 1
    if kind == SHIFTED:
        moved, lo, hi = _best_shift(mix, rules, state.r, state.q, state.ld, lo, hi)
    if kind == STUCK:
        for a in range(m):
            labels[start[a]] = STUCK
    for j in range(lo, hi):
        labels[j] = kind
    n_out = 0
    for j in range(d):
        if labels[j] >= 0:
            sweep(state.W, state.r, state.q, state.ld, state.out, j)
            n_out += 1
    if kind == SHIFTED:
        bonus += moved - kept_density(mix.log_weight, state.ld, state.q, mix.constants, d - n_out, mix.tail)
    foreign_too = kind in (FOREIGN, SHIFTED)
    move = kind
    for turn in range(ROUNDS):
        if move in (NOISE, FOREIGN):
            lo, hi = _move_borders(mix, rules, state, away, u, labels, lo, hi, move, space)
            if move == FOREIGN:
                for j in range(lo, hi):
                    space.order[j - lo] = j
                alone_densities(
                    mix.covariance,
                    away,
                    mix.log_weight,
                    mix.constants,
                    mix.tail,
                    space.order,
                    hi - lo,
                    space.upper,
                    space.forms,
                    space.alone,
                )
                bonus += space.alone[hi - lo - 1]
        grow_cells(mix, rules, state, u, labels, 3 * d, space)
        if turn == ROUNDS - 1 or count_runs(labels, rules.joined, -1)[0] >= 0.6 * d:
            break
        _, lo, hi, move = _best_run_move(mix, rules, state, away, u, labels, foreign_too, space)
        if lo < 0:
            break
        for j in range(lo, hi):
            labels[j] = KEPT if move == PUT_BACK else move
            sweep(state.W, state.r, state.q, state.ld, state.out, j)
        if move == FOREIGN:
            bonus -= rules.extra[FOREIGN]
    n, runs = count_runs(labels, rules.joined, -1)
    if n == 0:
        return -np.inf
    odds = kept_density(mix.log_weight, state.ld, state.q, mix.constants, d - n, mix.tail) - whole
    odds += bonus + rules.prior[n, runs]
    for j in range(d):
        if labels[j] == NOISE:
            odds += u[j]
    return odds


@kernel
def row_state(mix: Mixture, row: Floats, away: Floats, r: Floats, q: Floats) -> float:
    """Fill deviations, forces and quadratic forms of a row with nothing out; return its log density."""
    n_components, d = away.shape
    for k in range(n_components):
        for j in range(d):
            away[k, j] = row[j] - mix.centre[k, j]
            r[k, j] = 0.0
        for b in range(d):
            for a in range(d):
                r[k, a] += mix.precision[k, b, a] * away[k, b]
        q[k] = 0.0
        for j in range(d):
            q[k] += r[k, j] * away[k, j]
    return kept_density(mix.log_weight, mix.log_det, q, mix.constants, d, mix.tail)


@kernel
def _subset(mix: Mixture, chosen: Integers, matrices: bool) -> Mixture:
    """Return some components, with or without their matrices."""
    n, d = len(chosen), mix.centre.shape[1]
    centre, log_weight, log_det = np.empty((n, d)), np.empty(n), np.empty(n)
    covariance = np.empty((n if matrices else 0, d, d))
    precision = np.empty((n if matrices else 0, d, d))
    for i in range(n):
        k = chosen[i]
        centre[i], log_weight[i], log_det[i] = mix.centre[k], mix.log_weight[k], mix.log_det[k]
        if matrices:
            covariance[i], precision[i] = mix.covariance[k], mix.precision[k]
    return Mixture(centre, covariance, precision, log_weight, log_det, mix.constants, mix.tail)


@kernel
def _start_state(mix: Mixture, chosen: Integers, r: Floats, q: Floats, matrices: Floats) -> State:
    """Return the state of a row with nothing out, under some components; ``matrices`` is memory for theirs."""
    n, d = len(chosen), r.shape[1]
    state = State(matrices[:n], np.empty((n, d)), np.empty(n), np.empty(n), np.zeros(d, np.bool_))
    for i in range(n):
        k = chosen[i]
        state.r[i], state.q[i], state.ld[i] = r[k], q[k], mix.log_det[k]
        for a in range(d):
            for b in range(a + 1):
                state.W[i, a, b] = mix.precision[k, a, b]
    return state


@kernel
def _find_rows(
    mix: Mixture,
    rules: Rules,
    rows: Floats,
    u: Floats,
    starts: Labels,
    tried: Booleans,
    labels: Labels,
    odds: Floats,
    evidence: Floats,
) -> None:
    """Fill the labels (n, d), log odds (n,) and log odds before the prior (n,) of the best set of each row.

    ``starts`` (n, 4, d) marks the cells to begin with for each kind; ``tried`` (n, 5) says which starts are tried.
    """
    n, d = rows.shape
    n_components = len(mix.log_weight)
    space = new_space(d)
    away, r, q = np.empty((n_components, d)), np.empty((n_components, d)), np.empty(n_components)
    matrices = np.empty((n_components, d, d))
    found = np.empty(d, np.int8)
    cells = np.empty(d, np.int64)
    for i in range(n):
        whole = row_state(mix, rows[i], away, r, q)
        odds[i] = -np.inf
        labels[i] = KEPT
        for kind in range(5):
            if not tried[i, kind]:
                continue
            likely = np.zeros(n_components, np.bool_)
            m = 0
            for j in range(d):
                if starts[i, kind if kind < SINGLE else NOISE, j]:
                    cells[m] = j
                    m += 1
            likely_components(mix, r, q, cells, m, space, likely)
            if kind == SINGLE:
                m = 0
                likely_components(mix, r, q, cells, m, space, likely)
            chosen = np.flatnonzero(likely)
            some = _subset(mix, chosen, kind in (FOREIGN, SHIFTED))
            state = _start_state(mix, chosen, r, q, matrices)
            value = search(some, rules, state, away[chosen], u[i], whole, kind, cells, m, space, found)
            if value > odds[i]:
                n_out, runs = count_runs(found, rules.joined, -1)
                odds[i], evidence[i] = value, value - rules.prior[n_out, runs]
                labels[i] = found


@kernel
def _single_rows(
    mix: Mixture, rules: Rules, rows: Floats, u: Floats, windows: Labels, steps: int, evidence: Floats
) -> None:
    """Fill the log odds (n,) of the best set of single cells that greedy toggles reach from nothing.

    ``windows`` (n, d) marks each row's best window of noise: components that explain its rest are considered, too.
    """
    n, d = rows.shape
    n_components = len(mix.log_weight)
    space = new_space(d)
    away, r, q = np.empty((n_components, d)), np.empty((n_components, d)), np.empty(n_components)
    matrices = np.empty((n_components, d, d))
    labels, cells = np.empty(d, np.int8), np.empty(d, np.int64)
    for i in range(n):
        row_state(mix, rows[i], away, r, q)
        likely = np.zeros(n_components, np.bool_)
        m = 0
        for j in range(d):
            if windows[i, j]:
                cells[m] = j
                m += 1
        likely_components(mix, r, q, cells, m, space, likely)
        likely_components(mix, r, q, cells, 0, space, likely)
        chosen = np.flatnonzero(likely)
        labels[:] = KEPT
        state = _start_state(mix, chosen, r, q, matrices)
        evidence[i] = grow_cells(_subset(mix, chosen, False), rules, state, u[i], labels, steps, space)


@kernel
def component_of(mix: Mixture, rows: Floats, found: Integers) -> None:
    """Fill the number of the likeliest component of each row."""
    n_components, d = mix.centre.shape
    away, r, q = np.empty((n_components, d)), np.empty((n_components, d)), np.empty(n_components)
    for i in range(len(rows)):
        row_state(mix, rows[i], away, r, q)
        best = -np.inf
        for k in range(n_components):
            value = student(mix.log_weight[k] + mix.log_det[k], d, q[k], mix.tail)
            if value > best:
                best, found[i] = value, k
