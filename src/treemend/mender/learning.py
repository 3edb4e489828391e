"""Learning a detector from clean rows, every row judged by a model that has not seen it.

Up to `MOST_CROSS_FITTED` rows, five models, each of four fifths of the rows with its own ranges and clusters, judge the
fifth that is left; ten where rows are few. Beyond, one model of up to `MOST_LEARNT` rows is enough, and `FEWEST_JUDGED`
to `MOST_JUDGED` rows that it has not seen are judged.
What scales evidence (prices, tails) is learnt, for the rows of a fold, on the other folds. How many components a
density has, and how much its covariances are shrunk, is what makes rows likeliest that were left out.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treemend.arrays import Booleans, Floats, Integers
from treemend.mender.calibration import MISSING_SHARES, Calibration, Rarity, Tails, learn_tails, rest_scores
from treemend.mender.columns import column_widths, learn_columns
from treemend.mender.density import Density, Shape, Thirds, expect_alike, learn_densities
from treemend.mender.detection import Detection
from treemend.mender.evidence import FOREIGN, NOISE, SHIFTED, SINGLE
from treemend.mender.layout import Layout
from treemend.mender.model import CleanRows, Detector, Prices
from treemend.mender.stuck import learn_repeated_values
from treemend.mender.wide import MOST_COLUMNS, lay_blocks, learn_wide

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
# Fewer degrees of freedom would often be likelier, and find less:
# `python -m experiments.robustness one_stretch several_stretches scattered`.
LIGHTER_TAILS = (25.0, 100.0, 1000.0)
# What the choice of a shape tries. Each further value costs a likelihood; `python -m experiments.filling` measures what
# it gains.
COMPONENTS = (1, 3, 8, 16)
SHRINKAGES = (0.001, 0.01, 0.05, 0.2, 0.5, 0.9)
# Ranks are tried with fewer than so many rows a column, where shrinkage forgets what columns have in common; each costs
# a factorisation. `python -m experiments.robustness several_stretches wide` measures what they gain.
RANKS, ROWS_PER_COLUMN, ROWS_PER_RANK = (4, 8, 16, 32), 4, 3
# More components must gain this many nats a row: fewer judge and search faster, and odd clean rows are rarer.
LEAST_GAIN = 0.5
ROWS_PER_COMPONENT = 20
# A row costs a product with every component's precision: as many components as keep that below .3 milliseconds.
MOST_PRODUCTS = 1 << 19
# Rows with gaps cost a factorisation with every component as well, and they are learnt from one by one.
MOST_PRODUCTS_INCOMPLETE = 1 << 18
FEWEST_TO_CHOOSE = 3
MOST_TO_CHOOSE = 3_000
# Rows whose likelihood is judged: with fewer, shapes that differ little are told apart by chance.
MOST_COMPARED = 600
# With fewer rows than this, each third is left out in turn.
FEW_ROWS = 500
MOST_INCOMPLETE_TO_CHOOSE = 1_000
# Prices, tails, rests and thresholds of folds whose rows have not been weighed.
_NOT_LEARNT = (
    Prices(0.0, 0.0, np.zeros(5)),
    Tails(np.zeros(5), np.ones(5)),
    Rarity(np.empty(0)),
    Calibration(np.empty(0), np.empty(0), np.empty(0), np.empty((len(MISSING_SHARES), 0))),
)


@dataclass(frozen=True)
class CrossFit:
    """How the n reference rows were judged by detectors that have not seen them."""

    detection: Detection
    trusted: Booleans  # n: which rows set the threshold, of those that were judged


def cross_fit_rows(
    values: Floats,
    layout: Layout,
    seed: int,
    n_jobs: int | None,
    *,
    learnable: Floats,
    trust: Callable[[Floats], Booleans] | None = None,
) -> tuple[CleanRows, CrossFit]:
    """Judge values (n, d) by detectors that have not seen them and have no thresholds; also return what all rows say.

    Densities are learnt from what is ``learnable`` (n, d): NaN where a cell is not trusted. Told the log odds (m, 4) of
    windows and stuck values of the rows that are judged, ``trust`` tells which of them set prices, scales and
    thresholds; all by default.
    """
    (all_rows, *folds), fold = _learn_clean_rows(learnable, layout, seed)
    detection = Detection([Detector(clean, *_NOT_LEARNT) for clean in folds], values, fold, n_jobs)
    detection.weigh_windows()
    trusted, judged = np.ones(len(values), bool), fold >= 0
    if trust is not None:
        trusted[judged] = trust(detection.evidence[judged, :SINGLE])
    first, detectors = detection.windows.cells.max(axis=1), detection.detectors
    others = [judged & trusted & (fold != number) for number in range(len(folds))]
    others = [own if own.any() else judged & trusted for own in others]
    prices = [learn_prices(first[own], detection.evidence[own]) for own in others]
    detection.detectors = [replace(one, prices=own) for one, own in zip(detectors, prices, strict=True)]
    detection.weigh_singles()
    tails = [learn_tails(detection.evidence[own]) for own in others]
    rng, d, rests = np.random.default_rng(seed), detection.rows.shape[1], []
    for number, clean in enumerate(folds):
        own = np.flatnonzero(trusted & (fold == number))[:MOST_RESTS]
        stretches = _random_stretches(len(own), d, rng)
        rests.append((clean.density, np.where(stretches, np.nan, detection.rows[own])))
    rarity, priced = Rarity(np.sort(clean_rests(rests))), zip(detection.detectors, tails, strict=True)
    detection.detectors = [replace(one, tails=own, rarity=rarity) for one, own in priced]
    return all_rows, CrossFit(detection, trusted)


def _learn_clean_rows(values: Floats, layout: Layout, seed: int) -> tuple[list[CleanRows], Integers]:
    """Return what rows (n, d) look like and what those outside of each fold do, and the fold (n,) of each row.

    Folds of many rows are of rows that nothing was learnt from, and -1 those of rows that are not judged.
    """
    n, blocks, wide_layout, cells = len(values), None, layout, values
    if values.shape[1] > MOST_COLUMNS:
        blocks, layout = lay_blocks(values, wide_layout)
        cells = blocks.reduce(values)
    shuffled, fold = np.random.default_rng(seed).permutation(n), np.full(n, -1)
    learning = np.arange(n)
    if n > MOST_CROSS_FITTED:
        n_learnt = min(MOST_LEARNT, n - FEWEST_JUDGED)
        fresh = shuffled[n_learnt:][:MOST_JUDGED]
        learning, fold[fresh] = np.sort(shuffled[:n_learnt]), np.arange(len(fresh)) % FOLDS
    else:
        few = n <= FEW_ROWS or n < ROWS_PER_COLUMN * cells.shape[1]
        fold = shuffled % min(n, 2 * FOLDS if few else FOLDS)
    learning = learning[~np.isnan(cells[learning]).all(axis=1)]
    parts = [learning, *(learning[fold[learning] != f] for f in range(fold.max() + 1) if n <= MOST_CROSS_FITTED)]
    widths, learnt = column_widths(cells), [cells[part] for part in parts]
    columns = [learn_columns(part, layout.order, widths) for part in learnt]
    rows = [own.to_rows(part)[0] for own, part in zip(columns, learnt, strict=True)]
    densities = learn_densities(rows, choose_shape(rows[0], seed), seed)
    clean = []
    for own, part, (density, component) in zip(columns, learnt, densities, strict=True):
        last = len(density.log_weight) - 1
        repeated = learn_repeated_values(part[:, layout.order], np.minimum(component, last), last + 1)
        clean.append(CleanRows(layout, own, density, repeated))
    clean += clean * FOLDS if len(parts) == 1 else []
    if blocks:
        wide = learn_wide(values, wide_layout, blocks, parts, fold, seed)
        clean = [replace(one, wide=own) for one, own in zip(clean, wide, strict=True)]
    return clean, fold


def choose_shape(rows: Floats, seed: int) -> Shape:
    """Choose the shape with the highest likelihood of a third of the rows, learnt on the others.

    Components are added as long as that helps; shrinkages are climbed, not all tried. Few wide rows may be
    better described by one component of low rank.
    """
    n, d = rows.shape
    best, best_value = Shape(1, SHRINKAGES[-1]), -math.inf
    if n < FEWEST_TO_CHOOSE:
        return best
    limits = (MOST_PRODUCTS_INCOMPLETE, MOST_INCOMPLETE_TO_CHOOSE), (MOST_PRODUCTS, MOST_TO_CHOOSE)
    most_products, most_rows = limits[int(not np.isnan(rows).any())]
    places = np.random.default_rng(seed).permutation(n)[:most_rows]
    left_out = [places[i::3] for i in range(3 if n <= FEW_ROWS else 1)]
    learning = [rows[np.setdiff1d(places, some)] for some in left_out]
    thirds = Thirds(learning, [rows[some[:MOST_COMPARED]] for some in left_out], seed)
    one_component = judged = thirds.learn(Shape(1, 0.2))
    most_components = min(n / ROWS_PER_COMPONENT, most_products / d**2)
    for n_components in (k for k in COMPONENTS if k <= max(1, most_components)):
        if n_components > 1:
            judged = thirds.learn(Shape(n_components, min(best.shrinkage, 0.2)))
        chosen, value = judged.climb(Shape(n_components, best.shrinkage), SHRINKAGES)
        if value > best_value + LEAST_GAIN:
            best, best_value = chosen, value
        elif n_components > COMPONENTS[1]:
            break
    ranks = [rank for rank in RANKS if rank < d and ROWS_PER_RANK * rank <= n < ROWS_PER_COLUMN * d]
    for shape in [Shape(1, 0.0, rank) for rank in ranks]:
        value = one_component.mean_log_density(shape)
        if value > best_value + LEAST_GAIN:
            best, best_value = shape, value
    for tail in LIGHTER_TAILS:
        shape = replace(best, tail=tail)
        value = thirds.learn(shape).mean_log_density(shape)
        if value <= best_value:
            break
        best, best_value = shape, value
    return best


def learn_prices(first: Floats, evidence: Floats) -> Prices:
    """Learn what sets cost from the largest log odds of a cell (n,) and the evidence (n, 5) of clean rows."""

    def price(clean: Floats, share: float) -> float:
        return max(LEAST_PRICE, float(np.quantile(clean, share)))

    run = price(np.maximum(first, evidence[:, NOISE]), RUN_QUANTILE)
    extra = np.zeros(5)
    for kind in (FOREIGN, SHIFTED):
        extra[kind] = max(0.0, price(evidence[:, kind], RUN_QUANTILE) - run)
    return Prices(price(first, SINGLE_QUANTILE), run, extra)


def calibrated(clean: CleanRows, cross_fit: CrossFit, seed: int) -> Detector:
    """Return the detector for other rows, with the thresholds that the reference rows' own statistics set."""
    detection, evidence = cross_fit.detection, cross_fit.detection.evidence
    judged, missing = cross_fit.trusted & (detection.fold >= 0), np.isnan(detection.given).sum(axis=1)
    counted = detection.statistics()
    raw = np.sort(counted[judged])
    examined = Calibration(raw, raw, raw, raw[None])
    odd = np.flatnonzero(judged & (counted >= examined.examined_above))
    counted[odd[detection.find_sets(odd).unusual]] = examined.least
    return Detector(
        clean,
        learn_prices(detection.windows.cells.max(axis=1)[judged], evidence[judged]),
        learn_tails(evidence[judged]),
        detection.detectors[0].rarity,
        Calibration(
            np.sort(counted[judged]),
            raw,
            np.sort(detection.windows.log_density[judged & (missing == 0)]),
            np.sort(_incomplete_statistics(cross_fit, missing, np.random.default_rng(seed)), axis=1),
        ),
    )


