"""Density of clean rows: a mixture of Student vectors over the coordinates of `columns`.

With P_k the precision of component k, z a row, and any kept set of n cells,
``log p_k = log w_k + c(n) + ld_k - (nu + n) / 2 log(1 + q_k / nu)``, ld half the log determinant of the precision of
the kept cells, q their quadratic form, c from `density_constants`; the density is the log-sum over the components.

Components are clusters of the rows. A covariance is shrunk towards the pooled one, and that towards its diagonal, so
that fewer rows than coordinates will do; how much, and how many components, the likelihood of rows left out decides.
"""

import math
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.special import gammaln

from treemend.mender.compiled import kernel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

TAIL = 6.0
SHRINKAGES = (0.001, 0.01, 0.05, 0.2, 0.5)
COMPONENTS = (1, 3, 8)
ROWS_PER_COMPONENT = 20
FEWEST_TO_CHOOSE = 3
# No coordinate is predicted better than this, where columns range over [0, 1].
RESOLUTION = 0.01


@dataclass(frozen=True)
class Shape:
    """What the likelihood of left-out rows chooses."""

    n_components: int
    shrinkage: float


@dataclass(frozen=True)
class Density:
    """K components over d coordinates; ``log_det`` is half the log determinant of the precision."""

    centre: Floats  # K x d
    covariance: Floats  # K x d x d
    precision: Floats  # K x d x d
    log_weight: Floats  # K
    log_det: Floats  # K
    tail: float = TAIL


@dataclass(frozen=True)
class Moments:
    """Counts, centres and scatters of clusters, and their pooled covariance."""

    count: Floats
    centre: Floats
    scatter: Floats
    pooled: Floats


def density_constants(d: int) -> Floats:
    """Return the part of a Student vector's log density that its dimension decides, for dimensions 0 to ``d``."""
    sizes = np.arange(d + 1)
    return np.asarray(gammaln((TAIL + sizes) / 2) - gammaln(TAIL / 2) - 0.5 * sizes * math.log(TAIL * math.pi))


def learn_density(rows: Floats, shape: Shape, seed: int) -> Density:
    """Learn a density of the given shape."""
    moments = _moments(rows, _clusters(rows, shape.n_components, seed))
    return _density(moments, shape.shrinkage)


def choose_shape(rows: Floats, seed: int) -> Shape:
    """Choose the shape with the highest likelihood of a third of the rows, learnt on the others."""
    if len(rows) < FEWEST_TO_CHOOSE:
        return Shape(1, SHRINKAGES[-1])
    third = np.random.default_rng(seed).permutation(len(rows)) % 3 == 0
    learning, judging = rows[~third], rows[third]
    best, best_value = Shape(1, SHRINKAGES[-1]), -math.inf
    for n_components in COMPONENTS:
        if n_components > 1 and len(rows) < ROWS_PER_COMPONENT * n_components:
            continue
        moments = _moments(learning, _clusters(learning, n_components, seed))
        for shrinkage in SHRINKAGES:
            value = _mean_log_density(moments, shrinkage, judging)
            if value > best_value:
                best, best_value = Shape(n_components, shrinkage), value
    return best


def log_density(density: Density, rows: Floats) -> Floats:
    """Return the log density of the observed cells of each row; a row's bits do not depend on its company."""
    found = np.empty(len(rows))
    _log_density(
        np.ascontiguousarray(rows),
        density.centre,
        density.covariance,
        density.precision,
        density.log_weight,
        density.log_det,
        density_constants(rows.shape[1]),
        density.tail,
        found,
    )
    return found


