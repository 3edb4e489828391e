"""Rows wider than a full covariance allows: judged by blocks of neighbouring columns, and column by column.

A block's value is the mean of its columns. What is overwritten in a run or a patch changes the blocks it covers, of
whatever kind it is. A low-rank density finds the very columns (`wide_sets.py`), single ones too, and fills them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemend.arrays import Booleans, Floats, Integers, Labels
from treemend.mender.columns import FARTHEST, Columns, column_quantiles, column_widths, learn_columns
from treemend.mender.evidence import KEPT, SHIFT, STUCK
from treemend.mender.layout import Layout
from treemend.mender.low_rank import LowRankDensity, choose_rank, fill_row, last_score, learn_low_rank, leftovers_of_all
from treemend.mender.wide_sets import Residuals, WideRow, find_set, learn_residuals, moving
from treemend.mender.windows import chain_prior
from treemend.threads import for_chunks

# Up to this many columns the covariance is full: its time grows with their square, and with their cube in a fit. At 400
# columns noise is found as well either way, and moved or foreign stretches better by the full one.
MOST_COLUMNS = 512
N_BLOCKS = 256
# One unit serves all columns if the ranges of neighbours usually differ by less than this factor.
MOST_UNLIKE = 2.0
# A block of which more columns than this share are overwritten says nothing of what is left of its row.
MOST_EXPECTED = 0.5
# How often the amount of a move of the whole row is sought closer.
MOVE_ROUNDS = 5


@dataclass(frozen=True, eq=False)
class Blocks:
    """Which columns make which block; arrays in the order of the columns."""

    block: Integers  # number of each column's block
    unit: Floats  # what the values of each column are divided by
    level: Floats  # median of each column, in its unit

    def reduce(self, values: Floats) -> Floats:
        """Return the mean of each block; columns that are missing are as far from their level as the others."""
        with np.errstate(over="ignore"):
            away = np.clip(values / self.unit - self.level, -FARTHEST, FARTHEST)
        return np.asarray(self.mean(away) + self.mean(self.level[None]))

    def mean(self, cells: Floats) -> Floats:
        """Return the mean of the columns of each block, as they are, over those that are there."""
        there = ~np.isnan(cells)
        order, first = self._in_blocks()
        total = np.add.reduceat(np.where(there, cells, 0.0)[:, order], first, axis=1)
        count = np.add.reduceat(there[:, order].astype(np.float64), first, axis=1)
        return np.asarray(np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0))

    def _in_blocks(self) -> tuple[Integers, Integers]:
        """Return the columns block by block, and where each block begins there."""
        order = np.argsort(self.block, kind="stable")
        return order, np.flatnonzero(np.diff(self.block[order], prepend=-1))

    def expand(self, cells: NDArray[np.generic]) -> NDArray[np.generic]:
        """Return for each column what is known of its block."""
        return np.ascontiguousarray(cells[:, self.block])


@dataclass(frozen=True, eq=False)
class WideRows:
    """What judges the single columns of wide rows, and fills them, beside the detector of their blocks."""

    blocks: Blocks
    columns: Columns
    density: LowRankDensity
    residuals: Residuals

    def cells(self, values: Floats, kinds: Labels | None = None) -> Floats:
        """Return the values of blocks (n, blocks), missing columns as the others expect them.

        NaN where most columns are missing, or where most are of a kind (n, d) of corruption.
        """
        filled, missing = values.copy(), np.isnan(values)
        some = np.flatnonzero(missing.any(axis=1) & ~missing.all(axis=1))
        rows = self.columns.to_rows(values[some])[0]
        expected = np.array([fill_row(self.density, row)[0] for row in rows]).reshape(rows.shape)
        filled[some] = np.where(missing[some], self.columns.to_values(expected), values[some])
        gone = [missing] if kinds is None else [missing, kinds > KEPT]
        nothing = [self.blocks.mean(one.astype(np.float64)) > MOST_EXPECTED for one in gone]
        return np.where(np.any(nothing, axis=0), np.nan, self.blocks.reduce(filled))

    def find(self, values: Floats, kinds: Labels, n_jobs: int | None) -> tuple[Labels, Floats, Floats, Floats]:
        """Find the overwritten columns of rows (n, d), from none and from those of blocks of a kind (n, blocks).

        Returns the kinds of columns (n, d), the log odds of the sets (n,) and of each column (n, d), and the values
        (n, d) with overwritten columns as the others expect them.
        """
        found, odds, cells = np.full(values.shape, KEPT, np.int8), np.zeros(len(values)), np.zeros(values.shape)
        rest, order = values.copy(), self.columns.order
        given = self.blocks.expand(kinds)[:, order]
        rows, log_slope = self.columns.to_rows(values)
        lattice = self.columns.lattice_odds(values)
        left, level = leftovers_of_all(self.density, rows)

        def task(part: slice) -> None:
            for i in range(part.start, part.stop):
                begin, kind = (given[i] > KEPT) & ~np.isnan(rows[i]), kinds[i].max()
                if kind == STUCK:
                    begin |= values[i, order] == np.median(values[i, order[begin]])
                whole = left[i], float(level[i])
                row = WideRow(self.density, self.residuals, rows[i], log_slope[i], whole, lattice[i])
                best, kind = find_set(row, begin, kind)
                own = order[best.out]
                found[i, own], odds[i], cells[i, order] = kind, best.odds, best.cells
                rest[i, own] = self.columns.to_values(best.expected)[own]

        for_chunks(task, len(values), 10 * self.density.factor.size, n_jobs)
        return found, odds, cells, rest

    def weigh(self, values: Floats, n_jobs: int | None) -> Floats:
        """Return the log odds of the best set of columns from none (n,); negative where not even one cell gains."""
        _, odds, cells, _ = self.find(values, np.full((len(values), self.blocks.block.max() + 1), KEPT), n_jobs)
        return np.where(odds > 0, odds, cells.max(axis=1) + chain_prior(1, 1, values.shape[1]))

    def move_odds(self, values: Floats) -> tuple[Floats, Floats]:
        """Return the log odds (n,) of a move of all columns by one amount, and what lattices say of cells (n, d)."""
        width, amount = self.columns.width[np.argsort(self.columns.order)], np.zeros((len(values), 1))
        log_density = []
        for _ in range(MOVE_ROUNDS):
            rows, log_slope = self.columns.to_rows(values - amount * width)
            left, level = leftovers_of_all(self.density, rows)
            cells = self.residuals.log_density(left) - log_slope
            log_density.append(cells.sum(axis=1, where=~np.isnan(left)) + level - 0.5 * amount[:, 0] ** 2)
            for i, row in enumerate(rows):
                amount[i] += last_score(self.density.with_factor(np.exp(-log_slope[i])), row)[0]
        lattice = self.columns.lattice_odds(values)[:, np.argsort(self.columns.order)]
        return np.max(log_density, axis=0) - log_density[0], lattice

    def shift_amounts(self, values: Floats, shifted: Booleans) -> tuple[Floats, Floats]:
        """Return what `Detection.shift_amounts` does."""
        rows, log_slope = self.columns.to_rows(values)
        found = np.full((2, len(values)), np.nan)
        for i, own in enumerate(shifted[:, self.columns.order]):
            if own.any() and not own.all():
                found[:, i] = last_score(self.density.with_factor(moving(log_slope[i]) * own), rows[i])
        return SHIFT * found[0], SHIFT * found[1]


def lay_blocks(values: Floats, layout: Layout) -> tuple[Blocks, Layout]:
    """Return blocks of columns that are neighbours in a layout, and the layout of the blocks.

    Examples
    --------
    >>> blocks, layout = lay_blocks(np.random.default_rng(0).normal(size=(5, 1024)), Layout(np.arange(1024)))
    >>> blocks.block[:6].tolist(), len(layout.order)
    ([0, 0, 0, 0, 1, 1], 256)
    """
    d = values.shape[1]
    grid, groups = None, None
    if layout.grid is not None:
        height, width, channels = layout.grid
        side = max(1, math.ceil(math.sqrt(height * width / N_BLOCKS)))
        grid = (-(-height // side), -(-width // side), 1)
        line, column = np.divmod(np.arange(d) // channels, width)
        place = line // side * grid[1] + column // side
    else:
        group = np.zeros(d, np.int64) if layout.groups is None else layout.groups
        _, place = np.unique(group * d + np.arange(d) * min(N_BLOCKS, d) // d, return_inverse=True)
        if layout.groups is not None:
            groups = group[np.flatnonzero(np.diff(place, prepend=-1))]
    block = np.empty(d, np.int64)
    block[layout.order] = place
    widths = column_widths(values)
    widths = np.where(widths > 0, widths, 1.0)
    # With one unit, equal values stay equal: a stuck run is seen.
    alike = np.median(np.abs(np.diff(np.log(widths[layout.order])))) < math.log(MOST_UNLIKE)
    unit = np.full(d, np.median(widths)) if alike else widths
    return Blocks(block, unit, column_quantiles(values, (0.5,))[0] / unit), Layout(
        np.arange(int(place.max()) + 1), grid, groups
    )


def learn_wide(
    learnable: Floats, layout: Layout, blocks: Blocks, parts: Sequence[Integers], fold: Integers, seed: int
) -> list[WideRows]:
    """Learn what judges columns from each of several parts of the rows (n, d), NaN where nothing is to be learnt.

    The first part is all that is learnt from; each further one is all but a fold, ``fold`` (n,) the number of the fold
    that a row is in, -1 if in none. Without further parts the folds are of rows that are in no part.
    """
    widths, rank, learnt = column_widths(learnable), 0, []
    for part in parts:
        columns = learn_columns(learnable[part], layout.order, widths)
        rows = columns.to_rows(learnable[part])[0]
        rank = rank or choose_rank(rows, seed)
        learnt.append((columns, learn_low_rank(rows, rank, seed)))
    learnt += learnt * (fold.max() + 1 if len(parts) == 1 else 0)
    left = np.full(learnable.shape, np.nan)
    for number, (columns, density) in enumerate(learnt[1:]):
        own = np.flatnonzero(fold == number)
        # Ranges differ between folds: that of a column is smaller without its extreme.
        left[own] = columns.width * leftovers_of_all(density, columns.to_rows(learnable[own])[0])[0]
    wide = []
    for number, (columns, density) in enumerate(learnt, -1):
        others = (fold >= 0) & (fold != number)
        law = learn_residuals((left[others] if others.any() else left) / columns.width)
        wide.append(WideRows(blocks, columns, density, law))
    return wide
