"""Density of clean rows: a mixture of Student vectors over the coordinates of `columns`.

With P_k the precision of component k, z a row, and any kept set of n cells,
``log p_k = log w_k + c(n) + ld_k - (nu + n) / 2 log(1 + q_k / nu)``, ld half the log determinant of the precision of
the kept cells, q their quadratic form, c from `density_constants`; the density is the log-sum over the components.

Components start as clusters and are refined by EM, in which a missing cell counts as what the observed ones expect. A
covariance is shrunk towards the pooled one, and that towards its diagonal, so that fewer rows than columns will do; how
much, and how many components, the likelihood of the observed cells of rows left out decides.
"""

import math
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dtrtrs
from scipy.special import gammaln, logsumexp

from treemend.arrays import Booleans, Floats, Integers
from treemend.mender.moments import (
    Moments,
    add_incomplete,
    clusters,
    expect_incomplete,
    gap_patterns,
    has_spread,
    moments_of,
)

# Degrees of freedom of rows whose scale varies; more are tried for rows that are nearer to normal, where a heavier tail
# calls many bad cells a row of larger scale. Fewer would often be likelier, and find less:
# `python -m experiments.robustness one_stretch several_stretches scattered`.
TAIL, LIGHTER_TAILS = 6.0, (25.0, 100.0, 1000.0)
# What the choice of a shape tries. Each further value costs a likelihood; `python -m experiments.filling` measures what
# it gains.
COMPONENTS = (1, 3, 8, 16)
SHRINKAGES = (0.001, 0.01, 0.05, 0.2, 0.5, 0.9)
# Ranks are tried with fewer than so many rows a column, where shrinkage forgets what columns have in common; each costs
# a factorisation. `python -m experiments.robustness several_stretches wide` measures what they gain.
RANKS, ROWS_PER_COLUMN, ROWS_PER_RANK = (4, 8, 16, 32), 4, 3
# More components must gain this many nats a row: fewer judge and search faster, and odd clean rows are rarer.
LEAST_GAIN = 0.5
# How many rows of a component the pooled covariance counts for, relative to the number of columns.
PRIOR_ROWS = 0.25
ROWS_PER_COMPONENT = 20
# A row costs a product with every component's precision: as many components as keep that below .3 milliseconds.
MOST_PRODUCTS = 1 << 19
# Rows with gaps cost a factorisation with every component as well, and they are learnt from one by one.
MOST_PRODUCTS_INCOMPLETE = 1 << 18
FEWEST_TO_CHOOSE = 3
MOST_TO_CHOOSE = 3_000
# Rows whose likelihood is judged: with fewer, shapes that differ little are told apart by chance.
MOST_JUDGED = 600
# With fewer rows than this, each third is left out in turn.
FEW_ROWS = 500
MOST_INCOMPLETE_TO_CHOOSE = 1_000
# Rounds of EM after clustering. More raise the likelihood of the rows learnt from, hardly that of others.
ROUNDS = 2
ROUNDS_INCOMPLETE = 4
# A row counts for components that have at least this share in it.
LEAST_SHARE = 0.01
# Components this far behind (nats) in one round of EM are not asked in the next, for rows with gaps.
FAR_BEHIND = 12.0


@dataclass(frozen=True)
class Shape:
    """What the likelihood of left-out rows chooses; see `Moments.shrunk`, and with a rank `Moments.low_rank`."""

    n_components: int
    shrinkage: float
    rank: int = 0
    tail: float = TAIL


