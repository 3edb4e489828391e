"""Honest standard deviations of filled values, for any amount of context from none to all but one cell.

The conditional deviation of the density is multiplied by a factor that depends on the share of the row that is missing,
on how scattered the gaps are, and on the column. It is learnt on gaps cut out of rows left out of the fold densities.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from treemend.arrays import Booleans, Floats, Integers
from treemend.mender.columns import column_moments, column_quantiles

COVERAGE = 0.8
# Half the width of the normal law's central interval of that coverage.
NORMAL_QUANTILE = 1.2815515655446004
GRID = np.linspace(-3.0, 7.0, 21)
BANDWIDTH = 0.4
# A column's factor counts as much as the common one when it rests on this many gaps.
COLUMN_PRIOR = 40.0
# Several quantiles instead of the one asked for: errors of a column with one frequent value (zero) are nearly all
# equal, and such columns must not cross the limit all at once.
COLUMN_QUANTILES = (0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
# More gaps of one row tell little: they err alike.
MOST_GAPS_OF_A_ROW = 256
# Rare far errors may widen draws by this factor beyond what covers as asked.
MOST_WIDENED = 2.0
# The spread of an empty row stays within these multiples of the column's standard deviation.
EMPTY_RANGE = (0.85, 1.2)


@dataclass(frozen=True)
class Spread:
    """Factors of the density's conditional deviation."""

    factor: Floats  # (2, len(GRID)), for one stretch and for scattered gaps, by the log odds of a cell to be missing
    draw_factor: Floats  # the same for draws, whose variance is that of the errors
    column: Floats  # (d,), factor of each column, in layout order
    empty: Floats  # (d,), spread where nothing is observed, in the user's units and column order

    def factors(self, gaps: Booleans) -> tuple[Floats, Floats]:
        """Return the factors of deviations and of draws for rows with these gaps (n, d), in layout order."""
        place, scattered = describe_gaps(gaps)
        both = []
        for table in (self.factor, self.draw_factor):
            low, high = np.interp(place, GRID, table[0]), np.interp(place, GRID, table[1])
            both.append(((1 - scattered) * low + scattered * high)[:, None] * self.column)
        return both[0], both[1]


def describe_gaps(gaps: Booleans) -> tuple[Floats, Floats]:
    """Return about the log odds of a cell to be missing, and how scattered gaps are: 0 one stretch, 1 as by chance."""
    d = gaps.shape[1]
    m = gaps.sum(axis=1)
    runs = gaps[:, 0] + (gaps[:, 1:] & ~gaps[:, :-1]).sum(axis=1)
    by_chance = 1 + (m - 1) * (d - m) / max(d - 1, 1)
    scattered = np.where(by_chance > 1, (runs - 1) / np.maximum(by_chance - 1, 1e-9), 1.0)
    # A few cells more or less hardly matter where nearly all are observed, but do where nearly none are.
    return np.log((m + 0.05 * d) / (d - m + 0.5)), np.clip(scattered, 0.0, 1.0)


def cut_gaps(rng: np.random.Generator, n: int, d: int) -> Booleans:
    """Return gaps of one cell to all but one, sizes even in the log odds; every other row scattered."""
    # Beyond the ends: a fifth of the rows at each, where the law changes most and nothing lies on the other side.
    odds = rng.uniform(-1.6, 1.6, n) * np.log(d)
    size = np.clip(np.round(d / (1 + np.exp(-odds))), 1, max(d - 1, 1)).astype(np.int64)
    gaps = np.zeros((n, d), bool)
    for i in range(n):
        if i % 2:
            gaps[i, rng.permutation(d)[: size[i]]] = True
        else:
            start = rng.integers(0, d - size[i] + 1)
            gaps[i, start : start + size[i]] = True
    return gaps


def learn_spread(
    reference: Floats, values: Floats, filled: Floats, spread: Floats, gaps: Booleans, order: Integers
) -> Spread:
    """Learn the factors from gaps (n, d) that were cut out of left-out rows and filled.

    ``values`` are those rows (NaN where not known), ``filled`` and ``spread`` what was filled in and its uncalibrated
    deviation, all in column order and the user's units. All rows of the reference (N, d) say how columns spread where
    nothing is observed.
    """
    judged = (gaps & ~np.isnan(values))[:, order]
    error = np.where(judged, np.abs(filled - values)[:, order], np.nan)
    deviation = np.where(judged, np.maximum(spread[:, order], 1e-300), np.nan)
    place, scattered = describe_gaps(gaps[:, order])
    column = np.ones(values.shape[1])
    factor = _covering(error / deviation, place, scattered)
    for _ in range(2):
        common = Spread(factor, factor, np.ones(len(column)), column).factors(gaps[:, order])[0]
        column = _column_factors(error / (deviation * common))
        factor = _covering(error / (deviation * column), place, scattered)
    mean, width = column_moments(reference)
    empty = column_quantiles(np.abs(reference - mean), (COVERAGE,))[0] / NORMAL_QUANTILE
    scale = np.where(width > 0, width, np.inf)[order]
    cells = np.maximum(judged.sum(axis=1), 1)
    above = np.nansum((error / scale) ** 2, axis=1) / cells
    below = np.nansum((deviation * column / scale) ** 2, axis=1) / cells
    draw_factor = _on_grid(
        place, scattered, lambda near: float(np.sqrt(near @ above / max(float(near @ below), 1e-300)))
    )
    return Spread(
        factor,
        np.minimum(draw_factor, MOST_WIDENED * factor),
        column,
        np.clip(empty, EMPTY_RANGE[0] * width, EMPTY_RANGE[1] * width),
    )


def _on_grid(place: Floats, scattered: Floats, measure: Callable[[Floats], float]) -> Floats:
    """Measure rows by their weights (never all zero) near each place of the grid, for stretches and scattered gaps."""
    found = np.empty((2, len(GRID)))
    for kind, share in enumerate((1 - scattered, scattered)):
        for at, middle in enumerate(GRID):
            near = np.exp(-0.5 * ((place - middle) / BANDWIDTH) ** 2) + 1e-9
            found[kind, at] = measure((share + 1e-6) * near)
    return found


def _covering(ratio: Floats, place: Floats, scattered: Floats) -> Floats:
    """Return the factors (2, len(GRID)) with which deviations cover errors as asked."""
    row, cell = np.nonzero(~np.isnan(ratio))
    count = np.bincount(row, minlength=len(ratio))
    number = np.arange(len(row)) - (count.cumsum() - count)[row]
    used = number % -(-count // MOST_GAPS_OF_A_ROW)[row] == 0
    row, error = row[used], ratio[row[used], cell[used]]
    order = np.argsort(error)
    row, error = row[order], error[order]
    per_row = np.sqrt(np.maximum(np.bincount(row, minlength=len(ratio)), 1))

    def quantile(near: Floats) -> float:
        total = (near / per_row)[row].cumsum()
        return float(error[np.searchsorted(total, COVERAGE * total[-1])]) if len(error) else 1.0

    return np.maximum(_on_grid(place, scattered, quantile) / NORMAL_QUANTILE, 1e-6)


def _column_factors(ratio: Floats) -> Floats:
    """Factor of each column, shrunk towards the common one."""
    count = (~np.isnan(ratio)).sum(axis=0)
    level = np.log(np.maximum(column_quantiles(ratio, COLUMN_QUANTILES) / NORMAL_QUANTILE, 1e-3)).mean(axis=0)
    return np.asarray(np.exp(level * count / (count + COLUMN_PRIOR)))
