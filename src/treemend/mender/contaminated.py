"""A reference that is not all clean: its corrupted cells are found in rounds, and count as missing in the next one.

Corrupted rows do harm in two ways: they widen what counts as usual, and they push the threshold up, for it is a
quantile of the reference rows' own statistics. So the law of clean rows' evidence is read off the middle of the rows,
where corrupted ones have little influence: a Pareto law through the 30 % and 60 % quantiles of the rows not rejected.
Rejected are rows by Benjamini and Hochberg's rule against that law, beginning with a generous guess: begun with none,
the corrupted rows would widen the law that should expose them.

If hardly more rows are rejected than a clean table would show, the share of corrupted rows cannot be told from none:
all rows then set the threshold, and no more than the promised share is declared.
"""

import numpy as np

from treemend.arrays import Booleans, Floats
from treemend.mender.calibration import NOTHING
from treemend.mender.detector import find_sets
from treemend.mender.evidence import STUCK
from treemend.mender.layout import Layout
from treemend.mender.learning import CrossFit, learn_detector
from treemend.mender.model import MenderModel
from treemend.mender.pipeline import fit_model
from treemend.mender.wide import MOST_COLUMNS, lay_blocks
from treemend.progress import step
from treemend.result import adjusted_p_values

MIDDLE = (0.3, 0.6)
# Shape of the Pareto law: heavier tails reject fewer rows of clean tables and fewer corrupted rows.
# `python -m experiments.robustness one_table` measures both.
SHAPE = 0.05
FIRST_REJECTED = 0.4
# False discovery rate of each round: the first one is generous, since corrupted cells still are part of the density.
ROUNDS = (0.2, 0.1)
MOST_ITERATIONS = 20
# Up to this share of rejected rows a table may as well be clean.
LEAST_SHARE = 0.05
# Of the rejected rows so many are taken for clean when the threshold is set.
LOST_SHARE = 0.25
LEAST_SLOPE = 1.0


def fit_contaminated(
    values: Floats, layout: Layout, *, seed: int = 0, n_jobs: int | None = None
) -> tuple[MenderModel, CrossFit]:
    """Learn from rows of which some are corrupted, and return what `fit_model` does."""
    blocks, cell_layout = lay_blocks(values, layout) if values.shape[1] > MOST_COLUMNS else (None, layout)
    cells = blocks.reduce(values) if blocks else values
    learnable, rejected = cells, np.zeros(len(values), dtype=bool)
    for number, fdr in enumerate(ROUNDS):
        with step(f"Looking for corrupted rows of the reference, round {number + 1} of {len(ROUNDS)}"):
            _, cross_fit = learn_detector(cells, cell_layout, seed, n_jobs, learnable=learnable, trusted=~rejected)
            rejected = reject_rows(cross_fit.evidence.values, fdr) & (cross_fit.fold >= 0)
            learnable = _without_corrupted_cells(cells, cross_fit, rejected, n_jobs)
    trusted = _trusted_rows(cross_fit, rejected)
    corrupted = np.isnan(learnable) & ~np.isnan(cells)
    learnable = np.where(blocks.expand(corrupted) if blocks else corrupted, np.nan, values)
    return fit_model(values, layout, learnable=learnable, trusted=trusted, seed=seed, n_jobs=n_jobs)


def reject_rows(evidence: Floats, fdr: float) -> Booleans:
    """Return the rows whose evidence (n, kinds) is too large for the law that the middle of the rows follows.

    The evidence is that of models that have not seen the rows, ``fdr`` the false discovery rate.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> evidence = rng.exponential(size=(1000, 5))
    >>> evidence[:200] += 30
    >>> rejected = reject_rows(evidence, 0.1)
    >>> bool(rejected[:200].all()), bool(rejected[200:].mean() < 0.05)
    (True, True)
    """
    something = (evidence > NOTHING).any(axis=1)
    statistic = _one_scale(evidence, np.ones(len(evidence), dtype=bool))
    rejected = statistic > np.quantile(statistic, 1 - FIRST_REJECTED)
    for _ in range(MOST_ITERATIONS):
        statistic = _one_scale(evidence, ~rejected)
        low, slope = _middle(statistic[~rejected])
        z = np.maximum(statistic - low, 0.0) / slope
        p_values = np.where(something & (statistic > low), (1 - MIDDLE[0]) * (1 + SHAPE * z) ** (-1 / SHAPE), 1.0)
        before, rejected = rejected, adjusted_p_values(p_values) <= fdr
        if np.array_equal(before, rejected):
            break
    return rejected


def _trusted_rows(cross_fit: CrossFit, rejected: Booleans) -> Booleans:
    """Return the rows that set the threshold: all but the rejected, of which the least odd ones may well be clean."""
    if rejected.mean() <= LEAST_SHARE:
        return np.ones(len(rejected), dtype=bool)
    trusted = ~rejected
    numbers = np.flatnonzero(rejected)
    least_odd = numbers[np.argsort(cross_fit.evidence.statistic[numbers], kind="stable")]
    trusted[least_odd[: round(LOST_SHARE * len(numbers))]] = True
    return trusted


def _one_scale(evidence: Floats, usual: Booleans) -> Floats:
    """Return the largest kind of evidence of each row, each kind on the scale of the middle of usual rows."""
    places, slopes = np.array([_middle(column) for column in evidence[usual].T]).T
    # Most rows have no run of equal values at all: the middle says nothing of the others.
    places[STUCK] = max(places[STUCK], 0.0)
    ordinary = np.delete(slopes, STUCK)
    slopes = np.full(len(slopes), max(float(np.median(ordinary)), LEAST_SLOPE))
    return np.asarray(((evidence - places) / slopes).max(axis=1))


def _middle(statistic: Floats) -> tuple[float, float]:
    """Return the lower quantile of the middle and the slope of the Pareto law through it."""
    low, high = np.quantile(statistic, MIDDLE)
    reach = (((1 - MIDDLE[0]) / (1 - MIDDLE[1])) ** SHAPE - 1) / SHAPE
    return float(low), max(float(high - low) / reach, 1e-6)


def _without_corrupted_cells(values: Floats, cross_fit: CrossFit, rejected: Booleans, n_jobs: int | None) -> Floats:
    """Return the values with the corrupted cells of rejected rows missing, and rows that cannot be explained empty."""
    learnable = values.copy()
    for number, detector in enumerate(cross_fit.detectors):
        rows = np.flatnonzero(rejected & (cross_fit.fold == number))
        if not len(rows):
            continue
        found = find_sets(detector, values[rows], cross_fit.evidence.of(rows), n_jobs)
        wrong = detector.layout.to_columns(found.kinds >= 0) | found.unusual[:, None]
        learnable[rows] = np.where(wrong, np.nan, values[rows])
    return learnable