@dataclass(frozen=True)
class Density:
    """K components over d coordinates: centres (K, d), lower triangles of covariances (K, d (d + 1) / 2), log weights.

    What follows from these is worked out when it is asked for, and not kept in model files.
    """

    centre: Floats
    lower: Floats
    log_weight: Floats
    tail: float = TAIL

    @cached_property
    def covariance(self) -> Floats:
        """Covariances (K, d, d)."""
        n_components, d = self.centre.shape
        below = np.tril_indices(d)
        covariance = np.empty((n_components, d, d))
        covariance[:, below[0], below[1]] = self.lower
        covariance[:, below[1], below[0]] = self.lower
        return covariance

    @cached_property
    def _inverted(self) -> tuple[Floats, Floats]:
        precision, log_det = np.empty_like(self.covariance), np.empty(len(self.centre))
        for k, block in enumerate(self.covariance):
            factor, failed = dpotrf(block, lower=1, clean=1)
            if failed:
                raise np.linalg.LinAlgError(f"The covariance of component {k} is not positive definite.")
            inverse = dpotri(factor, lower=1)[0]
            precision[k] = np.tril(inverse) + np.tril(inverse, -1).T
            log_det[k] = -np.log(np.diag(factor)).sum()
        return precision, log_det

    @cached_property
    def precision(self) -> Floats:
        """Inverses of the covariances (K, d, d)."""
        return self._inverted[0]

    @cached_property
    def log_det(self) -> Floats:
        """Halves of the log determinants of the precisions (K,)."""
        return self._inverted[1]

    def restrict(self, observed: Booleans, components: Booleans) -> "Density":
        """Return the density of some cells, of some components only."""
        line, column = np.tril_indices(len(observed))
        lower = self.lower[components].compress(observed[line] & observed[column], axis=1)
        found = Density(self.centre[np.ix_(components, observed)], lower, self.log_weight[components], self.tail)
        vars(found)["covariance"] = self.covariance[np.ix_(components, observed, observed)]
        gaps = ~observed
        if 2 * gaps.sum() < len(observed):
            # A few cells are taken out of the precision: a factorisation of these instead of all others.
            precision, log_det = self.precision[np.ix_(components, observed, observed)], self.log_det[components]
            for k, own in enumerate(self.precision[components]):
                factor = dpotrf(own[np.ix_(gaps, gaps)], lower=1)[0]
                log_det[k] -= np.log(factor.diagonal()).sum()
                half = dtrtrs(factor, own[np.ix_(gaps, observed)], lower=1)[0]
                precision[k] -= half.T @ half
            vars(found)["_inverted"] = precision, log_det
        return found


@dataclass(frozen=True)
class Assignment:
    """Share of each component in each row (n x K), and its weight in the moments: less the farther the row is."""

    share: Floats
    weight: Floats


def density_constants(d: int, tail: float = TAIL) -> Floats:
    """Return the part of a Student vector's log density that its dimension decides, for dimensions 0 to ``d``."""
    sizes = np.arange(d + 1)
    return np.asarray(gammaln((tail + sizes) / 2) - gammaln(tail / 2) - 0.5 * sizes * math.log(tail * math.pi))


def make_density(centre: Floats, covariance: Floats, log_weight: Floats, tail: float = TAIL) -> Density:
    """Return the density of components given by centre, covariance and log weight."""
    below = np.tril_indices(centre.shape[1])
    return Density(np.ascontiguousarray(centre), covariance[:, below[0], below[1]], log_weight, tail)


def learn_density(rows: Floats, shape: Shape, seed: int) -> tuple[Density, Integers]:
    """Learn a density of a shape from rows with NaN where values are missing; also the component of each row."""
    filled = _roughly_filled(rows)
    moments, assignment = _learn_moments(rows, filled, clusters(filled, shape.n_components, seed), shape)
    return _density(moments, shape), assignment.share.argmax(axis=1)


def choose_shape(rows: Floats, seed: int) -> Shape:
    """Choose the shape with the highest likelihood of a third of the rows, learnt on the others.

    Components are added as long as that helps; shrinkages are climbed, not all tried. Few wide rows may be
    better described by one component of low rank.
    """
    n, d = rows.shape
    if n < FEWEST_TO_CHOOSE:
        return Shape(1, SHRINKAGES[-1])
    complete = not np.isnan(rows).any()
    most_rows = MOST_TO_CHOOSE if complete else MOST_INCOMPLETE_TO_CHOOSE
    most_products = MOST_PRODUCTS if complete else MOST_PRODUCTS_INCOMPLETE
    places = np.random.default_rng(seed).permutation(n)[:most_rows]
    thirds = [places[i::3] for i in range(3 if n <= FEW_ROWS else 1)]
    splits = [(rows[np.setdiff1d(places, third)], rows[third[:MOST_JUDGED]]) for third in thirds]
    filled = [_roughly_filled(learning) for learning, _ in splits]

    @cache
    def labels_of(n_components: int) -> list[Integers]:
        return [clusters(rough, n_components, seed) for rough in filled]

    best, best_value = Shape(1, SHRINKAGES[-1]), -math.inf
    one_component: list[_Judge] = []

    def judges_of(start: Shape) -> list[_Judge]:
        return [
            _Judge(_learn_moments(learning, rough, labels, start)[0], judging)
            for (learning, judging), rough, labels in zip(splits, filled, labels_of(start.n_components), strict=True)
        ]

    for n_components in COMPONENTS:
        if n_components > 1 and (n < ROWS_PER_COMPONENT * n_components or n_components * d * d > most_products):
            break
        start = Shape(n_components, min(best.shrinkage, 0.2))
        judges = judges_of(start)
        one_component = one_component or judges
        chosen, value = _choose_shrinkage(judges, start, best.shrinkage)
        if value > best_value + LEAST_GAIN:
            best, best_value = chosen, value
        elif n_components > COMPONENTS[1]:
            break
    for rank in RANKS if n < ROWS_PER_COLUMN * d else ():
        if rank < d and ROWS_PER_RANK * rank <= n:
            shape = Shape(1, 0.0, rank)
            value = _mean_log_density(one_component, shape)
            if value > best_value + LEAST_GAIN:
                best, best_value = shape, value
    for tail in LIGHTER_TAILS:
        shape = replace(best, tail=tail)
        value = _mean_log_density(judges_of(shape), shape)
        if value <= best_value:
            break
        best, best_value = shape, value
    return best


