"""Labels at given threshold radii, without radii, for ``alpha = 1``.

Enters: the packed reference, rows, and for every node the radius beyond which a row is anomalous there.
Leaves: a label for every row and node, the same as comparing the exact K-th radius with the threshold
(section 4 of the method).

A node is normal as soon as K reference rows are known to lie within its threshold radius. The first blocks, in a
fixed random order, settle most nodes: there everything is summed up the tree, four rows together, and witnesses
are counted without a branch, which nobody could predict. What is left goes on alone (``lone_nodes``).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemend.kernels.euclidean import FOUR, ROWS_TOGETHER, add_four, leaf_of_four, store_four
from treemend.kernels.exact import norms_about_centre
from treemend.kernels.flags import inlined, kernel
from treemend.kernels.lane_masks import any_between_of_four, count_less
from treemend.kernels.lanes import assign, entry, zeros_like_row
from treemend.kernels.lone_nodes import BLOCKS_IN_A_TILE, Wanting, go_through_tile, list_wanting
from treemend.kernels.networks import NodeArrays
from treemend.kernels.packing import LANES
from treemend.kernels.witnesses import count_unsure, witness_bounds

ROWS_IN_A_GROUP = 32
BLOCKS_BETWEEN_LOOKS = 4
SHARE_WORTH_SHARING = 0.15


@inlined
def count_certain(estimates: Any, place: int, certain: NDArray[np.float32], missing: NDArray[np.int64]) -> None:
    """Take the certain witnesses of a row and node, which stand at ``place``, off what is missing."""
    assign(missing, place, entry(missing, place) - count_less(estimates, entry(certain, place)))


@inlined
def count_in_block(
    blocks: NDArray[np.float32],
    block: int,
    rows: NDArray[np.float32],
    line: int,
    exact: NDArray[np.float64],
    exact_rows: NDArray[np.float64],
    nodes: NodeArrays,
    thresholds: NDArray[np.float64],
    certain: NDArray[np.float32],
    possible: NDArray[np.float32],
    missing: NDArray[np.int64],
    slots: NDArray[np.float32],
    squares: NDArray[np.float64],
) -> None:
    """Go up the tree with the four rows from ``line`` on and one block, and take the witnesses found off."""
    width, n_nodes = blocks.shape[1], missing.shape[1]
    last = rows.shape[0] - 1
    places = (line * width, min(line + 1, last) * width, min(line + 2, last) * width, min(line + 3, last) * width)
    zero = zeros_like_row(slots)
    totals = (zero, zero, zero, zero)
    for step in range(nodes.order.shape[0]):
        node = entry(nodes.order, step)
        left = entry(nodes.left, node)
        if left < 0:
            start, stop = entry(nodes.start, node), entry(nodes.stop, node)
            totals = leaf_of_four(blocks, block * width * LANES, rows, places, start, stop)
        else:
            totals = add_four(slots, entry(nodes.slot, left) * FOUR, totals)
        slot = entry(nodes.slot, node)
        if slot % 2 == 0:
            store_four(slots, slot * FOUR, totals)
        place = line * n_nodes + node
        count_certain(totals[0], place, certain, missing)
        count_certain(totals[1], place + n_nodes, certain, missing)
        count_certain(totals[2], place + 2 * n_nodes, certain, missing)
        count_certain(totals[3], place + 3 * n_nodes, certain, missing)
        if any_between_of_four(totals[0], totals[1], totals[2], totals[3], certain, possible, place, n_nodes) != 0:
            for r in range(ROWS_TOGETHER):
                missing[line + r, node] -= count_unsure(
                    node,
                    block,
                    certain[line + r, node],
                    possible[line + r, node],
                    thresholds[node],
                    exact,
                    exact_rows[min(line + r, last)],
                    nodes,
                    squares,
                    totals[r],
                )


@kernel
def euclidean_labels(
    estimate: NDArray[np.float32],
    rows: NDArray[np.float32],
    exact: NDArray[np.float64],
    exact_rows: NDArray[np.float64],
    centre: NDArray[np.float64],
    spread: NDArray[np.float64],
    roundings: NDArray[np.float64],
    nodes: NodeArrays,
    block_order: NDArray[np.int64],
    thresholds: NDArray[np.float64],
    n_neighbors: int,
    anomalous: NDArray[np.bool_],
) -> None:
    """Fill ``anomalous`` (rows, nodes).

    Where fewer than four rows are left, what is counted for the last one again goes to lines that nobody reads.
    """
    n_rows, n_nodes = anomalous.shape
    padded = -(-n_rows // ROWS_TOGETHER) * ROWS_TOGETHER
    slots = np.empty((nodes.slot.max() + 1) * FOUR, dtype=np.float32)
    squares = np.empty(exact.shape[1])
    norms = np.empty((padded, n_nodes))
    certain, possible = np.empty((padded, n_nodes), dtype=np.float32), np.empty((padded, n_nodes), dtype=np.float32)
    missing = np.empty((padded, n_nodes), dtype=np.int64)
    for line in range(padded):
        norms_about_centre(exact_rows[min(line, n_rows - 1)], centre, nodes, norms[line])
        witness_bounds(norms[line], thresholds, spread, roundings, nodes, certain[line], possible[line])
        for node in range(n_nodes):
            missing[line, node] = n_neighbors
    n_shared, n_unsettled = 0, n_rows * n_nodes
    while n_shared < block_order.shape[0] and n_unsettled >= SHARE_WORTH_SHARING * n_rows * n_nodes:
        portion = block_order[n_shared : n_shared + BLOCKS_BETWEEN_LOOKS]
        for first_line in range(0, padded, ROWS_IN_A_GROUP):
            for block in portion:
                for line in range(first_line, min(first_line + ROWS_IN_A_GROUP, padded), ROWS_TOGETHER):
                    count_in_block(
                        estimate,
                        block,
                        rows,
                        line,
                        exact,
                        exact_rows,
                        nodes,
                        thresholds,
                        certain,
                        possible,
                        missing,
                        slots,
                        squares,
                    )
        n_shared += portion.shape[0]
        n_unsettled = 0
        for line in range(n_rows):
            for node in range(n_nodes):
                n_unsettled += missing[line, node] > 0
    wanting = Wanting(
        np.empty((n_nodes, n_rows), dtype=np.int64),
        np.empty((n_nodes, n_rows), dtype=np.int64),
        np.empty((n_nodes, n_rows), dtype=np.float32),
        np.empty((n_nodes, n_rows), dtype=np.int64),
    )
    n_wanting = np.zeros(n_nodes, dtype=np.int64)
    list_wanting(missing, norms, possible, nodes, wanting, n_wanting)
    anomalous[:] = False
    for first_block in range(n_shared, block_order.shape[0], BLOCKS_IN_A_TILE):
        tile = block_order[first_block : first_block + BLOCKS_IN_A_TILE]
        for node in range(n_nodes):
            n_wanting[node] = go_through_tile(
                tile,
                node,
                estimate,
                rows,
                exact,
                exact_rows,
                nodes,
                thresholds[node],
                certain,
                wanting,
                n_wanting[node],
                squares,
            )
    for node in range(n_nodes):
        for place in range(n_wanting[node]):
            anomalous[wanting.row[node, place], node] = True
