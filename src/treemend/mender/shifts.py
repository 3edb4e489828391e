"""Cells that were moved by one common amount: how likely that is, and by how much, so that it can be taken back.

The amount is a share of each column's range. Its log odds against "clean" have no closed form, since columns are
warped: they are worked out on a grid of amounts that closes in on the likeliest one. What is taken back leaves the
detail of the cells as it was, where filling would replace it by what the rest of the row expects.
"""

import math
from typing import NamedTuple

import numpy as np

from treemend.arrays import Booleans, Floats
from treemend.mender.columns import Columns
from treemend.mender.density import Density
from treemend.mender.evidence import SHIFT, log_sum

# Amounts that are tried first, and how many in each of so many closer looks.
FIRST_AMOUNTS = np.linspace(-1.0, 1.0, 41)
FINE, LOOKS = 33, 4
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

    def __init__(
        self, density: Density, columns: Columns, values: Floats, row: Floats, slope: Floats, out: Booleans
    ) -> None:
        self.density = density
        self.level = self.density.law.constants[-1] + self.density.log_weight + self.density.log_det
        away = row - self.density.centre
        force = np.matmul(self.density.precision, away[:, :, None])[:, :, 0]
        self.columns, self.values, self.row, self.slope = columns.part(out), values[out], row[out], slope[out].sum()
        self.force, self.form = 2.0 * force[:, None, out], (force * away).sum(axis=1)
        self.block = self.density.precision[:, out][:, :, out]
        self.whole = self._log_density(self.form)

    def _log_density(self, form: Floats) -> Floats:
        """Return the log density of rows with quadratic forms (..., K)."""
        tail = self.density.tail
        terms = np.log1p(np.maximum(form, 0.0) / tail) * (-0.5 * (tail + self.density.centre.shape[1])) + self.level
        return log_sum(terms.T)

    def shift(self, least: float = -math.inf) -> Shift:
        """Return what is known of a common amount by which the cells that are out were moved.

        The odds are not worked out closely where they are far below ``least``.
        """
        amounts = FIRST_AMOUNTS
        odds = self._shifted_odds(amounts)
        for _ in range(LOOKS):
            if (odds > odds.max() - 2.0).sum() >= RESOLVED or odds.max() < least - HOPELESS:
                break
            likely = np.flatnonzero(odds > odds.max() - FAR_BEHIND)
            first, last = max(likely[0] - 1, 0), min(likely[-1] + 1, len(amounts) - 1)
            amounts = amounts[first] + (amounts[last] - amounts[first]) / (FINE - 1) * np.arange(FINE)
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
        form = self.form + ((np.matmul(change, self.block) + self.force) * change).sum(axis=2).T
        prior = -0.5 * (amounts / SHIFT) ** 2 - math.log(SHIFT * math.sqrt(2 * math.pi))
        return np.asarray(self._log_density(form) - self.whole + self.slope - slope.sum(axis=1) + prior)
