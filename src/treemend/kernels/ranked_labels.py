"""Labels at given threshold radii, without radii, for ``alpha < 1``.

Enters: the packed reference, rows, and for every node the radius beyond which a row is anomalous there.
Leaves: a label for every row and node, the same as comparing the exact K-th radius with the threshold
(section 4 of the method).

A node is normal as soon as K reference rows are known to lie within its threshold radius. The blocks are
gone through in a fixed random order, several rows at a time so that a block is fetched once for all, and
only what lies below unsettled nodes is still computed, so that most rows are finished early.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treemend.kernels.bitonic import even_sums
from treemend.kernels.estimates import ranked_sums
from treemend.kernels.exact import norms_about_centre
from treemend.kernels.flags import inlined, kernel
from treemend.kernels.lane_masks import any_less
from treemend.kernels.lanes import entry, load
from treemend.kernels.networks import EvenLayout, Network, NodeArrays
from treemend.kernels.packing import LANES
from treemend.kernels.witnesses import count_witnesses, witness_bounds

ROWS_PER_BLOCK = 32


@inlined
def list_unsettled(
    missing: NDArray[np.int64],
    nodes: NodeArrays,
    unsettled: NDArray[np.int64],
    tops: NDArray[np.int64],
) -> tuple[int, int]:
    """List the unsettled nodes, and those of them with no unsettled node above; return how many of each."""
    n_unsettled, n_tops = 0, 0
    covered = nodes.order.shape[0]
    for step in range(nodes.order.shape[0] - 1, -1, -1):
        node = entry(nodes.order, step)
        if entry(missing, node) > 0:
            unsettled[n_unsettled] = node
            n_unsettled += 1
            if step < covered:
                tops[n_tops] = node
                n_tops += 1
                covered = nodes.first_step[node]
    return n_unsettled, n_tops


@kernel
def ranked_labels(
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
    """Fill ``anomalous`` (rows, nodes); without ``layout`` the network is run. What is not needed is not compiled."""
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
    n_unsettled, n_tops = np.empty(ROWS_PER_BLOCK, dtype=np.int64), np.empty(ROWS_PER_BLOCK, dtype=np.int64)
    active = np.empty(ROWS_PER_BLOCK, dtype=np.int64)
    for first_row in range(0, n_rows, ROWS_PER_BLOCK):
        n_active = min(ROWS_PER_BLOCK, n_rows - first_row)
        for r in range(n_active):
            active[r] = r
            norms_about_centre(exact_rows[first_row + r], centre, nodes, norms)
            witness_bounds(norms, thresholds, spread, roundings, nodes, certain[r], possible[r])
            missing[r] = n_neighbors
            n_unsettled[r], n_tops[r] = list_unsettled(missing[r], nodes, unsettled[r], tops[r])
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
                n_settled = 0
                for u in range(n_unsettled[r]):
                    node = unsettled[r, u]
                    estimates = load(sums, node * LANES)
                    if missing[r, node] > 0 and any_less(estimates, possible[r, node]) != 0:
                        missing[r, node] -= count_witnesses(
                            node,
                            block,
                            certain[r, node],
                            possible[r, node],
                            thresholds[node],
                            exact,
                            exact_rows[row],
                            nodes,
                            squares,
                            estimates,
                        )
                    n_settled += missing[r, node] <= 0
                # Listing anew costs about as much as a few nodes do.
                if n_settled * 8 > n_unsettled[r]:
                    n_unsettled[r], n_tops[r] = list_unsettled(missing[r], nodes, unsettled[r], tops[r])
                active[still_active] = r
                still_active += n_unsettled[r] > 0
            n_active = still_active
            if n_active == 0:
                break
        for r in range(n_here):
            for node in range(n_nodes):
                anomalous[first_row + r, node] = missing[r, node] > 0
