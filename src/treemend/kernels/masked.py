"""Neighbours over a row's own choice of attributes.

Enters: float64 lane blocks, rows, and which attributes of each row are to be trusted. Leaves: the nearest
reference rows by Euclidean distance over those attributes, summed in the order of the attributes (section
10 of the method, donors by all clean attributes).

Many neighbours are asked for, some hundreds: they are collected as they come, the farther half is dropped when twice as
many have come, and what is left is sorted in the end. To keep a long list in order costs more than the distances do.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from treemend.kernels.flags import kernel
from treemend.kernels.lane_masks import less_mask, lowest_bit
from treemend.kernels.lanes import (
    add,
    load,
    plain,
    spread,
    square,
    store,
    subtract,
    zeros_like_row,
)
from treemend.kernels.packing import LANES
from treemend.kernels.shortlist import select_pairs, sort_pairs
from treemend.kernels.workspace import floats, integers

ATTRIBUTES_BETWEEN_TESTS = 32


@kernel
def neighbors_on_observed(
    exact: NDArray[np.float64],
    rows: NDArray[np.float64],
    observed: NDArray[np.bool_],
    skipped: NDArray[np.int64],
    distances: NDArray[np.float64],
    indices: NDArray[np.int64],
) -> None:
    """Fill ``distances`` and ``indices`` (rows, K)."""
    n_blocks, width, _ = exact.shape
    length = distances.shape[1]
    room = 2 * length + LANES
    near, who = floats(room), integers(room)
    sums = floats(exact.shape[2])
    used = integers(width)
    for row in range(rows.shape[0]):
        n_used = 0
        for k in range(width):
            used[n_used] = k
            n_used += observed[row, k]
        count = plain(0)
        bound = np.inf
        for block in range(n_blocks):
            total = zeros_like_row(sums)
            mask = (1 << LANES) - 1
            begin = 0
            while begin < n_used and mask != 0:
                end = min(begin + ATTRIBUTES_BETWEEN_TESTS, n_used)
                for u in range(begin, end):
                    k = used[u]
                    difference = subtract(load(exact, (block * width + k) * LANES), spread(rows, row * width + k))
                    total = add(total, square(difference))
                mask = less_mask(total, bound)
                begin = end
            store(sums, 0, total)
            while mask != 0:
                lane = lowest_bit(mask)
                mask &= mask - 1
                index = block * LANES + lane
                near[count], who[count] = math.sqrt(sums[lane]), index
                count += sums[lane] < np.inf and index != skipped[row]
            if count > room - LANES:
                select_pairs(near, who, count, length)
                count = length
                # Two squares may share a root, so the bound on squares is a little generous.
                bound = near[length - 1] * near[length - 1] * (1 + 1e-15) + 1e-300
        if count > length:
            select_pairs(near, who, count, length)
        sort_pairs(near, who, min(count, length))
        for place in range(length):
            distances[row, place] = near[place] if place < count else np.inf
            indices[row, place] = who[place] if place < count else -1
