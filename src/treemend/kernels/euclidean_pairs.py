"""Shortlists of all reference rows for ``alpha = 1``, each pair of rows computed once.

Enters: the reference's float32 lane blocks, the same rows one by one, and two tiles, which are runs of blocks. Leaves:
the lists of both tiles with what the rows of the other have to offer (sections 3, 4 and 8 of the method). It goes up the
tree as ``euclidean`` does, four rows of the first tile together through each block of the second. As in ``ranked_lists``,
which of several equal estimates stays in a list may depend on the order of the work; the settled radii do not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treemend.kernels.euclidean import FOUR, ROWS_TOGETHER, add_four, leaf_of_four, offer_four, store_four
from treemend.kernels.flags import inlined, kernel
from treemend.kernels.lane_masks import any_less_of_four, less_mask_of_lanes, lowest_bit
from treemend.kernels.lanes import assign, entry, load, minimum, zeros_like_row
from treemend.kernels.networks import NodeArrays
from treemend.kernels.packing import LANES
from treemend.kernels.ranked_lists import enter


@inlined
def note_hits_of_both(
    blocks: NDArray[np.float32],
    at: int,
    rows: NDArray[np.float32],
    place: int,
    nodes: NodeArrays,
    bounds: NDArray[np.float32],
    own_bounds: int,
    other_bounds: int,
    slots: NDArray[np.float32],
    hits: NDArray[np.float32],
    hit_nodes: NDArray[np.int64],
) -> int:
    """Go up the tree with four rows and one block; write the hits' sums and nodes, and return how many there are."""
    n_hits = 0
    width = blocks.shape[1]
    places = (place, place + width, place + 2 * width, place + 3 * width)
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
        assign(hit_nodes, n_hits, node)
        own = any_less_of_four(totals[0], totals[1], totals[2], totals[3], bounds, own_bounds + node * LANES)
        nearest = minimum(minimum(totals[0], totals[1]), minimum(totals[2], totals[3]))
        n_hits += (own | less_mask_of_lanes(nearest, load(bounds, other_bounds + node * LANES))) != 0
    return n_hits


@inlined
def offer_to_lanes(
    hits: NDArray[np.float32],
    hit: int,
    row: int,
    bounds: NDArray[np.float32],
    bound: int,
    values: NDArray[np.float32],
    indices: NDArray[np.int32],
    first_list: int,
    node: int,
    length: int,
) -> None:
    """Offer the four rows from ``row`` on to the lists of a block, of which the first is ``first_list``."""
    _, n_nodes, room = values.shape
    for r in range(ROWS_TOGETHER):
        at = hit * FOUR + r * LANES
        mask = less_mask_of_lanes(load(hits, at), load(bounds, bound))
        while mask != 0:
            lane = lowest_bit(mask)
            mask &= mask - 1
            begin = ((first_list + lane) * n_nodes + node) * room
            assign(bounds, bound + lane, enter(values, indices, begin, length, room, entry(hits, at + lane), row + r))


@kernel
def euclidean_pairs(
    blocks: NDArray[np.float32],
    home: tuple[int, int],
    guest: tuple[int, int],
    rows: NDArray[np.float32],
    everyone: NDArray[np.int64],
    nodes: NodeArrays,
    bounds: NDArray[np.float32],
    values: NDArray[np.float32],
    indices: NDArray[np.int32],
    length: int,
) -> None:
    """Offer the rows of two tiles to each other's lists (row, node, room); a tile may meet itself.

    A tile is the number of its first block and that of the one after its last. There are as many ``rows`` as lanes;
    those that pad the last block may be anything finite, since that block offers its rows to itself alone, and nobody
    reads their lists. Row ``i`` leaves out ``everyone[i]``, itself. ``bounds`` has for each block and node the largest
    values of its lists so far, and after the last block one more that lets nobody in: a block that meets itself
    offers its rows once.
    """
    n_nodes = values.shape[1]
    width = blocks.shape[1]
    nobody = (bounds.shape[0] - 1) * n_nodes * LANES
    slots = np.empty((nodes.slot.max() + 1) * FOUR, dtype=np.float32)
    hits = np.empty((n_nodes + 1) * FOUR, dtype=np.float32)
    hit_nodes = np.empty(n_nodes + 1, dtype=np.int64)
    for own in range(home[0], home[1]):
        for other in range(max(own, guest[0]), guest[1]):
            other_bounds = nobody if own == other else other * n_nodes * LANES
            for ahead in range(0, LANES, ROWS_TOGETHER):
                row = own * LANES + ahead
                own_bounds = own * n_nodes * LANES + ahead
                n_hits = note_hits_of_both(
                    blocks,
                    other * width * LANES,
                    rows,
                    row * width,
                    nodes,
                    bounds,
                    own_bounds,
                    other_bounds,
                    slots,
                    hits,
                    hit_nodes,
                )
                for hit in range(n_hits):
                    node = entry(hit_nodes, hit)
                    offer_four(
                        hits,
                        hit,
                        other * LANES,
                        row,
                        everyone,
                        bounds,
                        own_bounds + node * LANES,
                        values,
                        indices,
                        node,
                        length,
                    )
                    if own != other:
                        offer_to_lanes(
                            hits,
                            hit,
                            row,
                            bounds,
                            other_bounds + node * LANES,
                            values,
                            indices,
                            other * LANES,
                            node,
                            length,
                        )
