"""Labels at given threshold radii, without radii.

Enters: the packed reference, rows, and for every node the radius beyond which a row is anomalous there.
Leaves: a label for every row and node, the same as comparing the exact K-th radius with the threshold
(section 4 of the method).

A node is normal as soon as K reference rows are known to lie within its threshold radius. The blocks are
gone through in a fixed random order, several rows at a time so that a block is fetched once for all, and
only what lies below unsettled nodes is still computed, so that most rows are finished early. An estimate
too near the threshold to trust is replaced by the exact distance at once.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from treemend.kernels.bitonic import even_sums
from treemend.kernels.estimates import ranked_sums
from treemend.kernels.euclidean import euclidean_sums, lone_euclidean_sum
from treemend.kernels.exact import RELATIVE_ERROR, VANISHING, norms_about_centre, squared_distance
from treemend.kernels.flags import inlined, kernel
from treemend.kernels.lane_masks import any_less, bit_count, less_mask, lowest_bit
from treemend.kernels.lanes import entry, load
from treemend.kernels.networks import EvenLayout, Network, NodeArrays
from treemend.kernels.packing import LANES

ROWS_PER_BLOCK = 32


@inlined
def witness_bounds(
    norms: NDArray[np.float64],
    thresholds: NDArray[np.float64],
    spread: NDArray[np.float64],
    roundings: NDArray[np.float64],
    nodes: NodeArrays,
    certain: NDArray[np.float32],
    possible: NDArray[np.float32],
) -> None:
    """Write for every node below which estimated square a row is a certain witness, and below which a possible one."""
    for node in range(norms.shape[0]):
        width = nodes.stop[node] - nodes.start[node]
        relative = 0.6 * RELATIVE_ERROR * roundings[node]
        absolute = 1.01 * RELATIVE_ERROR * (norms[node] + spread[node]) + VANISHING * math.sqrt(width)
        inside = max(0.0, (thresholds[node] - absolute) / (1 + relative))
        outside = (max(0.0, thresholds[node]) + absolute) / (1 - relative)
        certain[node] = np.float32(inside * inside * (1 - 4 * RELATIVE_ERROR))
        possible[node] = np.float32(outside * outside * (1 + 4 * RELATIVE_ERROR) + 2.0**-120)


@inlined
def count_witnesses(
    node: int,
    block: int,
    certain: float,
    possible: float,
    threshold: float,
    wanted: int,
    exact: NDArray[np.float64],
    row: NDArray[np.float64],
    nodes: NodeArrays,
    squares: NDArray[np.float64],
    sums: NDArray[np.float32],
) -> int:
    """Return how many rows of a block lie within the node's threshold radius; stop counting at ``wanted``."""
    estimates = load(sums, node * LANES)
    sure = less_mask(estimates, certain)
    unsure = less_mask(estimates, possible) & ~sure
    count: int = bit_count(sure)
    while unsure != 0 and count < wanted:
        lane = lowest_bit(unsure)
        unsure &= unsure - 1
        square = squared_distance(
            exact,
            block * LANES + lane,
            row,
            nodes.start[node],
            nodes.stop[node],
            nodes.kept[node],
            squares,
        )
        count += math.sqrt(square) <= threshold
    return count


@inlined
def list_unsettled(
    missing: NDArray[np.int64],
    nodes: NodeArrays,
    unsettled: NDArray[np.int64],
    tops: NDArray[np.int64],
    lone: NDArray[np.bool_],
) -> tuple[int, int]:
    """List the unsettled nodes, and those of them with no unsettled node above; return how many of each.

    ``lone`` says of the latter whether they have no unsettled node below either.
    """
    n_unsettled, n_tops = 0, 0
    covered = nodes.order.shape[0]
    for step in range(nodes.order.shape[0] - 1, -1, -1):
        node = entry(nodes.order, step)
        if entry(missing, node) > 0:
            unsettled[n_unsettled] = node
            n_unsettled += 1
            if step < covered:
                tops[n_tops] = node
                lone[n_tops] = True
                n_tops += 1
                covered = nodes.first_step[node]
            else:
                lone[n_tops - 1] = False
    return n_unsettled, n_tops


