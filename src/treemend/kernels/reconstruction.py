"""Fill gaps by rebuilding a row from reference rows (method, section 10, local reconstruction weights).

Enters: rows with gaps, the nearest reference rows of each by its usable attributes, how much each attribute says about
each other. Leaves: for every gap one estimate a pair of ridge and share, the donors' variance around the first, the
donors, and the attributes that were called clean but do not fit.

One row at a time, sums in a fixed order: a row's result has the same bits in any batch.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from treemend.kernels.exact import shell_sort
from treemend.kernels.flags import called, inlined, kernel
from treemend.kernels.lanes import add_multiple, load, plain, store
from treemend.kernels.packing import LANES
from treemend.kernels.shortlist import insert
from treemend.kernels.workspace import flags, float_table, floats, integers, zero_floats

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@called
def distrusted_attributes(
    reference: Floats, donors: Integers, row: Floats, usable: Flags, scale: Floats, limit: float, most: float
) -> Flags:
    """Mark usable attributes far outside the donors' values, at most a share ``most`` of them.

    A row that fits badly everywhere is unusual rather than corrupted everywhere, so deviations are taken relative to
    the row's own typical one.
    """
    n_attributes = row.size
    distrusted = flags(n_attributes)
    n_usable = plain(0)
    for k in range(n_attributes):
        distrusted[k] = False
        n_usable += usable[k]
    if donors.size < 5 or n_usable < 5:
        return distrusted
    deviation = zero_floats(n_attributes)
    ranked = floats(n_usable)
    place = 0
    for k in range(n_attributes):
        if not usable[k]:
            continue
        mean = 0.0
        for i in donors:
            mean += reference[i, k]
        mean /= donors.size
        variance = 0.0
        for i in donors:
            variance += (reference[i, k] - mean) ** 2
        spread = math.sqrt(variance / donors.size) + 0.02 * scale[k]
        if spread > 0.0:
            deviation[k] = abs(row[k] - mean) / spread
        ranked[place] = deviation[k]
        place += 1
    shell_sort(ranked, n_usable)
    typical = max(1.0, 0.5 * (ranked[(n_usable - 1) // 2] + ranked[n_usable // 2]) / 0.6745)
    at_least = ranked[n_usable - 1 - math.floor(most * n_usable)]
    for k in range(n_attributes):
        distrusted[k] = usable[k] and deviation[k] > limit * typical and deviation[k] > at_least
    return distrusted


@called
def attribute_weights(
    relevance: NDArray[np.float32], scale: Floats, usable: Flags, gap: Integers, floor: float
) -> Floats:
    """Return how much each usable attribute says about the gap: mean 1 over the usable ones, 0 elsewhere."""
    n_attributes = usable.size
    weights = zero_floats(n_attributes)
    for j in gap:
        variance = scale[j] * scale[j]
        for k in range(n_attributes):
            weights[k] += variance * relevance[j, k]
    total = 0.0
    n_usable = 0
    for k in range(n_attributes):
        if usable[k]:
            total += weights[k]
            n_usable += 1
    mean = total / max(n_usable, 1)
    for k in range(n_attributes):
        if not usable[k]:
            weights[k] = 0.0
        elif mean > 0.0:
            weights[k] = (weights[k] / mean + floor) / (1.0 + floor)
        else:
            weights[k] = 1.0
    return weights


@inlined
def whole_lanes(count: int) -> int:
    """Return how many numbers fill whole vectors, at least ``count``."""
    return -(-count // LANES) * LANES


@inlined
def add_to_line(table: Floats, line: int, first: int, last: int, number: float, numbers: Floats) -> None:
    """Add a multiple of ``numbers`` to a line of a table, in the vectors that hold columns ``first`` to ``last``."""
    for place in range(first // LANES * LANES, last + 1, LANES):
        at = line * table.shape[1] + place
        store(table, at, add_multiple(load(table, at), number, load(numbers, place)))


@called
def ridge_weights(gram: Floats, ridge: float) -> Floats:
    """Return weights w summing to 1 that minimise ``w' gram w + ridge * mean(diagonal) * w' w``.

    Of ``gram`` the lower triangle is read. A column of the factor is taken off all lines at once, so that no number waits
    for the one before; ``column`` is 0 up to the diagonal, where lines are finished.
    """
    size = gram.shape[0]
    factor = float_table(size, gram.shape[1])
    column = zero_floats(gram.shape[1])
    added = 1e-12
    for i in range(size):
        added += ridge * gram[i, i] / size
        for j in range(gram.shape[1]):
            factor[i, j] = gram[i, j]
    for i in range(size):
        factor[i, i] += added
    for k in range(size):
        column[k] = 0.0
        factor[k, k] = math.sqrt(max(factor[k, k], 1e-300))
        for i in range(k + 1, size):
            factor[i, k] /= factor[k, k]
            column[i] = factor[i, k]
        for i in range(k + 1, size):
            add_to_line(factor, i, k + 1, i, -factor[i, k], column)
    weights = floats(size)
    for i in range(size):
        weights[i] = 1.0
        for k in range(i):
            weights[i] -= factor[i, k] * weights[k]
        weights[i] /= factor[i, i]
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            weights[i] -= factor[k, i] * weights[k]
        weights[i] /= factor[i, i]
    total = 0.0
    for i in range(size):
        total += weights[i]
    for i in range(size):
        weights[i] /= total
    return weights


@called
def weighted_gram(reference: Floats, donors: Integers, row: Floats, usable: Flags, weights: Floats) -> Floats:
    """Return the products of the donors' weighted differences from the row, in the lower triangle of padded lines."""
    size = donors.size
    gram = float_table(size, whole_lanes(size))
    difference = zero_floats(gram.shape[1])
    for a in range(size):
        for b in range(gram.shape[1]):
            gram[a, b] = 0.0
    for k in range(row.size):
        if not usable[k]:
            continue
        root = math.sqrt(weights[k])
        for a in range(size):
            difference[a] = root * (reference[donors[a], k] - row[k])
        for a in range(size):
            add_to_line(gram, a, plain(0), a, difference[a], difference)
    return gram


