"""Filling by a density of low rank plus diagonal; see `low_rank` for the formulas and `filling` for what is filled."""

import math

import numpy as np
from numpy.typing import NDArray

from treemend.mender.compiled import kernel
from treemend.mender.conditional import pick, to_shares
from treemend.mender.low_rank import condition_low_rank, gap_scale

Floats = NDArray[np.float64]


@kernel
def fill_low_rank(  # noqa: C901, PLR0912
    rows: Floats,
    scale: Floats,
    centres: Floats,
    factor: Floats,
    noise: Floats,
    core: Floats,
    log_weight: Floats,
    constants: Floats,
    tail: float,
    most_variance: float,
    uniform: Floats,
    chi_square: Floats,
    normal: Floats,
    mean: Floats,
    variance: Floats,
    centre: Floats,
    deviation: Floats,
    mode: Floats,
    draws: Floats,
) -> None:
    """Write the law of each row's gaps; ``normal`` (n x draws x (d + r)) has the noise of cells, then of scores."""
    d, r = factor.shape
    n_components = len(centres)
    n_draws = len(draws)
    matrix, column = np.empty((r, r)), np.empty(r)
    scores, drawn = np.empty((n_components, r)), np.empty((n_draws, r))
    level, form = np.empty(n_components), np.empty(n_components)
    component = np.empty(n_draws, np.int64)
    for i in range(len(rows)):
        n, half = condition_low_rank(rows[i], centres, factor, noise, core, matrix, scores, column, form)
        if n == d:
            continue
        for k in range(n_components):
            level[k] = log_weight[k] + constants[n] + half - 0.5 * (tail + n) * math.log1p(form[k] / tail)
        best = to_shares(level)
        for q in range(n_draws):
            component[q] = pick(level, uniform[i, q])
            for a in range(r - 1, -1, -1):
                v = normal[i, q, d + a]
                for b in range(a + 1, r):
                    v -= matrix[b, a] * drawn[q, b]
                drawn[q, a] = v / matrix[a, a]
        for j in range(d):
            if not np.isnan(rows[i, j]):
                continue
            left = gap_scale(factor[j], noise[j], matrix, column)
            for k in range(n_components):
                z = centres[k, j]
                for a in range(r):
                    z += factor[j, a] * scores[k, a]
                if k == best:
                    mode[i, j] = z
                if level[k] == 0.0:
                    continue
                v = left * (tail + form[k]) / (tail + n - 2.0)
                centre[i, j] += level[k] * z
                deviation[i, j] += level[k] * (z * z + v)
                v = min(v / (scale[j] * scale[j]), most_variance)
                grown = math.exp(0.5 * v)
                t = grown * math.sinh(z / scale[j])
                c = grown * math.cosh(z / scale[j])
                mean[i, j] += level[k] * t
                variance[i, j] += level[k] * 0.5 * ((t * t + c * c) * grown * grown - 1.0)
                for q in range(n_draws):
                    if component[q] == k:
                        root = math.sqrt((tail + form[k]) / chi_square[i, q])
                        v = math.sqrt(noise[j]) * normal[i, q, j]
                        for a in range(r):
                            v += factor[j, a] * drawn[q, a]
                        draws[q, i, j] = z + root * v
            variance[i, j] = max(variance[i, j] - mean[i, j] * mean[i, j], 0.0)
            deviation[i, j] = math.sqrt(max(deviation[i, j] - centre[i, j] * centre[i, j], 0.0))
