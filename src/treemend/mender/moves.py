"""How the set of bad cells of a row begins, and moves: cells are toggled, runs grown, shrunk, added or put back."""

import math
from typing import NamedTuple

import numpy as np

from treemend.arrays import Booleans, Floats, Integers, Labels
from treemend.mender.compiled import inner_kernel
from treemend.mender.evidence import KEPT, NOISE, SHIFT, SHIFTED, SINGLE
from treemend.mender.swept import (
    Law,
    Mixture,
    Space,
    State,
    prefix_forms,
    prefix_gains,
    student,
    sweep,
    sweep_to,
    toggle_gains,
)
from treemend.mender.windows import Rules

BORDER_MOVES = 12
# Largest share of a row that a set may cover in the search.
MOST_OUT = 0.7
# What a move must gain, in nats.
LEAST_GAIN = 1e-6


class Row(NamedTuple):
    """What is known of a row with nothing out."""

    u: Floats  # d: log density of each cell as noise, less its price
    away: Floats  # K x d: deviations from the centres
    r: Floats  # K x d: these times the precision
    q: Floats  # K: quadratic forms


@inner_kernel
def count_runs(labels: Labels, earlier: Integers, last: int) -> tuple[int, int]:
    """Return how many cells are out, of a kind up to ``last``, and how many of them begin a run."""
    n, runs = 0, 0
    for j in range(len(labels)):
        if 0 <= labels[j] <= last:
            n += 1
            runs += earlier[j] < 0 or not 0 <= labels[earlier[j]] <= last
    return n, runs


@inner_kernel
def mark_odd_cells(mix: Mixture, law: Law, rules: Rules, k: int, row: Row, labels: Labels, space: Space) -> float:
    """Label as noise the oddest cells, each seen by itself, as many as are best taken out; return the log density.

    Bad cells that are many hide each other: to take out any one of them gains little.
    """
    u, away, q, order, d = row.u, row.away[k], row.q[k], space.order, len(row.u)
    odds, later, m = np.empty(d), np.empty(d, np.int64), 0
    for j in range(d):
        labels[j], later[j] = KEPT, -1
        variance = mix.covariance[k, j, j]
        level = law.constants[1] - 0.5 * math.log(variance)
        odds[j] = u[j] - student(level, 1, away[j] ** 2 / variance, law.tail)
        if rules.earlier[j] >= 0:
            later[rules.earlier[j]] = j
        if odds[j] > 0:
            at = m
            while at > 0 and odds[order[at - 1]] < odds[j]:
                order[at] = order[at - 1]
                at -= 1
            order[at] = j
            m += 1
    m = min(m, math.floor(MOST_OUT * d))
    level = mix.log_weight[k] + mix.log_det[k]
    best, best_m, slopes, runs = student(level + law.constants[d], d, q, law.tail), 0, 0.0, 0
    if m > 0:
        prefix_forms(mix.precision[k], 1.0, row.r[k], order, m, space.work, space.forms)
    for a in range(m):
        j = order[a]
        labels[j] = NOISE
        slopes += u[j]
        before, after = rules.earlier[j], later[j]
        runs += 1 - (before >= 0 and labels[before] == NOISE) - (after >= 0 and labels[after] == NOISE)
        kept = d - a - 1
        value = student(level + law.constants[kept] - space.forms[1, a], kept, q - space.forms[0, a], law.tail)
        value += slopes + rules.prior[a + 1, runs]
        if value > best:
            best, best_m = value, a + 1
    for a in range(best_m, m):
        labels[order[a]] = KEPT
    return best


@inner_kernel
def toggle_cells(law: Law, rules: Rules, state: State, u: Floats, labels: Labels, space: Space) -> None:
    """Toggle the best cell while that gains; a set does not become empty again."""
    d = len(u)
    earlier, prior, gains, beside = rules.earlier, rules.prior, space.gains, space.order
    n, runs = count_runs(labels, earlier, NOISE)
    n_out = count_runs(labels, earlier, SINGLE)[0]
    only_noise = n == n_out
    for _ in range(rules.steps):
        toggle_gains(state, law, d - n_out, gains)
        best, at, best_runs = LEAST_GAIN, d, runs
        full = n_out + 1 > MOST_OUT * d
        # How many of its two neighbours are noise: without one, a cell is a run; with both, it joins two.
        beside[:] = 0
        for j in range(d):
            if earlier[j] >= 0:
                beside[j] += labels[earlier[j]] == NOISE
                beside[earlier[j]] += labels[j] == NOISE
        for j in range(d):
            if labels[j] > NOISE:
                continue
            change = -1 if labels[j] == NOISE else 1
            if (only_noise and n == 1) if change < 0 else full:
                continue
            new_runs = runs + change * (1 - beside[j])
            value = gains[j] + change * u[j]
            value += prior[n + change, new_runs] - prior[n, runs]
            if value > best:
                best, at, best_runs = value, j, new_runs
        if at == d:
            break
        change = -1 if labels[at] == NOISE else 1
        n, n_out, runs = n + change, n_out + change, best_runs
        labels[at] = KEPT if labels[at] == NOISE else NOISE
        sweep(state, at, space.lines)


