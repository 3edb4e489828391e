"""Density of clean rows: a mixture of Student vectors over the coordinates of `columns`.

With P_k the precision of component k, z a row, and any kept set of n cells,
``log p_k = log w_k + c(n) + ld_k - (nu + n) / 2 log(1 + q_k / nu)``, ld half the log determinant of the precision of
the kept cells, q their quadratic form, c from `density_constants`; the density is the log-sum over the components.

Components start as clusters and are refined by EM, in which a missing cell counts as what the observed ones expect. A
covariance is shrunk towards the pooled one, and that towards its diagonal, so that fewer rows than columns will do; how
much, and how many components, `learning.choose_shape` chooses.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dpotrf, dpotri, dtrtrs
from scipy.special import gammaln, logsumexp

from treemend.arrays import Booleans, Floats, Integers
from treemend.mender.conditional import add_incomplete, expect_incomplete
from treemend.mender.swept import Law, Mixture
from treemend.progress import step

# Degrees of freedom of rows whose scale varies; lighter tails are tried for rows that are nearer to normal, where a
# heavier one calls many bad cells a row of larger scale.
TAIL = 6.0
# No coordinate is predicted better than this, where columns range over [0, 1].
RESOLUTION = 0.01
# How many rows of a component the pooled covariance counts for, relative to the number of columns.
PRIOR_ROWS = 0.25
# Rows that are tried for each first centre of a cluster, and most rounds of k-means.
CANDIDATES, CLUSTER_ROUNDS = 4, 30
# Rounds of EM after clustering. More raise the likelihood of the rows learnt from, hardly that of others.
ROUNDS = 2
ROUNDS_INCOMPLETE = 4
# A row counts for components that have at least this share in it.
LEAST_SHARE = 0.01
# Components this far behind (nats) in one round of EM are not asked in the next, for rows with gaps.
FAR_BEHIND = 12.0
# Rounds in which factors and the noise they leave are found in turn: with two, the noise of smooth rows is too large.
FACTOR_ROUNDS = 5


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
    def mix(self) -> Mixture:
        """The density as kernels read it: with covariances, precisions, and halves of these' log determinants."""
        n_components, d = self.centre.shape
        below = np.tril_indices(d)
        covariance, precision, log_det = *np.empty((2, n_components, d, d)), np.empty(n_components)
        covariance[:, below[0], below[1]] = self.lower
        covariance[:, below[1], below[0]] = self.lower
        for k, block in enumerate(covariance):
            factor, failed = dpotrf(block, lower=1, clean=1)
            if failed:
                raise np.linalg.LinAlgError(f"The covariance of component {k} is not positive definite.")
            inverse = dpotri(factor, lower=1)[0]
            precision[k] = np.tril(inverse) + np.tril(inverse, -1).T
            log_det[k] = -np.log(np.diag(factor)).sum()
        return Mixture(self.centre, covariance, precision, self.log_weight, log_det)

    @cached_property
    def law(self) -> Law:
        """What its components share."""
        return Law(density_constants(self.centre.shape[1], self.tail), self.tail)

    def restrict(self, observed: Booleans, components: Booleans) -> "Density":
        """Return the density of some cells, of some components only."""
        line, column = np.tril_indices(len(observed))
        lower = self.lower[components].compress(observed[line] & observed[column], axis=1)
        found = Density(self.centre[np.ix_(components, observed)], lower, self.log_weight[components], self.tail)
        gaps = ~observed
        if 2 * gaps.sum() < len(observed):
            # A few cells are taken out of the precision: a factorisation of these instead of all others.
            inside = np.ix_(components, observed, observed)
            precision, log_det = self.mix.precision[inside], self.mix.log_det[components]
            for k, own in enumerate(self.mix.precision[components]):
                factor = dpotrf(own[np.ix_(gaps, gaps)], lower=1)[0]
                log_det[k] -= np.log(factor.diagonal()).sum()
                half = dtrtrs(factor, own[np.ix_(gaps, observed)], lower=1)[0]
                precision[k] -= half.T @ half
            vars(found)["mix"] = Mixture(
                found.centre, self.mix.covariance[inside], precision, found.log_weight, log_det
            )
        return found


