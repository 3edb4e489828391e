"""Values that stand still where they should not: dropped to a constant, or stuck.

Enters: suspect rows, reference rows, and the layout. Leaves, in three steps: the largest regions of equal values; the
reference rows nearest outside each; and the evidence that a row's most surprising region does not belong there, with the
values of that region that surprise (section 10 of the method).

Equal neighbours alone prove nothing: a spectrum may be saturated, an image has a background. So a region is judged by
the reference rows nearest to the row outside the region: how many of them have the very same value at each attribute.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from treemend.kernels.flags import called, inlined, kernel
from treemend.kernels.workspace import floats, integers

REGIONS = 3
SAME = 1e-9


def equal_regions(
    rows: NDArray[np.float64],
    height: int,
    width: int,
    smallest: int,
    region: NDArray[np.int64],
    n_regions: NDArray[np.int64],
) -> None:
    """Fill ``region`` (rows, d) with the number of the region a value belongs to, or -1, and ``n_regions`` (rows).

    ``height`` is 0 for a sequence; ``smallest`` is the least number of attributes (or pixels) of a region.
    """
    # Two kernels, of which a model needs and compiles one.
    if height > 0:
        _regions_of_grids(rows, height, width, smallest, region, n_regions)
    else:
        _regions_of_sequences(rows, smallest, region, n_regions)


@kernel
def _regions_of_sequences(
    rows: NDArray[np.float64], smallest: int, region: NDArray[np.int64], n_regions: NDArray[np.int64]
) -> None:
    for row in range(rows.shape[0]):
        n_regions[row] = _runs(rows[row], smallest, region[row])


@kernel
def _regions_of_grids(
    rows: NDArray[np.float64],
    height: int,
    width: int,
    smallest: int,
    region: NDArray[np.int64],
    n_regions: NDArray[np.int64],
) -> None:
    for row in range(rows.shape[0]):
        n_regions[row] = _grid_regions(rows[row], height, width, smallest, region[row])


@kernel
def nearest_outside(
    rows: NDArray[np.float64],
    columns: NDArray[np.float32],
    region: NDArray[np.int64],
    n_regions: NDArray[np.int64],
    left_out: NDArray[np.int64],
    donors: NDArray[np.int64],
    gaps: NDArray[np.float32],
) -> None:
    """Fill ``donors`` and ``gaps`` (rows, regions, donors) with the reference rows nearest outside each region.

    ``columns`` is the transposed reference in float32; ``left_out`` is a row's own place in the reference, or -1.
    """
    part = np.empty((REGIONS + 1, columns.shape[1]), np.float32)
    outside = np.empty(columns.shape[1], np.float32)
    for row in range(rows.shape[0]):
        if n_regions[row] == 0:
            continue
        _squares_by_region(rows[row], columns, region[row], part)
        for r in range(n_regions[row]):
            _sum_outside(part, r, left_out[row], outside)
            _nearest(outside, donors[row, r], gaps[row, r])


@kernel
def most_surprising_region(
    rows: NDArray[np.float64],
    table: NDArray[np.float64],
    donors: NDArray[np.int64],
    region: NDArray[np.int64],
    n_regions: NDArray[np.int64],
    evidence: NDArray[np.float64],
    mask: NDArray[np.bool_],
) -> None:
    """Fill ``evidence`` (rows) and ``mask`` (rows, d); ``donors`` are places in ``table``."""
    odds = floats(rows.shape[1])
    for row in range(rows.shape[0]):
        evidence[row] = 0.0
        mask[row] = False
        for r in range(n_regions[row]):
            surprise = _surprise(rows[row], table, region[row], r, donors[row, r], odds)
            if surprise > evidence[row]:
                evidence[row] = surprise
                _mark(region[row], r, odds, mask[row])


@called
def _rank_by_size(sizes: NDArray[np.int64], count: int, smallest: int, rank: NDArray[np.int64]) -> int:
    """Give numbers to the ``REGIONS`` largest labels in ``rank``, largest first; the first of equals goes first."""
    for label in range(count):
        rank[label] = -1
    for r in range(REGIONS):
        best, biggest = -1, smallest - 1
        for label in range(count):
            if rank[label] < 0 and sizes[label] > biggest:
                best, biggest = label, sizes[label]
        if best < 0:
            return r
        rank[best] = r
    return REGIONS


@called
def _runs(row: NDArray[np.float64], smallest: int, region: NDArray[np.int64]) -> int:
    """Mark the longest runs of equal neighbours; return how many."""
    d = len(row)
    sizes = integers(d)
    rank = integers(d)
    label = 0
    for j in range(d):
        sizes[j] = 0
    for j in range(d):
        if j > 0 and abs(row[j] - row[j - 1]) > SAME:
            label += 1
        region[j] = label
        sizes[label] += 1
    n_regions = _rank_by_size(sizes, label + 1, smallest, rank)
    return _renamed(rank, region, n_regions)


@called
def _grid_regions(row: NDArray[np.float64], height: int, width: int, smallest: int, region: NDArray[np.int64]) -> int:
    """Mark the largest 4-connected regions of pixels equal in all channels; return how many."""
    n_pixels = height * width
    channels = len(row) // n_pixels
    label, sizes = integers(n_pixels), integers(n_pixels)
    for pixel in range(n_pixels):
        label[pixel], sizes[pixel] = -1, 0
    stack = integers(n_pixels)
    count = 0
    for seed in range(n_pixels):
        if label[seed] >= 0:
            continue
        label[seed] = count
        stack[0] = seed
        depth = 1
        while depth > 0:
            depth -= 1
            pixel = stack[depth]
            sizes[count] += 1
            for move in range(4):
                y = pixel // width + (move == 0) - (move == 1)
                x = pixel % width + (move == 2) - (move == 3)
                if 0 <= y < height and 0 <= x < width:
                    to = y * width + x
                    if label[to] < 0 and _same_pixel(row, to, seed, channels):
                        label[to] = count
                        stack[depth] = to
                        depth += 1
        count += 1
    for pixel in range(n_pixels):
        for channel in range(channels):
            region[pixel * channels + channel] = label[pixel]
    rank = integers(n_pixels)
    n_regions = _rank_by_size(sizes, count, smallest, rank)
    return _renamed(rank, region, n_regions)


@inlined
def _same_pixel(row: NDArray[np.float64], first: int, second: int, channels: int) -> bool:
    for channel in range(channels):
        if abs(row[first * channels + channel] - row[second * channels + channel]) > SAME:
            return False
    return True


@called
def _renamed(rank: NDArray[np.int64], region: NDArray[np.int64], n_regions: int) -> int:
    for j in range(len(region)):
        region[j] = rank[region[j]]
    return n_regions


@called
def _squares_by_region(
    row: NDArray[np.float64], columns: NDArray[np.float32], region: NDArray[np.int64], part: NDArray[np.float32]
) -> None:
    """Write sums of squared differences to every reference row, region by region; what is in no region comes last."""
    for r in range(REGIONS + 1):
        for s in range(part.shape[1]):
            part[r, s] = 0.0
    for j in range(len(row)):
        value = np.float32(row[j])
        target = part[region[j] if region[j] >= 0 else REGIONS]
        column = columns[j]
        for s in range(len(column)):
            gap = value - column[s]
            target[s] += gap * gap


@called
def _sum_outside(part: NDArray[np.float32], r: int, own: int, outside: NDArray[np.float32]) -> None:
    for s in range(len(outside)):
        outside[s] = 0.0
    for other in range(REGIONS + 1):
        if other != r:
            for s in range(len(outside)):
                outside[s] += part[other, s]
    if own >= 0:
        outside[own] = np.inf


@called
def _nearest(distances: NDArray[np.float32], donors: NDArray[np.int64], gaps: NDArray[np.float32]) -> None:
    """Write the nearest rows, the first of equals first, and their distances in ascending order."""
    n_donors = len(donors)
    for place in range(n_donors):
        gaps[place] = np.inf
        donors[place] = 0
    for s in range(len(distances)):
        gap = distances[s]
        if gap < gaps[n_donors - 1]:
            place = n_donors - 1
            while place > 0 and gap < gaps[place - 1]:
                gaps[place] = gaps[place - 1]
                donors[place] = donors[place - 1]
                place -= 1
            gaps[place] = gap
            donors[place] = s


@called
def _surprise(
    row: NDArray[np.float64],
    table: NDArray[np.float64],
    region: NDArray[np.int64],
    r: int,
    donors: NDArray[np.int64],
    odds: NDArray[np.float64],
) -> float:
    """Return minus the log odds of the region's values among the nearest rows outside it; 0 if nothing is outside."""
    d = len(row)
    inside = 0
    for j in range(d):
        inside += region[j] == r
        odds[j] = 0.5
    if inside == d:
        return 0.0
    for donor in donors:
        for j in range(d):
            if region[j] == r and abs(table[donor, j] - row[j]) <= SAME:
                odds[j] += 1
    surprise = 0.0
    for j in range(d):
        odds[j] /= len(donors) + 1
        if region[j] == r:
            surprise -= math.log(odds[j])
    return surprise


@called
def _mark(region: NDArray[np.int64], r: int, odds: NDArray[np.float64], mask: NDArray[np.bool_]) -> None:
    """Mark the region's values that most donors do not share; the whole region if each is shared by most."""
    found = False
    for j in range(len(mask)):
        mask[j] = region[j] == r and odds[j] < 0.5
        found |= mask[j]
    if not found:
        for j in range(len(mask)):
            mask[j] = region[j] == r
