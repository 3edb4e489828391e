"""Evidence that a window of a row is foreign to the rest of that row, for every window at once.

Enters: suspect rows, described by coordinates, and a mixture of Student components with what does not depend on the row
worked out (`ScanModel`). Leaves: for each row and each of three explanations (noise, a stretch of another row, a shift)
the most evidence of any window, that window, and the component that speaks loudest there (section 10 of the method).

Windows are prefixes of chains: nested, so that one triangular product along a chain gives the quadratic forms of all
its windows as running sums of squares. The suspect rows are lanes; every lane does the same operations in the same order,
so a row's evidence has the same bits in any batch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemend.kernels.flags import called, inlined, kernel
from treemend.kernels.lanes import plain
from treemend.kernels.quick_math import exponential, logarithm
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
    away, force, whole, quadratic, full, terms, loudest, form, sums, nobody = space
    n_blocks = len(whole)
    for k in range(len(model.centre)):
        _away_and_force(described, model.centre[k], model.precision[k], away, force, whole)
        for block in range(n_blocks):
            for lane in range(SUSPECTS):
                form[lane] = max(np.float64(whole[block, lane]), 0.0)
            _take_in(k, model.whole_level[k], d, model.tail, form, full[block, 0], full[block, 1], nobody)
        for chain in range(len(model.panel_start)):
            first, last = model.window_start[chain], model.window_start[chain + 1]
            order = model.order[model.chain_start[chain] : model.chain_start[chain + 1]]
            ends = model.size[first:last]
            start = model.panel_start[chain]
            for block in range(n_blocks):
                _squares_along(model.given_rest[k], start, force[block], order, ends, quadratic[0, first:last])
                _squares_along(model.alone[k], start, away[block], order, ends, quadratic[1, first:last])
                _sums_along(force[block], order, ends, quadratic[2, first:last])
                _add_terms(k, first, last, d, model, whole[block], quadratic, form, terms[block], loudest[block])
    for block in range(n_blocks):
        first_row = block * SUSPECTS
        n_here = min(SUSPECTS, n_rows - first_row)
        _log_sums(full[block, 0], full[block, 1], form)
        for lane in range(n_here):
            log_density[first_row + lane] = form[lane]
        if len(model.panel_start) > 0:
            _choose(
                n_here,
                model,
                stretch[first_row : first_row + n_here],
                form,
                terms[block],
                loudest[block],
                sums,
                evidence[first_row : first_row + n_here],
                window[first_row : first_row + n_here],
                component[first_row : first_row + n_here],
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
    window = plain(0)
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
    window = plain(0)
    for j in range(len(order)):
        total = add_lanes(total, load_lanes(values, order[j] * SUSPECTS))
        window = _note_end(total, j + 1, ends, window, out)


@called
def _take_in(
    k: int,
    level: float,
    dimension: int,
    tail: float,
    quadratic: NDArray[np.float64],
    largest: NDArray[np.float64],
    total: NDArray[np.float64],
    loudest: NDArray[np.float64],
) -> None:
    """Take component k's log density at ``SUSPECTS`` quadratic forms into running log-sum-exps, and note if it is largest.

    Short loops without branches over a few short arrays: the compiler turns them into vector instructions. In one loop
    the instructions of few lanes would wait for each other. The forms are finite and not negative, and overwritten.
    """
    half = 0.5 * (tail + dimension)
    for lane in range(len(quadratic)):
        quadratic[lane] = level - half * logarithm(1.0 + quadratic[lane] / tail)
    for lane in range(len(quadratic)):
        term, before, sum_before = quadratic[lane], largest[lane], total[lane]
        gap = term - before
        smaller = exponential(-abs(gap))
        louder = 1.0 if gap > 0.0 else 0.0
        quieter = 1.0 - louder
        # Choices as products: a choice between what was there and something new would become a masked store, slow on
        # some machines.
        largest[lane] = before * quieter + term * louder
        total[lane] = (sum_before + smaller) * quieter + (1.0 + sum_before * smaller) * louder
        loudest[lane] = loudest[lane] * quieter + k * louder


@called
def _add_terms(
    k: int,
    first: int,
    last: int,
    d: int,
    model: ScanModel,
    whole: NDArray[np.float32],
    quadratic: NDArray[np.float32],
    form: NDArray[np.float64],
    terms: NDArray[np.float64],
    loudest: NDArray[np.float64],
) -> None:
    """Take component k's log densities of a chain's windows, their rests and their shifted rows into the sums."""
    tail = model.tail
    for v in range(first, last):
        size = model.size[v]
        for lane in range(SUSPECTS):
            form[lane] = max(np.float64(whole[lane]) - np.float64(quadratic[0, v, lane]), 0.0)
        _take_in(k, model.rest_level[k, v], d - size, tail, form, terms[0, v, 0], terms[0, v, 1], loudest[0, v])
        for lane in range(SUSPECTS):
            form[lane] = np.float64(quadratic[1, v, lane])
        _take_in(k, model.alone_level[k, v], size, tail, form, terms[1, v, 0], terms[1, v, 1], loudest[1, v])
        gain = model.shift_gain[k, v]
        for lane in range(SUSPECTS):
            pull = np.float64(quadratic[2, v, lane])
            form[lane] = max(np.float64(whole[lane]) - gain * pull * pull, 0.0)
        _take_in(k, model.shifted_level[k, v], d, tail, form, terms[2, v, 0], terms[2, v, 1], loudest[2, v])


@called
def _log_sums(largest: NDArray[np.float64], total: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    for lane in range(len(out)):
        out[lane] = largest[lane] + logarithm(total[lane])


@called
def _choose(
    n_here: int,
    model: ScanModel,
    stretch: NDArray[np.float64],
    whole: NDArray[np.float64],
    terms: NDArray[np.float64],
    loudest: NDArray[np.float64],
    sums: NDArray[np.float64],
    evidence: NDArray[np.float64],
    window: NDArray[np.int64],
    component: NDArray[np.int64],
) -> None:
    """Find for each row the window with the most evidence for each explanation, the first of equals."""
    rest, alone, shifted, stretched = sums[0], sums[1], sums[2], sums[3]
    for lane in range(n_here):
        for e in range(3):
            evidence[lane, e] = -np.inf
    for chain in range(len(model.panel_start)):
        place = model.chain_start[chain]
        for lane in range(n_here):
            stretched[lane] = 0.0
        for v in range(model.window_start[chain], model.window_start[chain + 1]):
            while place < model.chain_start[chain] + model.size[v]:
                for lane in range(n_here):
                    stretched[lane] += stretch[lane, model.order[place]]
                place += 1
            _log_sums(terms[0, v, 0], terms[0, v, 1], rest)
            _log_sums(terms[1, v, 0], terms[1, v, 1], alone)
            _log_sums(terms[2, v, 0], terms[2, v, 1], shifted)
            for lane in range(n_here):
                given_rest = whole[lane] - rest[lane]
                for e in range(3):
                    value = (
                        stretched[lane] - given_rest
                        if e == 0
                        else (alone[lane] - given_rest if e == 1 else shifted[lane] - whole[lane])
                    )
                    if value > evidence[lane, e]:
                        evidence[lane, e] = value
                        window[lane, e] = v
                        component[lane, e] = np.int64(loudest[0 if e < 2 else 2, v, lane])
