"""The set of overwritten cells of a row, and the kind of each of its runs.

From each start (the best window for noise, foreign and shifted, the stuck run, nothing) the set is improved while its
log odds grow: borders of a run are moved, single cells toggled, whole runs added or put back. The start that ends with
the largest log odds J is kept: ``J = log p(kept) - log p(row) + sum of log slopes over noise cells + sum of log p(run
alone) over foreign runs [+ gain of the shift] + prior(n, R)``.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemend.mender.compiled import kernel
from treemend.mender.evidence import FOREIGN, NOISE, SHIFTED, SINGLE
from treemend.mender.moves import (
    KEPT,
    PUT_BACK,
    Mixture,
    Rules,
    best_run_move,
    best_shift,
    count_runs,
    grow_cells,
    move_borders,
    new_space,
)
from treemend.mender.swept import (
    FAR_BEHIND,
    FAR_BEHIND_IN_WIDE_ROWS,
    NARROW,
    Law,
    Space,
    State,
    alone_densities,
    drop_unlikely,
    inlined,
    kept_density,
    log_sum,
    prefix_forms,
    student,
    sweep,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Labels = NDArray[np.int8]
Booleans = NDArray[np.bool_]

# A start is not followed if it begins this many nats behind what another one has reached: 20 with FAR_BEHIND = 8 is six
# times as fast on digits and loses .11 to .15 of the quality of two and three stretches, so in rows of up to `NARROW`
# cells all starts are followed.
HOPELESS, HOPELESS_IN_WIDE_ROWS = 1e9, 20.0
# A move of the whole row costs this many nats.
MOVE_PRICE, MOVE_STEPS = 1.5, 20


class Answers(NamedTuple):
    """What is said of n rows."""

    labels: Labels  # n x d: kind of each cell, -1 where kept
    odds: Floats  # n: log odds of the set
    evidence: Floats  # n: the same before the prior
    rest: Floats  # n: quadratic form of the kept cells under their likeliest component
    move: Floats  # n: log odds of a common move of all cells


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
        if terms[k] > top - (FAR_BEHIND if d <= NARROW else FAR_BEHIND_IN_WIDE_ROWS):
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
        if terms[k] > top - (FAR_BEHIND if away.shape[1] <= NARROW else FAR_BEHIND_IN_WIDE_ROWS):
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
        moved, lo, hi = best_shift(mix, law, rules, r, q, chosen, lo, hi)
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
            lo, hi = move_borders(mix, law, rules, state, away, donors, u, labels, lo, hi, move, space)
        if move == FOREIGN:
            m = 0
            for j in range(lo, hi):
                if labels[j] == FOREIGN:
                    space.order[m] = j
                    m += 1
            alone_densities(mix.covariance, away, mix.log_weight, donors, law, m, space)
            bonus += space.alone[m - 1]
        grow_cells(law, rules, state, u, labels, space)
        n_out = count_runs(labels, rules.joined, -1)[0]
        if turn == rules.rounds or n_out >= 0.6 * d:
            break
        state = drop_unlikely(state, law, d - n_out)
        lo, hi, move = best_run_move(mix, law, rules, state, away, donors, u, labels, foreign_too, space)
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
            if kind < 0 or first_odds[i, kind] < answers.odds[i] - (HOPELESS if d <= NARROW else HOPELESS_IN_WIDE_ROWS):
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
