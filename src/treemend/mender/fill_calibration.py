"""What filling needs to know beside the density, learnt on gaps cut out of rows left out of the fold densities."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemend.mender.columns import Columns
from treemend.mender.density import Density
from treemend.mender.filling import SCATTERED, AnyDensity, fill, soften
from treemend.mender.spread import Spread, column_deviations, cut_gaps, describe_gaps, learn_spread

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

# Rows that gaps are cut out of: enough cells for each column's factor, and a second of work at most.
CELLS_CUT = 64_000
FEWEST_CUT = 400
MOST_CUT = 1_500
# Correlations reduced by these shares are tried for stretches where rows are few, and taken where they err less by this
# share. `python -m experiments.filling` measures it: sonar (138 rows, 60 columns) needs it.
SOFTENINGS = (0.2, 0.45)
LEAST_GAIN = 0.02
USUAL_SIZES = (0.08, 0.6)
# With more rows than this for each column nothing is gained by it.
MOST_ROWS_PER_COLUMN = 10


@dataclass(frozen=True)
class FillCalibration:
    """Share by which correlations are reduced for stretches (see `soften`; 0: not), and the calibrated spread."""

    softening: float
    spread: Spread


def calibrate_filling(
    values: Floats, fold: Integers, columns: Sequence[Columns], densities: Sequence[AnyDensity], seed: int
) -> FillCalibration:
    """Fill gaps cut out of left-out rows, each by the density of its fold, and learn from the errors.

    Parameters
    ----------
    values : (n, d)
        Reference rows in the user's units and column order; NaN where missing.
    fold : (n,) int
        Number of the fold that each row is left out of.
    columns, densities : one a fold
        Learnt from the rows of the other folds.
    seed : int
        Of the gaps.
    """
    n, d = values.shape
    rng = np.random.default_rng(seed)
    n_cut = int(np.clip(CELLS_CUT // d, FEWEST_CUT, MOST_CUT))
    chosen = np.concatenate([rng.permutation(n) for _ in range(-(-n_cut // n))])[:n_cut]
    gaps = cut_gaps(rng, n_cut, d)
    gaps[:, columns[0].order] = gaps.copy()
    true, own = values[chosen], fold[chosen]
    softening, (filled, deviation) = 0.0, _filled(true, gaps, own, columns, densities, None)
    usual = np.flatnonzero(_usual_stretches(gaps[:, columns[0].order]))
    full = [density for density in densities if isinstance(density, Density)]
    if len(usual) and n <= MOST_ROWS_PER_COLUMN * d and len(full) == len(densities):
        scale = column_deviations(values)
        least = (1 - LEAST_GAIN) * _mean_error(true[usual], filled[usual], gaps[usual], scale)
        for share in SOFTENINGS:
            softened = [soften(density, share) for density in full]
            tried = _filled(true, gaps, own, columns, densities, softened)
            error = _mean_error(true[usual], tried[0][usual], gaps[usual], scale)
            if error < least:
                least, softening, (filled, deviation) = error, share, tried
    return FillCalibration(softening, learn_spread(values, true, filled, deviation, gaps, columns[0].order))


def _usual_stretches(gaps: Booleans) -> Booleans:
    """Rows whose gaps are stretches of a usual length."""
    size = gaps.sum(axis=1) / gaps.shape[1]
    return np.asarray((size > USUAL_SIZES[0]) & (size < USUAL_SIZES[1]) & (describe_gaps(gaps)[1] < SCATTERED))


def _filled(
    true: Floats,
    gaps: Booleans,
    fold: Integers,
    columns: Sequence[Columns],
    densities: Sequence[AnyDensity],
    softened: Sequence[Density] | None,
) -> tuple[Floats, Floats]:
    filled, deviation = np.empty_like(true), np.empty_like(true)
    for number, (own_columns, density) in enumerate(zip(columns, densities, strict=True)):
        places = np.flatnonzero(fold == number)
        other = None if softened is None else softened[number]
        found = fill(density, own_columns, true[places], gaps[places], softened=other)
        filled[places], deviation[places] = found.values, found.spread
    return filled, deviation


def _mean_error(true: Floats, filled: Floats, gaps: Booleans, scale: Floats) -> float:
    """Mean over rows of the distance between filled and true cells, in standard deviations of the columns."""
    judged = gaps & ~np.isnan(true) & (scale > 0)
    away = np.divide(filled - true, scale, out=np.zeros(true.shape), where=judged)
    return float(np.sqrt((away**2).sum(axis=1) / np.maximum(judged.sum(axis=1), 1)).mean())
