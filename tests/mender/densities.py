"""A density learnt, and the log density of rows, in one call each."""

import numpy as np
from scipy.special import logsumexp

from treemend.mender import density as of
from treemend.mender.density import Density, Shape, _expect_rows


def learn_density(rows: np.ndarray, shape: Shape, seed: int) -> Density:
    return of.learn_density(rows, shape, seed)[0]


def log_density(density: Density, rows: np.ndarray) -> np.ndarray:
    return logsumexp(_expect_rows(density, np.ascontiguousarray(rows))[0], axis=1)
