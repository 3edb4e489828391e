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
    pick,
    reduce_gaps,
    split_cells,
    to_shares,
)
from treemend.mender.density import Density, density_constants, make_density
from treemend.mender.low_rank import LowRankDensity
from treemend.mender.low_rank_filling import fill_low_rank
from treemend.mender.spread import Spread, describe_gaps

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]
Imputation = Literal["mean", "mode", "draw"]
AnyDensity = Density | LowRankDensity

# Variances count up to this many squared warp scales where a mean is taken back through the warp: beyond, the sinh of a
# tail that nobody has seen would dominate it.
MOST_VARIANCE = 1.0
# Gaps less scattered than this (see `describe_gaps`) are stretches.
SCATTERED = 0.5


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

    def replace_rows(self, places: Integers, other: "Conditional") -> None:
        """Replace the laws of some rows."""
        for mine, its in zip(
            (self.mean, self.variance, self.centre, self.deviation, self.mode),
            (other.mean, other.variance, other.centre, other.deviation, other.mode),
            strict=True,
        ):
            mine[places] = its
        self.draws[:, places] = other.draws


def fill(
    density: AnyDensity,
    columns: Columns,
    values: Floats,
    gaps: Booleans | None = None,
    *,
    softened: Density | None = None,
    spread: Spread | None = None,
    imputation: Imputation = "mean",
    n_draws: int = 0,
    seed: int = 0,
    on_lattice: bool = False,
) -> Filled:
    """Fill what is missing or to be replaced, given the other cells of each row.

    Parameters
    ----------
    density : Density or LowRankDensity
        In the coordinates of ``columns``.
    columns : Columns
    values : (n, d)
        User's units and column order; NaN where missing.
    gaps : (n, d) bool, optional
        Cells to be replaced, beside the missing ones. What stands there is not used.
    softened : Density, optional
        `soften` of the density, for rows whose gaps are stretches rather than scattered cells.
    spread : Spread, optional
        Calibration of the standard deviations and of the draws.
    imputation : {"mean", "mode", "draw"}
        Conditional mean of the mixture; conditional mean of the likeliest component, which is feasible where a mean
        between two clusters is not; one draw.
    n_draws, seed : int
        How many draws; they depend on the seed and the row alone.
    on_lattice : bool
        Whether what is filled into a lattice column is rounded to its lattice.
    """
    missing: Booleans = np.isnan(values)
    gaps = missing if gaps is None else np.asarray(gaps | missing)
    affected = np.flatnonzero(gaps.any(axis=1))
    found, deviation = values.copy(), np.zeros(values.shape)
    empty: Booleans = np.all(gaps, axis=1, keepdims=True)
    draws = np.repeat(values[None], n_draws, axis=0) if n_draws else None
    if not len(affected):
        return Filled(found, deviation, draws)
    holes = gaps[affected]
    known = np.where(holes, np.nan, values[affected])
    rows = columns.to_rows(known)[0]
    n_drawn = max(n_draws, int(imputation == "draw"))
    in_layout = holes[:, columns.order]
    law = conditional(density, columns.scale, rows, n_drawn, seed)
    if softened is not None:
        stretches = np.flatnonzero(describe_gaps(in_layout)[1] < SCATTERED)
        law.replace_rows(stretches, conditional(softened, columns.scale, rows[stretches], n_drawn, seed))
    one, many = (1.0, 1.0) if spread is None else spread.factors(in_layout)
    drawn = law.centre + many * (law.draws - law.centre)

    def put_back(filled: Floats) -> Floats:
        return np.where(holes, columns.to_values(filled, on_lattice=on_lattice), known)

    if imputation == "draw":
        found[affected] = put_back(drawn[0])
    elif imputation == "mode":
        found[affected] = put_back(law.mode)
    else:
        found[affected] = put_back(columns.scale * np.arcsinh(law.mean))
    deviation[np.ix_(affected, columns.order)] = one * np.sqrt(law.variance) * columns.scale * columns.width
    if spread is not None:
        deviation = np.where(empty, spread.empty, deviation)
    if draws is not None:
        for draw, filled in zip(draws, drawn, strict=True):
            draw[affected] = put_back(filled)
    return Filled(found, deviation, draws)


def soften(density: Density, share: float) -> Density:
    """Return the density with its correlations reduced by a share.

    The likelihood of rows decides how a cell follows from its neighbours. Over a stretch only distant cells are left,
    and where rows are few they seem to say more than they do.
    """
    if share == 0.0:
        return density
    covariance = (1 - share) * density.covariance
    diagonal = np.arange(covariance.shape[1])
    covariance[:, diagonal, diagonal] = density.covariance[:, diagonal, diagonal]
    return make_density(density.centre, covariance, density.log_weight)


def conditional(density: AnyDensity, scale: Floats, rows: Floats, n_draws: int = 0, seed: int = 0) -> Conditional:
    """Return the law of the missing cells of each row.

    Parameters
    ----------
    density : Density or LowRankDensity
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
    rows = np.ascontiguousarray(rows)
    written = mean, variance, centre, deviation, mode, draws
    if isinstance(density, LowRankDensity):
        fill_low_rank(
            rows,
            scale,
            density.centre,
            density.factor,
            density.noise,
            density.core,
            density.log_weight,
            density_constants(d),
            density.tail,
            MOST_VARIANCE,
            *_noise(rows, n_draws, seed, d + density.factor.shape[1]),
            *written,
        )
        return Conditional(*written)
    _fill(
        rows,
        scale,
        density.centre,
        density.covariance,
        density.precision,
        density.log_weight,
        density.log_det,
        density_constants(d),
        density.tail,
        *_noise(rows, n_draws, seed, d),
        *written,
    )
    return Conditional(*written)


def _noise(rows: Floats, n_draws: int, seed: int, size: int) -> tuple[Floats, Floats, Floats]:
    """Random numbers of each row, from a generator seeded by the row: (n, n_draws) twice and (n, n_draws, size)."""
    n, d = rows.shape
    uniform, chi_square, normal = np.empty((n, n_draws)), np.empty((n, n_draws)), np.empty((n, n_draws, size))
    if n_draws == 0:
        return uniform, chi_square, normal
    tail = Density.tail
    observed = d - np.isnan(rows).sum(axis=1)
    for i, row in enumerate(rows):
        digest = hashlib.blake2b(np.ascontiguousarray(row + 0.0).tobytes(), digest_size=16).digest()
        rng = np.random.default_rng([seed, *np.frombuffer(digest, dtype=np.uint32).tolist()])
        uniform[i] = rng.random(n_draws)
        chi_square[i] = rng.chisquare(tail + observed[i], n_draws)
        normal[i] = rng.standard_normal((n_draws, size))
    return uniform, chi_square, normal


@kernel
def _fill(
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
        best = 0
        # Each component twice: how likely it is, then what it says of the gaps (one call site compiles faster).
        for turn in range(2 * n_components):
            k = turn % n_components
            if turn == n_components:
                best = to_shares(level)
            if turn >= n_components and level[k] == 0.0:
                continue
            if turn < n_components or n_components > 1:
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
            if turn < n_components:
                level[k] = log_weight[k] + constants[n] + half - 0.5 * (tail + n) * math.log1p(form[k] / tail)
                continue
            share = level[k]
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
            prepared = False
            for r in range(n_draws):
                if pick(level, uniform[i, r]) != k:
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
