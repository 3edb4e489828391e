"""Exact float64 distances: few of them to settle the estimates, or all of them at one node.

Enters: the reference's float64 lane blocks, scaled rows, and the shortlists of ``estimates``. Leaves: radii
and neighbours by the literal definition (sections 3 and 4 of the method): the squared differences that
count are summed one after the other, in ascending order, or in the order of the attributes if all of them
count.

An estimate of a distance ``h`` errs by at most ``RELATIVE_ERROR`` times half the number of roundings times
``h``, plus what rounding rows to float32 costs, plus what vanishes when tiny differences are squared. Rows
whose estimates leave their rank open are measured exactly; if rows outside the shortlist might also belong,
the node is scanned in float64.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from treemend.kernels.flags import inlined, kernel
from treemend.kernels.lane_masks import less_mask, lowest_bit
from treemend.kernels.lanes import (
    add,
    exchange,
    load,
    plain,
    spread,
    square,
    store,
    subtract,
    zeros_like_row,
)
from treemend.kernels.networks import Network, NodeArrays
from treemend.kernels.packing import LANES
from treemend.kernels.shortlist import insert
from treemend.kernels.workspace import floats, integers

RELATIVE_ERROR = 2.0**-24
VANISHING = 2.0**-62


@inlined
def shell_sort(values: NDArray[np.float64], count: int) -> None:
    """Sort the first ``count`` values in place."""
    gap = 1
    while gap < count // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, count):
            value = values[i]
            place = i
            while place >= gap and values[place - gap] > value:
                values[place] = values[place - gap]
                place -= gap
            values[place] = value
        gap //= 3


@inlined
def squared_distance(
    exact: NDArray[np.float64],
    index: int,
    row: NDArray[np.float64],
    start: int,
    stop: int,
    kept: int,
    squares: NDArray[np.float64],
) -> float:
    """Return the ranked squared distance between a row and reference row ``index`` over one node."""
    width = stop - start
    block, lane = index // LANES, index % LANES
    for k in range(width):
        difference = row[start + k] - exact[block, start + k, lane]
        squares[k] = difference * difference
    if kept < width:
        shell_sort(squares, width)
    total = 0.0
    for k in range(kept):
        total += squares[k]
    return total


@inlined
def lanes_at_node(
    exact: NDArray[np.float64],
    block: int,
    row: NDArray[np.float64],
    node: int,
    nodes: NodeArrays,
    network: Network,
    wires: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    """Write the ranked squared distances of one block's rows at one node to ``sums``."""
    start, stop = nodes.start[node], nodes.stop[node]
    first = block * exact.shape[1]
    total = zeros_like_row(sums)
    if nodes.kept[node] == stop - start:
        for k in range(start, stop):
            total = add(total, square(subtract(load(exact, (first + k) * LANES), spread(row, k))))
    else:
        for k in range(start, stop):
            store(wires, k * LANES, square(subtract(load(exact, (first + k) * LANES), spread(row, k))))
        for below in range(nodes.start.shape[0] - 1, node - 1, -1):
            if nodes.start[below] >= start and nodes.stop[below] <= stop:
                for c in range(network.first[below], network.first[below + 1]):
                    exchange(wires, network.low[c] * LANES, network.high[c] * LANES)
        for w in range(network.first_wire[node], network.first_wire[node + 1]):
            total = add(total, load(wires, network.wires[w] * LANES))
    store(sums, 0, total)


@inlined
def scan_node(
    exact: NDArray[np.float64],
    row: NDArray[np.float64],
    skipped: int,
    node: int,
    nodes: NodeArrays,
    network: Network,
    wires: NDArray[np.float64],
    sums: NDArray[np.float64],
    distances: NDArray[np.float64],
    indices: NDArray[np.int64],
) -> None:
    """Fill the ascending lists with the nearest reference rows at one node."""
    for place in range(distances.shape[0]):
        distances[place], indices[place] = np.inf, -1
    bound = np.inf
    for block in range(exact.shape[0]):
        lanes_at_node(exact, block, row, node, nodes, network, wires, sums)
        mask = less_mask(load(sums, 0), bound)
        while mask != 0:
            lane = lowest_bit(mask)
            mask &= mask - 1
            distance = math.sqrt(sums[lane])
            index = block * LANES + lane
            if distance < distances[-1] and index != skipped:
                insert(distances, indices, 0, distances.shape[0], distance, index)
                # Two squares may share a root, so the bound on squares is a little generous.
                bound = distances[-1] * distances[-1] * (1 + 1e-15) + 1e-300


