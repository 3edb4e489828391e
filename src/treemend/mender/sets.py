"""The set of overwritten cells of a row, and the kind of each of its runs.

A set is sought under one component of the density at a time: the likeliest ones, each from the cells that are odd by
themselves and from the window that is best called noise given the rest. Further starts are the best foreign window, the
best shifted one, and the run of equal values. From each, the set is improved while its log odds grow. The set with the
largest log odds J under the whole density is kept: ``J = log p(kept) - log p(row) + sum of log slopes over noise cells
+ log p(foreign run alone) [+ gain of the shift] + prior(n, R)``.

On a grid, the set may also consist of rectangles and single cells; a rectangle costs the log of how many there are.
"""

import math
from typing import NamedTuple

import numpy as np

from treemend.arrays import Booleans, Floats, Integers, Labels
from treemend.mender.boxes import WindowCells, grow_boxes
from treemend.mender.compiled import inlined_kernel, inner_kernel, kernel
from treemend.mender.evidence import FOREIGN, KEPT, NOISE, SHIFT, SHIFTED, SINGLE, STUCK, WindowEvidence
from treemend.mender.moves import (
    MOST_OUT,
    Grid,
    Mixture,
    Rules,
    best_shift,
    count_runs,
    mark_odd_cells,
    move_foreign_borders,
    move_run,
    toggle_cells,
)
from treemend.mender.swept import (
    FORM,
    LOG_DET,
    Law,
    Space,
    State,
    kept_density,
    largest,
    log_sum,
    new_space,
    prefix_forms,
    prefix_gains,
    student,
    sweep_to,
)

# How far behind the first one, in nats, another component may be that is followed from the same kind of start. With
# less, overwritten rows take less time (`python -m benchmarks.end_to_end`), and several runs in rows of many clusters
# are told less well: `python -m experiments.robustness several_stretches scattered`.
FAR_BEHIND = 30.0
# A foreign window is not followed if it begins this many nats behind the best set of noise.
HOPELESS = 15.0
# A move of the whole row costs this many nats.
MOVE_PRICE = 1.5
# A set with more cells than the one before must be better by this many nats: where both are about as good, less is
# changed.
CLOSE = 1.0
# A start beside the kinds: rectangles of a grid.
BOX = 6


class Starts(NamedTuple):
    """Where the search begins in n rows."""

    tried: Booleans  # 5: kinds that are tried
    stuck: Booleans  # n x d
    best: WindowEvidence
    windows: WindowCells


class Answers(NamedTuple):
    """What is said of n rows."""

    labels: Labels  # n x d: kind of each cell, -1 where kept
    odds: Floats  # n: log odds of the set
    prior: Floats  # n: what of these is prior, by the number of its cells, runs and rectangles
    rest: Floats  # n: quadratic form of the kept cells under their likeliest component
    move: Floats  # n: log odds of a common move of all cells


@inner_kernel
def row_state(mix: Mixture, law: Law, row: Floats, away: Floats, r: Floats, q: Floats, terms: Floats) -> float:
    """Fill deviations, forces, forms and log densities of a row with nothing out; return its log density."""
    n_components, d = away.shape
    for k in range(n_components):
        for a in range(d):
            r[k, a] = 0.0
        for b in range(d):
            part = row[b] - mix.centre[k, b]
            away[k, b] = part
            for a in range(d):
                r[k, a] += mix.precision[k, b, a] * part
        q[k] = 0.0
        for j in range(d):
            q[k] += r[k, j] * away[k, j]
        terms[k] = student(mix.log_weight[k] + law.constants[d] + mix.log_det[k], d, q[k], law.tail)
    return log_sum(terms)


