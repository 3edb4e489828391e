"""Where a foreign stretch begins and ends, to the cell or the line of cells.

Enters: suspect rows, described by coordinates (every cell has the same number of them), the window and the component
that explain each best. Leaves: the stretch, its borders moved to where the evidence of the same explanation is largest
under that component (section 10 of the method, refinement).

The coordinates of a stretch are put in an order that ends at the border in question. One Cholesky factorisation along
that order then gives the evidence for every place of the border, since every prefix of the order is a candidate. Factor
and sums are written out here, in a fixed order, because a library's may change with its threads.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemend.kernels.flags import called, inlined, kernel
from treemend.kernels.lanes import plain
from treemend.kernels.prefix_forms import prefix_forms
from treemend.kernels.workspace import floats, integers, zero_floats

NOISE, FOREIGN, SHIFTED = range(3)
LINES_A_TURN = 1
TURNS_OF_AN_INTERVAL = 2
TURNS_OF_A_BOX = 2
SHORTEST_SIDE = 2


class BorderModel(NamedTuple):
    """A mixture of K Student components over d coordinates, and the settings of the explanations."""

    centre: NDArray[np.float64]  # K x d
    covariance: NDArray[np.float64]  # K x d x d
    precision: NDArray[np.float64]  # K x d x d
    log_det: NDArray[np.float64]  # K, of the precision
    constant: NDArray[np.float64]  # d + 1: the part of a Student log density that only its dimension decides
    tail: float
    shift: float


class Suspect(NamedTuple):
    """One row, seen from one component."""

    covariance: NDArray[np.float64]
    precision: NDArray[np.float64]
    away: NDArray[np.float64]
    force: NDArray[np.float64]
    stretch: NDArray[np.float64]
    constant: NDArray[np.float64]
    quadratic: float
    log_det: float
    tail: float
    shift: float


@kernel
def refine_intervals(
    described: NDArray[np.float64],
    stretch: NDArray[np.float64],
    model: BorderModel,
    explanation: NDArray[np.int64],
    component: NDArray[np.int64],
    intervals: NDArray[np.int64],
    per_cell: int,
    reach: int,
) -> None:
    """Move start and stop of each row's interval of cells (rows, 2), by at most ``reach`` cells a turn."""
    for row in range(len(described)):
        suspect = _suspect(described[row], stretch[row], model, component[row])
        _refine_interval(explanation[row], suspect, intervals[row], per_cell, reach)


@kernel
def refine_boxes(
    described: NDArray[np.float64],
    stretch: NDArray[np.float64],
    model: BorderModel,
    explanation: NDArray[np.int64],
    component: NDArray[np.int64],
    boxes: NDArray[np.int64],
    per_cell: int,
    height: int,
    width: int,
) -> None:
    """Move top, bottom, left and right of each row's box (rows, 4), by at most ``LINES_A_TURN`` a turn."""
    for row in range(len(described)):
        suspect = _suspect(described[row], stretch[row], model, component[row])
        at_rest = 0
        for step in range(4 * TURNS_OF_A_BOX):
            moved = _move_side(explanation[row], suspect, boxes[row], step % 4, height, width, per_cell)
            at_rest = 0 if moved else at_rest + 1
            if at_rest == 4:
                break


@called
def _suspect(row: NDArray[np.float64], stretch: NDArray[np.float64], model: BorderModel, k: int) -> Suspect:
    d = len(row)
    away = floats(d)
    force = zero_floats(d)
    for j in range(d):
        away[j] = row[j] - model.centre[k, j]
    precision = model.precision[k]
    for j in range(d):
        for i in range(d):
            force[i] += precision[j, i] * away[j]
    quadratic = 0.0
    for j in range(d):
        quadratic += away[j] * force[j]
    return Suspect(
        model.covariance[k],
        precision,
        away,
        force,
        stretch,
        model.constant,
        quadratic,
        model.log_det[k],
        model.tail,
        model.shift,
    )


@inlined
def _log_density(suspect: Suspect, dimension: int, log_det: float, quadratic: float) -> float:
    spread = math.log1p(max(quadratic, 0.0) / suspect.tail)
    level: float = suspect.constant[dimension]
    return level + 0.5 * log_det - 0.5 * (suspect.tail + dimension) * spread


