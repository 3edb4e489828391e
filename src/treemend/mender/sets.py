"""The set of overwritten cells of a row, and the kind of each of its cells.

A set of noise is sought under one component of the density at a time: the likeliest ones, each from the cells that are
odd by themselves and from the window that is best called noise given the rest. From each start, the set is improved
while its log odds grow. Further candidates are the best foreign window, the best shifted run, and the run of equal
values. The set with the largest log odds J under the whole density is kept: ``J = log p(kept) - log p(row) + sum of log
slopes over noise cells + prior(n, R)``, with ``log p(foreign run alone)`` or, instead of ``log p(kept)``, the log
density of the row with the shift taken into account.

On a grid, the set may also be a rectangle and single cells; a rectangle costs the log of how many there are.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from treemend.arrays import Booleans, Floats, Integers, Labels
from treemend.mender.boxes import move_sides
from treemend.mender.compiled import inlined_kernel, inner_kernel, kernel
from treemend.mender.density import Density
from treemend.mender.evidence import FOREIGN, KEPT, NOISE, SHIFT, SHIFTED, SINGLE, STUCK, WindowEvidence
from treemend.mender.moves import (
    MOST_OUT,
    Row,
    count_runs,
    mark_odd_cells,
    move_run,
    move_shift,
    toggle_cells,
)
from treemend.mender.swept import (
    FORM,
    LOG_DET,
    Law,
    Mixture,
    Space,
    State,
    largest,
    log_sum,
    new_space,
    prefix_forms,
    student,
    sweep_to,
)
from treemend.mender.windows import Grid, Rules, Windows
from treemend.threads import for_parts

# How far behind the first one, in nats, another component may be that is followed from the same kind of start. With
# less, overwritten rows take less time (`python -m benchmarks.end_to_end`), and several runs in rows of many clusters
# are told less well: `python -m experiments.robustness several_stretches scattered`.
FAR_BEHIND = 30.0
# The borders of a shifted window are not moved if it begins this many nats behind the best set of noise.
HOPELESS = 15.0
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
    windows: Windows


class Answers(NamedTuple):
    """What is said of n rows."""

    labels: Labels  # n x d: kind of each cell, -1 where kept
    odds: Floats  # n: log odds of the set
    prior: Floats  # n: what of these is prior, by the number of its cells and runs
    rest: Floats  # n: quadratic form of the kept cells under their likeliest component
    move: Floats  # n: log odds of a common move of all cells


@inner_kernel
def weigh_row(mix: Mixture, law: Law, values: Floats, row: Row, terms: Floats) -> float:
    """Fill what the components say of a row with nothing out; return its log density."""
    away, r, q = row.away, row.r, row.q
    n_components, d = away.shape
    for k in range(n_components):
        for a in range(d):
            r[k, a] = 0.0
        for b in range(d):
            part = values[b] - mix.centre[k, b]
            away[k, b] = part
            for a in range(d):
                r[k, a] += mix.precision[k, b, a] * part
        q[k] = 0.0
        for j in range(d):
            q[k] += r[k, j] * away[k, j]
        terms[k] = student(mix.log_weight[k] + law.constants[d] + mix.log_det[k], d, q[k], law.tail)
    return log_sum(terms)


@inner_kernel
def weigh_rest(mix: Mixture, law: Law, row: Row, m: int, space: Space) -> None:
    """Fill each component's log density and quadratic form of what is kept when ``space.order[:m]`` are out."""
    d, terms, rests = len(row.u), space.terms, space.rests
    for k in range(len(terms)):
        form, half = 0.0, 0.0
        if m > 0:
            prefix_forms(mix.precision[k], 1.0, row.r[k], space.order, m, space.work, space.forms)
            form, half = space.forms[0, m - 1], space.forms[1, m - 1]
        rests[k] = max(row.q[k] - form, 0.0)
        terms[k] = student(mix.log_weight[k] + law.constants[d - m] + mix.log_det[k] - half, d - m, rests[k], law.tail)


