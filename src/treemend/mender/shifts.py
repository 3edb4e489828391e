"""Cells that were moved by one common amount: how likely that is, and by how much, so that it can be taken back.

The amount is a share of each column's range. Its log odds against "clean" have no closed form, since columns are
warped: they are worked out on a grid of amounts that closes in on the likeliest one. What is taken back leaves the
detail of the cells as it was, where filling would replace it by what the rest of the row expects.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from treemend.arrays import Booleans, Floats
from treemend.mender.columns import pick_places
from treemend.mender.density import Density
from treemend.mender.evidence import SHIFT, log_sum

# Amounts that are tried first, and how many in each of so many closer looks.
FIRST_AMOUNTS = np.linspace(-1.0, 1.0, 41)
FINE, LOOKS = 33, 4
# No closer look is worth it where the likeliest amount is so many nats behind what it is compared with.
HOPELESS = 20.0
# Closer looks leave out amounts that are so many nats behind, and end where this many are within two nats.
FAR_BEHIND, RESOLVED = 8.0, 5


class MovedRow:
    """One row under the density of its c cells: what is left of it, and what it is with some cells moved."""

    def __init__(self, density: Density, values: Floats, row: Floats, slope: Floats, out: Booleans) -> None:
        away = row - density.centre
        force = np.matmul(density.mix.precision, away[:, :, None])[:, :, 0]
        self.level = density.law.constants[-1] + density.log_weight + density.mix.log_det
        self.tail, self.d = density.tail, len(row)
        self.values, self.row, self.slope = values[out], row[out], slope[out].sum()
        self.force, self.form = 2.0 * force[:, None, out], (force * away).sum(axis=1)
        self.block = density.mix.precision[:, out][:, :, out]
        self.amounts, self.odds = FIRST_AMOUNTS, np.empty(0)

    def terms(self, form: Floats) -> Floats:
        """Return the terms (K, ...) of the log density of rows with quadratic forms (..., K)."""
        terms: Floats = np.log1p(np.maximum(form, 0.0) / self.tail) * (-0.5 * (self.tail + self.d)) + self.level
        return terms.T

    def moved_terms(self, moved: Floats) -> Floats:
        """Return the terms of the row with its cells (amounts, cells) moved."""
        change = moved - self.row
        return self.terms(self.form + ((np.matmul(change, self.block) + self.force) * change).sum(axis=2).T)

    def look_closer(self, least: float) -> bool:
        """Choose amounts around the likeliest ones, unless these are known closely or far below ``least``."""
        odds, amounts = self.odds, self.amounts
        if len(odds):
            if (odds > odds.max() - 2.0).sum() >= RESOLVED or odds.max() < least - HOPELESS:
                return False
            likely = np.flatnonzero(odds > odds.max() - FAR_BEHIND)
            first, last = max(likely[0] - 1, 0), min(likely[-1] + 1, len(amounts) - 1)
            self.amounts = amounts[first] + (amounts[last] - amounts[first]) / (FINE - 1) * np.arange(FINE)
        return True


def common_shifts(given: Sequence[tuple[Any, ...]], least: Floats) -> Floats:
    """Return log odds, amount and deviation (3, n) of common amounts by which some cells of rows were moved.

    Of each row are given the columns that it is scaled by, the places there of its c cells, the density of these, their
    values, coordinates and log densities of noise, and which were moved. The odds are not worked out closely where they
    are far below ``least``. All rows are looked at together, once closer each time.
    """
    rows = [MovedRow(*own) for _, _, *own in given]
    columns = pick_places([(columns, cells[own[-1]]) for columns, cells, *own in given])
    ends = np.cumsum([len(one.values) for one in rows])
    places = [np.arange(end - len(one.values), end) for one, end in zip(rows, ends, strict=True)]
    whole = [log_sum(terms) for terms in [one.terms(one.form) for one in rows]]
    sought = list(range(len(rows)))
    for _ in range(1 + LOOKS):
        sought = [i for i in sought if rows[i].look_closer(least[i])]
        if not sought:
            break
        some = [rows[i] for i in sought]
        values = [rows[i].values - rows[i].amounts[:, None] * columns.width[places[i]] for i in sought]
        cells = np.concatenate([np.tile(places[i], len(rows[i].amounts)) for i in sought])
        flat = np.concatenate([own.ravel() for own in values])[None]
        moved, slopes = pick_places([(columns, cells)]).to_rows(flat)
        borders, shapes = np.cumsum([own.size for own in values])[:-1], [own.shape for own in values]
        split = [np.split(found[0], borders) for found in (moved, slopes)]
        terms = [one.moved_terms(own.reshape(shape)) for one, own, shape in zip(some, split[0], shapes, strict=True)]
        for i, one, level, slope in zip(sought, some, [log_sum(own) for own in terms], split[1], strict=True):
            prior = -0.5 * (one.amounts / SHIFT) ** 2 - math.log(SHIFT * math.sqrt(2 * math.pi))
            slope_sum = slope.reshape(len(one.amounts), -1).sum(axis=1)
            one.odds = np.asarray(level - whole[i] + one.slope - slope_sum + prior)
    found = np.empty((3, len(rows)))
    for i, (one, total) in enumerate(zip(rows, [float(log_sum(one.odds)) for one in rows], strict=True)):
        step, share = one.amounts[1] - one.amounts[0], np.exp(one.odds - total)
        mean = float(share @ one.amounts)
        found[:, i] = total + math.log(step), mean, math.sqrt(share @ (one.amounts - mean) ** 2 + step * step / 12)
    return found