@inner_kernel
def _cells_along(joined: Booleans, labels: Labels, at: int, side: int, most: int, order: Integers) -> int:
    """Fill ``order`` with at most so many cells from ``at`` on in a direction, all like the first; return how many."""
    m, label, go_on = 0, labels[at], most > 0
    while go_on:
        order[m] = at
        m += 1
        at += side
        go_on = 0 <= at < len(labels) and m < most and labels[at] == label and joined[max(at, at - side)]
    return m


@inner_kernel
def move_run(law: Law, rules: Rules, state: State, u: Floats, labels: Labels, new_runs_too: bool, space: Space) -> bool:
    """Make the best move of several adjacent cells at once, if one gains; tell whether.

    A run of noise grows or shrinks at a border. With ``new_runs_too``, a run also begins or ends at an edge of the
    coarse windows; it grows to its full length by moves of its borders.
    """
    d = len(u)
    joined, edges, prior, order, gains = rules.joined, rules.edges, rules.prior, space.order, space.gains
    n, runs = count_runs(labels, rules.earlier, NOISE)
    n_out = count_runs(labels, rules.earlier, SINGLE)[0]
    reach, longest = rules.reach, 2 * rules.reach
    best, best_at, best_side, best_m = LEAST_GAIN, d, 0, 0
    for side in (1, -1):
        edge = 0
        for at in range(d):
            if labels[at] > NOISE:
                continue
            before = at - side
            at_border = 0 <= before < d and joined[max(at, before)] and labels[before] != labels[at]
            at_border = at_border and labels[before] <= NOISE
            while edge < len(edges) - 1 and edges[edge] < at + (side == -1):
                edge += 1
            at_edge = new_runs_too and edges[edge] == at + (side == -1)
            back = labels[at] == NOISE
            if not at_border and not at_edge:
                continue
            m = _cells_along(joined, labels, at, side, longest if at_edge else reach, order)
            sign = -1 if back else 1
            prefix_gains(state, law, d - n_out, m, space)
            beside_first = 0 <= before < d and joined[max(at, before)] and labels[before] == NOISE
            slopes = 0.0
            for a in range(m):
                slopes += sign * u[order[a]]
                new_n = n + sign * (a + 1)
                if (new_n < 1 and n == n_out) or (not back and n_out + a + 1 > MOST_OUT * d):
                    break
                beyond = order[a] + side
                beside_last = 0 <= beyond < d and joined[max(beyond, beyond - side)] and labels[beyond] == NOISE
                new_runs = runs + sign * (1 - beside_first - beside_last)
                value = gains[a] + slopes + prior[new_n, new_runs] - prior[n, runs]
                if value > best:
                    best, best_at, best_side, best_m = value, at, side, a + 1
    if best_at == d:
        return False
    for _ in range(best_m):
        labels[best_at] = KEPT if labels[best_at] == NOISE else NOISE
        best_at += best_side
    sweep_to(state, labels, space.lines)
    return True


@inner_kernel
def move_shift(mix: Mixture, law: Law, rules: Rules, row: Row, k: int, labels: Labels) -> None:
    """Move the borders of the shifted run to where it makes the row likeliest under one component."""
    precision, r, q, joined, d = mix.precision[k], row.r[k], row.q[k], rules.joined, len(labels)
    lo, hi = d, 0
    for j in range(d):
        if labels[j] == SHIFTED:
            lo, hi = min(lo, j), j + 1
    best, best_lo, best_hi = -np.inf, lo, hi
    last = min(d, hi + rules.reach)
    for start in range(max(0, lo - rules.reach), min(last, lo + rules.reach + 1)):
        information, force = 0.0, 0.0
        for b in range(start, min(last, start + rules.widest)):
            if b > start and not joined[b]:
                break
            for c in range(start, b):
                information += 2.0 * precision[b, c]
            information += precision[b, b]
            force += r[b]
            if b + 1 < hi - rules.reach:
                continue
            growth = 1.0 + SHIFT * SHIFT * information
            value = student(-0.5 * math.log(growth), d, q - SHIFT * SHIFT * force**2 / growth, law.tail)
            if value > best:
                best, best_lo, best_hi = value, start, b + 1
    for j in range(d):
        labels[j] = SHIFTED if best_lo <= j < best_hi else KEPT