@called
def marked_places(marked: Flags) -> Integers:
    """Return the places of the marked attributes."""
    places = integers(marked.size)
    count = 0
    for k in range(marked.size):
        if marked[k]:
            places[count] = k
            count += 1
    return places[:count]


@called
def nearest_by_weight(
    reference: Floats, candidates: Integers, row: Floats, usable: Flags, weights: Floats, count: int
) -> Integers:
    """Return the ``count`` candidates nearest by weighted distance, the earlier candidate first where equal."""
    count = min(count, candidates.size)
    distances, nearest = floats(count), integers(count)
    for place in range(count):
        distances[place], nearest[place] = np.inf, candidates[place]
    used = marked_places(usable)
    last = candidates.size - 1
    # Four at a time: the additions of one would wait for each other.
    for first in range(0, candidates.size, 4):
        four = (
            candidates[first],
            candidates[min(first + 1, last)],
            candidates[min(first + 2, last)],
            candidates[min(first + 3, last)],
        )
        sum_0, sum_1, sum_2, sum_3 = 0.0, 0.0, 0.0, 0.0
        for k in used:
            weight, value = weights[k], row[k]
            gap_0, gap_1 = reference[four[0], k] - value, reference[four[1], k] - value
            gap_2, gap_3 = reference[four[2], k] - value, reference[four[3], k] - value
            sum_0 += weight * gap_0 * gap_0
            sum_1 += weight * gap_1 * gap_1
            sum_2 += weight * gap_2 * gap_2
            sum_3 += weight * gap_3 * gap_3
        sums = (sum_0, sum_1, sum_2, sum_3)
        for j in range(min(4, candidates.size - first)):
            if sums[j] < distances[-1]:
                insert(distances, nearest, plain(0), count, sums[j], four[j])
    return nearest


@called
def combined_weights(gram: Floats, ridge: float, share: float, n_nearest: int) -> Floats:
    """Return the ridge weights, of which ``share`` is given to the nearest donors in equal parts."""
    size = gram.shape[0]
    nearest = min(n_nearest, size)
    combination = zero_floats(size)
    if share < 1.0:
        weights = ridge_weights(gram, ridge)
        for a in range(size):
            combination[a] += (1.0 - share) * weights[a]
    for a in range(nearest):
        combination[a] += share / nearest
    return combination


@called
def not_negative(numbers: Integers) -> Integers:
    """Return the numbers that are not negative, in their order."""
    chosen = integers(numbers.size)
    count = 0
    for k in range(numbers.size):
        if numbers[k] >= 0:
            chosen[count] = numbers[k]
            count += 1
    return chosen[:count]


# Loops instead of array expressions: each of those is compiled by itself, and the first fit waits for it.
@kernel
def reconstruct_rows(
    reference: Floats,
    scale: Floats,
    relevance: NDArray[np.float32],
    rows: Floats,
    gaps: Flags,
    usable: Flags,
    candidates: Integers,
    ridges: Floats,
    shares: Floats,
    n_donors: int,
    n_nearest: int,
    limit: float,
    most: float,
    floor: float,
    filled: Floats,
    variance: Floats,
    donors: Integers,
    distrusted: Flags,
) -> None:
    """Fill ``filled`` (rows, pairs, attributes), ``variance``, ``donors`` and ``distrusted``, all zero or -1 before."""
    for r in range(rows.shape[0]):
        gap = marked_places(gaps[r])
        found = not_negative(candidates[r])
        if gap.size == 0 or found.size == 0:
            continue
        out_of_line = distrusted_attributes(reference, found[:n_donors], rows[r], usable[r], scale, limit, most)
        trusted = flags(usable.shape[1])
        for k in range(trusted.size):
            distrusted[r, k] = out_of_line[k]
            trusted[k] = usable[r, k] and not out_of_line[k]
        weights = attribute_weights(relevance, scale, trusted, gap, floor)
        chosen = nearest_by_weight(reference, found, rows[r], trusted, weights, n_donors)
        gram = weighted_gram(reference, chosen, rows[r], trusted, weights)
        for p in range(ridges.size):
            combination = combined_weights(gram, ridges[p], shares[p], n_nearest)
            for a in range(chosen.size):
                for j in gap:
                    filled[r, p, j] += combination[a] * reference[chosen[a], j]
        few = min(donors.shape[1], chosen.size)
        for a in range(few):
            donors[r, a] = chosen[a]
            for j in gap:
                variance[r, j] += (reference[chosen[a], j] - filled[r, 0, j]) ** 2 / few
