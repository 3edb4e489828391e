"""A density learnt, the log density of rows, and their evidence, in one call each."""

import numpy as np
from scipy.special import logsumexp

from treemend.mender.density import Density, Shape, expect_rows, learn_densities
from treemend.mender.detector import Detector, Evidence, weigh_and_find


def learn_density(rows: np.ndarray, shape: Shape, seed: int) -> Density:
    return learn_densities([rows], shape, seed)[0][0]


def log_density(density: Density, rows: np.ndarray) -> np.ndarray:
    return logsumexp(expect_rows(density, np.ascontiguousarray(rows))[0], axis=1)


def weigh_rows(detector: Detector, values: np.ndarray, n_jobs: int | None = 1) -> Evidence:
    return weigh_and_find(detector, values, np.inf, n_jobs)[0]
