"""What most likely stood in a gap: the density of the missing cells given the observed ones.

Given its observed cells, a component of the density is again a Student vector over the gaps, so that mean, mode and
draws have closed forms. Each row is filled by itself in a fixed order of operations.
"""

import hashlib
import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from treemend.mender.columns import Columns
from treemend.mender.compiled import kernel
from treemend.mender.conditional import (
    condition,
    factorise,
    gap_covariance,
    gap_variances,
    reduce_gaps,
    split_cells,
)
from treemend.mender.density import Density, density_constants

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]
Imputation = Literal["mean", "mode", "draw"]

# Components behind the likeliest by more than this (in nats) do not count.
FAR_BEHIND = 14.0
# Variances count up to this many squared warp scales where a mean is taken back through the warp: beyond, the sinh of a
# tail that nobody has seen would dominate it.
MOST_VARIANCE = 1.0


@dataclass(frozen=True)
class Filled:
    """Rows with their gaps filled, in the user's units and column order.

    Attributes
    ----------
    values : (n, d)
        The rows; only gaps differ from what was given.
    spread : (n, d)
        Standard deviation of a filled value; 0 outside of gaps.
    draws : (n_draws, n, d) or None
        Rows with their gaps drawn from the conditional density.
    """

    values: Floats
    spread: Floats
    draws: Floats | None


@dataclass(frozen=True)
class Conditional:
    """Law of the gaps given the rest, in layout order; 0 outside of gaps.

    Attributes
    ----------
    mean, variance : (n, d)
        Of ``sinh(coordinate / scale)``, which is an affine image of the value in the user's units.
    centre, deviation : (n, d)
        Mean and standard deviation of the coordinate.
    mode : (n, d)
        Conditional mean of the coordinate in the likeliest component.
    draws : (n_draws, n, d)
        Coordinates.
    """

    mean: Floats
    variance: Floats
    centre: Floats
    deviation: Floats
    mode: Floats
    draws: Floats


def conditional(density: Density, scale: Floats, rows: Floats, n_draws: int = 0, seed: int = 0) -> Conditional:
    """Return the law of the missing cells of each row.

    Parameters
    ----------
    density : Density
    scale : (d,)
        Scale of each column's warp.
    rows : (n, d)
        Coordinates in layout order; NaN in the gaps.
    n_draws, seed : int
        How many draws; they depend on the seed and the row alone.
    """
    n, d = rows.shape
    mean, variance, centre, deviation, mode = (np.zeros((n, d)) for _ in range(5))
    draws = np.zeros((n_draws, n, d))
    uniform, chi_square, normal = _noise(rows, n_draws, seed)
    _fill(
        np.ascontiguousarray(rows),
        scale,
        density.centre,
        density.covariance,
        density.precision,
        density.log_weight,
        density.log_det,
        density_constants(d),
        density.tail,
        uniform,
        chi_square,
        normal,
        mean,
        variance,
        centre,
        deviation,
        mode,
        draws,
    )
    return Conditional(mean, variance, centre, deviation, mode, draws)


def _noise(rows: Floats, n_draws: int, seed: int) -> tuple[Floats, Floats, Floats]:
    """Random numbers of each row, from a generator seeded by the row itself: (n, n_draws) twice and (n, n_draws, d)."""
    n, d = rows.shape
    if n_draws == 0:
        return np.empty((n, 0)), np.empty((n, 0)), np.empty((n, 0, d))
    uniform, chi_square, normal = np.empty((n, n_draws)), np.empty((n, n_draws)), np.empty((n, n_draws, d))
    tail = Density.tail
    observed = d - np.isnan(rows).sum(axis=1)
    for i, row in enumerate(rows):
        digest = hashlib.blake2b(np.ascontiguousarray(row + 0.0).tobytes(), digest_size=16).digest()
        rng = np.random.default_rng([seed, *np.frombuffer(digest, dtype=np.uint32).tolist()])
        uniform[i] = rng.random(n_draws)
        chi_square[i] = rng.chisquare(tail + observed[i], n_draws)
        normal[i] = rng.standard_normal((n_draws, d))
    return uniform, chi_square, normal


