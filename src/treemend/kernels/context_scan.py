"""Evidence that a window of a row is foreign to the rest of that row, for every window at once.

Enters: suspect rows, described by coordinates, and a mixture of Student components with what does not depend on the row
worked out (`ScanModel`). Leaves: for each row and each of three explanations (noise, a stretch of another row, a shift)
the most evidence of any window, that window, and the component that speaks loudest there (section 10 of the method).

Windows are prefixes of chains: nested, so that one triangular product along a chain gives the quadratic forms of all
its windows as running sums of squares. The suspect rows are lanes; every lane does the same operations in the same order,
so a row's evidence has the same bits in any batch.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemend.kernels.flags import called, inlined, kernel
from treemend.kernels.scan_arrays import PANEL, ScanModel, ScanSpace
from treemend.kernels.suspect_lanes import (
    SUSPECTS,
    add_lanes,
    add_multiple,
    add_product,
    load_lanes,
    no_lanes,
    store_lanes,
)

NEGLIGIBLE = -40.0


@kernel
def scan_rows(
    described: NDArray[np.float64],
    stretch: NDArray[np.float64],
    model: ScanModel,
    space: ScanSpace,
    evidence: NDArray[np.float64],
    window: NDArray[np.int64],
    component: NDArray[np.int64],
    log_density: NDArray[np.float64],
) -> None:
    """Fill ``evidence``, ``window`` and ``component``, all (rows, 3), and ``log_density`` (rows) of the whole rows."""
    n_rows, d = described.shape
    away, force, whole, quadratic, full, terms, loudest = space
    n_blocks = len(whole)
    for k in range(len(model.centre)):
        _away_and_force(described, model.centre[k], model.precision[k], away, force, whole)
        for block in range(n_blocks):
            _add_whole(k, model.whole_level[k], whole[block], d, model.tail, full[block])
        for chain in range(len(model.panel_start)):
            first, last = model.window_start[chain], model.window_start[chain + 1]
            order = model.order[model.chain_start[chain] : model.chain_start[chain + 1]]
            ends = model.size[first:last]
            start = model.panel_start[chain]
            for block in range(n_blocks):
                _squares_along(model.given_rest[k], start, force[block], order, ends, quadratic[0, first:last])
                _squares_along(model.alone[k], start, away[block], order, ends, quadratic[1, first:last])
                _sums_along(force[block], order, ends, quadratic[2, first:last])
                _add_terms(k, first, last, d, model, whole[block], quadratic, terms[block], loudest[block])
    for block in range(n_blocks):
        for lane in range(min(SUSPECTS, n_rows - block * SUSPECTS)):
            row = block * SUSPECTS + lane
            log_density[row] = full[block, 0, lane] + math.log(full[block, 1, lane])
            _choose(
                lane,
                model,
                stretch[row],
                log_density[row],
                terms[block],
                loudest[block],
                evidence[row],
                window[row],
                component[row],
            )


@called
def _away_and_force(
    described: NDArray[np.float64],
    centre: NDArray[np.float64],
    panels: NDArray[np.float32],
    away: NDArray[np.float32],
    force: NDArray[np.float32],
    whole: NDArray[np.float32],
) -> None:
    """Differences from a component's centre, the precision times them, and the quadratic form of the whole row.

    The last row stands in for lanes without a row.
    """
    n_blocks, d, _ = away.shape
    for block in range(n_blocks):
        for lane in range(SUSPECTS):
            row = min(block * SUSPECTS + lane, len(described) - 1)
            for j in range(d):
                away[block, j, lane] = np.float32(described[row, j] - centre[j])
        here, pushed = away[block], force[block]
        at = 0
        total = no_lanes()
        for begin in range(0, d, PANEL):
            sum0, sum1, sum2, sum3 = no_lanes(), no_lanes(), no_lanes(), no_lanes()
            for j in range(d):
                lanes = load_lanes(here, j * SUSPECTS)
                sum0 = add_multiple(sum0, panels, at, lanes)
                sum1 = add_multiple(sum1, panels, at + 1, lanes)
                sum2 = add_multiple(sum2, panels, at + 2, lanes)
                sum3 = add_multiple(sum3, panels, at + 3, lanes)
                at += PANEL
            place = begin * SUSPECTS
            store_lanes(pushed, place, sum0)
            store_lanes(pushed, place + SUSPECTS, sum1)
            store_lanes(pushed, place + 2 * SUSPECTS, sum2)
            store_lanes(pushed, place + 3 * SUSPECTS, sum3)
        for j in range(d):
            total = add_product(total, load_lanes(pushed, j * SUSPECTS), load_lanes(here, j * SUSPECTS))
        store_lanes(whole, block * SUSPECTS, total)


@inlined
def _note_end(total: Any, count: int, ends: NDArray[np.int64], window: int, out: NDArray[np.float32]) -> int:
    """Write the running total if a window ends after ``count`` coordinates; return the window that ends next."""
    if window < len(ends) and ends[window] == count:
        store_lanes(out, window * SUSPECTS, total)
        return window + 1
    return window


@called
def _squares_along(
    panels: NDArray[np.float32],
    start: int,
    values: NDArray[np.float32],
    order: NDArray[np.int64],
    ends: NDArray[np.int64],
    out: NDArray[np.float32],
) -> None:
    """Write the running sum, at each end, of the squares of a triangular factor times the values in the order of a chain."""
    m = len(order)
    at = start
    total = no_lanes()
    window = 0
    for begin in range(0, m, PANEL):
        sum0, sum1, sum2, sum3 = no_lanes(), no_lanes(), no_lanes(), no_lanes()
        for j in range(min(begin + PANEL, m)):
            lanes = load_lanes(values, order[j] * SUSPECTS)
            sum0 = add_multiple(sum0, panels, at, lanes)
            sum1 = add_multiple(sum1, panels, at + 1, lanes)
            sum2 = add_multiple(sum2, panels, at + 2, lanes)
            sum3 = add_multiple(sum3, panels, at + 3, lanes)
            at += PANEL
        # A last panel is filled up by rows of zeros, which add nothing.
        total = add_product(total, sum0, sum0)
        window = _note_end(total, begin + 1, ends, window, out)
        total = add_product(total, sum1, sum1)
        window = _note_end(total, begin + 2, ends, window, out)
        total = add_product(total, sum2, sum2)
        window = _note_end(total, begin + 3, ends, window, out)
        total = add_product(total, sum3, sum3)
        window = _note_end(total, begin + 4, ends, window, out)


@called
def _sums_along(
    values: NDArray[np.float32], order: NDArray[np.int64], ends: NDArray[np.int64], out: NDArray[np.float32]
) -> None:
    """Write the running sum, at each end, of the values in the order of a chain."""
    total = no_lanes()
    window = 0
    for j in range(len(order)):
        total = add_lanes(total, load_lanes(values, order[j] * SUSPECTS))
        window = _note_end(total, j + 1, ends, window, out)


@inlined
def _student(level: float, quadratic: float, dimension: int, tail: float) -> float:
    return level - 0.5 * (tail + dimension) * math.log(1.0 + quadratic / tail)


@inlined
def _add_to_sum(k: int, term: float, running: NDArray[np.float64], lane: int) -> bool:
    """Take the term of component k into a running log-sum-exp; say whether it is the largest so far."""
    if k == 0:
        running[0, lane], running[1, lane] = term, 1.0
        return True
    gap = term - running[0, lane]
    if gap > 0:
        running[1, lane] = 1.0 + (running[1, lane] * math.exp(-gap) if -gap > NEGLIGIBLE else 0.0)
        running[0, lane] = term
        return True
    if gap > NEGLIGIBLE:
        running[1, lane] += math.exp(gap)
    return False


@inlined
def _add_whole(
    k: int, level: float, whole: NDArray[np.float32], d: int, tail: float, full: NDArray[np.float64]
) -> None:
    for lane in range(SUSPECTS):
        _add_to_sum(k, _student(level, np.float64(whole[lane]), d, tail), full, lane)


@called
def _add_terms(
    k: int,
    first: int,
    last: int,
    d: int,
    model: ScanModel,
    whole: NDArray[np.float32],
    quadratic: NDArray[np.float32],
    terms: NDArray[np.float64],
    loudest: NDArray[np.int64],
) -> None:
    """Take component k's log densities of a chain's windows, their rests and their shifted rows into the sums."""
    for v in range(first, last):
        size = model.size[v]
        for lane in range(SUSPECTS):
            row = np.float64(whole[lane])
            rest = max(row - quadratic[0, v, lane], 0.0)
            if _add_to_sum(k, _student(model.rest_level[k, v], rest, d - size, model.tail), terms[0, v], lane):
                loudest[0, v, lane] = k
            _add_to_sum(
                k,
                _student(model.alone_level[k, v], np.float64(quadratic[1, v, lane]), size, model.tail),
                terms[1, v],
                lane,
            )
            pull = np.float64(quadratic[2, v, lane])
            left = max(row - model.shift_gain[k, v] * pull * pull, 0.0)
            if _add_to_sum(k, _student(model.shifted_level[k, v], left, d, model.tail), terms[2, v], lane):
                loudest[2, v, lane] = k


@called
def _choose(
    lane: int,
    model: ScanModel,
    stretch: NDArray[np.float64],
    whole: float,
    terms: NDArray[np.float64],
    loudest: NDArray[np.int64],
    evidence: NDArray[np.float64],
    window: NDArray[np.int64],
    component: NDArray[np.int64],
) -> None:
    """Find the window with the most evidence for each explanation, the first of equals."""
    for e in range(3):
        evidence[e] = -np.inf
    for chain in range(len(model.panel_start)):
        place = model.chain_start[chain]
        stretched = 0.0
        for v in range(model.window_start[chain], model.window_start[chain + 1]):
            while place < model.chain_start[chain] + model.size[v]:
                stretched += stretch[model.order[place]]
                place += 1
            rest = terms[0, v, 0, lane] + math.log(terms[0, v, 1, lane])
            alone = terms[1, v, 0, lane] + math.log(terms[1, v, 1, lane])
            shifted = terms[2, v, 0, lane] + math.log(terms[2, v, 1, lane])
            given_rest = whole - rest
            for e in range(3):
                value = stretched - given_rest if e == 0 else (alone - given_rest if e == 1 else shifted - whole)
                if value > evidence[e]:
                    evidence[e] = value
                    window[e] = v
                    component[e] = loudest[0 if e < 2 else 2, v, lane]
