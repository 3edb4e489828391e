"""The set of overwritten cells of a row, and the kind of each of its runs.

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
from treemend.mender.evidence import FOREIGN, NOISE, SHIFT, SHIFTED, SINGLE
from treemend.mender.swept import (
    FAR_BEHIND,
    Law,
    Space,
    State,
    alone_densities,
    drop_unlikely,
    inlined,
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

KEPT, PUT_BACK = -1, -2
BORDER_MOVES = 12
# Largest share of a row that a set may cover in the search, and that a further run may have.
MOST_OUT, LONGEST_FURTHER_RUN = 0.7, 0.35
# A start is not followed if it begins this many nats behind what another one has reached
# 20 with FAR_BEHIND = 8 is six times as fast on digits (.6 ms a row) and loses .11 to .15 of the quality of
# two and three stretches; so all starts are followed.
HOPELESS = 1e9
# A move of the whole row costs this many nats.
MOVE_PRICE, MOVE_STEPS = 1.5, 20


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


class Answers(NamedTuple):
    """What is said of n rows."""

    labels: Labels  # n x d: kind of each cell, -1 where kept
    odds: Floats  # n: log odds of the set
    evidence: Floats  # n: the same before the prior
    rest: Floats  # n: quadratic form of the kept cells under their likeliest component
    move: Floats  # n: log odds of a common move of all cells


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
def _grow_cells(law: Law, rules: Rules, state: State, u: Floats, labels: Labels, space: Space) -> None:
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
def _move_borders(
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
def _best_run_move(
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
def _best_shift(
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


@kernel
def row_state(mix: Mixture, law: Law, row: Floats, away: Floats, r: Floats, q: Floats) -> float:
    """Fill deviations, forces and quadratic forms of a row with nothing out; return its log density."""
    n_components, d = away.shape
    terms = np.empty(n_components)
    for k in range(n_components):
        for j in range(d):
            away[k, j] = row[j] - mix.centre[k, j]
            r[k, j] = 0.0
        for b in range(d):
            part = away[k, b]
            for a in range(d):
                r[k, a] += mix.precision[k, b, a] * part
        q[k] = 0.0
        for j in range(d):
            q[k] += r[k, j] * away[k, j]
        terms[k] = student(mix.log_weight[k] + law.constants[d] + mix.log_det[k], d, q[k], law.tail)
    return log_sum(terms)


@inlined
def _move_gain(mix: Mixture, law: Law, r: Floats, q: Floats, whole: float) -> float:
    """Return how much likelier a row is with all its cells moved by one common amount, after the price of that."""
    n_components, d = r.shape
    terms = np.empty(n_components)
    for k in range(n_components):
        force = 0.0
        for j in range(d):
            force += r[k, j]
        information = mix.information[k]
        terms[k] = -np.inf
        # Two beginnings: no move, and the move that is best for the quadratic form alone.
        for begin in range(2):
            amount = 0.0 if begin == 0 else force / information
            for _ in range(MOVE_STEPS):
                form = max(q[k] - 2 * amount * force + amount * amount * information, 0.0)
                weight = (law.tail + d) / (law.tail + form)
                amount = weight * force / (weight * information + 1.0)
            form = max(q[k] - 2 * amount * force + amount * amount * information, 0.0)
            value = student(mix.log_weight[k] + mix.log_det[k] + law.constants[d], d, form, law.tail)
            terms[k] = max(terms[k], value - 0.5 * amount * amount)
    return log_sum(terms) - whole - MOVE_PRICE


@kernel
def _likely(mix: Mixture, law: Law, r: Floats, q: Floats, m: int, space: Space, chosen: Integers) -> int:
    """Fill ``chosen`` with the components not far behind the best once ``space.order[:m]`` are out; return how many.

    Where all cells are asked about (m 0), those of the row as it is.
    """
    n_components, d = r.shape
    terms = np.empty(n_components)
    top = -np.inf
    for k in range(n_components):
        form, half = 0.0, 0.0
        if m > 0:
            prefix_forms(mix.precision[k], 1.0, r[k], space.order, m, space.upper, space.forms)
            form, half = space.forms[0, m - 1], space.forms[1, m - 1]
        terms[k] = student(
            mix.log_weight[k] + law.constants[d - m] + mix.log_det[k] - half, d - m, q[k] - form, law.tail
        )
        top = max(top, terms[k])
    count = 0
    for k in range(n_components):
        if terms[k] > top - FAR_BEHIND:
            chosen[count] = k
            count += 1
    return count


@inlined
def _likely_alone(mix: Mixture, law: Law, away: Floats, m: int, space: Space, donors: Integers) -> int:
    """Fill ``donors`` with the components not far behind the best for ``space.order[:m]`` alone; return how many."""
    n_components = len(mix.log_weight)
    terms = np.empty(n_components)
    top = -np.inf
    for k in range(n_components):
        prefix_forms(mix.covariance[k], 1.0, away[k], space.order, m, space.upper, space.forms)
        level = mix.log_weight[k] + law.constants[m] - space.forms[1, m - 1]
        terms[k] = student(level, m, space.forms[0, m - 1], law.tail)
        top = max(top, terms[k])
    count = 0
    for k in range(n_components):
        if terms[k] > top - FAR_BEHIND:
            donors[count] = k
            count += 1
    return count


@inlined
def _search(
    mix: Mixture,
    law: Law,
    rules: Rules,
    state: State,
    r: Floats,
    q: Floats,
    away: Floats,
    chosen: Integers,
    donors: Integers,
    u: Floats,
    whole: float,
    kind: int,
    start: Labels,
    space: Space,
    labels: Labels,
) -> tuple[float, float]:
    """Find the set of one row from one start; return its log odds and the form of its rest, and fill ``labels``.

    ``state`` is that of the row with nothing out under the ``chosen`` components; ``start`` marks the cells to begin
    with; foreign runs by themselves are judged by the components ``donors``.
    """
    d = len(u)
    lo, hi = d, 0
    for j in range(d):
        labels[j] = KEPT
        if kind != SINGLE and start[j]:
            lo, hi = min(lo, j), j + 1
            labels[j] = kind
    bonus, moved = -rules.extra[kind], 0.0
    if kind == SHIFTED:
        moved, lo, hi = _best_shift(mix, law, rules, r, q, chosen, lo, hi)
        for j in range(d):
            labels[j] = SHIFTED if lo <= j < hi else KEPT
    n_out = 0
    for j in range(d):
        if labels[j] >= 0:
            sweep(state, j)
            n_out += 1
    state = drop_unlikely(state, law, d - n_out)
    if kind == SHIFTED:
        bonus += moved - kept_density(state, law, d - n_out)
    foreign_too = kind in (FOREIGN, SHIFTED)
    move = kind
    for turn in range(rules.rounds + 1):
        if rules.rounds > 0 and move in (NOISE, FOREIGN):
            lo, hi = _move_borders(mix, law, rules, state, away, donors, u, labels, lo, hi, move, space)
        if move == FOREIGN:
            m = 0
            for j in range(lo, hi):
                if labels[j] == FOREIGN:
                    space.order[m] = j
                    m += 1
            alone_densities(mix.covariance, away, mix.log_weight, donors, law, m, space)
            bonus += space.alone[m - 1]
        _grow_cells(law, rules, state, u, labels, space)
        n_out = count_runs(labels, rules.joined, -1)[0]
        if turn == rules.rounds or n_out >= 0.6 * d:
            break
        state = drop_unlikely(state, law, d - n_out)
        lo, hi, move = _best_run_move(mix, law, rules, state, away, donors, u, labels, foreign_too, space)
        if lo < 0:
            break
        for j in range(lo, hi):
            labels[j] = KEPT if move == PUT_BACK else move
            sweep(state, j)
        if move == FOREIGN:
            bonus -= rules.extra[FOREIGN]
    n, runs = count_runs(labels, rules.joined, -1)
    odds = kept_density(state, law, d - n) - whole + bonus + rules.prior[n, runs]
    for j in range(d):
        if labels[j] == NOISE:
            odds += u[j]
    form, best = 0.0, -np.inf
    for k in range(len(state.q)):
        value = student(state.log_weight[k] + state.ld[k], d - n, state.q[k], law.tail)
        if value > best:
            best, form = value, max(state.q[k], 0.0)
    return odds, form


@kernel
def find_rows(
    mix: Mixture,
    law: Law,
    rules: Rules,
    rows: Floats,
    u: Floats,
    starts: Labels,
    first_odds: Floats,
    answers: Answers,
) -> None:
    """Find the best set of each row.

    ``starts`` (n, 4, d) marks the cells to begin with for noise, foreign, shifted and stuck; ``first_odds`` (n, 5) are
    the log odds of each start, -inf for starts that are not tried.
    """
    n, d = rows.shape
    n_components = len(mix.log_weight)
    space = new_space(d)
    away, r, q = np.empty((n_components, d)), np.empty((n_components, d)), np.empty(n_components)
    matrices = np.empty((n_components, d, d))
    part_r, part_q, part_ld = np.empty((n_components, d)), np.empty(n_components), np.empty(n_components)
    part_weight, out = np.empty(n_components), np.empty(d, np.bool_)
    labels = np.empty(d, np.int8)
    chosen, donors = np.empty(n_components, np.int64), np.empty(n_components, np.int64)
    for i in range(n):
        whole = row_state(mix, law, rows[i], away, r, q)
        answers.move[i] = _move_gain(mix, law, r, q, whole)
        answers.odds[i], answers.evidence[i], answers.rest[i] = -np.inf, -np.inf, 0.0
        for j in range(d):
            answers.labels[i, j] = KEPT
        tried = 0
        while tried < 5:
            # The most promising start that is left.
            kind = -1
            for e in range(5):
                if first_odds[i, e] > -np.inf and (kind < 0 or first_odds[i, e] > first_odds[i, kind]):
                    kind = e
            if kind < 0 or first_odds[i, kind] < answers.odds[i] - HOPELESS:
                break
            tried += 1
            first_odds[i, kind] = -np.inf
            start = starts[i, kind if kind != SINGLE else NOISE]
            m = 0
            for j in range(d):
                if start[j]:
                    space.order[m] = j
                    m += 1
            count = _likely(mix, law, r, q, m, space, chosen)
            n_donors = count
            if kind in (FOREIGN, SHIFTED):
                # Where a foreign run comes from: what is likely for it by itself.
                n_donors = _likely_alone(mix, law, away, m, space, donors)
            if kind == SINGLE and m > 0:
                n_whole = _likely(mix, law, r, q, 0, space, donors)
                for a in range(n_whole):
                    known = False
                    for b in range(count):
                        known |= chosen[b] == donors[a]
                    if not known:
                        chosen[count] = donors[a]
                        count += 1
            for b in range(count):
                k = chosen[b]
                part_q[b], part_ld[b], part_weight[b] = q[k], mix.log_det[k], mix.log_weight[k]
                for a in range(d):
                    part_r[b, a] = r[k, a]
                    for c in range(a + 1):
                        matrices[b, a, c] = mix.precision[k, a, c]
            for j in range(d):
                out[j] = False
            state = State(matrices[:count], part_r[:count], part_q[:count], part_ld[:count], part_weight[:count], out)
            odds, form = _search(
                mix,
                law,
                rules,
                state,
                r,
                q,
                away,
                chosen[:count],
                donors[:n_donors],
                u[i],
                whole,
                kind,
                start,
                space,
                labels,
            )
            n_out, runs = count_runs(labels, rules.joined, -1)
            if odds > answers.odds[i] and n_out > 0:
                answers.odds[i], answers.evidence[i] = odds, odds - rules.prior[n_out, runs]
                answers.rest[i] = form
                for j in range(d):
                    answers.labels[i, j] = labels[j]