@inner_kernel
def weigh_shift(mix: Mixture, law: Law, row: Row, m: int, deviation: float, space: Space) -> float:
    """Return the log density of a row if ``space.order[:m]`` were moved by a common normal amount.

    Fills that of each component.
    """
    d, order, terms = len(row.u), space.order, space.terms
    for k in range(len(terms)):
        precision, r, information, force = mix.precision[k], row.r[k], 0.0, 0.0
        for a in range(m):
            i = order[a]
            force += r[i]
            information += precision[i, i]
            for b in range(a):
                information += 2.0 * precision[i, order[b]]
        growth = 1.0 + deviation * deviation * information
        level = mix.log_weight[k] + law.constants[d] + mix.log_det[k] - 0.5 * math.log(growth)
        terms[k] = student(level, d, row.q[k] - deviation * deviation * force * force / growth, law.tail)
    return log_sum(terms)


@inner_kernel
def _list_cells(labels: Labels, order: Integers) -> int:
    """Fill ``order`` with the cells that are out; return how many."""
    m = 0
    for j in range(len(labels)):
        if labels[j] > KEPT:
            order[m] = j
            m += 1
    return m


@inner_kernel
def _begin(mix: Mixture, k: int, row: Row, labels: Labels, state: State, space: Space) -> None:
    """Set the state to that of a row with the labelled cells out, from all cells or from none, whatever is nearer."""
    d = len(labels)
    n_out = 0
    for j in range(d):
        n_out += labels[j] >= 0
    empty = 2 * n_out > d
    for a in range(d):
        state.out[a] = empty
        state.r[a] = row.away[k, a] if empty else row.r[k, a]
        for b in range(a + 1):
            state.W[a, b] = -mix.covariance[k, a, b] if empty else mix.precision[k, a, b]
    state.totals[FORM], state.totals[LOG_DET] = (0.0, 0.0) if empty else (row.q[k], mix.log_det[k])
    sweep_to(state, labels, space.lines)


@inlined_kernel
def _search(
    mix: Mixture,
    law: Law,
    rules: Rules,
    grid: Grid | None,
    row: Row,
    k: int,
    is_box: bool,
    state: State,
    labels: Labels,
    space: Space,
) -> None:
    """Improve the set ``labels`` of one row under component k; cells of a rectangle have the label `SINGLE`."""
    u = row.u
    _begin(mix, k, row, labels, state, space)
    if grid is not None and is_box:
        move_sides(law, rules, grid, state, u, labels, space)
    for turn in range(rules.rounds + 1):
        toggle_cells(law, rules, state, u, labels, space)
        if turn == rules.rounds:
            break
        moved = False
        for attempt in range(2):
            moved = moved or move_run(law, rules, state, u, labels, attempt > 0, space)
        if not moved:
            break


@inlined_kernel
def _keep_best(
    mix: Mixture,
    law: Law,
    rules: Rules,
    grid: Grid | None,
    row: Row,
    kind: int,
    given: float,
    labels: Labels,
    space: Space,
    answers: Answers,
    i: int,
) -> None:
    """Let a set be the answer of row i if its log odds under the whole density are the largest so far.

    ``given`` is what the log odds begin with: minus the log density of the row, or, of foreign and of shifted sets, all
    but prior and price.
    """
    n, runs = count_runs(labels, rules.earlier, SINGLE)
    known = kind != BOX
    for j in range(len(labels)):
        known = known and labels[j] == answers.labels[i, j]
    if n == 0 or known or (n > MOST_OUT * len(labels) and kind != STUCK):
        return
    prior = rules.prior[n, runs]
    if grid is not None and kind == BOX:
        n_cells, runs = count_runs(labels, rules.earlier, NOISE)
        prior = rules.prior[n_cells, runs] - grid.price
        for j in range(len(labels)):
            labels[j] = min(labels[j], NOISE)
    odds = prior + given - rules.extra[kind if kind < BOX else NOISE]
    weigh_rest(mix, law, row, _list_cells(labels, space.order), space)
    if kind not in (FOREIGN, SHIFTED):
        odds += log_sum(space.terms)
    for j in range(len(labels)):
        if labels[j] == NOISE:
            odds += row.u[j]
    margin = CLOSE if n > count_runs(answers.labels[i], rules.earlier, SINGLE)[0] else 0.0
    if odds > answers.odds[i] + margin:
        answers.odds[i], answers.prior[i] = odds, prior
        answers.rest[i] = space.rests[largest(space.terms)]
        for j in range(len(labels)):
            answers.labels[i, j] = labels[j]


@inner_kernel
def _mark(windows: Windows, window: int, label: int, labels: Labels) -> int:
    """Label the cells of a window, and no others; return how many."""
    for j in range(len(labels)):
        labels[j] = KEPT
    first = windows.first[window]
    for a in range(windows.size[window]):
        labels[windows.order[first + a]] = label
    return int(windows.size[window])