@dataclass(frozen=True)
class Moments:
    """Counts (K,), centres (K, d) and scatters (K, d, d) of components, and their pooled covariance (d, d)."""

    count: Floats
    centre: Floats
    scatter: Floats
    pooled: Floats

    def shrunk(self, shrinkage: float) -> Floats:
        """Return covariances shrunk towards the pooled one, and that towards its diagonal by a share."""
        d = len(self.pooled)
        prior = PRIOR_ROWS * d
        covariance = (1 - shrinkage) * (self.scatter + prior * self.pooled)
        covariance /= np.maximum(self.count - 1 + prior, 1e-9)[:, None, None]
        diagonal = np.arange(d)
        covariance[:, diagonal, diagonal] += shrinkage * np.diag(self.pooled) + RESOLUTION**2
        return np.asarray(covariance)

    def low_rank(self, rank: int) -> Floats:
        """Return covariances of low rank plus diagonal: the leading factors, in units of the noise that they leave."""
        covariance = self.scatter / np.maximum(self.count - 1, 1e-9)[:, None, None]
        diagonal = np.arange(covariance.shape[1])
        for k, full in enumerate(covariance):
            variance = full[diagonal, diagonal] + RESOLUTION**2
            noise, factor = variance, np.zeros((len(variance), 1))
            for _ in range(FACTOR_ROUNDS):
                root = np.sqrt(noise)
                values, axes = eigh(full / np.outer(root, root), subset_by_index=(len(root) - rank, len(root) - 1))
                factor = root[:, None] * axes * np.sqrt(np.maximum(values - 1.0, 0.0))
                noise = np.maximum(variance - np.square(factor).sum(axis=1), RESOLUTION**2)
            covariance[k] = factor @ factor.T
            covariance[k, diagonal, diagonal] += noise
        return np.asarray(covariance)

    def density(self, shape: Shape) -> Density:
        """Return the density of these moments."""
        covariance = self.low_rank(shape.rank) if shape.rank else self.shrunk(shape.shrinkage)
        return make_density(self.centre, covariance, np.log(self.count / self.count.sum()), shape.tail)


@dataclass(frozen=True)
class LeftOut:
    """Likelihood of rows left out of some moments, by shapes that differ in their shrinkage or rank only."""

    moments: Sequence[Moments]
    rows: Sequence[Floats]
    _likely: dict[int, Booleans] = field(default_factory=dict)

    def mean_log_density(self, shape: Shape) -> float:
        """Return the mean over the rows, and over the moments."""
        means = []
        for i, (moments, rows) in enumerate(zip(self.moments, self.rows, strict=True)):
            level = _expect(moments.density(shape), rows, self._likely.get(i))[0]
            self._likely[i] = _likely_components(level)
            means.append(float(logsumexp(level, axis=1).mean()))
        return float(np.mean(means))

    def climb(self, shape: Shape, shrinkages: Sequence[float]) -> tuple[Shape, float]:
        """Climb from a shape to the best shrinkage of some; return it and the mean there."""
        shapes, at = [replace(shape, shrinkage=share) for share in shrinkages], shrinkages.index(shape.shrinkage)
        value = cache(self.mean_log_density)
        for move in (-1, 1):
            while 0 <= at + move < len(shapes) and value(shapes[at + move]) > value(shapes[at]):
                at += move
        return shapes[at], value(shapes[at])


class Thirds:
    """Parts of the rows to learn from, each with rows left out of it."""

    def __init__(self, learning: Sequence[Floats], judging: Sequence[Floats], seed: int) -> None:
        self.learning, self.judging, self.seed = learning, judging, seed
        self.filled = [roughly_filled(part) for part in learning]
        self.labels: dict[int, list[Integers]] = {}

    def learn(self, shape: Shape) -> LeftOut:
        """Learn moments of a shape."""
        n = shape.n_components
        if n not in self.labels:
            self.labels[n] = [clusters(part, n, self.seed) for part in self.filled]
        parts = zip(self.learning, self.filled, self.labels[n], strict=True)
        return LeftOut([learn_moments(*part, shape)[0] for part in parts], self.judging)


def density_constants(d: int, tail: float = TAIL) -> Floats:
    """Return the part of a Student vector's log density that its dimension decides, for dimensions 0 to ``d``."""
    sizes = np.arange(d + 1)
    return np.asarray(gammaln((tail + sizes) / 2) - gammaln(tail / 2) - 0.5 * sizes * math.log(tail * math.pi))


def make_density(centre: Floats, covariance: Floats, log_weight: Floats, tail: float = TAIL) -> Density:
    """Return the density of components given by centre, covariance and log weight."""
    below = np.tril_indices(centre.shape[1])
    return Density(np.ascontiguousarray(centre), covariance[:, below[0], below[1]], log_weight, tail)


