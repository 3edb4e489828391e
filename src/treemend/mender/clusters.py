"""Clusters of rows, by k-means: what the components of a density begin as."""

import numpy as np

from treemend.arrays import Floats, Integers

# Rows that are tried for each first centre of a cluster, and most rounds of k-means.
CANDIDATES, CLUSTER_ROUNDS = 4, 30


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
