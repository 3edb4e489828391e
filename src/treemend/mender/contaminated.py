"""A reference that is not all clean: its corrupted cells are found in rounds, and count as missing in the next one.

Corrupted rows do harm in two ways: they widen what counts as usual, and they push the threshold up, for it is a
quantile of the reference rows' own statistics. The first round takes the oddest rows for corrupted, whatever they are:
that costs a clean table little, and in a dirty one it exposes the others. From then on the law of clean rows' evidence
is read off the middle of the rows, where corrupted ones have little influence: a Pareto law through the 30 % and 60 %
quantiles of the rows not rejected. Rejected are rows by Benjamini and Hochberg's rule against that law, beginning with
a generous guess: begun with none, the corrupted rows would widen the law that should expose them. If that rejects more
than half of a small table, one group of clean rows is judged by the law of another, and the rule begins with none.

If no more rows are rejected than clean tables with long tails show, only what a law with a long tail rejects is taken
for corrupted. That is nothing in a clean table: all its rows set the threshold, and no more than the promised share is
declared.
"""

import numpy as np

from treemend.arrays import Booleans, Floats
from treemend.mender.evidence import STUCK
from treemend.mender.layout import Layout
from treemend.mender.learning import CrossFit, cross_fit_rows
from treemend.mender.model import MenderModel
from treemend.mender.pipeline import fit_model
from treemend.progress import step
from treemend.result import adjusted_p_values

MIDDLE = (0.3, 0.6)
# Shapes of the Pareto law: heavier tails reject fewer rows of clean tables and fewer corrupted rows.
# `python -m experiments.robustness one_table` measures both, for all constants here.
LIGHT, HEAVY, HEAVIEST = 0.05, 0.4, 0.6
# Up to these shares of rows that the first two laws reject, a table may be clean with long tails: the heaviest decides.
# With less, clean tables (image, svmguide3) lose more than the promised share; with more, weak corruption is not found.
MOST_CLEAN = (1 / 6, 0.1)
# The first round takes this share of the rows for corrupted.
FIRST_REJECTED = 0.3
FIRST_GUESSES = (0.4, 0.0)
# In tables of fewer rows, so many rejected ones tell that the guess was wrong.
SMALL_TABLE, MOST_REJECTED = 450, 0.5
FDR = 0.1
MOST_ITERATIONS = 20
# Of the rejected rows so many are taken for clean when the threshold is set: more than the false discovery rate, since
# tails differ. With less, more clean rows of dirty tables are touched; with more, corrupted ones are missed.
LOST_SHARE = 0.15
# A log likelihood ratio under a true model falls off this fast by itself.
LEAST_SLOPE = 1.0


def fit_contaminated(
    values: Floats, layout: Layout, *, seed: int = 0, n_jobs: int | None = None
) -> tuple[MenderModel, CrossFit]:
    """Learn from rows of which some are corrupted, and return what `fit_model` does."""
    learnable = values
    for number, trust in enumerate((_all_but_the_oddest, lambda evidence: ~reject_rows(evidence, FDR, LIGHT))):
        with step(f"looking for corrupted rows of the reference, round {number + 1} of 2"):
            _, cross_fit = cross_fit_rows(values, layout, seed, n_jobs, learnable=learnable, trust=trust)
            learnable = _without_corrupted_cells(values, cross_fit)
    return fit_model(values, layout, learnable=learnable, trust=_trusted_rows, seed=seed, n_jobs=n_jobs)


def reject_rows(evidence: Floats, fdr: float, shape: float) -> Booleans:
    """Return the rows whose evidence (n, kinds) is too large for the law that the middle of the rows follows.

    The evidence is that of models that have not seen the rows, ``fdr`` the false discovery rate, ``shape`` that of the
    law's tail.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> evidence = rng.exponential(size=(1000, 5))
    >>> evidence[:200] += 30
    >>> rejected = reject_rows(evidence, 0.1, 0.05)
    >>> bool(rejected[:200].all()), bool(rejected[200:].mean() < 0.05)
    (True, True)
    """
    evidence = np.maximum(evidence, 0.0)
    statistic = _one_scale(evidence, np.ones(len(evidence), dtype=bool))
    for guess in FIRST_GUESSES:
        rejected = statistic > np.quantile(statistic, 1 - guess)
        for _ in range(MOST_ITERATIONS):
            statistic = _one_scale(evidence, ~rejected)
            low, slope = _middle(statistic[~rejected], shape)
            z = np.maximum(statistic - low, 0.0) / slope
            p_values = np.where(statistic > low, (1 - MIDDLE[0]) * (1 + shape * z) ** (-1 / shape), 1.0)
            before, rejected = rejected, adjusted_p_values(p_values) <= fdr
            if np.array_equal(before, rejected):
                break
        if rejected.mean() <= MOST_REJECTED or len(evidence) >= SMALL_TABLE:
            break
    return rejected


def _all_but_the_oddest(evidence: Floats) -> Booleans:
    statistic = _one_scale(np.maximum(evidence, 0.0), np.ones(len(evidence), dtype=bool))
    return np.asarray(statistic <= np.quantile(statistic, 1 - FIRST_REJECTED))


def _trusted_rows(evidence: Floats) -> Booleans:
    """Return the rows that set the threshold: all but the rejected, of which the least odd ones may well be clean."""
    rejected, sure = (reject_rows(evidence, FDR, shape) for shape in (LIGHT, HEAVY))
    if rejected.mean() <= MOST_CLEAN[0] and sure.mean() <= MOST_CLEAN[1]:
        return ~reject_rows(evidence, FDR, HEAVIEST)
    trusted, numbers = ~rejected, np.flatnonzero(rejected)
    statistic = _one_scale(evidence, trusted)
    least_odd = numbers[np.argsort(statistic[numbers], kind="stable")]
    trusted[least_odd[: round(LOST_SHARE * len(numbers))]] = True
    return trusted


def _one_scale(evidence: Floats, usual: Booleans) -> Floats:
    """Return the largest kind of evidence of each row, each kind on the scale of the middle of usual rows."""
    places, slopes = np.array([_middle(column, LIGHT) for column in evidence[usual].T]).T
    # Most rows have no run of equal values at all: the middle says nothing of the others.
    places[STUCK] = max(places[STUCK], 0.0)
    slope = float(np.median(np.delete(slopes, STUCK)))
    return np.asarray(((evidence - places) / slope).max(axis=1))


def _middle(statistic: Floats, shape: float) -> tuple[float, float]:
    """Return the lower quantile of the middle and the slope of the Pareto law through it."""
    low, high = np.quantile(statistic, MIDDLE)
    reach = (((1 - MIDDLE[0]) / (1 - MIDDLE[1])) ** shape - 1) / shape
    return float(low), max(float(high - low) / reach, LEAST_SLOPE)


def _without_corrupted_cells(values: Floats, cross_fit: CrossFit) -> Floats:
    """Return the values with the corrupted cells of rejected rows missing, and rows that cannot be explained empty."""
    learnable = values.copy()
    rows = np.flatnonzero(~cross_fit.trusted)
    found = cross_fit.detection.find_sets(rows)
    wrong = (found.kinds >= 0) | found.unusual[:, None]
    learnable[rows] = np.where(wrong, np.nan, values[rows])
    return learnable