def _assignment(density: Density, rows: Floats, level: Floats, form: Floats) -> Assignment:
    observed = rows.shape[1] - np.isnan(rows).sum(axis=1)
    share = np.exp(level - logsumexp(level, axis=1, keepdims=True))
    share[share < LEAST_SHARE] = 0.0
    share /= share.sum(axis=1, keepdims=True)
    return Assignment(share, share * (density.tail + observed[:, None]) / (density.tail + form))


class _Judge:
    """Likelihood of left-out rows, by shapes that differ in their shrinkage only."""

    def __init__(self, moments: Moments, rows: Floats) -> None:
        self.moments = moments
        self.rows = rows
        self.likely: Booleans | None = None

    def mean_log_density(self, shape: Shape) -> float:
        level = _expect(_density(self.moments, shape), self.rows, self.likely)[0]
        self.likely = _likely(level)
        return float(logsumexp(level, axis=1).mean())


def _mean_log_density(judges: list[_Judge], shape: Shape) -> float:
    return float(np.mean([judge.mean_log_density(shape) for judge in judges]))


def _choose_shrinkage(judges: list[_Judge], start: Shape, guess: float) -> tuple[Shape, float]:
    """Climb to the best shrinkage from a guess."""

    @cache
    def value(at: int) -> float:
        return _mean_log_density(judges, Shape(start.n_components, SHRINKAGES[at]))

    at = SHRINKAGES.index(guess)
    for step in (-1, 1):
        while 0 <= at + step < len(SHRINKAGES) and value(at + step) > value(at):
            at += step
    return Shape(start.n_components, SHRINKAGES[at]), value(at)


def _learn_moments(rows: Floats, filled: Floats, labels: Integers, shape: Shape) -> tuple[Moments, Assignment]:
    share = (labels[:, None] == np.arange(labels.max() + 1)).astype(np.float64)
    centre = np.broadcast_to(filled.mean(axis=0), (share.shape[1], rows.shape[1]))
    assignment = Assignment(share, share)
    first, second = _sums(filled, assignment, centre)
    moments = moments_of(share.sum(axis=0), share.sum(axis=0), centre, first, second)
    likely = None
    for _ in range(ROUNDS if filled is rows else ROUNDS_INCOMPLETE):
        density = _density(moments, shape)
        level, form = _expect(density, rows, likely)
        assignment = _assignment(density, rows, level, form)
        moments = _update(density, rows, assignment)
        used = has_spread(assignment.share.sum(axis=0))
        likely = _likely(level)[:, used]
    return moments, Assignment(assignment.share[:, used], assignment.weight[:, used])


def _likely(level: Floats) -> Booleans:
    return np.asarray(level > level.max(axis=1, keepdims=True) - FAR_BEHIND)


def _roughly_filled(rows: Floats) -> Floats:
    """Fill gaps by one component whose moments are learnt from the observed cells, for the first clustering."""
    seen = ~np.isnan(rows)
    if seen.all():
        return rows
    count = np.maximum(seen.sum(axis=0), 1)
    mean = np.where(seen, rows, 0.0).sum(axis=0) / count
    variance = (np.where(seen, rows - mean, 0.0) ** 2).sum(axis=0) / count
    density = make_density(mean[None], np.diag(variance + 1e-4)[None], np.zeros(1))
    shape = Shape(1, 0.05)
    for _ in range(ROUNDS_INCOMPLETE):
        density = _density(_update(density, rows, _assignment(density, rows, *_expect(density, rows))), shape)
    filled = rows.copy()
    for pattern, places in gap_patterns(rows):
        dev = np.where(pattern, 0.0, rows[places] - density.centre[0])
        block = density.precision[0][np.ix_(pattern, pattern)]
        filled[np.ix_(places, pattern)] = (
            density.centre[0][pattern] - np.linalg.solve(block, (dev @ density.precision[0])[:, pattern].T).T
        )
    return filled


