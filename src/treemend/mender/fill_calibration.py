"""What filling needs to know beside the density, learnt on gaps cut out of rows left out of the fold densities."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treemend.arrays import Booleans, Floats, Integers
from treemend.mender.columns import Columns, column_moments
from treemend.mender.density import Density
from treemend.mender.filling import AnyDensity, fill, soften
from treemend.mender.spread import Spread, cut_gaps, is_stretch, learn_spread

# Rows that gaps are cut out of: enough cells for each column's factor, and a second of work at most.
CELLS_CUT = 64_000
FEWEST_CUT = 400
MOST_CUT = 1_500
MOST_CELLS_CUT = 4_000_000
# Correlations reduced by this share are tried for stretches where there are at most so many rows for each column, and
# taken where stretches of usual sizes err less by this share. `python -m experiments.filling` measures it: sonar (138
# rows, 60 columns) needs it.
SOFTENING = 0.3
MOST_ROWS_PER_COLUMN = 10
LEAST_GAIN = 0.02
USUAL_SIZES = (0.08, 0.6)


@dataclass(frozen=True)
class FillCalibration:
    """Share by which correlations are reduced where stretches are filled (see `soften`), and the calibrated spread."""

    softening: float
    spread: Spread


def calibrate_filling(
    values: Floats, fold: Integers, columns: Sequence[Columns], densities: Sequence[AnyDensity], seed: int
) -> FillCalibration:
    """Fill gaps cut out of reference rows (n, d) and learn from the errors.

    Each row is filled by the columns and the density of the fold that it is left out of.
    """
    n, d = values.shape
    rng = np.random.default_rng(seed)
    n_cut = min(int(np.clip(CELLS_CUT // d, FEWEST_CUT, MOST_CUT)), max(1, MOST_CELLS_CUT // d))
    chosen = np.concatenate([rng.permutation(n) for _ in range(-(-n_cut // n))])[:n_cut]
    order = columns[0].order
    gaps = np.empty((n_cut, d), bool)
    gaps[:, order] = cut_gaps(rng, n_cut, d)
    true, fold = values[chosen], fold[chosen]

    def fill_gaps(softening: float) -> tuple[Floats, Floats]:
        filled, spread = np.empty_like(true), np.empty_like(true)
        for number, (own_columns, density) in enumerate(zip(columns, densities, strict=True)):
            own = fold == number
            softened = soften(density, softening) if softening and isinstance(density, Density) else None
            found = fill(density, own_columns, true[own], gaps[own], softened=softened)
            filled[own], spread[own] = found.values, found.spread
        return filled, spread

    softening, (filled, spread) = 0.0, fill_gaps(0.0)
    size = gaps.mean(axis=1)
    usual = is_stretch(gaps[:, order]) & (size > USUAL_SIZES[0]) & (size < USUAL_SIZES[1])
    if usual.any() and n <= MOST_ROWS_PER_COLUMN * d and isinstance(densities[0], Density):
        softer = fill_gaps(SOFTENING)
        judged = gaps & usual[:, None]
        scale = column_moments(values)[1]
        if _mean_error(true, softer[0], judged, scale) < (1 - LEAST_GAIN) * _mean_error(true, filled, judged, scale):
            softening, (filled, spread) = SOFTENING, softer
    return FillCalibration(softening, learn_spread(values, true, filled, spread, gaps, order))


def _mean_error(true: Floats, filled: Floats, gaps: Booleans, scale: Floats) -> float:
    """Mean over rows of the distance between filled and true cells, in standard deviations of the columns."""
    judged = gaps & ~np.isnan(true) & (scale > 0)
    away = np.divide(filled - true, scale, out=np.zeros(true.shape), where=judged)
    return float(np.sqrt((away**2).sum(axis=1) / np.maximum(judged.sum(axis=1), 1)).mean())
