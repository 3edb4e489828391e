"""The density of any cells, and the log odds of any labelled set, written down as the formulas are."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.stats import multivariate_t

from treemend.mender.density import Density, make_density
from treemend.mender.evidence import FOREIGN, NOISE, SHIFT, SHIFTED

Floats = NDArray[np.float64]


def random_density(rng: np.random.Generator, d: int, n_components: int) -> Density:
    centre, covariance = rng.normal(size=(n_components, d)), []
    for _ in range(n_components):
        factor = rng.normal(size=(d, d + 2))
        covariance.append(0.2 * factor @ factor.T / d + 0.05 * np.eye(d))
    return make_density(centre, np.array(covariance), np.log(rng.dirichlet(np.ones(n_components))))


def density_of(density: Density, row: Floats, cells: Floats, spread: Floats | None = None) -> float:
    """Log density of some cells of a row; ``spread`` is added to every covariance."""
    cells = np.flatnonzero(cells)
    if len(cells) == 0:
        return float(logsumexp(density.log_weight))
    terms = []
    for centre, covariance, log_weight in zip(density.centre, density.mix.covariance, density.log_weight, strict=True):
        shape = covariance if spread is None else covariance + spread
        law = multivariate_t(centre[cells], shape[np.ix_(cells, cells)], df=density.tail)
        terms.append(log_weight + law.logpdf(row[cells]))
    return float(logsumexp(terms))


def shifted_density(density: Density, row: Floats, cells: Floats) -> float:
    """Log density of a row with a common normal shift of some cells: a rank-one part of every covariance."""
    direction = np.asarray(cells, float)
    return density_of(density, row, np.ones(len(row), bool), SHIFT**2 * np.outer(direction, direction))


def log_odds(density: Density, row: Floats, u: Floats, labels: NDArray[np.int8]) -> float:
    """Evidence of noise, foreign and shifted labels, before the prior; shifted cells stay, with a common shift."""
    direction = (labels == SHIFTED).astype(float)
    kept = density_of(density, row, (labels < 0) | (labels == SHIFTED), SHIFT**2 * np.outer(direction, direction))
    odds = kept - density_of(density, row, np.ones(len(row), bool))
    odds += u[labels == NOISE].sum()
    start = None
    for j in range(len(labels) + 1):
        if j < len(labels) and labels[j] == FOREIGN:
            start = j if start is None else start
        elif start is not None:
            odds += density_of(density, row, (np.arange(len(row)) >= start) & (np.arange(len(row)) < j))
            start = None
    return odds
