"""Moments of the components of a mixture, from rows with values missing anywhere.

A row with gaps adds what its observed cells expect there, and the conditional covariance of the gaps; a complete row
adds itself.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from treemend.arrays import Booleans, Floats, Integers
from treemend.mender.compiled import kernel
from treemend.mender.conditional import COVARIANCE, NOTHING, condition, split_cells
from treemend.mender.swept import largest

# No coordinate is predicted better than this, where columns range over [0, 1].
RESOLUTION = 0.01
# Rows that are tried for each first centre of a cluster, and most rounds of k-means.
CANDIDATES, CLUSTER_ROUNDS = 4, 30
# Rounds in which factors and the noise they leave are found in turn: with two, the noise of smooth rows is too large.
FACTOR_ROUNDS = 5


@dataclass(frozen=True)
class Moments:
    """Counts (K,), centres (K, d) and scatters (K, d, d) of components, and their pooled covariance (d, d)."""

    count: Floats
    centre: Floats
    scatter: Floats
    pooled: Floats

    def shrunk(self, shrinkage: float, prior_rows: float) -> Floats:
        """Return covariances shrunk towards the pooled one, and that towards its diagonal by a share.

        The pooled one counts for ``prior_rows`` rows of a component, relative to the number of columns.
        """
        d = len(self.pooled)
        prior = prior_rows * d
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


def clusters(rows: Floats, n_clusters: int, seed: int) -> Integers:
    """Return a cluster number for each row, by k-means; fewer distinct rows than clusters give fewer clusters."""
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


def has_spread(count: Floats) -> Booleans:
    """Tell which components are kept: all but those of hardly more than one row, or the largest."""
    return np.asarray(count > 1.5 if (count > 1.5).any() else count == count.max())


def moments_of(count: Floats, weight: Floats, base: Floats, first: Floats, second: Floats) -> Moments:
    """Return moments from weighted sums of deviations from ``base`` (first K x d, second K x d x d)."""
    used = has_spread(count)
    count, weight, first = count[used], np.maximum(weight[used], 1e-9), first[used]
    move = first / weight[:, None]
    scatter = second[used] - weight[:, None, None] * move[:, :, None] * move[:, None, :]
    pooled = scatter.sum(axis=0) / max(count.sum() - len(count), 1)
    return Moments(count, base[used] + move, scatter, pooled)


def gap_patterns(rows: Floats) -> Iterator[tuple[Booleans, Integers]]:
    """Yield each pattern of gaps that occurs, and the rows that have it."""
    gaps = np.isnan(rows)
    packed = np.packbits(gaps, axis=1)
    number = np.unique(packed, axis=0, return_inverse=True)[1].ravel()
    order = np.argsort(number, kind="stable")
    for places in np.split(order, np.flatnonzero(np.diff(number[order])) + 1):
        # Of no rows at all, the one part is empty.
        if len(places) and gaps[places[0]].any():
            yield gaps[places[0]], places


@kernel
def expect_incomplete(
    rows: Floats,
    centre: Floats,
    covariance: Floats,
    precision: Floats,
    log_weight: Floats,
    log_det: Floats,
    constants: Floats,
    tail: float,
    level: Floats,
    form: Floats,
) -> None:
    """Write each component's log density (n x K) and quadratic form of the observed cells of each row.

    A component whose level is minus infinity on entry is passed over, unless all are: the likely ones may be gone.
    """
    d = rows.shape[1]
    places, expected, matrix = np.empty(d, np.int64), np.empty(d), np.empty((d, d))
    for i in range(len(rows)):
        n = split_cells(rows[i], places)
        none_is_likely = level[i, largest(level[i])] == -math.inf
        for k in range(len(centre)):
            if level[i, k] == -math.inf and not none_is_likely:
                form[i, k] = 0.0
                continue
            q, half = condition(
                rows[i], centre[k], covariance[k], precision[k], log_det[k], places, n, NOTHING, expected, matrix
            )
            form[i, k] = q
            level[i, k] = log_weight[k] + constants[n] + half - 0.5 * (tail + n) * math.log1p(q / tail)


@kernel
def add_incomplete(
    rows: Floats,
    centre: Floats,
    covariance: Floats,
    precision: Floats,
    share: Floats,
    weight: Floats,
    least_share: float,
    first: Floats,
    second: Floats,
) -> None:
    """Add rows to the sums: expected deviations times ``weight``, conditional covariances times ``share``."""
    d = rows.shape[1]
    places, matrix = np.empty(d, np.int64), np.empty((d, d))
    expected, away = np.empty(d), np.empty(d)
    for i in range(len(rows)):
        n = split_cells(rows[i], places)
        for k in range(len(centre)):
            if share[i, k] < least_share:
                continue
            condition(rows[i], centre[k], covariance[k], precision[k], 0.0, places, n, COVARIANCE, expected, matrix)
            for a in range(d):
                j = places[a]
                away[j] = rows[i, j] - centre[k, j] if a < n else expected[a - n]
            for a in range(d):
                f = weight[i, k] * away[a]
                first[k, a] += f
                for b in range(d):
                    second[k, a, b] += f * away[b]
            for a in range(d - n):
                for b in range(a + 1):
                    f = share[i, k] * matrix[a, b]
                    second[k, places[n + a], places[n + b]] += f
                    if b < a:
                        second[k, places[n + b], places[n + a]] += f