@inner_kernel
def kept_terms(
    mix: Mixture, law: Law, r: Floats, q: Floats, m: int, space: Space, terms: Floats, forms: Floats
) -> None:
    """Fill each component's log density and quadratic form of what is kept when ``space.order[:m]`` are out."""
    d = r.shape[1]
    for k in range(len(terms)):
        form, half = 0.0, 0.0
        if m > 0:
            prefix_forms(mix.precision[k], 1.0, r[k], space.order, m, space.work, space.forms)
            form, half = space.forms[0, m - 1], space.forms[1, m - 1]
        forms[k] = max(q[k] - form, 0.0)
        terms[k] = student(mix.log_weight[k] + law.constants[d - m] + mix.log_det[k] - half, d - m, forms[k], law.tail)


@inner_kernel
def _alone_terms(mix: Mixture, law: Law, away: Floats, m: int, space: Space, terms: Floats) -> None:
    """Fill each component's log density of the cells ``space.order[:m]`` by themselves."""
    for k in range(len(terms)):
        prefix_forms(mix.covariance[k], 1.0, away[k], space.order, m, space.work, space.forms)
        level = mix.log_weight[k] + law.constants[m] - space.forms[1, m - 1]
        terms[k] = student(level, m, space.forms[0, m - 1], law.tail)


@inner_kernel
def _list_cells(labels: Labels, first: int, order: Integers) -> int:
    """Fill ``order`` with the cells that are out, of a kind from ``first`` on; return how many."""
    m = 0
    for j in range(len(labels)):
        if labels[j] >= first:
            order[m] = j
            m += 1
    return m


@inner_kernel
def _move_gain(mix: Mixture, law: Law, r: Floats, q: Floats, whole: float, terms: Floats) -> float:
    """Return how much likelier a row is with all its cells moved by one common amount, after the price of that.

    The amount is normal; its standard deviation is a column's range.
    """
    n_components, d = r.shape
    for k in range(n_components):
        force = 0.0
        for j in range(d):
            force += r[k, j]
        growth = 1.0 + mix.information[k]
        level = mix.log_weight[k] + law.constants[d] + mix.log_det[k] - 0.5 * math.log(growth)
        terms[k] = student(level, d, q[k] - force**2 / growth, law.tail)
    return log_sum(terms) - whole - MOVE_PRICE


@inner_kernel
def _begin(
    mix: Mixture, k: int, r: Floats, q: Floats, away: Floats, labels: Labels, state: State, space: Space
) -> None:
    """Set the state to that of a row with the labelled cells out, from all cells or from none, whatever is nearer."""
    d = len(labels)
    n_out = 0
    for j in range(d):
        n_out += labels[j] >= 0
    empty = 2 * n_out > d
    for a in range(d):
        state.out[a] = empty
        state.r[a] = away[k, a] if empty else r[k, a]
        for b in range(a + 1):
            state.W[a, b] = -mix.covariance[k, a, b] if empty else mix.precision[k, a, b]
    state.totals[FORM], state.totals[LOG_DET] = (0.0, 0.0) if empty else (q[k], mix.log_det[k])
    sweep_to(state, labels, space.lines)


@inner_kernel
def _shift_gain(
    mix: Mixture, law: Law, k: int, r: Floats, q: Floats, away: Floats, labels: Labels, state: State, space: Space
) -> float:
    """Return how much likelier a common shift of the shifted cells is than to be without them, all others out."""
    d = len(labels)
    others = np.empty(d, np.int8)
    m, n = _list_cells(labels, SHIFTED, space.order), d
    for j in range(d):
        others[j] = KEPT if labels[j] == SHIFTED else labels[j]
        n -= others[j] >= 0
    _begin(mix, k, r, q, away, others, state, space)
    information, force = 0.0, 0.0
    for i in range(m):
        a = space.order[i]
        force += state.r[a]
        information += state.W[a, a]
        for j in range(i):
            information += 2.0 * state.W[a, space.order[j]]
    growth = 1.0 + SHIFT * SHIFT * information
    level = law.constants[n] + state.totals[LOG_DET] - 0.5 * math.log(growth)
    shifted = student(level, n, state.totals[FORM] - SHIFT * SHIFT * force**2 / growth, law.tail)
    prefix_gains(state, law, n, m, space)
    return float(shifted - kept_density(state, law, n) - space.gains[m - 1])


