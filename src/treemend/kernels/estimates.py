"""Float32 estimates of the nearest reference rows at every node of any tree, for ``alpha < 1``.

Enters: the reference's float32 lane blocks and rows on the same footing. Leaves: for every row and node a
short list of the nearest reference rows by estimated squared distance, which ``exact`` then settles in
float64 (sections 3, 4 and 8 of the method). The leaves' squared differences are sorted and merged up the tree.
``bitonic`` does the same sooner where the tree is even, and ``euclidean`` serves ``alpha = 1``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treemend.kernels.flags import inlined, kernel
from treemend.kernels.lane_masks import any_less, insert_in_lanes, less_mask, lowest_bit
from treemend.kernels.lanes import add, assign, entry, exchange, load, spread, square, store, subtract, zeros_like_row
from treemend.kernels.networks import Network, NodeArrays
from treemend.kernels.packing import LANES, TERMS_AT_A_TIME
from treemend.kernels.shortlist import insert

ROWS_AT_A_TIME = 16


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
