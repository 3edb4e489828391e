"""Shortlists of the nearest reference rows at every node for ``alpha < 1``.

Enters: float32 lane blocks and rows on the same footing. Leaves: for every row and node the nearest reference rows
by estimated squared distance, which ``exact`` then settles in float64 (sections 3, 4 and 8 of the method).
``bitonic`` computes the estimates of even trees, ``estimates`` those of the others.

Where the rows are reference rows themselves, an estimate serves the lists of both: each pair is computed once.
Which of several equal estimates stays in a list may then depend on the order of the work; the settled radii
do not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treemend.kernels.bitonic import even_sums
from treemend.kernels.estimates import ranked_sums
from treemend.kernels.flags import inlined, kernel
from treemend.kernels.lane_masks import any_less, insert_in_lanes, less_mask, less_mask_of_lanes, lowest_bit
from treemend.kernels.lanes import assign, entry, load
from treemend.kernels.networks import EvenLayout, Network, NodeArrays
from treemend.kernels.packing import LANES
from treemend.kernels.shortlist import insert
from treemend.kernels.workspace import integers, single_table


@inlined
def enter(
    values: NDArray[np.float32],
    indices: NDArray[np.int32],
    begin: int,
    length: int,
    room: int,
    value: float,
    index: int,
) -> float:
    """Enter a reference row into the ascending list from ``begin`` on; return the list's new largest value.

    The list has ``length`` entries, and room for ``room``: for ``LANES`` if it can be handled in one go.
    """
    if room == LANES:
        insert_in_lanes(values, indices, begin, value, index)
    else:
        insert(values, indices, begin, begin + length, value, index)
    largest: float = entry(values, begin + length - 1)
    return largest


@inlined
def note_hits(
    sums: NDArray[np.float32],
    own_bounds: int,
    own_lane: int,
    other_bounds: int,
    bounds: NDArray[np.float32],
    mirrored: bool,
    hits: NDArray[np.int64],
) -> int:
    """List the nodes at which some estimate may enter a list, the row's own or a column's; return how many."""
    n_hits = 0
    for node in range(sums.shape[0]):
        estimates = load(sums, node * LANES)
        hit = any_less(estimates, entry(bounds, own_bounds + node * LANES + own_lane))
        if mirrored:
            hit |= less_mask_of_lanes(estimates, load(bounds, other_bounds + node * LANES))
        assign(hits, n_hits, node)
        n_hits += hit != 0
    return n_hits


@kernel
def fill_lists(
    blocks: NDArray[np.float32],
    first_block: int,
    last_block: int,
    rows: NDArray[np.float32],
    skipped: NDArray[np.int64],
    first_list: int,
    nodes: NodeArrays,
    layout: EvenLayout | None,
    network: Network | None,
    bounds: NDArray[np.float32],
    values: NDArray[np.float32],
    indices: NDArray[np.int32],
    length: int,
    mirrored: bool,
) -> None:
    """Offer blocks ``first_block`` up to ``last_block`` to the lists (row, node, room) of ``rows``.

    Row ``r`` owns list ``first_list + r``, a multiple of ``LANES`` for row 0, and leaves out reference row
    ``skipped[r]``. ``bounds`` has for each ``LANES`` lists and each node their largest values so far. If
    ``mirrored``, list ``i`` is that of reference row ``i``: the rows are also offered to the lists of the blocks' rows,
    and blocks before a row's own are passed over.
    """
    n_rows = rows.shape[0]
    _, n_nodes, room = values.shape
    wires = single_table(blocks.shape[1], blocks.shape[2])
    sums = single_table(n_nodes, blocks.shape[2])
    hits = integers(n_nodes + 1)
    for first_row in range(0, n_rows, LANES):
        own_block = (first_list + first_row) // LANES
        own_bounds = own_block * n_nodes * LANES
        for block in range(max(first_block, own_block) if mirrored else first_block, last_block):
            both = mirrored and block != own_block
            other_bounds = block * n_nodes * LANES if both else 0
            for row in range(first_row, min(first_row + LANES, n_rows)):
                if layout is not None:
                    even_sums(blocks, block, rows, row, nodes, layout, 0, wires, sums)
                elif network is not None:
                    ranked_sums(blocks, block, rows, row, nodes, network, 0, wires, sums)
                own_lane = row - first_row
                n_hits = note_hits(sums, own_bounds, own_lane, other_bounds, bounds, both, hits)
                for hit in range(n_hits):
                    node = entry(hits, hit)
                    own_bound = own_bounds + node * LANES + own_lane
                    mask = less_mask(load(sums, node * LANES), entry(bounds, own_bound))
                    while mask != 0:
                        lane = lowest_bit(mask)
                        mask &= mask - 1
                        value, index = entry(sums, node * LANES + lane), block * LANES + lane
                        if value < entry(bounds, own_bound) and index != entry(skipped, row):
                            begin = ((first_list + row) * n_nodes + node) * room
                            assign(bounds, own_bound, enter(values, indices, begin, length, room, value, index))
                    if both:
                        bounds_here = other_bounds + node * LANES
                        mask = less_mask_of_lanes(load(sums, node * LANES), load(bounds, bounds_here))
                        while mask != 0:
                            lane = lowest_bit(mask)
                            mask &= mask - 1
                            value = entry(sums, node * LANES + lane)
                            begin = ((block * LANES + lane) * n_nodes + node) * room
                            largest = enter(values, indices, begin, length, room, value, first_list + row)
                            assign(bounds, bounds_here + lane, largest)