@inlined_kernel
def _search(
    mix: Mixture,
    law: Law,
    rules: Rules,
    grid: Grid | None,
    state: State,
    r: Floats,
    q: Floats,
    away: Floats,
    k: int,
    donor: int,
    u: Floats,
    kind: int,
    windows: WindowCells,
    space: Space,
    labels: Labels,
) -> int:
    """Improve the set ``labels`` of one row under component k; a foreign run comes from component ``donor``.

    Return how many rectangles there are; their cells have the label `SINGLE`.
    """
    d = len(u)
    m = _list_cells(labels, NOISE, space.order)
    lo, hi = d, d
    if m > 0:
        lo, hi = space.order[0], space.order[m - 1] + 1
    if kind == SHIFTED and rules.rounds > 0:
        lo, hi = best_shift(law, rules, mix.precision[k], r[k], q[k], lo, hi)
        for j in range(d):
            labels[j] = SHIFTED if lo <= j < hi else KEPT
    _begin(mix, k, r, q, away, labels, state, space)
    boxes = 0
    if grid is not None and kind == BOX:
        boxes = grow_boxes(law, rules, grid, state, u, labels, m, windows, space)
    if kind == FOREIGN and rules.rounds > 0:
        move_foreign_borders(law, rules, state, mix.covariance[donor], away[donor], labels, lo, hi, space)
    for turn in range(rules.rounds + 1):
        toggle_cells(law, rules, state, u, labels, space)
        if turn == rules.rounds:
            break
        moved = False
        for attempt in range(2):
            moved = moved or move_run(law, rules, state, u, labels, attempt > 0, space)
        if not moved:
            break
    return boxes


@inlined_kernel
def _keep_best(
    mix: Mixture,
    law: Law,
    rules: Rules,
    grid: Grid | None,
    r: Floats,
    q: Floats,
    away: Floats,
    u: Floats,
    whole: float,
    kind: int,
    boxes: int,
    k: int,
    labels: Labels,
    state: State,
    space: Space,
    answers: Answers,
    i: int,
) -> None:
    """Let a set be the answer of row i if its log odds under the whole density are the largest so far."""
    n, runs = count_runs(labels, rules.earlier, SINGLE)
    known = boxes == 0
    for j in range(len(u)):
        known = known and labels[j] == answers.labels[i, j]
    if n == 0 or known or (n > MOST_OUT * len(u) and kind != STUCK):
        return
    terms, forms = np.empty(len(q)), np.empty(len(q))
    prior = rules.prior[n, runs]
    if grid is not None and boxes > 0:
        n_cells, runs = count_runs(labels, rules.earlier, NOISE)
        prior = rules.prior[n_cells, runs] - grid.price * boxes
        for j in range(len(u)):
            labels[j] = min(labels[j], NOISE)
    odds = prior - whole - rules.extra[kind if kind < BOX else NOISE]
    if kind == FOREIGN:
        _alone_terms(mix, law, away, _list_cells(labels, FOREIGN, space.order), space, terms)
        odds += log_sum(terms)
    if kind == SHIFTED:
        odds += _shift_gain(mix, law, k, r, q, away, labels, state, space)
    kept_terms(mix, law, r, q, _list_cells(labels, NOISE, space.order), space, terms, forms)
    odds += log_sum(terms)
    for j in range(len(u)):
        if labels[j] == NOISE:
            odds += u[j]
    margin = CLOSE if n > count_runs(answers.labels[i], rules.earlier, SINGLE)[0] else 0.0
    if odds > answers.odds[i] + margin:
        answers.odds[i], answers.prior[i] = odds, prior
        answers.rest[i] = forms[largest(terms)]
        for j in range(len(u)):
            answers.labels[i, j] = labels[j]