def search_rows(searches: Sequence[tuple[Density, Rules, Floats, Floats, Starts]], n_jobs: int | None) -> list[Answers]:
    """Find the best set of each row of each search; slopes are log densities of noise, less what a cell costs."""
    shapes = [rows.shape for _, _, rows, *_ in searches]
    answers = [Answers(np.full(shape, KEPT, np.int8), *np.zeros((4, shape[0]))) for shape in shapes]
    calls = []
    for (density, rules, rows, slopes, starts), own in zip(searches, answers, strict=True):
        calls.append((density.mix, density.law, rules, rules.grid, rows, slopes, starts, own))

    def task(number: int, part: slice) -> None:
        find_rows(*calls[number], part.start, part.stop)

    for_parts(task, [n for n, _ in shapes], 10 * max((d for _, d in shapes), default=1) ** 3, n_jobs)
    return answers


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
    begin: int,
    stop: int,
) -> None:
    """Find the best set of some rows; none where there are no windows to begin with.

    ``grid`` is that of the rules, by itself: what only grids need is then compiled for grids only.
    """
    d = rows.shape[1]
    tried, windows, best = starts.tried, starts.windows, starts.best
    if len(windows.size) == 0:
        return
    n_components = len(mix.log_weight)
    space, labels, promise = new_space(n_components, d), np.empty(d, np.int8), np.empty(n_components)
    state = State(np.empty((d, d)), np.empty(d), np.empty(2), np.empty(d, np.bool_))
    away, r, q = np.empty((n_components, d)), np.empty((n_components, d)), np.empty(n_components)
    for i in range(begin, stop):
        row = Row(slopes[i], away, r, q)
        whole = weigh_row(mix, law, rows[i], row, space.terms)
        for j in range(d):
            answers.labels[i, j], space.order[j] = KEPT, j
        answers.move[i] = weigh_shift(mix, law, row, d, 1.0, space) - whole
        answers.odds[i], answers.prior[i], answers.rest[i] = -np.inf, 0.0, 0.0
        explained = False
        for kind in (STUCK, SINGLE, NOISE, BOX):
            if not tried[NOISE if kind == BOX else kind] or explained or (kind == BOX and grid is None):
                continue
            if kind == STUCK:
                for j in range(d):
                    labels[j] = STUCK if starts.stuck[i, j] else KEPT
                weigh_rest(mix, law, row, _list_cells(labels, space.order), space)
            for k in range(n_components):
                promise[k] = space.terms[k] if kind == STUCK else best.noise_odds[i, k]
                if kind == SINGLE:
                    promise[k] = mark_odd_cells(mix, law, rules, k, row, labels, space)
            least = promise[largest(promise)] - FAR_BEHIND
            for _ in range(1 if kind == STUCK else min(rules.followed, n_components)):
                k = largest(promise)
                if promise[k] < least:
                    break
                promise[k] = -np.inf
                if kind == SINGLE:
                    mark_odd_cells(mix, law, rules, k, row, labels, space)
                elif kind != STUCK:
                    _mark(windows, best.noise[i, k], SINGLE if kind == BOX else NOISE, labels)
                _search(mix, law, rules, grid, row, k, kind == BOX, state, labels, space)
                _keep_best(mix, law, rules, grid, row, kind, -whole, labels, space, answers, i)
                n_out, runs = count_runs(answers.labels[i], rules.earlier, SINGLE)
                # One run that leaves a typical rest: no other start is followed.
                explained = runs == 1 and answers.rest[i] <= rules.typical[d - n_out]
                if explained:
                    break
        for kind in (FOREIGN, SHIFTED):
            if not tried[kind]:
                continue
            m, given = _mark(windows, best.window[i, kind], kind, labels), best.values[i, kind]
            hopeless = given + rules.prior[m, 1] - rules.extra[kind] < answers.odds[i] - HOPELESS
            if kind == SHIFTED and rules.rounds > 0 and not hopeless:
                weigh_shift(mix, law, row, _list_cells(labels, space.order), SHIFT, space)
                move_shift(mix, law, rules, row, largest(space.terms), labels)
                given = weigh_shift(mix, law, row, _list_cells(labels, space.order), SHIFT, space) - whole
            _keep_best(mix, law, rules, grid, row, kind, given, labels, space, answers, i)
