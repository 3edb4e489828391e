"""Rows for tests: correlated ones, corrupted ones, and generators of fresh clean ones."""

import numpy as np


def correlated_rows(rng, n_rows, n_features):
    """Gaussian rows whose neighbouring attributes are correlated."""
    return np.cumsum(rng.normal(size=(n_rows, n_features)), axis=1) + rng.normal(size=(n_rows, 1))


def overwrite(rng, rows, low=0.1, high=0.5):
    """Overwrite one random stretch of every row by uniform noise over the range of the rows; return rows and mask."""
    corrupted, mask = rows.copy(), np.zeros(rows.shape, dtype=bool)
    n_features = rows.shape[1]
    for row in range(len(rows)):
        width = max(1, int(rng.integers(int(low * n_features), int(high * n_features) + 1)))
        start = int(rng.integers(0, n_features - width + 1))
        mask[row, start : start + width] = True
    corrupted[mask] = rng.uniform(rows.min(), rows.max(), mask.sum())
    return corrupted, mask


def gaussian_walks(rng, n_rows):
    return correlated_rows(rng, n_rows, 32)


def two_clusters(rng, n_rows):
    centre = np.where(rng.random((n_rows, 1)) < 0.5, -2.0, 2.0) * np.linspace(-1, 1, 20)
    return centre + rng.normal(size=(n_rows, 20))


def skewed_waves(rng, n_rows):
    phase, height = rng.uniform(0, 6, (n_rows, 1)), rng.exponential(1, (n_rows, 1))
    return height * np.sin(np.linspace(0, 9, 48) + phase) + 0.1 * rng.standard_t(4, (n_rows, 48))


GENERATORS = (gaussian_walks, two_clusters, skewed_waves)
