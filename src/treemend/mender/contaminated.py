"""A reference that is not all clean: its corrupted cells are found in rounds, and count as missing in the next one.

Corrupted rows do harm in two ways: they widen what counts as usual, and they push the threshold up, for it is a
quantile of the reference rows' own statistics. The first round takes the oddest rows for corrupted, whatever they are:
that costs a clean table little, and in a dirty one it exposes the others. From then on corrupted rows are counted. The
law of clean rows' evidence is read off the middle of the rows, where corrupted ones have little influence: a Pareto law
through the 30 % and 60 % quantiles of the others. By so many as more rows are odd than it expects, at the place where
that is most, the oddest are corrupted.

If those are few, long tails of clean rows may be the reason: all rows set the threshold then, and no more than the
promised share is declared, the oddest rows first.
"""

import math

import numpy as np

from treemend.arrays import Booleans, Floats
from treemend.mender.detector import find_sets
from treemend.mender.evidence import STUCK
from treemend.mender.layout import Layout
from treemend.mender.learning import CrossFit, cross_fit_rows
from treemend.mender.model import MenderModel
from treemend.mender.pipeline import fit_model
from treemend.mender.wide import MOST_COLUMNS, lay_blocks
from treemend.progress import step

MIDDLE = (0.3, 0.6)
# Shapes of the Pareto law through the middle: light where cells are only not learnt from, which costs little where they
# are clean; heavy where the threshold is set, since rare clean rows look like corruption.
LIGHT, HEAVY = 0.05, 0.4
# Only rows that are so many slopes from the middle tell, not the shape of the middle itself.
FAR = 3.0
# Up to this share may be long tails of clean rows: all set the threshold. With less, clean tables (digits, svmguide3)
# lose more than the promised share; with more, weak corruption is not found.
# `python -m experiments.robustness one_table` measures both, for all constants here.
MOST_CLEAN = 0.1
# The first round takes this share of the rows for corrupted.
FIRST_REJECTED = 0.3
MOST_ITERATIONS = 20
# A log likelihood ratio under a true model falls off this fast by itself.
LEAST_SLOPE = 1.0


def fit_contaminated(
    values: Floats, layout: Layout, *, seed: int = 0, n_jobs: int | None = None
) -> tuple[MenderModel, CrossFit]:
    """Learn from rows of which some are corrupted, and return what `fit_model` does."""
    blocks, cell_layout = lay_blocks(values, layout) if values.shape[1] > MOST_COLUMNS else (None, layout)
    cells = blocks.reduce(values) if blocks else values
    learnable = cells
    for number, trust in enumerate((_all_but_the_oddest, lambda evidence: ~corrupted_rows(evidence, LIGHT))):
        with step(f"Looking for corrupted rows of the reference, round {number + 1} of 2"):
            cross_fit, _ = cross_fit_rows(cells, cell_layout, seed, n_jobs, learnable=learnable, trust=trust)
            learnable = _without_corrupted_cells(cells, cross_fit, n_jobs)
    corrupted = np.isnan(learnable) & ~np.isnan(cells)
    learnable = np.where(blocks.expand(corrupted) if blocks else corrupted, np.nan, values)
    return fit_model(values, layout, learnable=learnable, trust=_trusted_rows, seed=seed, n_jobs=n_jobs)


def corrupted_rows(evidence: Floats, shape: float) -> Booleans:
    """Return the rows that are surely corrupted by their number: the oddest, as many as are odder than a law expects.

    The evidence (n, kinds) is that of models that have not seen the rows, ``shape`` that of the law's tail.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> evidence = rng.exponential(size=(1000, 5))
    >>> int(corrupted_rows(evidence, HEAVY).sum())
    0
    >>> evidence[:200] += 30
    >>> corrupted = corrupted_rows(evidence, HEAVY)
    >>> bool(corrupted[:200].mean() > 0.9), bool(corrupted[200:].any())
    (True, False)
    """
    evidence = np.maximum(evidence, 0.0)
    n, corrupted = len(evidence), np.zeros(len(evidence), dtype=bool)
    for _ in range(MOST_ITERATIONS):
        statistic = _one_scale(evidence, ~corrupted, shape)
        low, slope = _middle(statistic[~corrupted], shape)
        oddest = np.argsort(-statistic, kind="stable")
        z = (statistic[oddest] - low) / slope
        z = z[z > FAR]
        expected = n * (1 - MIDDLE[0]) * (1 + shape * z) ** (-1 / shape)
        before, number = corrupted, math.floor((np.arange(1, len(z) + 1) - expected).max(initial=0.0))
        corrupted = np.zeros(n, dtype=bool)
        corrupted[oddest[:number]] = True
        if np.array_equal(before, corrupted):
            break
    return corrupted


def _all_but_the_oddest(evidence: Floats) -> Booleans:
    statistic = _one_scale(np.maximum(evidence, 0.0), np.ones(len(evidence), dtype=bool), LIGHT)
    return np.asarray(statistic <= np.quantile(statistic, 1 - FIRST_REJECTED))


def _trusted_rows(evidence: Floats) -> Booleans:
    corrupted = corrupted_rows(evidence, HEAVY)
    return np.asarray(~corrupted | (corrupted.mean() <= MOST_CLEAN))


def _one_scale(evidence: Floats, usual: Booleans, shape: float) -> Floats:
    """Return the largest kind of evidence of each row, each kind on the scale of the middle of usual rows."""
    places, slopes = np.array([_middle(column, shape) for column in evidence[usual].T]).T
    # Most rows have no run of equal values at all: the middle says nothing of the others.
    places[STUCK] = max(places[STUCK], 0.0)
    slope = float(np.median(np.delete(slopes, STUCK)))
    return np.asarray(((evidence - places) / slope).max(axis=1))


def _middle(statistic: Floats, shape: float) -> tuple[float, float]:
    """Return the lower quantile of the middle and the slope of the Pareto law through it."""
    low, high = np.quantile(statistic, MIDDLE)
    reach = (((1 - MIDDLE[0]) / (1 - MIDDLE[1])) ** shape - 1) / shape
    return float(low), max(float(high - low) / reach, LEAST_SLOPE)


def _without_corrupted_cells(values: Floats, cross_fit: CrossFit, n_jobs: int | None) -> Floats:
    """Return the values with the corrupted cells of rejected rows missing, and rows that cannot be explained empty."""
    learnable = values.copy()
    for number, detector in enumerate(cross_fit.detectors):
        rows = np.flatnonzero(~cross_fit.trusted & (cross_fit.fold == number))
        if not len(rows):
            continue
        found = find_sets(detector, values[rows], cross_fit.evidence.of(rows), n_jobs)
        wrong = detector.layout.to_columns(found.kinds >= 0) | found.unusual[:, None]
        learnable[rows] = np.where(wrong, np.nan, values[rows])
    return learnable