@kernel
def _log_density(  # noqa: C901, PLR0912
    rows: Floats,
    centre: Floats,
    covariance: Floats,
    precision: Floats,
    log_weight: Floats,
    log_det: Floats,
    constants: Floats,
    tail: float,
    found: Floats,
) -> None:
    d = rows.shape[1]
    level = np.empty(len(centre))
    kept = np.empty(d, np.int64)
    away = np.empty(d)
    image = np.empty(d)
    factor = np.empty((d, d))
    for i in range(len(rows)):
        n = 0
        for j in range(d):
            if not np.isnan(rows[i, j]):
                kept[n] = j
                n += 1
        for k in range(len(centre)):
            for a in range(n):
                away[a] = rows[i, kept[a]] - centre[k, kept[a]]
            q = 0.0
            half = log_det[k]
            if n == d:
                image[:] = 0.0
                for b in range(d):
                    for a in range(d):
                        image[a] += away[b] * precision[k, b, a]
                for a in range(d):
                    q += away[a] * image[a]
            else:
                half = 0.0
                for a in range(n):
                    for b in range(a + 1):
                        v = covariance[k, kept[a], kept[b]]
                        for c in range(b):
                            v -= factor[a, c] * factor[b, c]
                        factor[a, b] = math.sqrt(v) if a == b else v / factor[b, b]
                    v = away[a]
                    for c in range(a):
                        v -= factor[a, c] * image[c]
                    image[a] = v / factor[a, a]
                    q += image[a] * image[a]
                    half -= math.log(factor[a, a])
            level[k] = log_weight[k] + constants[n] + half - 0.5 * (tail + n) * math.log1p(max(q, 0.0) / tail)
        top = level.max()
        total = 0.0
        for k in range(len(centre)):
            total += math.exp(level[k] - top)
        found[i] = top + math.log(total)


def _clusters(rows: Floats, n_clusters: int, seed: int) -> Integers:
    if n_clusters == 1:
        return np.zeros(len(rows), np.int64)
    from sklearn.cluster import KMeans

    with warnings.catch_warnings():
        # Fewer distinct rows than clusters give fewer clusters, which is as it should be.
        warnings.simplefilter("ignore")
        return np.asarray(KMeans(n_clusters, n_init=2, random_state=seed).fit_predict(rows), np.int64)


def _moments(rows: Floats, labels: Integers) -> Moments:
    """Moments of the clusters; a cluster of one row says nothing of its spread and is left out if it can be."""
    names, counts = np.unique(labels, return_counts=True)
    used = counts > 1 if (counts > 1).any() else counts == counts.max()
    members = [rows[labels == name] for name in names[used]]
    centre = np.array([part.mean(axis=0) for part in members])
    scatter = np.array([(part - middle).T @ (part - middle) for part, middle in zip(members, centre, strict=True)])
    count = counts[used].astype(np.float64)
    return Moments(count, centre, scatter, scatter.sum(axis=0) / max(count.sum() - len(count), 1))


def _shrunk(moments: Moments, shrinkage: float) -> Floats:
    """Covariances of the components: the pooled one counts as much as one row for each coordinate."""
    d = len(moments.pooled)
    covariance = (1 - shrinkage) * (moments.scatter + d * moments.pooled) / (moments.count - 1 + d)[:, None, None]
    diagonal = np.arange(d)
    covariance[:, diagonal, diagonal] += shrinkage * np.diag(moments.pooled) + RESOLUTION**2
    return np.asarray(covariance)


def _density(moments: Moments, shrinkage: float) -> Density:
    covariance = _shrunk(moments, shrinkage)
    factors = [cholesky(block, lower=True, check_finite=False) for block in covariance]
    identity = np.eye(covariance.shape[1])
    precision = np.array([cho_solve((factor, True), identity, check_finite=False) for factor in factors])
    precision = 0.5 * (precision + precision.transpose(0, 2, 1))
    log_det = np.array([-np.log(np.diag(factor)).sum() for factor in factors])
    return Density(moments.centre, covariance, precision, np.log(moments.count / moments.count.sum()), log_det)


def _mean_log_density(moments: Moments, shrinkage: float, rows: Floats) -> float:
    constant = density_constants(rows.shape[1])[-1]
    half = 0.5 * (TAIL + rows.shape[1])
    terms = []
    for count, centre, block in zip(moments.count, moments.centre, _shrunk(moments, shrinkage), strict=True):
        factor = cholesky(block, lower=True, check_finite=False)
        root = solve_triangular(factor, (rows - centre).T, lower=True, check_finite=False)
        level = np.log(count / moments.count.sum()) + constant - np.log(np.diag(factor)).sum()
        terms.append(level - half * np.log1p((root**2).sum(axis=0) / TAIL))
    return float(np.logaddexp.reduce(terms, axis=0).mean())
