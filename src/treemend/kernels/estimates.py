"""Float32 estimates of the nearest reference rows at every node, all nodes in one pass.

Enters: the reference's float32 lane blocks and rows on the same footing. Leaves: for every row and node a
short list of the nearest reference rows by estimated squared distance, which ``exact`` then settles in
float64 (sections 3, 4 and 8 of the method). ``alpha = 1`` sums up the tree; ``alpha < 1`` sorts the leaves'
squared differences and merges them up the tree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treemend.kernels.flags import inlined, kernel
from treemend.kernels.lanes import (
    add,
    add_square,
    any_less,
    assign,
    entry,
    exchange,
    insert_in_lanes,
    less_mask,
    load,
    lowest_bit,
    spread,
    square,
    store,
    subtract,
    zeros_like_row,
)
from treemend.kernels.networks import Network, NodeArrays
from treemend.kernels.packing import LANES, TERMS_AT_A_TIME
from treemend.kernels.shortlist import insert

ROWS_AT_A_TIME = 16
ROWS_TOGETHER = 4


@inlined
def offer(
    lanes: NDArray[np.float32],
    place: int,
    first_index: int,
    skipped: int,
    values: NDArray[np.float32],
    indices: NDArray[np.int32],
    begin: int,
    length: int,
    room: int,
) -> float:
    """Offer the estimates at ``place`` to the ascending list from ``begin`` on; return its new largest value.

    The list has ``length`` entries, and room for ``room``: for ``LANES`` if it can be handled in one go.
    """
    end = begin + length
    largest: float = entry(values, end - 1)
    mask = less_mask(load(lanes, place), largest)
    while mask != 0:
        lane = lowest_bit(mask)
        mask &= mask - 1
        value = entry(lanes, place + lane)
        if value < largest and first_index + lane != skipped:
            if room == LANES:
                insert_in_lanes(values, indices, begin, value, first_index + lane)
            else:
                insert(values, indices, begin, end, value, first_index + lane)
            largest = entry(values, end - 1)
    return largest


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
    """Fill ``values`` and ``indices`` (rows, nodes, room) for ``alpha = 1``, leaving out row ``skipped[r]``.

    Four rows go together through each block. Where fewer are left, the last one is repeated with bounds
    below any estimate, so that nothing is offered to its list twice.
    """
    n_blocks, width, _ = blocks.shape
    n_rows, n_nodes, room = values.shape
    size = (nodes.slot.max() + 1) * LANES
    slots = np.empty(ROWS_TOGETHER * size, dtype=np.float32)
    bounds = np.empty((ROWS_AT_A_TIME, n_nodes), dtype=np.float32)
    for first_row in range(0, n_rows, ROWS_AT_A_TIME):
        bounds[: n_rows - first_row] = np.float32(np.inf)
        bounds[n_rows - first_row :] = np.float32(-1)
        for block in range(n_blocks):
            for ahead in range(0, min(ROWS_AT_A_TIME, n_rows - first_row), ROWS_TOGETHER):
                row = first_row + ahead
                row_0 = row * width
                row_1 = min(row + 1, n_rows - 1) * width
                row_2 = min(row + 2, n_rows - 1) * width
                row_3 = min(row + 3, n_rows - 1) * width
                for step in range(n_nodes):
                    node = entry(nodes.order, step)
                    place = entry(nodes.slot, node) * LANES
                    left = entry(nodes.left, node)
                    if left < 0:
                        total_0 = total_1 = total_2 = total_3 = zeros_like_row(slots)
                        for k in range(entry(nodes.start, node), entry(nodes.stop, node)):
                            reference = load(blocks, (block * width + k) * LANES)
                            total_0 = add_square(total_0, subtract(reference, spread(rows, row_0 + k)))
                            total_1 = add_square(total_1, subtract(reference, spread(rows, row_1 + k)))
                            total_2 = add_square(total_2, subtract(reference, spread(rows, row_2 + k)))
                            total_3 = add_square(total_3, subtract(reference, spread(rows, row_3 + k)))
                    else:
                        one = entry(nodes.slot, left) * LANES
                        other = entry(nodes.slot, entry(nodes.right, node)) * LANES
                        total_0 = add(load(slots, one), load(slots, other))
                        total_1 = add(load(slots, size + one), load(slots, size + other))
                        total_2 = add(load(slots, 2 * size + one), load(slots, 2 * size + other))
                        total_3 = add(load(slots, 3 * size + one), load(slots, 3 * size + other))
                    store(slots, place, total_0)
                    store(slots, size + place, total_1)
                    store(slots, 2 * size + place, total_2)
                    store(slots, 3 * size + place, total_3)
                    bound = ahead * n_nodes + node
                    hit_0 = any_less(total_0, entry(bounds, bound))
                    hit_1 = any_less(total_1, entry(bounds, bound + n_nodes))
                    hit_2 = any_less(total_2, entry(bounds, bound + 2 * n_nodes))
                    hit_3 = any_less(total_3, entry(bounds, bound + 3 * n_nodes))
                    if hit_0 | hit_1 | hit_2 | hit_3 != 0:
                        for r in range(ROWS_TOGETHER):
                            if (hit_0, hit_1, hit_2, hit_3)[r] != 0:
                                list_begin = ((row + r) * n_nodes + node) * room
                                largest = offer(
                                    slots,
                                    r * size + place,
                                    block * LANES,
                                    entry(skipped, row + r),
                                    values,
                                    indices,
                                    list_begin,
                                    length,
                                    room,
                                )
                                assign(bounds, bound + r * n_nodes, largest)


@inlined
def euclidean_sums(
    blocks: NDArray[np.float32],
    block: int,
    rows: NDArray[np.float32],
    row: int,
    nodes: NodeArrays,
    top: int,
    sums: NDArray[np.float32],
) -> None:
    """Write the estimates of node ``top`` and of all nodes below it, for one row and one block, to ``sums``."""
    width = blocks.shape[1]
    for step in range(entry(nodes.first_step, top), entry(nodes.last_step, top) + 1):
        node = entry(nodes.order, step)
        left = entry(nodes.left, node)
        if left < 0:
            total = zeros_like_row(sums)
            for k in range(entry(nodes.start, node), entry(nodes.stop, node)):
                difference = subtract(load(blocks, (block * width + k) * LANES), spread(rows, row * width + k))
                total = add_square(total, difference)
        else:
            total = add(load(sums, left * LANES), load(sums, entry(nodes.right, node) * LANES))
        store(sums, node * LANES, total)


@inlined
def lone_euclidean_sum(
    blocks: NDArray[np.float32],
    block: int,
    rows: NDArray[np.float32],
    row: int,
    nodes: NodeArrays,
    node: int,
    bound: float,
    sums: NDArray[np.float32],
) -> None:
    """Write the estimate of one node only; it may be too small where it is not below ``bound``."""
    width = blocks.shape[1]
    begin, stop = entry(nodes.start, node), entry(nodes.stop, node)
    total = zeros_like_row(sums)
    while begin < stop:
        end = min(begin + TERMS_AT_A_TIME, stop)
        part_0 = part_1 = part_2 = part_3 = zeros_like_row(sums)
        k = begin
        while k + 4 <= end:
            at, of = (block * width + k) * LANES, row * width + k
            part_0 = add_square(part_0, subtract(load(blocks, at), spread(rows, of)))
            part_1 = add_square(part_1, subtract(load(blocks, at + LANES), spread(rows, of + 1)))
            part_2 = add_square(part_2, subtract(load(blocks, at + 2 * LANES), spread(rows, of + 2)))
            part_3 = add_square(part_3, subtract(load(blocks, at + 3 * LANES), spread(rows, of + 3)))
            k += 4
        while k < end:
            part_0 = add_square(
                part_0, subtract(load(blocks, (block * width + k) * LANES), spread(rows, row * width + k))
            )
            k += 1
        total = add(total, add(add(part_0, part_1), add(part_2, part_3)))
        if any_less(total, bound) == 0:
            break
        begin = end
    store(sums, node * LANES, total)


@inlined
def ranked_sums(
    blocks: NDArray[np.float32],
    block: int,
    rows: NDArray[np.float32],
    row: int,
    nodes: NodeArrays,
    network: Network,
    top: int,
    wires: NDArray[np.float32],
    sums: NDArray[np.float32],
) -> None:
    """Write the estimates of node ``top`` and of all nodes below it, for one row and one block, to ``sums``."""
    width = blocks.shape[1]
    for k in range(entry(nodes.start, top), entry(nodes.stop, top)):
        difference = subtract(load(blocks, (block * width + k) * LANES), spread(rows, row * width + k))
        store(wires, k * LANES, square(difference))
    for step in range(entry(nodes.first_step, top), entry(nodes.last_step, top) + 1):
        node = entry(nodes.order, step)
        for c in range(entry(network.first, node), entry(network.first, node + 1)):
            exchange(wires, entry(network.low, c) * LANES, entry(network.high, c) * LANES)
        total = zeros_like_row(wires)
        begin, last_wire = entry(network.first_wire, node), entry(network.first_wire, node + 1)
        while begin < last_wire:
            end = min(begin + TERMS_AT_A_TIME, last_wire)
            part = zeros_like_row(wires)
            for w in range(begin, end):
                part = add(part, load(wires, entry(network.wires, w) * LANES))
            total = add(total, part)
            begin = end
        store(sums, node * LANES, total)


@kernel
def ranked_shortlists(
    blocks: NDArray[np.float32],
    rows: NDArray[np.float32],
    skipped: NDArray[np.int64],
    nodes: NodeArrays,
    network: Network,
    values: NDArray[np.float32],
    indices: NDArray[np.int32],
    length: int,
) -> None:
    """Fill ``values`` and ``indices`` (rows, nodes, room) for ``alpha < 1``, leaving out row ``skipped[r]``."""
    n_blocks, width, _ = blocks.shape
    n_rows, n_nodes, room = values.shape
    wires = np.empty((width, LANES), dtype=np.float32)
    sums = np.empty((n_nodes, LANES), dtype=np.float32)
    bounds = np.empty((ROWS_AT_A_TIME, n_nodes), dtype=np.float32)
    for first_row in range(0, n_rows, ROWS_AT_A_TIME):
        bounds[:] = np.float32(np.inf)
        for block in range(n_blocks):
            for row in range(first_row, min(first_row + ROWS_AT_A_TIME, n_rows)):
                ranked_sums(blocks, block, rows, row, nodes, network, 0, wires, sums)
                for node in range(n_nodes):
                    bound = (row - first_row) * n_nodes + node
                    if any_less(load(sums, node * LANES), entry(bounds, bound)) != 0:
                        begin = (row * n_nodes + node) * room
                        largest = offer(
                            sums,
                            node * LANES,
                            block * LANES,
                            entry(skipped, row),
                            values,
                            indices,
                            begin,
                            length,
                            room,
                        )
                        assign(bounds, bound, largest)
