"""Cells that were moved by one common amount: how likely that is, and by how much, so that it can be taken back.

The amount is a share of each column's range. Its log odds against "clean" have no closed form, since columns are
warped: they are worked out on a grid of amounts that closes in on the likeliest one. What is taken back leaves the
detail of the cells as it was, where filling would replace it by what the rest of the row expects.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemend.mender.columns import Columns
from treemend.mender.evidence import FOREIGN, SHIFT, Scan, log_sum

Floats = NDArray[np.float64]
Labels = NDArray[np.int8]
Booleans = NDArray[np.bool_]

# Amounts that are tried first, and in each of so many closer looks.
FARTHEST, COARSE, FINE, LOOKS = 1.0, 41, 33, 4
# No closer look is worth it where the likeliest amount is so many nats behind what it is compared with.
HOPELESS = 20.0
# Closer looks leave out amounts that are so many nats behind, and end where this many are within two nats.
FAR_BEHIND, RESOLVED = 8.0, 5


class Shift(NamedTuple):
    """Log odds that some cells of a row were moved by a common amount; posterior mean and deviation of the amount."""

    odds: float
    amount: float
    deviation: float


class Deviations:
    """One row under the density of its c cells: what is left of it, and what it is with some cells moved."""

    def __init__(self, scan: Scan, columns: Columns, values: Floats, out: Booleans) -> None:
        self.density, self.constants, self.out = scan.density, scan.constants, out
        self.columns, self.values = columns.part(out), values[out]
        row, slope = columns.to_rows(values[None])
        away = row[0] - self.density.centre
        force = np.matmul(self.density.precision, away[:, :, None])[:, :, 0]
        self.away, self.force, self.form = away[:, out], force[:, out], (force * away).sum(axis=1)
        self.row, self.slope = row[0, out], slope[0, out]
        self.block = self.density.precision[np.ix_(np.ones(len(away), bool), out, out)]
        self.whole = float(self._log_density(self.form, len(out)))

    def _log_density(self, form: Floats, n: int, half: Floats | float = 0.0) -> Floats:
        """Return the log density of n cells with quadratic forms (K, ...) and halves of log determinants taken off."""
        density = self.density
        level = density.log_weight + density.log_det - half + self.constants[n]
        terms = np.log1p(np.maximum(form, 0.0) / density.tail).T * (-0.5 * (density.tail + n)) + level
        return log_sum(terms.T)

    def odds_without(self, labels: Labels, price: float) -> float:
        """Return the log odds of cells that are out being noise, or foreign where they are labelled so."""
        solved = np.linalg.solve(self.block, self.force[:, :, None])[:, :, 0]
        form = self.form - (solved * self.force).sum(axis=1)
        half = 0.5 * np.linalg.slogdet(self.block)[1]
        odds = float(self._log_density(form, int((~self.out).sum()), half)) - self.whole
        foreign = labels[self.out] == FOREIGN
        odds += float((self.slope - price)[~foreign].sum())
        if foreign.any():
            block = self.density.covariance[:, self.out][:, :, self.out][:, foreign][:, :, foreign]
            away = self.away[:, foreign]
            form = (np.linalg.solve(block, away[:, :, None])[:, :, 0] * away).sum(axis=1)
            half = 0.5 * np.linalg.slogdet(block)[1] + self.density.log_det
            odds += float(self._log_density(form, int(foreign.sum()), half))
        return odds

    def shift(self, least: float = -math.inf) -> Shift:
        """Return what is known of a common amount by which the cells that are out were moved.

        The odds are not worked out closely where they are far below ``least``.
        """
        amounts = np.linspace(-FARTHEST, FARTHEST, COARSE)
        odds = self._shifted_odds(amounts)
        for _ in range(LOOKS):
            if (odds > odds.max() - 2.0).sum() >= RESOLVED or odds.max() < least - HOPELESS:
                break
            likely = np.flatnonzero(odds > odds.max() - FAR_BEHIND)
            first, last = max(likely[0] - 1, 0), min(likely[-1] + 1, len(amounts) - 1)
            amounts = np.linspace(amounts[first], amounts[last], FINE)
            odds = self._shifted_odds(amounts)
        step = amounts[1] - amounts[0]
        total = float(log_sum(odds))
        share = np.exp(odds - total)
        mean = float(share @ amounts)
        return Shift(total + math.log(step), mean, math.sqrt(share @ (amounts - mean) ** 2 + step * step / 12))

    def _shifted_odds(self, amounts: Floats) -> Floats:
        """Return the log odds, with the density of the amounts, of each amount."""
        row, slope = self.columns.to_rows(self.values - amounts[:, None] * self.columns.width)
        change = row - self.row
        form = self.form[:, None] + ((np.matmul(change, self.block) + 2.0 * self.force[:, None]) * change).sum(axis=2)
        prior = -0.5 * (amounts / SHIFT) ** 2 - math.log(SHIFT * math.sqrt(2 * math.pi))
        odds = self._log_density(form, len(self.out)) - self.whole + (self.slope - slope).sum(axis=1) + prior
        return np.asarray(odds)
