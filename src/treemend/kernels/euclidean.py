"""Float32 estimates of the nearest reference rows at every node, for ``alpha = 1``: sums up the tree.

Enters: the reference's float32 lane blocks and rows on the same footing. Leaves: for every row and node a
short list of the nearest reference rows by estimated squared distance, which ``exact`` then settles in
float64 (sections 3, 4 and 8 of the method).

Four rows go together through each block of reference rows. Nodes are visited children first, so that a right
child's sum is still in registers when its parent wants it, and only left children's are stored. A node where
some reference row may enter a list (a *hit*) is only noted, without a branch, which nobody could predict; the
lists see to it when the block is through.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemend.kernels.flags import inlined, kernel
from treemend.kernels.lane_masks import any_less_of_four, insert_in_lanes, less_mask_of_four, lowest_bit
from treemend.kernels.lanes import add, add_square, assign, entry, load, spread, store, subtract, zeros_like_row
from treemend.kernels.networks import NodeArrays
from treemend.kernels.packing import LANES
from treemend.kernels.shortlist import insert

ROWS_AT_A_TIME = 16
ROWS_TOGETHER = 4
FOUR = ROWS_TOGETHER * LANES


@inlined
def store_four(array: NDArray[np.float32], place: int, totals: Any) -> None:
    """Write four vectors, one after the other."""
    store(array, place, totals[0])
    store(array, place + LANES, totals[1])
    store(array, place + 2 * LANES, totals[2])
    store(array, place + 3 * LANES, totals[3])


@inlined
def add_four(array: NDArray[np.float32], place: int, totals: Any) -> Any:
    """Return the sums of four stored vectors and four at hand."""
    return (
        add(load(array, place), totals[0]),
        add(load(array, place + LANES), totals[1]),
        add(load(array, place + 2 * LANES), totals[2]),
        add(load(array, place + 3 * LANES), totals[3]),
    )


@inlined
def leaf_of_four(
    blocks: NDArray[np.float32],
    at: int,
    rows: NDArray[np.float32],
    places: tuple[int, int, int, int],
    start: int,
    stop: int,
) -> Any:
    """Return a leaf's sums for four rows, which begin at ``places``, over the block that begins at ``at``."""
    total_0 = total_1 = total_2 = total_3 = zeros_like_row(rows)
    for k in range(start, stop):
        reference = load(blocks, at + k * LANES)
        total_0 = add_square(total_0, subtract(reference, spread(rows, places[0] + k)))
        total_1 = add_square(total_1, subtract(reference, spread(rows, places[1] + k)))
        total_2 = add_square(total_2, subtract(reference, spread(rows, places[2] + k)))
        total_3 = add_square(total_3, subtract(reference, spread(rows, places[3] + k)))
    return total_0, total_1, total_2, total_3


@inlined
def note_hits(
    blocks: NDArray[np.float32],
    at: int,
    rows: NDArray[np.float32],
    places: tuple[int, int, int, int],
    nodes: NodeArrays,
    bounds: NDArray[np.float32],
    first_bound: int,
    slots: NDArray[np.float32],
    hits: NDArray[np.float32],
    hit_steps: NDArray[np.int64],
) -> int:
    """Go up the tree with four rows and one block; write the hits' sums and steps, and return how many there are."""
    n_hits = 0
    zero = zeros_like_row(slots)
    totals = (zero, zero, zero, zero)
    for step in range(nodes.order.shape[0]):
        node = entry(nodes.order, step)
        left = entry(nodes.left, node)
        if left < 0:
            totals = leaf_of_four(blocks, at, rows, places, entry(nodes.start, node), entry(nodes.stop, node))
        else:
            totals = add_four(slots, entry(nodes.slot, left) * FOUR, totals)
        slot = entry(nodes.slot, node)
        if slot % 2 == 0:
            store_four(slots, slot * FOUR, totals)
        store_four(hits, n_hits * FOUR, totals)
        assign(hit_steps, n_hits, step)
        hit = any_less_of_four(totals[0], totals[1], totals[2], totals[3], bounds, first_bound + step * ROWS_TOGETHER)
        n_hits += hit != 0
    return n_hits


@inlined
def offer_four(
    hits: NDArray[np.float32],
    hit: int,
    first_index: int,
    row: int,
    skipped: NDArray[np.int64],
    bounds: NDArray[np.float32],
    bound: int,
    values: NDArray[np.float32],
    indices: NDArray[np.int32],
    node: int,
    length: int,
) -> None:
    """Offer a hit's estimates for four rows to their lists, and draw the four bounds in."""
    _, n_nodes, room = values.shape
    mask = less_mask_of_four(hits, hit * FOUR, bounds, bound)
    while mask != 0:
        bit = lowest_bit(mask)
        mask &= mask - 1
        r, index = bit // LANES, first_index + bit % LANES
        value = entry(hits, hit * FOUR + bit)
        if value < entry(bounds, bound + r) and index != entry(skipped, row + r):
            begin = ((row + r) * n_nodes + node) * room
            if room == LANES:
                insert_in_lanes(values, indices, begin, value, index)
            else:
                insert(values, indices, begin, begin + length, value, index)
            assign(bounds, bound + r, entry(values, begin + length - 1))


@kernel
def euclidean_shortlists(
    blocks: NDArray[np.float32],
    rows: NDArray[np.float32],
    skipped: NDArray[np.int64],
    nodes: NodeArrays,
    values: NDArray[np.float32],
    indices: NDArray[np.int32],
    length: int,
) -> None:
    """Fill ``values`` and ``indices`` (rows, nodes, room), leaving out row ``skipped[r]``.

    Where fewer than four rows are left, the last one is repeated with bounds below any estimate, so that nothing
    is offered to its list twice. Bounds stand four rows at a time, in the order of the steps.
    """
    n_blocks, width, _ = blocks.shape
    n_rows, n_nodes, _ = values.shape
    last = n_rows - 1
    slots = np.empty((nodes.slot.max() + 1) * FOUR, dtype=np.float32)
    hits = np.empty((n_nodes + 1) * FOUR, dtype=np.float32)
    hit_steps = np.empty(n_nodes + 1, dtype=np.int64)
    bounds = np.empty((ROWS_AT_A_TIME // ROWS_TOGETHER, n_nodes, ROWS_TOGETHER), dtype=np.float32)
    for first_row in range(0, n_rows, ROWS_AT_A_TIME):
        n_here = min(ROWS_AT_A_TIME, n_rows - first_row)
        for r in range(ROWS_AT_A_TIME):
            bounds[r // ROWS_TOGETHER, :, r % ROWS_TOGETHER] = np.float32(np.inf if r < n_here else -1)
        for block in range(n_blocks):
            for ahead in range(0, n_here, ROWS_TOGETHER):
                row = first_row + ahead
                places = (
                    row * width,
                    min(row + 1, last) * width,
                    min(row + 2, last) * width,
                    min(row + 3, last) * width,
                )
                first_bound = ahead * n_nodes
                n_hits = note_hits(
                    blocks,
                    block * width * LANES,
                    rows,
                    places,
                    nodes,
                    bounds,
                    first_bound,
                    slots,
                    hits,
                    hit_steps,
                )
                for hit in range(n_hits):
                    step = entry(hit_steps, hit)
                    offer_four(
                        hits,
                        hit,
                        block * LANES,
                        row,
                        skipped,
                        bounds,
                        first_bound + step * ROWS_TOGETHER,
                        values,
                        indices,
                        entry(nodes.order, step),
                        length,
                    )
