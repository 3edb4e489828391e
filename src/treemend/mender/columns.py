"""User's units and column order <-> coordinates in layout order.

Each column is divided by its range in the learning rows and then warped by ``scale * asinh(away / scale)``, so that
long tails do not dominate the density. Quantiles ignore missing values. A value is transformed by itself: its
coordinate never depends on the rows it comes with.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from treemend.arrays import Booleans, Floats, Integers

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
# A column is on a lattice (counts, grey values) if all but this share of its values are: corruption is not. Where there
# are more levels than this, as in values with decimals, being off the lattice tells how a value was written down and
# not whether it is right. `python -m experiments.robustness one_stretch several_stretches` measures the gain.
MOST_OFF, MOST_LEVELS = 0.15, 256
# Differences from a multiple of the step, in steps, that rounding explains.
ROUNDING = 1e-3
# In a row with values off their lattices, a value on its lattice is overwritten less likely, by so many nats: what put
# the others there would hardly meet a lattice, but one row in twenty may have been overwritten in two ways.
ON_LATTICE = 3.0


@dataclass(frozen=True)
class Columns:
    """How each column is scaled and warped; all arrays (d,) in layout order."""

    order: Integers  # column number of each place of the layout
    offset: Floats  # smallest value in the learning rows
    width: Floats  # and range
    centre: Floats  # median, in units of the range
    scale: Floats  # of the warp, in units of the range
    low: Floats  # bounds of what may be filled in, in the user's units
    high: Floats
    origin: Floats  # a value of the lattice that the column is on, in the user's units
    step: Floats  # and the distance of its values; 0 where there is none
    off_lattice: Floats  # log odds that a value off the lattice is wrong; 0 where that says nothing

    def to_rows(self, values: Floats) -> tuple[Floats, Floats]:
        """Return the coordinates of values (n, d) in layout order, NaN where missing, and the log slope of their units.

        The latter is the log of d(scaled value) / d(coordinate), which is the log density, in coordinates, of a uniform
        law over the column's range; 0 where missing.
        """
        with np.errstate(over="ignore"):
            away = ((np.take(values, self.order, axis=1) - self.offset) / self.width - self.centre) / self.scale
        away = np.clip(away, -FARTHEST, FARTHEST)
        log_slope = 0.5 * np.log1p(away * away)
        log_slope[np.isnan(away)] = 0.0
        return self.scale * np.arcsinh(away), log_slope

    def lattice_odds(self, values: Floats) -> Floats:
        """Return what lattices say of values (n, d), in layout order: log odds that each is wrong."""
        odds = np.zeros(values.shape)
        judged = np.flatnonzero(self.off_lattice)
        if len(judged):
            away = (values[:, self.order[judged]] - self.origin[judged]) / self.step[judged]
            off = np.abs(away - np.round(away)) > ROUNDING
            on = -ON_LATTICE * off.any(axis=1, keepdims=True)
            odds[:, judged] = np.where(off, self.off_lattice[judged], np.where(np.isnan(away), 0.0, on))
        return odds

    def to_values(self, rows: Floats, *, feasible: bool = False) -> Floats:
        """Return the values (..., d) of coordinates within the bounds of their columns, on lattices if ``feasible``."""
        away = self.scale * np.sinh(np.clip(rows / self.scale, -20.0, 20.0))
        found = np.clip(self.offset + self.width * (self.centre + away), self.low, self.high)
        if feasible:
            found = self.nearest_on_lattice(found)
        values: Floats = np.empty_like(found)
        values[..., self.order] = found
        return values

    def nearest_on_lattice(self, values: Floats) -> Floats:
        """Return the nearest values (..., d), in layout order, on the lattices of their columns."""
        step = np.where(self.step > 0, self.step, 1.0)
        return np.where(self.step > 0, self.origin + step * np.round((values - self.origin) / step), values)

    def slope(self, rows: Floats) -> Floats:
        """Return d(value) / d(coordinate) at coordinates, in layout order."""
        return np.asarray(self.width * np.cosh(np.clip(rows / self.scale, -20.0, 20.0)))


def pick_places(parts: Sequence[tuple[Columns, Integers]]) -> Columns:
    """Return places of the layouts of several columns side by side, for values given in that order."""
    names = [field.name for field in fields(Columns)]
    arrays = [np.concatenate([getattr(columns, name)[some] for columns, some in parts]) for name in names]
    return Columns(np.arange(len(arrays[0])), *arrays[1:])


def learn_columns(values: Floats, order: Integers, widths: Floats | None = None) -> Columns:
    """Learn the scaling and the warp of each column from values (n, d), and lay the columns in this order.

    ``widths`` (d,) are ranges for columns that are constant in the values: those of all rows where these are a part (a
    fold). A column that is constant there too gets width 1.
    """
    values = np.take(values, order, axis=1)
    known = ~np.isnan(values)
    width = column_widths(values)
    ordered = np.sort(values.T, axis=1)
    low, centre, high = _quantiles(ordered, (0.0, 0.5, 1.0))
    if widths is not None:
        width = np.where(width > 0, width, widths[order])
    width = np.where(width > 0, width, 1.0)
    scaled, centre = (values - low) / width, (centre - low) / width
    # Falling, then rising: a stable sort merges them.
    away = np.sort(np.abs((ordered.T - low) / width - centre).T, axis=1, kind="stable")
    ordinary, far = _quantiles(away, (0.75, 0.999))
    usual = np.maximum(np.maximum(ordinary, column_moments(scaled)[1]), LEAST_DEVIATION)
    light = np.clip((HEAVY_TAIL - far / usual) / (HEAVY_TAIL - LIGHT_TAIL), 0.0, 1.0)
    light = np.where(known.any(axis=0), light, 0.0)
    # Bounds of fills: hard at an extreme that several rows share, and at zero; else with a margin.
    shared_low, shared_high = ((values == extreme).sum(axis=0) > 1 for extreme in (low, high))
    constant = high == low
    below = np.where(shared_low | constant, low, low - MARGIN * width)
    above = np.where(shared_high | constant, high, high + MARGIN * width)
    return Columns(
        np.asarray(order, np.int64),
        low,
        width,
        centre,
        usual * (BENT + (STRAIGHT - BENT) * light),
        np.where(low >= 0, np.maximum(below, 0.0), below),
        np.where(high <= 0, np.minimum(above, 0.0), above),
        *_lattices(ordered, ~known | (values == np.round(values))),
    )


def _lattices(ordered: Floats, whole: Booleans) -> Floats:
    """Return origin, step and log odds (3, d) of the lattices of ascending columns (d, n); whole numbers are on one."""
    found = np.zeros((3, len(ordered)))
    found[1] = whole.all(axis=0)
    for j in np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).sum(axis=1) > 1):
        found[:, j] = _lattice(ordered[j, : np.isfinite(ordered[j]).sum()]) or found[:, j]
    return found


def _lattice(values: Floats) -> tuple[float, float, float] | None:
    """Return origin and step of the lattice of ascending values, if any, and the log odds of a value that is off it.

    Corrupted values hardly repeat: the step is the largest of which all differences of repeated values are multiples,
    by Euclid's algorithm.
    """
    repeated = np.unique(values[1:][np.diff(values) == 0])
    differences = np.diff(repeated)
    step = differences.min(initial=np.inf)
    left = np.ones(1)
    while (left > ROUNDING).any():
        if not values[-1] - values[0] <= MOST_LEVELS * step < np.inf:
            return None
        left = np.abs(differences / step - np.round(differences / step))
        step *= left[left > ROUNDING].min(initial=1.0)
    reach = repeated[-1] - repeated[0]
    step = reach / np.round(reach / step)
    away = (values - repeated[0]) / step
    n_off = int((np.abs(away - np.round(away)) > ROUNDING).sum())
    if n_off > MOST_OFF * len(values):
        return None
    return float(repeated[0]), float(step), float(np.log((len(values) + 1) / (n_off + 0.5)))


def column_widths(values: Floats) -> Floats:
    """Return the range of each column, 0 where it is constant or wholly missing; NaN are ignored."""
    width = np.fmax.reduce(values, axis=0) - np.fmin.reduce(values, axis=0)
    return np.where(np.isnan(width), 0.0, width)


def column_quantiles(values: Floats, shares: Sequence[float] | Floats) -> Floats:
    """Return quantiles (n_shares, d) of each column by linear interpolation; NaN are ignored, 0 where all are."""
    return _quantiles(np.sort(values.T, axis=1), shares)


def _quantiles(ordered: Floats, shares: Sequence[float] | Floats) -> Floats:
    """Return quantiles of columns (d, n) in ascending order, NaN last."""
    count = ordered.shape[1] - np.isnan(ordered).sum(axis=1)
    last = np.maximum(count - 1, 0)
    place = np.multiply.outer(last, shares)
    below = place.astype(np.int64)
    low = np.take_along_axis(ordered, below, axis=1)
    high = np.take_along_axis(ordered, np.minimum(below + 1, last[:, None]), axis=1)
    return np.where(count > 0, (low + (place - below) * (high - low)).T, 0.0)


def column_moments(values: Floats) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of each column's observed values; 0 where there are none."""
    known = ~np.isnan(values)
    count = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, values / count, 0.0).sum(axis=0)
    away = np.where(known, values - mean, 0.0)
    # In units of the largest deviation, whose square may be more than a float can hold.
    largest = np.abs(away).max(axis=0, initial=0.0)
    unit = np.where(largest > 0, largest, 1.0)
    return mean, unit * np.sqrt(((away / unit) ** 2).sum(axis=0) / count)