def _density(moments: Moments, shape: Shape) -> Density:
    covariance = moments.low_rank(shape.rank) if shape.rank else moments.shrunk(shape.shrinkage, PRIOR_ROWS)
    return make_density(moments.centre, covariance, np.log(moments.count / moments.count.sum()), shape.tail)


def _expect(density: Density, rows: Floats, likely: Booleans | None = None) -> tuple[Floats, Floats]:
    """Log density and quadratic form of each row in each component (n x K); complete rows by matrix products.

    A row with gaps is minus infinity in components that are not likely.
    """
    complete = ~np.isnan(rows).any(axis=1)
    n, d = rows.shape
    level, form = np.empty((n, len(density.centre))), np.empty((n, len(density.centre)))
    some = rows if complete.all() else rows[complete]
    constant = density_constants(d, density.tail)[-1]
    for k, centre in enumerate(density.centre):
        away = some - centre
        q = np.maximum(np.einsum("ij,ij->i", away @ density.precision[k], away), 0.0)
        form[complete, k] = q
        at = density.log_weight[k] + constant + density.log_det[k]
        level[complete, k] = at - 0.5 * (density.tail + d) * np.log1p(q / density.tail)
    if not complete.all():
        part = None if likely is None else likely[~complete]
        level[~complete], form[~complete] = expect_rows(density, rows[~complete], part)
    return level, form


def expect_rows(density: Density, rows: Floats, likely: Booleans | None = None) -> tuple[Floats, Floats]:
    """Return the log density and quadratic form (n, K) of the observed cells of each row, row by row.

    A row is minus infinity in components that are not likely.
    """
    shape = len(rows), len(density.centre)
    level, form = np.zeros(shape) if likely is None else np.where(likely, 0.0, -np.inf), np.empty(shape)
    expect_incomplete(
        rows,
        density.centre,
        density.covariance,
        density.precision,
        density.log_weight,
        density.log_det,
        density_constants(rows.shape[1], density.tail),
        density.tail,
        level,
        form,
    )
    return level, form


def expect_alike(density: Density, rows: Floats) -> tuple[Floats, Floats]:
    """Return what `expect_rows` does, rows with the same gaps together: for many such rows, all of which have gaps."""
    level, form = np.empty((len(rows), len(density.centre))), np.empty((len(rows), len(density.centre)))
    constants, tail = density_constants(rows.shape[1], density.tail), density.tail
    for pattern, places in gap_patterns(rows):
        away = np.where(pattern, 0.0, rows[places] - density.centre[:, None])
        force, n = away @ density.precision, int((~pattern).sum())
        block, lost = density.precision[:, pattern][:, :, pattern], force[:, :, pattern].transpose(0, 2, 1)
        q = np.maximum((force * away).sum(axis=2) - (np.linalg.solve(block, lost) * lost).sum(axis=1), 0.0).T
        at = density.log_weight + constants[n] + density.log_det - 0.5 * np.linalg.slogdet(block)[1]
        form[places], level[places] = q, at - 0.5 * (tail + n) * np.log1p(q / tail)
    return level, form


def _sums(rows: Floats, assignment: Assignment, base: Floats) -> tuple[Floats, Floats]:
    """Weighted first and second moments of complete rows about ``base``."""
    n_components, d = base.shape
    first, second = np.zeros((n_components, d)), np.zeros((n_components, d, d))
    for k in range(n_components):
        used = assignment.share[:, k] >= LEAST_SHARE
        away = rows[used] - base[k]
        weighted = away * assignment.weight[used, k][:, None]
        first[k] = weighted.sum(axis=0)
        second[k] = weighted.T @ away
    return first, second


def _update(density: Density, rows: Floats, assignment: Assignment) -> Moments:
    """Moments of all rows, gaps as the density expects them."""
    complete = ~np.isnan(rows).any(axis=1)
    share, weight = assignment.share, assignment.weight
    first, second = _sums(rows[complete], Assignment(share[complete], weight[complete]), density.centre)
    if not complete.all():
        add_incomplete(
            rows[~complete],
            density.centre,
            density.covariance,
            density.precision,
            share[~complete],
            weight[~complete],
            LEAST_SHARE,
            first,
            second,
        )
    return moments_of(share.sum(axis=0), weight.sum(axis=0), density.centre, first, second)