@kernel
def _fill(  # noqa: C901, PLR0912, PLR0915
    rows: Floats,
    scale: Floats,
    centres: Floats,
    covariance: Floats,
    precision: Floats,
    log_weight: Floats,
    log_det: Floats,
    constants: Floats,
    tail: float,
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
    d = rows.shape[1]
    n_components = len(centres)
    n_draws = len(draws)
    seen, gaps = np.empty(d, np.int64), np.empty(d, np.int64)
    level, form = np.empty(n_components), np.empty(n_components)
    factor, reduced = np.empty((d, d)), np.empty((d, d))
    solved, column, variances = np.empty(d), np.empty(d), np.empty(d)
    expected = np.empty((n_components, d))
    for i in range(len(rows)):
        n = split_cells(rows[i], seen, gaps)
        m = d - n
        if m == 0:
            continue
        for k in range(n_components):
            q, half = condition(
                rows[i],
                centres[k],
                covariance[k],
                precision[k],
                log_det[k],
                seen,
                n,
                gaps,
                factor,
                solved,
                column,
                expected[k],
            )
            form[k] = q
            level[k] = log_weight[k] + constants[n] + half - 0.5 * (tail + n) * math.log1p(q / tail)
        best = level.argmax()
        top = level[best]
        total = 0.0
        for k in range(n_components):
            level[k] = math.exp(level[k] - top) if level[k] > top - FAR_BEHIND else 0.0
            total += level[k]
        for k in range(n_components):
            share = level[k] / total
            if share == 0.0:
                continue
            if n_components > 1:
                condition(
                    rows[i],
                    centres[k],
                    covariance[k],
                    precision[k],
                    log_det[k],
                    seen,
                    n,
                    gaps,
                    factor,
                    solved,
                    column,
                    expected[k],
                )
            reduce_gaps(covariance[k], seen, n, gaps, m, factor, reduced)
            gap_variances(covariance[k], n, gaps, m, reduced, variances)
            # Covariance of a Student vector with tail + n degrees of freedom.
            widening = (tail + form[k]) / (tail + n - 2.0)
            for a in range(m):
                j = gaps[a]
                z = centres[k, j] + expected[k, a]
                v = widening * variances[a]
                centre[i, j] += share * z
                deviation[i, j] += share * (z * z + v)
                v = min(v / (scale[j] * scale[j]), MOST_VARIANCE)
                grown = math.exp(0.5 * v)
                t = grown * math.sinh(z / scale[j])
                c = grown * math.cosh(z / scale[j])
                mean[i, j] += share * t
                # Second moment of sinh of a normal variable, by its even and odd parts.
                variance[i, j] += share * 0.5 * ((t * t + c * c) * grown * grown - 1.0)
            if n_draws == 0:
                continue
            low = 0.0
            for b in range(k):
                low += level[b] / total
            prepared = False
            for r in range(n_draws):
                if not (low <= uniform[i, r] < low + share or (uniform[i, r] >= low + share and _last(level, k))):
                    continue
                if not prepared:
                    if m > n:
                        gap_covariance(covariance[k], n, gaps, m, reduced, factor)
                        factorise(factor, m, column)
                    prepared = True
                root = math.sqrt((tail + form[k]) / chi_square[i, r])
                for a in range(m):
                    v = 0.0
                    if m > n:
                        for b in range(a + 1):
                            v += factor[a, b] * normal[i, r, b]
                    else:
                        for b in range(a, m):
                            v += reduced[b, a] * normal[i, r, b]
                    draws[r, i, gaps[a]] = centres[k, gaps[a]] + expected[k, a] + root * v
        for a in range(m):
            j = gaps[a]
            mode[i, j] = centres[best, j] + expected[best, a]
            variance[i, j] = max(variance[i, j] - mean[i, j] * mean[i, j], 0.0)
            deviation[i, j] = math.sqrt(max(deviation[i, j] - centre[i, j] * centre[i, j], 0.0))


@kernel
def _last(level: Floats, k: int) -> bool:
    """Whether no later component counts."""
    return not (level[k + 1 :] > 0.0).any()


def fill(
    density: Density, columns: Columns, values: Floats, gaps: Booleans, imputation: Imputation, n_draws: int, seed: int
) -> Filled:
    """Interim."""
    rows = columns.to_rows(np.where(gaps, np.nan, values))[0]
    law = conditional(density, columns.scale, rows, max(n_draws, imputation == "draw"), seed)
    place = np.isnan(rows)

    def back(coordinate):
        return columns.to_values(np.where(place, coordinate, rows))

    if imputation == "mode":
        out = back(law.mode)
    elif imputation == "draw":
        out = back(law.draws[0])
    else:
        out = back(columns.scale * np.arcsinh(law.mean))
    spread = np.empty_like(rows)
    spread[:, columns.order] = columns.width * columns.scale * np.sqrt(law.variance)
    draws = np.array([back(draw) for draw in law.draws[:n_draws]]).reshape(n_draws, *rows.shape)
    return Filled(out, spread, draws)
