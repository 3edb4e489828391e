"""Rows wider than a full covariance allows: judged by blocks of neighbouring columns, filled by a low-rank density.

A block's value is the mean of its columns, each divided by its range. What is overwritten in a run or a patch changes
the blocks it covers; single cells of very wide rows are seen only if they are far off.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemend.arrays import Booleans, Floats, Integers
from treemend.mender.columns import Columns, column_widths, learn_columns
from treemend.mender.layout import Layout
from treemend.mender.learning import FOLDS, MOST_LEARNT, CrossFit
from treemend.mender.low_rank import LowRankDensity, choose_rank, learn_low_rank

# Up to this many columns the covariance is full: its time grows with their square, and with their cube in a fit.
MOST_COLUMNS = 512
N_BLOCKS = 256
# Folds are learnt until so many rows are left out of one, from which gaps are cut; two at least.
ROWS_TO_FILL = 400


@dataclass(frozen=True, eq=False)
class Blocks:
    """Which columns make which block; arrays in the order of the columns."""

    block: Integers  # number of each column's block
    offset: Floats  # smallest value of each column
    width: Floats  # and range

    def reduce(self, values: Floats) -> Floats:
        """Return the mean of each block, over the values that are there."""
        with np.errstate(over="ignore"):
            scaled = np.clip((values - self.offset) / self.width, -1e9, 1e9)
        there = ~np.isnan(scaled)
        order, first = self._in_blocks()
        total = np.add.reduceat(np.where(there, scaled, 0.0)[:, order], first, axis=1)
        count = np.add.reduceat(there[:, order].astype(np.float64), first, axis=1)
        return np.asarray(np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0))

    def any(self, mask: Booleans) -> Booleans:
        """Tell of each block whether any of its columns is marked."""
        order, first = self._in_blocks()
        return np.asarray(np.logical_or.reduceat(mask[:, order], first, axis=1))

    def _in_blocks(self) -> tuple[Integers, Integers]:
        """Return the columns block by block, and where each block begins there."""
        order = np.argsort(self.block, kind="stable")
        return order, np.flatnonzero(np.diff(self.block[order], prepend=-1))

    def expand(self, cells: NDArray[np.generic]) -> NDArray[np.generic]:
        """Return for each column what is known of its block."""
        return np.ascontiguousarray(cells[:, self.block])


@dataclass(frozen=True, eq=False)
class WideRows:
    """What judges and fills wide rows beside the detector of their blocks."""

    blocks: Blocks
    columns: Columns
    density: LowRankDensity


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
    blocks = Blocks(block, np.fmin.reduce(values, axis=0), np.where(widths > 0, widths, 1.0))
    return blocks, Layout(np.arange(int(place.max()) + 1), grid, groups)


def learn_wide(
    values: Floats, layout: Layout, blocks: Blocks, cross_fit: CrossFit, seed: int
) -> tuple[WideRows, list[Columns], list[LowRankDensity]]:
    """Learn the low-rank density of rows, and those of the first folds of a cross-fit with their columns."""
    fold = cross_fit.fold
    crossed = (fold >= 0).all()
    learning = np.arange(len(values)) if crossed else np.flatnonzero(fold < 0)[:MOST_LEARNT]
    learning = learning[~np.isnan(values[learning]).all(axis=1)]
    widths, learnt = column_widths(values), values[learning]
    columns = learn_columns(learnt, layout.order, widths)
    rows = columns.to_rows(learnt)[0]
    rank = choose_rank(rows, seed)
    wide = WideRows(blocks, columns, learn_low_rank(rows, rank, seed))
    if not crossed:
        return wide, [columns] * FOLDS, [wide.density] * FOLDS
    fold_columns, fold_densities = [], []
    n_folds = len(cross_fit.detectors)
    for number in range(min(n_folds, max(2, -(-ROWS_TO_FILL * n_folds // len(values))))):
        part = learnt[fold[learning] != number]
        fold_columns.append(learn_columns(part, layout.order, widths))
        fold_densities.append(learn_low_rank(fold_columns[-1].to_rows(part)[0], rank, seed))
    return wide, fold_columns, fold_densities
