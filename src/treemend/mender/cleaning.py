"""A reference that is not all clean: find its corrupted rows first, in rounds, each row judged by the others.

Enters: reference rows, some of them corrupted, nobody knows which. Leaves: a `Workshop` learnt from the rows that were
kept, and which ones those are.

Corrupted rows in the reference do harm in two ways: they widen what counts as usual, and they push the threshold up,
for it is a quantile of the reference rows' own statistics. So the law of clean rows' evidence is read off the middle of
the rows kept so far, where corrupted rows have little say: between the 30 % and the 60 % quantile it is taken for
exponential, and continued from there. The first round is generous, since then the corrupted rows are still part of the
model. In later ones every row gets a probability against that law, and rows are set aside, or taken back, so that about
a tenth of those set aside are clean (Benjamini and Hochberg's rule). Clean rows that were set aside all the same are
counted when the threshold is set.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from treemend.mender.judging import node_counts
from treemend.mender.knowledge import Workshop, learn
from treemend.mender.settings import Settings
from treemend.mender.weighing import weigh_rows
from treemend.reference import HeldRows
from treemend.tree import Part

__all__ = ["Cleaned", "learn_cleaned", "middle_p_values", "rejected"]

MIDDLE = (0.3, 0.6)
GENEROUS = 0.1
MOST_ISOLATED = 0.25
SHARE_WRONG = 0.1


@dataclass(frozen=True, eq=False)
class Cleaned:
    """What was learnt, and a flag for each reference row that was kept."""

    workshop: Workshop
    kept: NDArray[np.bool_]


def learn_cleaned(
    values: NDArray[np.float64],
    part_of: Callable[[NDArray[np.float64]], Part],
    grid: tuple[int, int, int] | None,
    settings: Settings,
) -> Cleaned:
    """Learn from reference rows of which some are corrupted.

    Parameters
    ----------
    values : ndarray, reference rows x attributes
        Finite.
    part_of : callable
        Gives the layout for reference rows.
    grid : tuple of int or None
        Height, width and channels, if the layout is a grid.
    settings : Settings
    """

    def learnt_from(kept: NDArray[np.bool_]) -> Workshop:
        return learn(HeldRows(np.ascontiguousarray(values[kept])), part_of, grid, settings)

    fewest = settings.n_neighbors + 2
    kept = np.ones(len(values), dtype=bool)
    workshop = learnt_from(kept)
    for rule in (_most_suspicious, _surely_foreign, _surely_foreign, _surely_foreign):
        if workshop.knowledge.scales is None:
            break
        aside = rule(_evidence(workshop, values, kept), kept)
        if np.count_nonzero(~aside) < fewest:
            break
        kept = ~aside
        workshop = learnt_from(kept)
    scales = workshop.knowledge.scales
    if scales is not None:
        counted = replace(scales, n_lost=SHARE_WRONG * np.count_nonzero(~kept))
        workshop = replace(workshop, knowledge=replace(workshop.knowledge, scales=counted))
    return Cleaned(workshop, kept)


def _most_suspicious(evidence: NDArray[np.float64], kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mark generously, while corrupted rows are still part of the model: the improbable and the most isolated."""
    by_search = evidence[:, -1]
    isolated = by_search > np.quantile(by_search, 1 - MOST_ISOLATED)
    return (middle_p_values(evidence, evidence[kept]) < GENEROUS) | isolated


def _surely_foreign(evidence: NDArray[np.float64], kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return rejected(middle_p_values(evidence, evidence[kept]), SHARE_WRONG)


def middle_p_values(evidence: NDArray[np.float64], usual: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how probable each row's evidence is for a clean row, by the law that the middle of usual rows follows.

    Parameters
    ----------
    evidence : ndarray, rows x explanations
    usual : ndarray, rows x explanations
        Evidence of rows most of which are clean.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> evidence = rng.exponential(size=(1000, 1))
    >>> evidence[:200] += 30
    >>> p = middle_p_values(evidence, evidence)
    >>> bool(p[:200].max() < 1e-6), bool(np.mean(p[200:] < 0.1) < 0.2)
    (True, True)
    """
    low, high = np.quantile(usual, MIDDLE, axis=0)
    slope = np.maximum((high - low) / np.log((1 - MIDDLE[0]) / (1 - MIDDLE[1])), 1e-3)
    single = np.where(evidence > low, (1 - MIDDLE[0]) * np.exp(-np.maximum(evidence - low, 0) / slope), 1.0)
    return np.asarray(np.minimum(1.0, single.min(axis=1) * evidence.shape[1]), dtype=np.float64)


def rejected(p: NDArray[np.float64], share: float) -> NDArray[np.bool_]:
    """Return the rows that Benjamini and Hochberg's rule rejects, of which about ``share`` are wrongly so.

    Examples
    --------
    >>> rejected(np.array([0.001, 0.5, 0.02, 0.9]), 0.1)
    array([ True, False,  True, False])
    """
    ranked = np.sort(p)
    below = np.flatnonzero(ranked <= share * np.arange(1, len(p) + 1) / len(p))
    return np.asarray(p <= ranked[below[-1]]) if len(below) else np.zeros(len(p), dtype=bool)


def _evidence(workshop: Workshop, values: NDArray[np.float64], kept: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the evidence of all rows: of kept ones by models that have not seen them, where that is known."""
    scales = workshop.knowledge.scales
    if scales is None:
        raise AssertionError("evidence is asked for only where scales were learnt")
    evidence = np.empty((len(values), scales.evidence.shape[1]))
    known = np.zeros(len(values), dtype=bool)
    known[np.flatnonzero(kept)[scales.rows]] = True
    evidence[known] = scales.evidence
    rows = workshop.to_tree(values[~known])
    if len(rows):
        counts = node_counts(workshop, rows)
        evidence[~known] = weigh_rows(workshop.bench, scales, rows, counts, np.inf).evidence
    return evidence
