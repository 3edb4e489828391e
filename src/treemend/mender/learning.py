"""Learning a detector from clean rows, every row judged by a model that has not seen it.

Up to `MOST_CROSS_FITTED` rows, five models, each of four fifths of the rows with its own ranges and clusters, judge the
fifth that is left; ten where rows are few. Beyond, one model of up to `MOST_LEARNT` rows is enough, and `FEWEST_JUDGED`
to `MOST_JUDGED` rows that it has not seen are judged.
What scales evidence (prices, tails) is learnt, for the rows of a fold, on the other folds.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from treemend.arrays import Booleans, Floats, Integers
from treemend.mender.calibration import (
    MISSING_SHARES,
    Calibration,
    Rarity,
    Tails,
    learn_tails,
    rest_scores,
)
from treemend.mender.columns import column_widths, learn_columns
from treemend.mender.density import Shape, expect_alike, learn_densities
from treemend.mender.detector import Detector, Evidence, Prices, find_sets, weigh_singles, weigh_windows
from treemend.mender.evidence import FOREIGN, NOISE, SHIFTED, SINGLE
from treemend.mender.layout import Layout
from treemend.mender.shape import FEW_ROWS, ROWS_PER_COLUMN, choose_shape
from treemend.mender.stuck import learn_repeated_values
from treemend.mender.wide import MOST_COLUMNS, lay_blocks, learn_wide
from treemend.progress import step

# Twice as many with few rows, or fewer than `ROWS_PER_COLUMN` a column: there a density of four fifths of the rows is
# much worse than that of all, and clean rows look odder than they will.
# `python -m experiments.robustness clean_rate one_stretch` measures what that does to rates and to detection.
FOLDS = 5
MOST_CROSS_FITTED = 3000
MOST_LEARNT = 3000
FEWEST_JUDGED, MOST_JUDGED = 1000, 4000
# Rows of a fold whose rests are scored, what counts is their 1 % quantile; and how many have the same cells left out,
# which share a factorisation.
MOST_RESTS, RESTS_ALIKE = 200, 10
# Rows that are judged with cells left out: enough for a rate of .01.
MOST_INCOMPLETE = 200
# A price is never below this many nats, and otherwise what this share of clean rows does not exceed.
LEAST_PRICE = 3.0
SINGLE_QUANTILE, RUN_QUANTILE = 0.8, 0.95


@dataclass(frozen=True)
class CrossFit:
    """How the n reference rows were judged by models that have not seen them."""

    fold: Integers  # n: number of the detector that has not seen a row; -1 for rows that were not judged
    trusted: Booleans  # n: which rows set the threshold
    detectors: tuple[Detector, ...]  # one a fold
    evidence: Evidence  # of all rows, each by the detector of its fold; none for rows that were not judged


def learn_detector(
    values: Floats,
    layout: Layout,
    seed: int = 0,
    n_jobs: int | None = None,
    *,
    learnable: Floats | None = None,
    trust: Callable[[Floats], Booleans] | None = None,
) -> tuple[Detector, CrossFit]:
    """Learn a detector from clean values (n, d); return it for other rows, and the cross-fit for these.

    ``learnable`` and ``trust`` are those of `cross_fit_rows`; all detectors have the same calibration.
    """
    learnable = values if learnable is None else learnable
    final, cross_fit = cross_fit_rows(values, layout, seed, n_jobs, learnable=learnable, trust=trust)
    return _calibrated(values, final, cross_fit, seed, n_jobs) if cross_fit.detectors else (final, cross_fit)


def cross_fit_rows(
    values: Floats,
    layout: Layout,
    seed: int,
    n_jobs: int | None,
    *,
    learnable: Floats,
    trust: Callable[[Floats], Booleans] | None = None,
) -> tuple[Detector, CrossFit]:
    """Judge values (n, d) by detectors that have not seen them; also return one for other rows. None has thresholds.

    Densities are learnt from what is ``learnable`` (n, d): NaN where a cell is not trusted. Told the log odds (m, 4) of
    windows and stuck values of the rows that are judged, ``trust`` tells which of them set prices, scales and
    thresholds; all by default. There are no detectors if there is no such row.
    """
    n, blocks, cell_layout, cells = len(values), None, layout, learnable
    shuffled = np.random.default_rng(seed).permutation(n)
    crossed = n <= MOST_CROSS_FITTED
    if values.shape[1] > MOST_COLUMNS:
        blocks, cell_layout = lay_blocks(learnable, layout)
        cells = blocks.reduce(learnable)
    n_learnt = n if crossed else min(MOST_LEARNT, n - FEWEST_JUDGED)
    learning = np.arange(n) if crossed else np.sort(shuffled[:n_learnt])
    learning = learning[~np.isnan(cells[learning]).all(axis=1)]
    widths, learnt = column_widths(cells), cells[learning]
    shape = choose_shape(learn_columns(learnt, cell_layout.order, widths).to_rows(learnt)[0], seed)
    final = _uncalibrated(learnt, cell_layout, widths, shape, seed)
    fold, folds, parts = np.full(n, -1), [], []
    if crossed and n > 1:
        few = n <= FEW_ROWS or n < ROWS_PER_COLUMN * cells.shape[1]
        n_folds = min(n, 2 * FOLDS if few else FOLDS)
        fold = shuffled % n_folds
        parts = [learning[fold[learning] != f] for f in range(n_folds)]
        folds = [_uncalibrated(cells[part], cell_layout, widths, shape, seed) for part in parts]
    elif not crossed:
        fresh = shuffled[n_learnt:][:MOST_JUDGED]
        fold[fresh] = np.arange(len(fresh)) % FOLDS
        folds = [final] * FOLDS
    if blocks:
        wide = learn_wide(learnable, layout, blocks, [learning, *parts], fold, seed)
        final, *folds = (model.revised(wide=own) for model, own in zip([final, *folds], wide, strict=True))
    evidence = Evidence.none(*cells.shape)
    for f, model in enumerate(folds):
        own = np.flatnonzero(fold == f)
        with step(f"fold {f + 1} of {len(folds)}"):
            evidence.put(own, weigh_windows(model, values[own], n_jobs))
    trusted, judged = np.ones(n, bool), fold >= 0
    if trust is not None and judged.any():
        trusted[judged] = trust(evidence.values[judged, :SINGLE])
    return final, _scaled(values, CrossFit(fold, trusted, tuple(folds), evidence), seed, n_jobs)


def _uncalibrated(values: Floats, layout: Layout, widths: Floats, shape: Shape, seed: int) -> Detector:
    """Return a detector whose prices, tails and thresholds are not known yet."""
    columns = learn_columns(values, layout.order, widths)
    ((density, component),) = learn_densities([columns.to_rows(values)[0]], shape, seed)
    n_components = len(density.log_weight)
    return Detector(
        layout,
        columns,
        density,
        learn_repeated_values(values[:, layout.order], np.minimum(component, n_components - 1), n_components),
        Prices(0.0, 0.0, np.zeros(5)),
        Tails(np.zeros(5), np.ones(5)),
        Calibration(*(np.empty(0),) * 3, np.empty((len(MISSING_SHARES), 0))),
        Rarity(np.empty(0)),
    )


def learn_prices(evidence: Evidence) -> Prices:
    """Learn from clean rows what sets cost."""
    first = evidence.cells.max(axis=1)

    def price(clean: Floats, share: float) -> float:
        return max(LEAST_PRICE, float(np.quantile(clean, share)))

    run = price(np.maximum(first, evidence.values[:, NOISE]), RUN_QUANTILE)
    extra = np.zeros(5)
    for kind in (FOREIGN, SHIFTED):
        extra[kind] = max(0.0, price(evidence.values[:, kind], RUN_QUANTILE) - run)
    return Prices(price(first, SINGLE_QUANTILE), run, extra)


def _scaled(values: Floats, cross_fit: CrossFit, seed: int, n_jobs: int | None) -> CrossFit:
    """Learn the prices, tails and rests of each fold from the others, and complete the evidence."""
    fold, folds, trusted, evidence = cross_fit.fold, cross_fit.detectors, cross_fit.trusted, cross_fit.evidence
    counting = np.where(trusted, fold, -1)
    if (counting < 0).all():
        return replace(cross_fit, detectors=())
    priced = [model.revised(prices=learn_prices(_others(evidence, counting, f))) for f, model in enumerate(folds)]
    for f, model in enumerate(priced):
        own = np.flatnonzero(fold == f)
        found = evidence.of(own)
        weigh_singles(model, values[own], found, n_jobs)
        evidence.put(own, found)
    scaled = [model.revised(tails=learn_tails(_others(evidence, counting, f).values)) for f, model in enumerate(priced)]
    rests, rng = [], np.random.default_rng(seed)
    for f, model in enumerate(scaled):
        own = np.flatnonzero(fold == f)
        evidence.statistic[own] = model.tails.statistic(evidence.values[own])
        own = own[trusted[own]][:MOST_RESTS]
        stretches = _random_stretches(len(own), model.layout.n_features, rng)
        rests.append(clean_rests(model, model.cells_of(values[own]), stretches))
    rarity = Rarity(np.sort(np.concatenate(rests)))
    return replace(cross_fit, detectors=tuple(model.revised(rarity=rarity) for model in scaled))


def _calibrated(
    values: Floats, final: Detector, cross_fit: CrossFit, seed: int, n_jobs: int | None
) -> tuple[Detector, CrossFit]:
    fold, folds, evidence = np.where(cross_fit.trusted, cross_fit.fold, -1), cross_fit.detectors, cross_fit.evidence
    judged, missing = fold >= 0, np.isnan(values).sum(axis=1)
    raw = np.sort(evidence.statistic[judged])
    counted, examined = evidence.statistic.copy(), Calibration(raw, raw, raw, raw[None])
    incomplete, rng = [], np.random.default_rng(seed)
    for f, model in enumerate(folds):
        own = np.flatnonzero(fold == f)
        odd = own[counted[own] >= examined.examined_above]
        counted[odd[find_sets(model, values[odd], evidence.of(odd), n_jobs).unusual]] = examined.least
        own = own[np.argsort(missing[own], kind="stable")][: -(-MOST_INCOMPLETE // len(folds))]
        incomplete.append(_incomplete_statistics(model, values[own], rng, n_jobs))
    calibration = Calibration(
        np.sort(counted[judged]),
        raw,
        np.sort(evidence.log_density[judged & (missing == 0)]),
        np.sort(np.hstack(incomplete), axis=1),
    )
    final = final.revised(
        prices=learn_prices(evidence.of(judged)),
        tails=learn_tails(evidence.values[judged]),
        calibration=calibration,
        rarity=folds[0].rarity,
    )
    return final, replace(cross_fit, detectors=tuple(model.revised(calibration=calibration) for model in folds))


def _others(evidence: Evidence, fold: Integers, out: int) -> Evidence:
    others = (fold >= 0) & (fold != out)
    return evidence.of(others if others.any() else fold >= 0)


def _incomplete_statistics(model: Detector, values: Floats, rng: np.random.Generator, n_jobs: int | None) -> Floats:
    """Return the statistics (len(MISSING_SHARES), n) of rows that lack such a share of their cells, all the same."""
    statistics, n_cells = np.empty((len(MISSING_SHARES), len(values))), model.layout.n_features
    for found, share in zip(statistics, MISSING_SHARES, strict=True):
        lost = rng.permutation(n_cells)[None] < max(1, round(share * n_cells))
        rest = np.where(model.wide.blocks.expand(lost) if model.wide else lost, np.nan, values)
        evidence = weigh_windows(model, rest, n_jobs)
        weigh_singles(model, rest, evidence, n_jobs)
        found[:] = model.tails.statistic(evidence.values)
    return statistics


def clean_rests(detector: Detector, values: Floats, out: Booleans) -> Floats:
    """Return the rest scores (n,) of rows when the cells ``out`` (n, d), in layout order, are left out."""
    rows = np.where(out, np.nan, detector.columns.to_rows(values)[0])
    level, form = expect_alike(detector.density, rows)
    likeliest = np.take_along_axis(form, level.argmax(axis=1)[:, None], axis=1)[:, 0]
    return rest_scores(likeliest, (~np.isnan(rows)).sum(axis=1), detector.density.tail)


def _random_stretches(n: int, d: int, rng: np.random.Generator) -> Booleans:
    """Return for each of n rows a random stretch of a tenth to a half of its cells, the same for `RESTS_ALIKE` rows."""
    n_stretches = -(-n // RESTS_ALIKE)
    width = np.maximum(1, np.round(rng.uniform(0.1, 0.5, n_stretches) * d)).astype(np.int64)
    start = (rng.random(n_stretches) * (d - width + 1)).astype(np.int64)[:, None]
    stretches = (np.arange(d) >= start) & (np.arange(d) < start + width[:, None])
    return np.repeat(stretches, RESTS_ALIKE, axis=0)[:n]
