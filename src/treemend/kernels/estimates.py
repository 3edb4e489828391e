"""Float32 estimates of the nearest reference rows at every node, all nodes in one pass.

Enters: the reference's float32 lane blocks and rows on the same footing. Leaves: for every row and node a short
list of the nearest reference rows by estimated squared distance, which ``exact`` then settles in float64
(sections 3, 4 and 8 of the method). ``alpha = 1`` sums up the tree; ``alpha < 1`` sorts the leaves' squared
differences and merges them up the tree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treemend.kernels.flags import inlined, kernel
from treemend.kernels.lanes import (
    add,
    add_square,
    exchange,
    less_mask,
    load,
    lowest_bit,
    square,
    store,
    subtract,
    zeros_like_row,
)
from treemend.kernels.networks import Network, NodeArrays
from treemend.kernels.packing import LANES
from treemend.kernels.shortlist import insert

ROWS_AT_A_TIME = 16
TERMS_AT_A_TIME = 32


@inlined
def offer(
    mask: int,
    sums: NDArray[np.float32],
    node: int,
    first_index: int,
    skipped: int,
    values: NDArray[np.float32],
    indices: NDArray[np.int64],
) -> float:
    """Insert the lanes of ``mask`` into a node's list; return the list's new largest value."""
    while mask != 0:
        lane = lowest_bit(mask)
        mask &= mask - 1
        value = sums[node, lane]
        if value < values[-1] and first_index + lane != skipped:
            insert(values, indices, value, first_index + lane)
    return float(values[-1])


@kernel
def euclidean_shortlists(
    blocks: NDArray[np.float32],
    rows: NDArray[np.float32],
    skipped: NDArray[np.int64],
    nodes: NodeArrays,
    values: NDArray[np.float32],
    indices: NDArray[np.int64],
) -> None:
    """Fill ``values`` and ``indices`` (rows, nodes, length) for ``alpha = 1``, leaving out row ``skipped[r]``."""
    n_blocks, width, _ = blocks.shape
    n_rows, n_nodes, _ = values.shape
    sums = np.empty((n_nodes, LANES), dtype=np.float32)
    bounds = np.full((ROWS_AT_A_TIME, n_nodes), np.float32(np.inf))
    for first_row in range(0, n_rows, ROWS_AT_A_TIME):
        bounds[:] = np.float32(np.inf)
        last_row = min(first_row + ROWS_AT_A_TIME, n_rows)
        for block in range(n_blocks):
            for row in range(first_row, last_row):
                for node in range(n_nodes - 1, -1, -1):
                    if nodes.left[node] < 0:
                        total = zeros_like_row(sums)
                        for begin in range(nodes.start[node], nodes.stop[node], TERMS_AT_A_TIME):
                            part = zeros_like_row(sums)
                            for k in range(begin, min(begin + TERMS_AT_A_TIME, nodes.stop[node])):
                                part = add_square(
                                    part, subtract(load(blocks, (block * width + k) * LANES), rows[row, k])
                                )
                            total = add(total, part)
                    else:
                        total = add(load(sums, nodes.left[node] * LANES), load(sums, nodes.right[node] * LANES))
                    store(sums, node * LANES, total)
                    mask = less_mask(total, bounds[row - first_row, node])
                    if mask != 0:
                        bounds[row - first_row, node] = offer(
                            mask, sums, node, block * LANES, skipped[row], values[row, node], indices[row, node]
                        )


@kernel
def ranked_shortlists(
    blocks: NDArray[np.float32],
    rows: NDArray[np.float32],
    skipped: NDArray[np.int64],
    network: Network,
    values: NDArray[np.float32],
    indices: NDArray[np.int64],
) -> None:
    """Fill ``values`` and ``indices`` (rows, nodes, length) for ``alpha < 1``, leaving out row ``skipped[r]``."""
    n_blocks, width, _ = blocks.shape
    n_rows, n_nodes, _ = values.shape
    wires = np.empty((width, LANES), dtype=np.float32)
    sums = np.empty((n_nodes, LANES), dtype=np.float32)
    bounds = np.full((ROWS_AT_A_TIME, n_nodes), np.float32(np.inf))
    for first_row in range(0, n_rows, ROWS_AT_A_TIME):
        bounds[:] = np.float32(np.inf)
        last_row = min(first_row + ROWS_AT_A_TIME, n_rows)
        for block in range(n_blocks):
            for row in range(first_row, last_row):
                for k in range(width):
                    difference = subtract(load(blocks, (block * width + k) * LANES), rows[row, k])
                    store(wires, k * LANES, square(difference))
                for node in range(n_nodes - 1, -1, -1):
                    for c in range(network.first[node], network.first[node + 1]):
                        exchange(wires, network.low[c] * LANES, network.high[c] * LANES)
                    total = zeros_like_row(sums)
                    last_wire = network.first_wire[node + 1]
                    for begin in range(network.first_wire[node], last_wire, TERMS_AT_A_TIME):
                        part = zeros_like_row(sums)
                        for w in range(begin, min(begin + TERMS_AT_A_TIME, last_wire)):
                            part = add(part, load(wires, network.wires[w] * LANES))
                        total = add(total, part)
                    mask = less_mask(total, bounds[row - first_row, node])
                    if mask != 0:
                        store(sums, node * LANES, total)
                        bounds[row - first_row, node] = offer(
                            mask, sums, node, block * LANES, skipped[row], values[row, node], indices[row, node]
                        )