@kernel
def label_rows(
    estimate: NDArray[np.float32],
    rows: NDArray[np.float32],
    exact: NDArray[np.float64],
    exact_rows: NDArray[np.float64],
    centre: NDArray[np.float64],
    spread: NDArray[np.float64],
    roundings: NDArray[np.float64],
    nodes: NodeArrays,
    layout: EvenLayout | None,
    network: Network | None,
    block_order: NDArray[np.int64],
    thresholds: NDArray[np.float64],
    n_neighbors: int,
    anomalous: NDArray[np.bool_],
) -> None:
    """Fill ``anomalous`` (rows, nodes).

    Without ``layout`` the network is run, and without either ``alpha`` is 1; what is not needed is not compiled.
    """
    n_rows, n_nodes = anomalous.shape
    n_wires = estimate.shape[1]
    wires = np.empty((n_wires, LANES), dtype=np.float32)
    sums = np.empty((n_nodes, LANES), dtype=np.float32)
    squares = np.empty(exact.shape[1])
    norms = np.empty(n_nodes)
    shape = (ROWS_PER_BLOCK, n_nodes)
    certain, possible = np.empty(shape, dtype=np.float32), np.empty(shape, dtype=np.float32)
    missing = np.empty(shape, dtype=np.int64)
    unsettled, tops = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.int64)
    lone = np.empty(shape, dtype=np.bool_)
    n_unsettled, n_tops = np.empty(ROWS_PER_BLOCK, dtype=np.int64), np.empty(ROWS_PER_BLOCK, dtype=np.int64)
    active = np.empty(ROWS_PER_BLOCK, dtype=np.int64)
    for first_row in range(0, n_rows, ROWS_PER_BLOCK):
        n_active = min(ROWS_PER_BLOCK, n_rows - first_row)
        for r in range(n_active):
            active[r] = r
            norms_about_centre(exact_rows[first_row + r], centre, nodes, norms)
            witness_bounds(norms, thresholds, spread, roundings, nodes, certain[r], possible[r])
            missing[r] = n_neighbors
            n_unsettled[r], n_tops[r] = list_unsettled(missing[r], nodes, unsettled[r], tops[r], lone[r])
        n_here = n_active
        for block in block_order:
            still_active = 0
            for a in range(n_active):
                r = active[a]
                row = first_row + r
                for t in range(n_tops[r]):
                    top = tops[r, t]
                    if layout is not None:
                        even_sums(estimate, block, rows, row, nodes, layout, top, wires, sums)
                    elif network is not None:
                        ranked_sums(estimate, block, rows, row, nodes, network, top, wires, sums)
                    elif lone[r, t]:
                        lone_euclidean_sum(estimate, block, rows, row, nodes, top, possible[r, top], sums)
                    else:
                        euclidean_sums(estimate, block, rows, row, nodes, top, sums)
                n_settled = 0
                for u in range(n_unsettled[r]):
                    node = unsettled[r, u]
                    if missing[r, node] > 0 and any_less(load(sums, node * LANES), possible[r, node]) != 0:
                        missing[r, node] -= count_witnesses(
                            node,
                            block,
                            certain[r, node],
                            possible[r, node],
                            thresholds[node],
                            missing[r, node],
                            exact,
                            exact_rows[row],
                            nodes,
                            squares,
                            sums,
                        )
                    n_settled += missing[r, node] <= 0
                # Listing anew costs about as much as a few nodes do.
                if n_settled * 8 > n_unsettled[r]:
                    n_unsettled[r], n_tops[r] = list_unsettled(missing[r], nodes, unsettled[r], tops[r], lone[r])
                active[still_active] = r
                still_active += n_unsettled[r] > 0
            n_active = still_active
            if n_active == 0:
                break
        for r in range(n_here):
            for node in range(n_nodes):
                anomalous[first_row + r, node] = missing[r, node] > 0
