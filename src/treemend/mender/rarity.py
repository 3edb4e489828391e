"""Repaired, or unusual and left alone.

A declared row is repaired only if what its set leaves of it is ordinary (the more so the less is left), and no move of
the whole row explains it better. Otherwise the row is odd as a whole, or beyond what its rest can
explain: it is flagged and not changed.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import f as fisher

from treemend.mender.compiled import kernel
from treemend.mender.evidence import STUCK
from treemend.mender.sets import Mixture, new_space, row_state
from treemend.mender.swept import log_sum, prefix_forms, student

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Labels = NDArray[np.int8]
Booleans = NDArray[np.bool_]

# The rest of a row is ordinary if at least this share of clean rests is as odd; where a set covers most of its row, the
# rest must look like a typical one.
ORDINARY, TYPICAL, MOST_COVERED = 0.01, 0.25, 0.6
# A move of the whole row costs this many nats, and must be worth so many more to count.
MOVE_PRICE, LEAST_MOVE = 1.5, 3.0
MOVE_STEPS = 20


@dataclass(frozen=True)
class Rarity:
    """Scores of clean rests, ascending: reference rows with a random stretch left out, judged by unseen folds."""

    rest_scores: Floats

    def p_values(self, scores: Floats) -> Floats:
        """Return conformal p-values of rests; low scores are odd."""
        n = len(self.rest_scores)
        return np.asarray((1 + np.searchsorted(self.rest_scores, scores, side="right")) / (n + 1))


def rest_scores(mix: Mixture, rows: Floats, out: Booleans) -> Floats:
    """Return for each row how ordinary its kept cells are: the log survival of their quadratic form.

    Parameters
    ----------
    mix : Mixture
        Of the observed cells.
    rows : (n, d)
        Observed cells.
    out : (n, d) bool
        Cells that are out.
    """
    form = np.empty(len(rows))
    _rest_forms(mix, rows, out, form)
    kept = np.maximum((~out).sum(axis=1), 1)
    return np.asarray(fisher.logsf(form / kept, kept, mix.tail))


def is_unusual(rarity: Rarity, mix: Mixture, rows: Floats, labels: Labels, evidence: Floats) -> Booleans:
    """Tell which declared rows are left alone.

    Parameters
    ----------
    rarity : Rarity
    mix, rows
        As for `rest_scores`.
    labels : (n, d) int8
        Kinds of the cells of the sets found, -1 elsewhere.
    evidence : (n,)
        Log odds of the sets before the prior.
    """
    out = labels >= 0
    covered = out.mean(axis=1) > MOST_COVERED
    level = np.where(covered, TYPICAL, max(ORDINARY, 1 / (len(rarity.rest_scores) + 1)))
    odd = rarity.p_values(rest_scores(mix, rows, out)) < level
    gain = np.empty(len(rows))
    _move_gains(mix, rows, gain)
    moved = (gain > evidence) & (gain > LEAST_MOVE) & ~(labels == STUCK).any(axis=1)
    return np.asarray(odd | moved | ~out.any(axis=1))


@kernel
def _rest_forms(mix: Mixture, rows: Floats, out: Booleans, form: Floats) -> None:
    """Fill the quadratic form of the kept cells under the component that is likeliest for them."""
    n, d = rows.shape
    n_components = len(mix.log_weight)
    space = new_space(d)
    away, r, q = np.empty((n_components, d)), np.empty((n_components, d)), np.empty(n_components)
    cells = np.empty(d, np.int64)
    for i in range(n):
        row_state(mix, rows[i], away, r, q)
        m = 0
        for j in range(d):
            if out[i, j]:
                cells[m] = j
                m += 1
        best = -np.inf
        for k in range(n_components):
            left, half = q[k], 0.0
            if m > 0:
                prefix_forms(mix.precision[k], 1.0, r[k], cells, m, space.upper, space.forms)
                left, half = max(q[k] - space.forms[0, m - 1], 0.0), space.forms[1, m - 1]
            level = mix.log_weight[k] + mix.constants[d - m] + mix.log_det[k] - half
            value = student(level, d - m, left, mix.tail)
            if value > best:
                best, form[i] = value, left


@kernel
def _move_gains(mix: Mixture, rows: Floats, gain: Floats) -> None:
    """Fill how much likelier each row is with all its cells moved by one common amount, after the price of that."""
    n, d = rows.shape
    n_components = len(mix.log_weight)
    away, r, q = np.empty((n_components, d)), np.empty((n_components, d)), np.empty(n_components)
    information = np.zeros(n_components)
    for k in range(n_components):
        for a in range(d):
            for b in range(d):
                information[k] += mix.precision[k, a, b]
    terms = np.empty(n_components)
    for i in range(n):
        whole = row_state(mix, rows[i], away, r, q)
        for k in range(n_components):
            force = 0.0
            for j in range(d):
                force += r[k, j]
            level = mix.log_weight[k] + mix.log_det[k] + mix.constants[d]
            best = -np.inf
            # Two beginnings: no move, and the move that is best for the quadratic form alone.
            for begin in range(2):
                amount = 0.0 if begin == 0 else force / information[k]
                for _ in range(MOVE_STEPS):
                    form = max(q[k] - 2 * amount * force + amount * amount * information[k], 0.0)
                    weight = (mix.tail + d) / (mix.tail + form)
                    amount = weight * force / (weight * information[k] + 1.0)
                form = max(q[k] - 2 * amount * force + amount * amount * information[k], 0.0)
                best = max(best, student(level, d, form, mix.tail) - 0.5 * amount * amount)
            terms[k] = best
        gain[i] = log_sum(terms) - whole - MOVE_PRICE