@kernel
def neighbors_at_nodes(
    exact: NDArray[np.float64],
    rows: NDArray[np.float64],
    skipped: NDArray[np.int64],
    at: NDArray[np.int64],
    nodes: NodeArrays,
    network: Network,
    distances: NDArray[np.float64],
    indices: NDArray[np.int64],
) -> None:
    """Fill ``distances`` and ``indices`` (rows, K) with the neighbours of row ``r`` at node ``at[r]``."""
    wires = floats(exact.shape[1] * LANES)
    sums = floats(exact.shape[2])
    for row in range(rows.shape[0]):
        scan_node(
            exact,
            rows[row],
            skipped[row],
            at[row],
            nodes,
            network,
            wires,
            sums,
            distances[row],
            indices[row],
        )


@inlined
def norms_about_centre(
    row: NDArray[np.float64], centre: NDArray[np.float64], nodes: NodeArrays, norms: NDArray[np.float64]
) -> None:
    """Write the norm of ``row - centre`` over each node's attributes."""
    for node in range(norms.shape[0] - 1, -1, -1):
        total = 0.0
        if nodes.left[node] >= 0:
            total = norms[nodes.left[node]] + norms[nodes.right[node]]
        else:
            for k in range(nodes.start[node], nodes.stop[node]):
                total += (row[k] - centre[k]) ** 2
        norms[node] = total
    for node in range(norms.shape[0]):
        norms[node] = math.sqrt(norms[node])


@inlined
def settled(
    values: NDArray[np.float32],
    indices: NDArray[np.int32],
    n_neighbors: int,
    complete: bool,
    relative: float,
    absolute: float,
    exact: NDArray[np.float64],
    row: NDArray[np.float64],
    node: int,
    nodes: NodeArrays,
    squares: NDArray[np.float64],
    open_values: NDArray[np.float64],
) -> float:
    """Return the exact K-th distance from a node's shortlist, or -1 if the shortlist cannot tell."""
    kth = math.sqrt(values[n_neighbors - 1])
    at_least = kth * (1 - relative) - absolute
    at_most = kth * (1 + relative) + absolute
    n_below, n_open = 0, plain(0)
    for place in range(values.shape[0]):
        estimate = math.sqrt(values[place])
        if estimate * (1 + relative) + absolute < at_least:
            n_below += 1
        elif estimate * (1 - relative) - absolute <= at_most and indices[place] >= 0:
            open_values[n_open] = squared_distance(
                exact,
                indices[place],
                row,
                nodes.start[node],
                nodes.stop[node],
                nodes.kept[node],
                squares,
            )
            n_open += 1
    shell_sort(open_values, n_open)
    radius = math.sqrt(open_values[n_neighbors - 1 - n_below])
    beyond = max(0.0, math.sqrt(values[-1]) * (1 - relative) - absolute)
    return radius if complete or radius <= beyond else -1.0


@kernel
def settle_radii(
    exact: NDArray[np.float64],
    rows: NDArray[np.float64],
    skipped: NDArray[np.int64],
    centre: NDArray[np.float64],
    spread: NDArray[np.float64],
    roundings: NDArray[np.float64],
    nodes: NodeArrays,
    network: Network,
    values: NDArray[np.float32],
    indices: NDArray[np.int32],
    length: int,
    complete: bool,
    n_neighbors: int,
    radii: NDArray[np.float64],
) -> int:
    """Turn shortlists (rows, nodes, room) into exact K-th radii (rows, nodes); return how many nodes were scanned.

    The first ``length`` entries of a shortlist count; ``complete`` says that they are all reference rows
    there are.
    """
    n_rows, n_nodes, _ = values.shape
    wires = floats(exact.shape[1] * LANES)
    sums = floats(exact.shape[2])
    squares = floats(exact.shape[1])
    open_values = floats(length)
    norms = floats(n_nodes)
    nearest, nearest_indices = floats(n_neighbors), integers(n_neighbors)
    n_scanned = 0
    for row in range(n_rows):
        norms_about_centre(rows[row], centre, nodes, norms)
        for node in range(n_nodes):
            width = nodes.stop[node] - nodes.start[node]
            absolute = 1.01 * RELATIVE_ERROR * (norms[node] + spread[node]) + VANISHING * math.sqrt(width)
            radius = settled(
                values[row, node, :length],
                indices[row, node, :length],
                n_neighbors,
                complete,
                0.6 * RELATIVE_ERROR * roundings[node],
                absolute,
                exact,
                rows[row],
                node,
                nodes,
                squares,
                open_values,
            )
            if radius < 0:
                n_scanned += 1
                scan_node(
                    exact,
                    rows[row],
                    skipped[row],
                    node,
                    nodes,
                    network,
                    wires,
                    sums,
                    nearest,
                    nearest_indices,
                )
                radius = nearest[-1]
            radii[row, node] = radius
    return n_scanned
