"""User's units and column order <-> coordinates in layout order.

Each column is divided by its range in the learning rows and then warped by ``scale * asinh(away / scale)``, so that
long tails do not dominate the density. Quantiles ignore missing values. A value is transformed by itself: its
coordinate never depends on the rows it comes with.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemend.mender.compiled import kernel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

# Values farther than this many warp scales from the median count as this far, so that nothing overflows.
FARTHEST = 1e9
# No column is taken to deviate by less than this share of its range: below it the warp would bend ordinary values.
LEAST_DEVIATION = 0.02
# Scale of the warp, in usual deviations, for columns with heavy and with light tails: linear relations between columns
# stay linear where no value needs to be drawn in. A tail is heavy where one of a thousand values is beyond five usual
# deviations. `python -m experiments.filling` measures it, the likelihood of left-out rows chose it.
BENT, STRAIGHT = 1.5, 6.0
LIGHT_TAIL, HEAVY_TAIL = 3.3, 5.0
# A fill may exceed the range of the reference by this share of it, unless the column has a hard bound on that side.
MARGIN = 0.05
FEWEST_FOR_LATTICE = 20
FINEST_LATTICE = 100_000
DECIMAL_STEPS = (1.0, 0.1, 0.01, 0.001, 0.0001)


@dataclass(frozen=True)
class Columns:
    """How each column is scaled and warped; all arrays in layout order.

    Attributes
    ----------
    order : (d,) int
        Column number of each place of the layout.
    offset, width : (d,)
        Smallest value and range in the learning rows.
    centre, scale : (d,)
        Median and scale of the warp, in units of the range.
    low, high : (d,)
        Bounds of what may be filled in, in the user's units.
    step : (d,)
        Distance of neighbouring values of a column whose values lie on a lattice (integers, decimals); 0: none.
    """

    order: Integers
    offset: Floats
    width: Floats
    centre: Floats
    scale: Floats
    low: Floats
    high: Floats
    step: Floats

    def to_rows(self, values: Floats) -> tuple[Floats, Floats]:
        """Return coordinates in layout order, and the log slope of the units they came from.

        Parameters
        ----------
        values : (n, d)
            User's units and column order; NaN where missing.

        Returns
        -------
        rows : (n, d)
            Coordinates, NaN where missing.
        log_slope : (n, d)
            Log of d(scaled value) / d(coordinate), which is the log density, in coordinates, of a uniform law over the
            column's range; 0 where missing.
        """
        rows = np.empty(values.shape)
        log_slope = np.empty(values.shape)
        _warp(
            np.ascontiguousarray(values), self.order, self.offset, self.width, self.centre, self.scale, rows, log_slope
        )
        return rows, log_slope

    def to_values(self, rows: Floats, variance: Floats | None = None, *, on_lattice: bool = False) -> Floats:
        """Return values in the user's units and column order, within the bounds of their columns.

        Parameters
        ----------
        rows : (n, d)
            Coordinates in layout order.
        variance : (n, d), optional
            Variance of each coordinate: the mean of the values is then returned, which the warp does not preserve.
        on_lattice : bool
            Whether values of a lattice column are rounded to its lattice.
        """
        away = np.sinh(np.clip(rows / self.scale, -20.0, 20.0))
        if variance is not None:
            away *= np.exp(np.minimum(0.5 * variance / self.scale**2, 0.5))
        found = self.offset + self.width * (self.centre + self.scale * away)
        found = np.clip(found, self.low, self.high)
        if on_lattice:
            step = np.where(self.step > 0, self.step, 1.0)
            found = np.where(self.step > 0, np.round(found / step) * step, found)
        values = np.empty_like(found)
        values[:, self.order] = found
        return values

    def slope(self, rows: Floats) -> Floats:
        """Return d(value) / d(coordinate) at coordinates, in layout order."""
        return np.asarray(self.width * np.cosh(np.clip(rows / self.scale, -20.0, 20.0)))

    def off_lattice(self, values: Floats) -> Booleans:
        """Tell which values (user's units and column order) do not lie on their column's lattice."""
        step = np.empty_like(self.step)
        step[self.order] = self.step
        known = (step > 0) & np.isfinite(values)
        found = np.zeros(values.shape, bool)
        place = np.divide(values, step, out=np.zeros(values.shape), where=known)
        found[known] = _off(place[known])
        return found


def column_widths(values: Floats) -> Floats:
    """Return the range of each column, 0 where it is constant or wholly missing; NaN are ignored."""
    ordered, count = _ordered(values)
    return _last(ordered, count) - np.where(count > 0, ordered[:, 0], 0.0)


def learn_columns(values: Floats, order: Integers, widths: Floats | None = None) -> Columns:
    """Learn the scaling and the warp of each column.

    Parameters
    ----------
    values : (n, d)
        Learning rows in the user's units and column order; NaN where missing.
    order : (d,) int
        Column number of each place of the layout.
    widths : (d,), optional
        Ranges for columns that are constant in the learning rows: those of all rows where these are a part (a fold).
        A column that is constant there too gets width 1.

    Returns
    -------
    Columns
    """
    ordered, count = _ordered(values[:, order])
    low = np.where(count > 0, ordered[:, 0], 0.0)
    high = _last(ordered, count)
    width = high - low
    if widths is not None:
        width = np.where(width > 0, width, widths[order])
    width = np.where(width > 0, width, 1.0)
    scaled = (ordered - low[:, None]) / width[:, None]
    centre = _quantile(scaled, count, 0.5)
    away = np.abs(scaled - centre[:, None])
    deviation = np.sqrt(_mean((scaled - _mean(scaled, count)[:, None]) ** 2, count))
    away.sort(axis=1)
    usual = np.maximum(np.maximum(_quantile(away, count, 0.75), deviation), LEAST_DEVIATION)
    farthest = away[np.arange(len(away)), np.maximum(count - 1 - count // 1000, 0)] / usual
    light = np.clip((HEAVY_TAIL - farthest) / (HEAVY_TAIL - LIGHT_TAIL), 0.0, 1.0)
    bound_low, bound_high = _bounds(ordered, count, low, high, width)
    return Columns(
        np.asarray(order, np.int64),
        low,
        width,
        centre,
        usual * (BENT + (STRAIGHT - BENT) * np.where(count > 0, light, 0.0)),
        bound_low,
        bound_high,
        _lattice_steps(ordered, count),
    )


def _ordered(values: Floats) -> tuple[Floats, Integers]:
    """Return the sorted values of each column (d x n, missing values last) and how many there are."""
    ordered = np.ascontiguousarray(values.T, dtype=np.float64)
    if ordered is values or ordered.base is not None:
        ordered = ordered.copy()
    count = ordered.shape[1] - np.isnan(ordered).sum(axis=1)
    ordered.sort(axis=1)
    return ordered, count


def _last(ordered: Floats, count: Integers) -> Floats:
    found = ordered[np.arange(len(ordered)), np.maximum(count - 1, 0)]
    return np.where(count > 0, found, 0.0)


def _mean(ordered: Floats, count: Integers) -> Floats:
    return np.asarray(np.nansum(ordered, axis=1) / np.maximum(count, 1))


def _quantile(ordered: Floats, count: Integers, share: float) -> Floats:
    """Quantile of each sorted line of ``ordered``, by linear interpolation among its first ``count`` values."""
    place = share * np.maximum(count - 1, 0)
    below = place.astype(np.int64)
    above = np.minimum(below + 1, np.maximum(count - 1, 0))
    line = np.arange(len(ordered))
    part = place - below
    found = (1 - part) * ordered[line, below] + part * ordered[line, above]
    return np.where(count > 0, found, 0.0)


def _bounds(ordered: Floats, count: Integers, low: Floats, high: Floats, width: Floats) -> tuple[Floats, Floats]:
    """Bounds of fills: hard at an extreme that several rows share, and at zero; else with a margin."""
    line = np.arange(len(ordered))
    several = count > 2
    shared_low = several & (ordered[:, min(1, ordered.shape[1] - 1)] == low) | (high == low)
    shared_high = several & (ordered[line, np.maximum(count - 2, 0)] == high) | (high == low)
    below = np.where(shared_low, low, low - MARGIN * width)
    above = np.where(shared_high, high, high + MARGIN * width)
    return np.where(low >= 0, np.maximum(below, 0.0), below), np.where(high <= 0, np.minimum(above, 0.0), above)


def _lattice_steps(ordered: Floats, count: Integers) -> Floats:
    """Step of the lattice on which all values of each column lie; 0 where none."""
    steps = np.zeros(len(ordered))
    for j in np.flatnonzero(count >= FEWEST_FOR_LATTICE):
        if ordered[j, 0] < ordered[j, count[j] - 1]:
            steps[j] = _lattice_step(ordered[j, : count[j]])
    return steps


def _lattice_step(ordered: Floats) -> float:
    """Coarsest decimal step, or the smallest distance of two values where that is much coarser (sixteenths)."""
    finest = max(abs(ordered[0]), abs(ordered[-1])) / FINEST_LATTICE
    probe = ordered[:: len(ordered) // FEWEST_FOR_LATTICE]

    def fits(step: float) -> bool:
        return step >= finest and not _off(probe / step).any() and not _off(ordered / step).any()

    decimal = next((step for step in DECIMAL_STEPS if fits(step)), 0.0)
    distance = _equal_distance(ordered)
    return distance if distance > 10 * decimal and fits(distance) else decimal


def _equal_distance(ordered: Floats) -> float:
    """Smallest distance of two different values that is more than rounding."""
    distances = np.diff(ordered)
    distances = distances[distances > 1e-5 * (ordered[-1] - ordered[0])]
    return float(distances.min()) if len(distances) else 0.0


def _off(place: Floats) -> Booleans:
    """Whether multiples are not whole, beyond the rounding of single precision."""
    return np.asarray(np.abs(place - np.round(place)) > 1e-6 + 2e-7 * np.abs(place))


@kernel
def _warp(
    values: Floats,
    order: Integers,
    offset: Floats,
    width: Floats,
    centre: Floats,
    scale: Floats,
    rows: Floats,
    log_slope: Floats,
) -> None:
    for i in range(len(values)):
        for a in range(len(order)):
            value = values[i, order[a]]
            if np.isnan(value):
                rows[i, a] = np.nan
                log_slope[i, a] = 0.0
                continue
            away = ((value - offset[a]) / width[a] - centre[a]) / scale[a]
            away = min(max(away, -FARTHEST), FARTHEST)
            rows[i, a] = scale[a] * np.arcsinh(away)
            log_slope[i, a] = 0.5 * np.log1p(away * away)
