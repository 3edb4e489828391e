"""What clean rows look like: a mixture of Student vectors (method, section 10).

Enters: described reference rows. Leaves: centres, covariances and weights of a few components, for which the density of
any part of a row, alone or given the rest, has a closed form.

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

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

TAIL = 6.0
SHRINKAGES = (0.001, 0.01, 0.05, 0.2, 0.5)
COMPONENTS = (1, 3, 8)
ROWS_PER_COMPONENT = 20
FEWEST_TO_CHOOSE = 3
# No coordinate is predicted better than this, on scales where attributes range over [0, 1].
RESOLUTION = 0.01


@dataclass(frozen=True)
class Mixture:
    """K components over D coordinates; ``log_det`` is the precision's."""

    centre: Floats  # K x D
    covariance: Floats  # K x D x D
    precision: Floats  # K x D x D
    log_weight: Floats  # K
    log_det: Floats  # K


@dataclass(frozen=True)
class Moments:
    """Counts, centres, scatters of clusters, and their pooled covariance."""

    count: Integers
    centre: Floats
    scatter: Floats
    pooled: Floats


@dataclass(frozen=True)
class Shape:
    """What the left-out likelihood chooses."""

    n_components: int
    shrinkage: float


def density_constants(d: int) -> Floats:
    """Return the part of a Student vector's log density that its dimension decides, for dimensions 0 to ``d``."""
    sizes = np.arange(d + 1)
    return np.asarray(gammaln((TAIL + sizes) / 2) - gammaln(TAIL / 2) - 0.5 * sizes * math.log(TAIL * math.pi))


def learn_mixture(described: Floats, shape: Shape, seed: int) -> Mixture:
    """Learn a mixture of the given shape."""
    moments = _moments(described, _clusters(described, shape.n_components, seed))
    covariance = _shrunk(moments, shape.shrinkage)
    factors = [cholesky(block, lower=True, check_finite=False) for block in covariance]
    identity = np.eye(described.shape[1])
    precision = np.array([cho_solve((factor, True), identity, check_finite=False) for factor in factors])
    precision = 0.5 * (precision + precision.transpose(0, 2, 1))
    log_det = np.array([-2 * np.log(np.diag(factor)).sum() for factor in factors])
    return Mixture(moments.centre, covariance, precision, np.log(moments.count / moments.count.sum()), log_det)


def choose_shape(described: Floats, seed: int) -> Shape:
    """Choose the shape with the highest likelihood of a third of the rows, learnt on the others."""
    if len(described) < FEWEST_TO_CHOOSE:
        return Shape(1, SHRINKAGES[-1])
    third = np.random.default_rng(seed).permutation(len(described)) % 3 == 0
    learning, judging = described[~third], described[third]
    best, best_value = Shape(1, SHRINKAGES[-1]), -math.inf
    for n_components in COMPONENTS:
        if n_components > 1 and len(described) < ROWS_PER_COMPONENT * n_components:
            continue
        moments = _moments(learning, _clusters(learning, n_components, seed))
        for shrinkage in SHRINKAGES:
            value = _mean_log_density(moments, _shrunk(moments, shrinkage), judging)
            if value > best_value:
                best, best_value = Shape(n_components, shrinkage), value
    return best


def _clusters(described: Floats, n_clusters: int, seed: int) -> Integers:
    if n_clusters == 1:
        return np.zeros(len(described), np.int64)
    from sklearn.cluster import KMeans

    with warnings.catch_warnings():
        # Fewer distinct rows than clusters give fewer clusters, which is as it should be.
        warnings.simplefilter("ignore")
        return np.asarray(KMeans(n_clusters, n_init=2, random_state=seed).fit_predict(described), np.int64)


def _moments(described: Floats, labels: Integers) -> Moments:
    """Moments of the clusters; a cluster of one row says nothing of its spread and is left out if it can be."""
    names, counts = np.unique(labels, return_counts=True)
    kept = counts > 1 if (counts > 1).any() else counts == counts.max()
    members = [described[labels == name] for name in names[kept]]
    centre = np.array([rows.mean(axis=0) for rows in members])
    scatter = np.array([(rows - middle).T @ (rows - middle) for rows, middle in zip(members, centre, strict=True)])
    count = counts[kept]
    pooled = scatter.sum(axis=0) / max(count.sum() - len(count), 1)
    return Moments(count, centre, scatter, pooled)


def _shrunk(moments: Moments, shrinkage: float) -> Floats:
    """Covariances of the components: the pooled one counts as much as one row for each coordinate."""
    d = len(moments.pooled)
    weight = (moments.count - 1 + d)[:, None, None]
    covariance = (1 - shrinkage) * (moments.scatter + d * moments.pooled) / weight
    diagonal = np.arange(d)
    covariance[:, diagonal, diagonal] += shrinkage * np.diag(moments.pooled) + RESOLUTION**2
    return np.asarray(covariance)


def _mean_log_density(moments: Moments, covariance: Floats, rows: Floats) -> float:
    constant = density_constants(rows.shape[1])[-1]
    half = 0.5 * (TAIL + rows.shape[1])
    terms = []
    for count, centre, block in zip(moments.count, moments.centre, covariance, strict=True):
        factor = cholesky(block, lower=True, check_finite=False)
        root = solve_triangular(factor, (rows - centre).T, lower=True, check_finite=False)
        level = np.log(count / moments.count.sum()) + constant - np.log(np.diag(factor)).sum()
        terms.append(level - half * np.log1p((root**2).sum(axis=0) / TAIL))
    return float(np.logaddexp.reduce(terms, axis=0).mean())