@inner_kernel
def _mark(windows: WindowCells, window: int, label: int, labels: Labels) -> int:
    """Label the cells of a window, and no others; return how many."""
    for j in range(len(labels)):
        labels[j] = KEPT
    first = windows.first[window]
    for a in range(windows.size[window]):
        labels[windows.order[first + a]] = label
    return int(windows.size[window])


@kernel
def find_rows(
    mix: Mixture,
    law: Law,
    rules: Rules,
    grid: Grid | None,
    rows: Floats,
    slopes: Floats,
    starts: Starts,
    answers: Answers,
) -> None:
    """Find the best set of each row; none where there are no windows to begin with.

    ``grid`` is that of the rules, by itself: what only grids need is then compiled for grids only.
    """
    n, d = rows.shape
    windows = starts.windows
    if len(windows.size) == 0:
        return
    n_components = len(mix.log_weight)
    space = new_space(d)
    away, r, q = np.empty((n_components, d)), np.empty((n_components, d)), np.empty(n_components)
    state = State(np.empty((d, d)), np.empty(d), np.empty(2), np.empty(d, np.bool_))
    terms, forms, labels = np.empty(n_components), np.empty(n_components), np.empty(d, np.int8)
    for i in range(n):
        u = slopes[i]
        whole = row_state(mix, law, rows[i], away, r, q, terms)
        answers.move[i] = _move_gain(mix, law, r, q, whole, terms)
        answers.odds[i], answers.prior[i], answers.rest[i] = -np.inf, 0.0, 0.0
        for j in range(d):
            answers.labels[i, j] = KEPT
        explained = False
        for kind in (SINGLE, NOISE, BOX, STUCK, FOREIGN, SHIFTED):
            by_component = not FOREIGN <= kind <= STUCK
            if not starts.tried[kind if kind < BOX else NOISE] or (by_component and explained):
                continue
            if kind == BOX and grid is None:
                continue
            followed, donor = 1, 0
            if by_component:
                followed = rules.followed
                for k in range(n_components):
                    terms[k] = starts.best.noise_odds[i, k]
                    if kind == SINGLE:
                        terms[k] = mark_odd_cells(mix, law, rules, k, r, q, away, u, labels, space)
            elif kind == STUCK:
                for j in range(d):
                    labels[j] = STUCK if starts.stuck[i, j] else KEPT
                kept_terms(mix, law, r, q, _list_cells(labels, NOISE, space.order), space, terms, forms)
            else:
                m = _mark(windows, starts.best.window[i, kind], kind, labels)
                first_odds = starts.best.values[i, kind] + rules.prior[m, 1] - rules.extra[kind]
                if first_odds < answers.odds[i] - HOPELESS:
                    continue
                donor = largest(starts.best.alone[i, kind - FOREIGN])
                for k in range(n_components):
                    terms[k] = starts.best.kept[i, kind - FOREIGN, k]
            least = terms[largest(terms)] - FAR_BEHIND
            for _ in range(min(followed, n_components)):
                k = largest(terms)
                if terms[k] < least:
                    break
                terms[k] = -np.inf
                if kind == SINGLE:
                    mark_odd_cells(mix, law, rules, k, r, q, away, u, labels, space)
                elif by_component:
                    _mark(windows, starts.best.noise[i, k], SINGLE if kind == BOX else NOISE, labels)
                boxes = _search(mix, law, rules, grid, state, r, q, away, k, donor, u, kind, windows, space, labels)
                _keep_best(
                    mix, law, rules, grid, r, q, away, u, whole, kind, boxes, k, labels, state, space, answers, i
                )
                n_out, runs = count_runs(answers.labels[i], rules.earlier, SINGLE)
                # One run that leaves a typical rest: no other start is followed.
                explained = runs == 1 and answers.rest[i] <= rules.typical[d - n_out]
                if explained:
                    break
