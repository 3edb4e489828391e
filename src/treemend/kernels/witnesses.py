"""Witnesses: reference rows within a node's threshold radius.

Enters: threshold radii, rows, and estimated squares of distances. Leaves: how many reference rows of a block are
within (section 4 of the method). An estimate too near the threshold to trust is replaced by the exact distance
at once.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemend.kernels.exact import RELATIVE_ERROR, VANISHING, squared_distance
from treemend.kernels.flags import inlined
from treemend.kernels.lane_masks import count_less, less_mask, lowest_bit
from treemend.kernels.networks import NodeArrays
from treemend.kernels.packing import LANES


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
def count_unsure(
    node: int,
    block: int,
    certain: float,
    possible: float,
    threshold: float,
    exact: NDArray[np.float64],
    row: NDArray[np.float64],
    nodes: NodeArrays,
    squares: NDArray[np.float64],
    estimates: Any,
) -> int:
    """Return how many rows of a block, of those whose estimates do not tell, lie within the threshold radius."""
    count = 0
    unsure = less_mask(estimates, possible) & ~less_mask(estimates, certain)
    while unsure != 0:
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
def count_witnesses(
    node: int,
    block: int,
    certain: float,
    possible: float,
    threshold: float,
    exact: NDArray[np.float64],
    row: NDArray[np.float64],
    nodes: NodeArrays,
    squares: NDArray[np.float64],
    estimates: Any,
) -> int:
    """Return how many rows of a block lie within the node's threshold radius."""
    sure: int = count_less(estimates, certain)
    return sure + count_unsure(node, block, certain, possible, threshold, exact, row, nodes, squares, estimates)