def _incomplete_statistics(cross_fit: CrossFit, missing: Integers, rng: np.random.Generator) -> Floats:
    """Return the statistics (len(MISSING_SHARES), m) of rows that lack such a share of their cells.

    They are those of each fold with the fewest ``missing`` (n,) columns, and lack the same ones.
    """
    detection = cross_fit.detection
    detectors, given, numbers, shares = detection.detectors, [], [], []
    n_cells, most = detection.rows.shape[1], -(-MOST_INCOMPLETE // len(detectors))
    for number, one in enumerate(detectors):
        own = np.flatnonzero(cross_fit.trusted & (detection.fold == number))
        own = own[np.argsort(missing[own], kind="stable")][:most]
        for share in MISSING_SHARES:
            lost = rng.permutation(n_cells)[None] < max(1, round(share * n_cells))
            rest = one.clean.wide.blocks.expand(lost) if one.clean.wide else lost
            given.append(np.where(rest, np.nan, detection.given[own]))
            numbers.append(np.full(len(own), number))
            shares.append(np.full(len(own), share))
    others = Detection(detectors, np.concatenate(given), np.concatenate(numbers), detection.n_jobs)
    others.weigh_windows()
    others.weigh_singles()
    found, of_share = others.statistics(), np.concatenate(shares)
    return np.array([found[of_share == share] for share in MISSING_SHARES])


def clean_rests(parts: Sequence[tuple[Density, Floats]]) -> Floats:
    """Return the rest scores of rows, in coordinates, some of whose cells were left out and are NaN."""
    forms = []
    for density, rows in parts:
        level, form = expect_alike(density, rows)
        forms.append(np.take_along_axis(form, level.argmax(axis=1)[:, None], axis=1)[:, 0])
    kept = np.concatenate([(~np.isnan(rows)).sum(axis=1) for _, rows in parts])
    return rest_scores(np.concatenate(forms), kept, parts[0][0].tail)


def _random_stretches(n: int, d: int, rng: np.random.Generator) -> Booleans:
    """Return for each of n rows a random stretch of a tenth to a half of its cells, the same for `RESTS_ALIKE` rows."""
    n_stretches = -(-n // RESTS_ALIKE)
    width = np.maximum(1, np.round(rng.uniform(0.1, 0.5, n_stretches) * d)).astype(np.int64)
    start = (rng.random(n_stretches) * (d - width + 1)).astype(np.int64)[:, None]
    stretches = (np.arange(d) >= start) & (np.arange(d) < start + width[:, None])
    return np.repeat(stretches, RESTS_ALIKE, axis=0)[:n]
