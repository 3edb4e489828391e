"""Rectangles of a grid: the sets that overwritten patches of images are first sought as.

The cells of a rectangle go out together, whatever each says by itself; further cells are toggled afterwards. While a
set is sought, cells of rectangles have the label `SINGLE`; in answers they are noise.
"""

import math
from typing import NamedTuple

import numpy as np

from treemend.arrays import Floats, Integers, Labels
from treemend.mender.compiled import inner_kernel
from treemend.mender.evidence import KEPT, SINGLE
from treemend.mender.moves import BORDER_MOVES, LEAST_GAIN, MOST_OUT, Grid, Rules, count_runs
from treemend.mender.swept import Law, Space, State, prefix_gains, sweep_to

MOST_BOXES = 3


class WindowCells(NamedTuple):
    """Windows as kernels read them: the first ``size[v]`` cells of ``order`` from ``first[v]`` on."""

    order: Integers
    first: Integers  # V
    size: Integers  # V


@inner_kernel
def grow_boxes(
    law: Law,
    rules: Rules,
    grid: Grid,
    state: State,
    u: Floats,
    labels: Labels,
    m: int,
    windows: WindowCells,
    space: Space,
) -> int:
    """Move the sides of the rectangle ``space.order[:m]``, and add others while that gains; return how many."""
    box, boxes = np.empty(4, np.int64), 0
    _bound(grid, m, space.order, box)
    while boxes == 0 or (boxes < MOST_BOXES and _add_box(law, rules, grid, state, u, labels, windows, box, space)):
        _move_sides(law, rules, grid, state, u, labels, box, space)
        boxes += 1
    return boxes


@inner_kernel
def _side_cells(grid: Grid, box: Integers, side: int, step: int, labels: Labels, order: Integers) -> int:
    """Fill ``order`` with the cells that a rectangle gains or loses when a side moves by a step; return how many."""
    grows = (step > 0) == (side % 2 == 1)
    wanted = KEPT if grows else SINGLE
    at, across = box[side] - (step < 0), 2 - side // 2 * 2
    if not grows and box[side - side % 2 + 1] - box[side - side % 2] == 1:
        return 0
    m = 0
    for j in range(len(labels)):
        place = grid.line[j] if side < 2 else grid.column[j]
        other = grid.column[j] if side < 2 else grid.line[j]
        if place == at and box[across] <= other < box[across + 1] and labels[j] == wanted:
            order[m] = j
            m += 1
    return m


@inner_kernel
def _toggle(state: State, labels: Labels, m: int, space: Space) -> None:
    for a in range(m):
        j = space.order[a]
        labels[j] = KEPT if labels[j] == SINGLE else SINGLE
    sweep_to(state, labels, space.lines)


@inner_kernel
def _move_sides(
    law: Law, rules: Rules, grid: Grid, state: State, u: Floats, labels: Labels, box: Integers, space: Space
) -> None:
    """Move the sides of a rectangle by one line at a time, the best one first, while its log odds grow.

    ``box``: first line, end of the lines, first column, end of the columns.
    """
    d = len(u)
    for _ in range(BORDER_MOVES):
        n_out = count_runs(labels, rules.earlier, SINGLE)[0]
        best, best_side, best_step = LEAST_GAIN, d, d
        for side in range(4):
            for step in (-1, 1):
                m = _side_cells(grid, box, side, step, labels, space.order)
                if m == 0 or (labels[space.order[0]] == KEPT and n_out + m > MOST_OUT * d):
                    continue
                prefix_gains(state, law, d - n_out, m, space)
                value = space.gains[m - 1]
                for a in range(m):
                    value += u[space.order[a]] if labels[space.order[a]] == KEPT else -u[space.order[a]]
                if value > best:
                    best, best_side, best_step = value, side, step
        if best_side == d:
            break
        m = _side_cells(grid, box, best_side, best_step, labels, space.order)
        _toggle(state, labels, m, space)
        box[best_side] += best_step


@inner_kernel
def _bound(grid: Grid, m: int, order: Integers, box: Integers) -> None:
    """Fill ``box`` with the smallest rectangle that holds the cells ``order[:m]``."""
    box[0], box[2] = len(grid.line), len(grid.line)
    box[1], box[3] = 0, 0
    for a in range(m):
        line, column = grid.line[order[a]], grid.column[order[a]]
        box[0], box[1] = min(box[0], line), max(box[1], line + 1)
        box[2], box[3] = min(box[2], column), max(box[3], column + 1)


@inner_kernel
def _add_box(
    law: Law,
    rules: Rules,
    grid: Grid,
    state: State,
    u: Floats,
    labels: Labels,
    windows: WindowCells,
    box: Integers,
    space: Space,
) -> bool:
    """Add the best window without a cell of the set as a rectangle, if it gains more than it costs; tell whether."""
    d, n_windows = len(u), len(windows.size)
    n_out = count_runs(labels, rules.earlier, SINGLE)[0]
    largest = min(rules.widest // 2, math.floor(MOST_OUT * d) - n_out)
    best, best_window, v = grid.price, -1, 0
    while v < n_windows:
        # Windows of one chain are prefixes of the same cells.
        first, m, slopes = windows.first[v], 0, 0.0
        while m < min(largest, len(windows.order) - first) and labels[windows.order[first + m]] == KEPT:
            space.order[m] = windows.order[first + m]
            m += 1
        prefix_gains(state, law, d - n_out, m, space)
        a = 0
        while v < n_windows and windows.first[v] == first:
            while a < min(windows.size[v], m):
                slopes += u[space.order[a]]
                a += 1
            if windows.size[v] <= m and space.gains[a - 1] + slopes > best:
                best, best_window = space.gains[a - 1] + slopes, v
            v += 1
    if best_window < 0:
        return False
    m = windows.size[best_window]
    for a in range(m):
        space.order[a] = windows.order[windows.first[best_window] + a]
    _bound(grid, m, space.order, box)
    _toggle(state, labels, m, space)
    return True