def learn_densities(parts: Sequence[Floats], shape: Shape, seed: int) -> list[tuple[Density, Integers]]:
    """Learn densities of a shape from all rows and from those outside of each fold; also the component of each row."""
    learnt = []
    for number, rows in enumerate(parts):
        with step(f"fold {number} of {len(parts) - 1}" if number else "all rows"):
            filled = roughly_filled(rows)
            moments, share = learn_moments(rows, filled, clusters(filled, shape.n_components, seed), shape)
            learnt.append((moments.density(shape), share.argmax(axis=1)))
    return learnt


def clusters(rows: Floats, n_clusters: int, seed: int) -> Integers:
    """Return a cluster number for each row; fewer distinct rows than clusters give fewer clusters."""
    labels = np.zeros(len(rows), np.int64)
    if n_clusters == 1:
        return labels
    rng = np.random.default_rng(seed)
    rows = rows - rows.mean(axis=0)
    square = np.einsum("ij,ij->i", rows, rows)

    def away(centres: Floats) -> Floats:
        """Squared distances (n, centres), up to rounding."""
        return np.asarray(square[:, None] - 2.0 * rows @ centres.T + np.einsum("ij,ij->i", centres, centres))

    # Each first centre is the best of several rows, drawn with the square of their distance from the centres so far.
    centre = rows[rng.integers(len(rows), size=1)]
    nearest = np.maximum(away(centre)[:, 0], 0.0)
    while len(centre) < n_clusters and nearest.sum() > 1e-12 * square.sum():
        drawn = rng.choice(len(rows), CANDIDATES, p=nearest / nearest.sum())
        left = np.minimum(nearest[:, None], np.maximum(away(rows[drawn]), 0.0))
        best = left.sum(axis=0).argmin()
        centre, nearest = np.vstack([centre, rows[drawn[best]]]), left[:, best]
    for _ in range(CLUSTER_ROUNDS):
        before, labels = labels, away(centre).argmin(axis=1)
        if np.array_equal(before, labels):
            break
        member = labels == np.arange(len(centre))[:, None]
        count = member.sum(axis=1, keepdims=True)
        centre = np.where(count > 0, member.astype(np.float64) @ rows / np.maximum(count, 1), centre)
    return np.unique(labels, return_inverse=True)[1]


def learn_moments(rows: Floats, filled: Floats, labels: Integers, shape: Shape) -> tuple[Moments, Floats]:
    """Learn components that begin as clusters of rows, gaps roughly filled; also their shares (n, K) in rows."""
    share = (labels[:, None] == np.arange(labels.max() + 1)).astype(np.float64)
    centre = np.broadcast_to(filled.mean(axis=0), (share.shape[1], rows.shape[1]))
    moments = _moments(share, share, centre, *_sums(filled, share, share, centre))
    likely = None
    for _ in range(ROUNDS if filled is rows else ROUNDS_INCOMPLETE):
        level, share, moments = _update(moments.density(shape), rows, likely)
        used = _has_spread(share.sum(axis=0))
        likely = _likely_components(level)[:, used]
    return moments, share[:, used]


def _likely_components(level: Floats) -> Booleans:
    return np.asarray(level > level.max(axis=1, keepdims=True) - FAR_BEHIND)


def roughly_filled(rows: Floats) -> Floats:
    """Fill gaps by one component whose moments are learnt from the observed cells, for the first clustering."""
    seen = ~np.isnan(rows)
    if seen.all():
        return rows
    count = np.maximum(seen.sum(axis=0), 1)
    mean = np.where(seen, rows, 0.0).sum(axis=0) / count
    variance = (np.where(seen, rows - mean, 0.0) ** 2).sum(axis=0) / count
    density = make_density(mean[None], np.diag(variance + 1e-4)[None], np.zeros(1))
    for _ in range(ROUNDS_INCOMPLETE):
        density = _update(density, rows)[-1].density(Shape(1, 0.05))
    filled = rows.copy()
    for pattern, places in _gap_patterns(rows):
        dev = np.where(pattern, 0.0, rows[places] - density.centre[0])
        block = density.mix.precision[0][np.ix_(pattern, pattern)]
        filled[np.ix_(places, pattern)] = (
            density.centre[0][pattern] - np.linalg.solve(block, (dev @ density.mix.precision[0])[:, pattern].T).T
        )
    return filled