@called
def _shift_evidence(suspect: Suspect, order: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the evidence that the attributes of a prefix are shifted together, for every prefix."""
    d, m = len(suspect.away), len(order)
    evidence = floats(m)
    full = _log_density(suspect, d, suspect.log_det, suspect.quadratic)
    pull, information = 0.0, 0.0
    variance = suspect.shift * suspect.shift
    for i in range(m):
        pull += suspect.force[order[i]]
        information += suspect.precision[order[i], order[i]]
        for j in range(i):
            information += 2 * suspect.precision[order[i], order[j]]
        growth = 1 + variance * information
        left = suspect.quadratic - variance * pull * pull / growth
        evidence[i] = _log_density(suspect, d, suspect.log_det - math.log(growth), left) - full
    return evidence


@called
def _prefix_evidence(explanation: int, suspect: Suspect, order: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the evidence of one explanation for every prefix of ``order``."""
    if explanation == SHIFTED:
        return _shift_evidence(suspect, order)
    d, m = len(suspect.away), len(order)
    evidence = floats(m)
    full = _log_density(suspect, d, suspect.log_det, suspect.quadratic)
    inside, inside_det = prefix_forms(suspect.precision, suspect.force, order)
    if explanation == NOISE:
        stretched = 0.0
        for i in range(m):
            stretched += suspect.stretch[order[i]]
            evidence[i] = stretched
    else:
        alone, alone_det = prefix_forms(suspect.covariance, suspect.away, order)
        for i in range(m):
            evidence[i] = _log_density(suspect, i + 1, -alone_det[i], alone[i])
    for i in range(m):
        rest = _log_density(suspect, d - i - 1, suspect.log_det - inside_det[i], suspect.quadratic - inside[i])
        evidence[i] -= full - rest
    return evidence


@called
def _cells_from(first: int, step: int, count: int, per_cell: int) -> NDArray[np.int64]:
    """Return the coordinates of ``count`` cells, from ``first`` on in steps of ``step``."""
    order = integers(count * per_cell)
    for i in range(count):
        for r in range(per_cell):
            order[i * per_cell + r] = (first + i * step) * per_cell + r
    return order


@called
def _best_length(explanation: int, suspect: Suspect, order: NDArray[np.int64], shortest: int, per_cell: int) -> int:
    """Return how many cells of ``order``, at least ``shortest``, give the most evidence; the fewest of equals."""
    evidence = _prefix_evidence(explanation, suspect, order)
    best = shortest
    for length in range(shortest + 1, len(order) // per_cell + 1):
        if evidence[length * per_cell - 1] > evidence[best * per_cell - 1]:
            best = length
    return best


@called
def _refine_interval(
    explanation: int, suspect: Suspect, interval: NDArray[np.int64], per_cell: int, reach: int
) -> None:
    n_cells = len(suspect.away) // per_cell
    start, stop = interval[0], interval[1]
    for _ in range(TURNS_OF_AN_INTERVAL):
        old_start, old_stop = start, stop
        longest = min(n_cells - start, stop + reach - start, n_cells - 1)
        order = _cells_from(start, plain(1), longest, per_cell)
        stop = start + _best_length(explanation, suspect, order, max(1, stop - reach - start), per_cell)
        longest = min(stop, stop - start + reach, n_cells - 1)
        order = _cells_from(stop - 1, plain(-1), longest, per_cell)
        start = stop - _best_length(explanation, suspect, order, max(1, stop - start - reach), per_cell)
        if start == old_start and stop == old_stop:
            break
    interval[0], interval[1] = start, stop


@called
def _lines_towards(box: NDArray[np.int64], side: int, n_lines: int, width: int, per_cell: int) -> NDArray[np.int64]:
    """Return the box's coordinates, line by line from the opposite side towards ``side``."""
    across = 2 if side < 2 else 0
    axis = 0 if side < 2 else 2
    low, high = box[across], box[across + 1]
    order = integers(n_lines * (high - low) * per_cell)
    at = 0
    for step in range(n_lines):
        line = box[axis] + step if side % 2 else box[axis + 1] - 1 - step
        for other in range(low, high):
            cell = line * width + other if side < 2 else other * width + line
            for r in range(per_cell):
                order[at] = cell * per_cell + r
                at += 1
    return order


@called
def _move_side(
    explanation: int, suspect: Suspect, box: NDArray[np.int64], side: int, height: int, width: int, per_cell: int
) -> bool:
    """Move one side (0 top, 1 bottom, 2 left, 3 right) to where the evidence is largest; say whether it moved."""
    axis = 0 if side < 2 else 2
    low, high = box[axis], box[axis + 1]
    across = (box[3] - box[2]) if side < 2 else (box[1] - box[0])
    limit = height if side < 2 else width
    lines = high - low
    most = lines + min(LINES_A_TURN, limit - high if side % 2 else low)
    while most * across >= height * width:
        most -= 1
    least = lines - min(LINES_A_TURN, max(lines - SHORTEST_SIDE, 0))
    order = _lines_towards(box, side, most, width, per_cell)
    evidence = _prefix_evidence(explanation, suspect, order)
    best = lines
    for count in range(least, most + 1):
        if evidence[count * across * per_cell - 1] > evidence[best * across * per_cell - 1]:
            best = count
    if side % 2:
        box[side] = low + best
    else:
        box[side] = high - best
    return bool(best != lines)
