"""Rectangles of a grid: the sets that overwritten patches of images are first sought as.

The cells of a rectangle go out together, whatever each says by itself; further cells are toggled afterwards. While a
set is sought, cells of a rectangle have the label `SINGLE`; in answers they are noise.
"""

import numpy as np

from treemend.arrays import Floats, Integers, Labels
from treemend.mender.compiled import inner_kernel
from treemend.mender.evidence import KEPT, SINGLE
from treemend.mender.moves import BORDER_MOVES, LEAST_GAIN, MOST_OUT, count_runs
from treemend.mender.swept import Law, Space, State, prefix_gains, sweep_to
from treemend.mender.windows import Grid, Rules


@inner_kernel
def _bound(grid: Grid, labels: Labels, box: Integers) -> None:
    """Fill ``box`` with the first line, the end of the lines, the first column, the end of the columns."""
    box[0], box[1], box[2], box[3] = len(labels), 0, len(labels), 0
    for j in range(len(labels)):
        if labels[j] == SINGLE:
            box[0], box[1] = min(box[0], grid.line[j]), max(box[1], grid.line[j] + 1)
            box[2], box[3] = min(box[2], grid.column[j]), max(box[3], grid.column[j] + 1)


@inner_kernel
def _side_cells(grid: Grid, box: Integers, side: int, step: int, labels: Labels, order: Integers) -> int:
    """Fill ``order`` with the cells that a rectangle gains or loses when a side moves by a step; return how many."""
    wanted = KEPT if (step > 0) == (side % 2 == 1) else SINGLE
    at, across, m = box[side] - (step < 0), 2 - side // 2 * 2, 0
    for j in range(len(labels)):
        place = grid.line[j] if side < 2 else grid.column[j]
        other = grid.column[j] if side < 2 else grid.line[j]
        if place == at and box[across] <= other < box[across + 1] and labels[j] == wanted:
            order[m] = j
            m += 1
    return m


@inner_kernel
def move_sides(law: Law, rules: Rules, grid: Grid, state: State, u: Floats, labels: Labels, space: Space) -> None:
    """Move the sides of a rectangle by one line at a time, the best one first, while its log odds grow."""
    d, order, box = len(u), space.order, np.empty(4, np.int64)
    for _ in range(BORDER_MOVES):
        n_out = count_runs(labels, rules.earlier, SINGLE)[0]
        _bound(grid, labels, box)
        best, best_side, best_step = LEAST_GAIN, d, d
        for side in range(4):
            for step in (-1, 1):
                m = _side_cells(grid, box, side, step, labels, order)
                if m in (0, n_out) or (labels[order[0]] == KEPT and n_out + m > MOST_OUT * d):
                    continue
                prefix_gains(state, law, d - n_out, m, space)
                value = space.gains[m - 1]
                for a in range(m):
                    value += u[order[a]] if labels[order[a]] == KEPT else -u[order[a]]
                if value > best:
                    best, best_side, best_step = value, side, step
        if best_side == d:
            break
        for a in range(_side_cells(grid, box, best_side, best_step, labels, order)):
            labels[order[a]] = KEPT if labels[order[a]] == SINGLE else SINGLE
        sweep_to(state, labels, space.lines)