def _expect(density: Density, rows: Floats, likely: Booleans | None = None) -> tuple[Floats, Floats]:
    """Log density and quadratic form of each row in each component (n x K); complete rows by matrix products.

    A row with gaps is minus infinity in components that are not likely.
    """
    complete = ~np.isnan(rows).any(axis=1)
    n, d = rows.shape
    level, form = np.empty((n, len(density.centre))), np.empty((n, len(density.centre)))
    some = rows if complete.all() else rows[complete]
    for k, centre in enumerate(density.centre):
        away = some - centre
        q = np.maximum(np.einsum("ij,ij->i", away @ density.mix.precision[k], away), 0.0)
        form[complete, k] = q
        at = density.log_weight[k] + density.law.constants[d] + density.mix.log_det[k]
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
    expect_incomplete(rows, density.mix, density.law, level, form)
    return level, form


def expect_alike(density: Density, rows: Floats) -> tuple[Floats, Floats]:
    """Return what `expect_rows` does, rows with the same gaps together: for many such rows, all of which have gaps."""
    level, form = np.empty((len(rows), len(density.centre))), np.empty((len(rows), len(density.centre)))
    constants, tail = density.law
    for pattern, places in _gap_patterns(rows):
        away = np.where(pattern, 0.0, rows[places] - density.centre[:, None])
        force, n = away @ density.mix.precision, int((~pattern).sum())
        block, lost = density.mix.precision[:, pattern][:, :, pattern], force[:, :, pattern].transpose(0, 2, 1)
        q = np.maximum((force * away).sum(axis=2) - (np.linalg.solve(block, lost) * lost).sum(axis=1), 0.0).T
        at = density.log_weight + constants[n] + density.mix.log_det - 0.5 * np.linalg.slogdet(block)[1]
        form[places], level[places] = q, at - 0.5 * (tail + n) * np.log1p(q / tail)
    return level, form


def _update(density: Density, rows: Floats, likely: Booleans | None = None) -> tuple[Floats, Floats, Moments]:
    """Return log densities and shares (n, K) of components, and moments, gaps counting as the density expects them."""
    level, form = _expect(density, rows, likely)
    gaps = np.isnan(rows)
    share = np.exp(level - logsumexp(level, axis=1, keepdims=True))
    share[share < LEAST_SHARE] = 0.0
    share /= share.sum(axis=1, keepdims=True)
    # The farther a row is, the less it weighs in the moments.
    weight = share * (density.tail + rows.shape[1] - gaps.sum(axis=1)[:, None]) / (density.tail + form)
    incomplete = gaps.any(axis=1)
    first, second = _sums(rows[~incomplete], share[~incomplete], weight[~incomplete], density.centre)
    if incomplete.any():
        weights = share[incomplete], weight[incomplete]
        add_incomplete(rows[incomplete], density.mix, *weights, LEAST_SHARE, first, second)
    return level, share, _moments(share, weight, density.centre, first, second)


def _sums(rows: Floats, share: Floats, weight: Floats, base: Floats) -> tuple[Floats, Floats]:
    """Weighted first and second moments of complete rows about ``base``."""
    n_components, d = base.shape
    first, second = np.zeros((n_components, d)), np.zeros((n_components, d, d))
    for k in range(n_components):
        used = share[:, k] >= LEAST_SHARE
        away = rows[used] - base[k]
        weighted = away * weight[used, k][:, None]
        first[k] = weighted.sum(axis=0)
        second[k] = weighted.T @ away
    return first, second


def _has_spread(count: Floats) -> Booleans:
    """Tell which components are kept: all but those of hardly more than one row, or the largest."""
    return np.asarray(count > 1.5 if (count > 1.5).any() else count == count.max())


def _moments(share: Floats, weight: Floats, base: Floats, first: Floats, second: Floats) -> Moments:
    """Return moments from weighted sums of deviations from ``base`` (first K x d, second K x d x d)."""
    count = share.sum(axis=0)
    used = _has_spread(count)
    count, weight, first = count[used], np.maximum(weight.sum(axis=0)[used], 1e-9), first[used]
    move = first / weight[:, None]
    scatter = second[used] - weight[:, None, None] * move[:, :, None] * move[:, None, :]
    pooled = scatter.sum(axis=0) / max(count.sum() - len(count), 1)
    return Moments(count, base[used] + move, scatter, pooled)


def _gap_patterns(rows: Floats) -> Iterator[tuple[Booleans, Integers]]:
    """Yield each pattern of gaps that occurs, and the rows that have it."""
    gaps = np.isnan(rows)
    packed = np.packbits(gaps, axis=1)
    number = np.unique(packed, axis=0, return_inverse=True)[1].ravel()
    order = np.argsort(number, kind="stable")
    for places in np.split(order, np.flatnonzero(np.diff(number[order])) + 1):
        # Of no rows at all, the one part is empty.
        if len(places) and gaps[places[0]].any():
            yield gaps[places[0]], places
