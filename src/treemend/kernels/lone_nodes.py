"""Nodes that are still unsettled when most others are settled, at ``alpha = 1``: each by itself.

Enters: the rows that still miss witnesses at each node (``Wanting``), and a tile of blocks. Leaves: those that still do
after it (section 4 of the method).

Few nodes of a row are left by now, but nearly every row has some. All of them go through a tile before the next one
is fetched: two blocks together, the attributes first in which the row is furthest from the middle, given up as
soon as no reference row of the two can be a witness.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemend.kernels.flags import inlined
from treemend.kernels.lane_masks import any_less
from treemend.kernels.lanes import add, add_square, assign, entry, load, minimum, spread, subtract, zeros_like_row
from treemend.kernels.networks import NodeArrays
from treemend.kernels.packing import LANES, TERMS_BETWEEN_LOOKS
from treemend.kernels.witnesses import count_witnesses

BLOCKS_TOGETHER = 2
BLOCKS_IN_A_TILE = 8


class Wanting(NamedTuple):
    """Rows that still miss witnesses at a node, a line for each node: what is asked for again and again, side by side."""

    row: NDArray[np.int64]
    first: NDArray[np.int64]
    bound: NDArray[np.float32]
    missing: NDArray[np.int64]


@inlined
def foreign_part(node: int, norms: NDArray[np.float64], nodes: NodeArrays) -> int:
    """Return where the leaf begins that is found by going down to the child further from the centre."""
    while entry(nodes.left, node) >= 0:
        left, right = entry(nodes.left, node), entry(nodes.right, node)
        node = left if entry(norms, left) >= entry(norms, right) else right
    begin: int = entry(nodes.start, node)
    return begin


@inlined
def list_wanting(
    missing: NDArray[np.int64],
    norms: NDArray[np.float64],
    possible: NDArray[np.float32],
    nodes: NodeArrays,
    wanting: Wanting,
    n_wanting: NDArray[np.int64],
) -> None:
    """List for every node the rows that miss witnesses there, and count them in ``n_wanting``."""
    n_nodes, n_rows = wanting.row.shape
    for row in range(n_rows):
        for node in range(n_nodes):
            if missing[row, node] > 0:
                place = n_wanting[node]
                wanting.row[node, place] = row
                wanting.first[node, place] = foreign_part(node, norms[row], nodes)
                wanting.bound[node, place] = possible[row, node]
                wanting.missing[node, place] = missing[row, node]
                n_wanting[node] += 1


@inlined
def lone_sums(
    blocks: NDArray[np.float32],
    places: tuple[int, int],
    rows: NDArray[np.float32],
    place: int,
    start: int,
    first: int,
    stop: int,
    bound: float,
) -> Any:
    """Return a node's sums for the row that begins at ``place``, over two blocks, and whether any is below ``bound``.

    Attributes are taken from ``first`` on, those before it last. If none is, the sums may be unfinished.
    """
    sum_0 = sum_1 = zeros_like_row(rows)
    begin, limit = first, stop
    while True:
        end = min(begin + TERMS_BETWEEN_LOOKS, limit)
        part_0 = part_1 = zeros_like_row(rows)
        for k in range(begin, end):
            number = spread(rows, place + k)
            part_0 = add_square(part_0, subtract(load(blocks, places[0] + k * LANES), number))
            part_1 = add_square(part_1, subtract(load(blocks, places[1] + k * LANES), number))
        sum_0, sum_1 = add(sum_0, part_0), add(sum_1, part_1)
        below = any_less(minimum(sum_0, sum_1), bound)
        if below == 0 or end == first:
            break
        begin = end
        if begin == stop:
            if first == start:
                break
            begin, limit = start, first
    return below, (sum_0, sum_1)


@inlined
def go_through_tile(
    tile: NDArray[np.int64],
    node: int,
    estimate: NDArray[np.float32],
    rows: NDArray[np.float32],
    exact: NDArray[np.float64],
    exact_rows: NDArray[np.float64],
    nodes: NodeArrays,
    threshold: float,
    certain: NDArray[np.float32],
    wanting: Wanting,
    n_wanting: int,
    squares: NDArray[np.float64],
) -> int:
    """Go through a tile of blocks with the rows that want witnesses at a node; return how many rows still do."""
    width = estimate.shape[1]
    size = width * LANES
    last = tile.shape[0] - 1
    start, stop = entry(nodes.start, node), entry(nodes.stop, node)
    begin: int = node * wanting.row.shape[1]
    n_still = begin
    for place in range(begin, begin + n_wanting):
        row, first = entry(wanting.row, place), entry(wanting.first, place)
        bound, missing = entry(wanting.bound, place), entry(wanting.missing, place)
        for b in range(0, last + 1, BLOCKS_TOGETHER):
            pair = (entry(tile, b), entry(tile, min(b + 1, last)))
            places = (pair[0] * size, pair[1] * size)
            below, sums = lone_sums(estimate, places, rows, row * width, start, first, stop, bound)
            if below != 0:
                for j in range(min(BLOCKS_TOGETHER, last + 1 - b)):
                    missing -= count_witnesses(
                        node,
                        pair[j],
                        certain[row, node],
                        bound,
                        threshold,
                        exact,
                        exact_rows[row],
                        nodes,
                        squares,
                        sums[j],
                    )
                if missing <= 0:
                    break
        assign(wanting.row, n_still, row)
        assign(wanting.first, n_still, first)
        assign(wanting.bound, n_still, bound)
        assign(wanting.missing, n_still, missing)
        n_still += missing > 0
    return n_still - begin
