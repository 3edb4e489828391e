"""Repaired, or unusual and left alone.

A declared row is repaired only if what its set leaves of it is ordinary (the more so the less is left), and no move of
the whole row explains it better. Otherwise the row is odd as a whole, or beyond what its rest can explain: it is
flagged and not changed.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import f as fisher

from treemend.mender.evidence import STUCK
from treemend.mender.sets import Answers

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

# The rest of a row is ordinary if at least this share of clean rests is as odd; where a set covers most of its row, the
# rest must look like a typical one.
ORDINARY, TYPICAL, MOST_COVERED = 0.01, 0.25, 0.6
# A move of the whole row counts from this many nats on.
LEAST_MOVE = 3.0


@dataclass(frozen=True)
class Rarity:
    """Scores of clean rests, ascending: reference rows with a random stretch left out, judged by unseen folds."""

    rest_scores: Floats

    def p_values(self, scores: Floats) -> Floats:
        """Return conformal p-values of rests; low scores are odd."""
        n = len(self.rest_scores)
        return np.asarray((1 + np.searchsorted(self.rest_scores, scores, side="right")) / (n + 1))


def rest_scores(form: Floats, kept: Integers, tail: float) -> Floats:
    """Return how ordinary rests are: the log survival of their quadratic forms, each of so many kept cells."""
    kept = np.maximum(kept, 1)
    return np.asarray(fisher.logsf(form / kept, kept, tail))


def is_unusual(rarity: Rarity, answers: Answers, tail: float) -> Booleans:
    """Tell which declared rows are left alone.

    Parameters
    ----------
    rarity : Rarity
    answers : Answers
        The sets found in n rows.
    tail : float
        Of the density.
    """
    out = answers.labels >= 0
    level = np.where(out.mean(axis=1) > MOST_COVERED, TYPICAL, max(ORDINARY, 1 / (len(rarity.rest_scores) + 1)))
    odd = rarity.p_values(rest_scores(answers.rest, (~out).sum(axis=1), tail)) < level
    stuck = (answers.labels == STUCK).any(axis=1)
    moved = (answers.move > answers.evidence) & (answers.move > LEAST_MOVE) & ~stuck
    return np.asarray(odd | moved | ~out.any(axis=1))
