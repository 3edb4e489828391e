"""The nearest rows found so far: short lists kept ascending, long ones selected and sorted in the end.

Enters: candidates, each a distance and a row index. Leaves: those that are nearest, the lower row index first where
distances are equal (section 4 of the method). Candidates for ``insert`` come in ascending order of row index, and an
equal one goes behind (where pairs are computed once the order is another, and which of equal ones stays does not
matter); the others come in any order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treemend.kernels.flags import called, inlined
from treemend.kernels.lanes import assign, entry


@inlined
def insert(
    values: NDArray[np.floating],
    indices: NDArray[np.signedinteger],
    begin: int,
    end: int,
    value: float,
    index: int,
) -> None:
    """Insert a candidate into the list at ``begin`` up to ``end`` of flat arrays; it must be smaller than the last."""
    place = end - 1
    while place > begin:
        before = entry(values, place - 1)
        if before <= value:
            break
        assign(values, place, before)
        assign(indices, place, entry(indices, place - 1))
        place -= 1
    assign(values, place, value)
    assign(indices, place, index)


@inlined
def precedes(value: float, index: int, other_value: float, other_index: int) -> bool:
    """Return whether a pair comes before another: by value, then by index."""
    return value < other_value or (value == other_value and index < other_index)


@called
def select_pairs(values: NDArray[np.float64], indices: NDArray[np.int64], count: int, length: int) -> None:
    """Rearrange the first ``count`` pairs so that the first ``length`` are the smallest, the largest of them last."""
    low, high, wanted = 0, count - 1, length - 1
    while low < high:
        middle = (low + high) // 2
        value, index = values[middle], indices[middle]
        i, j = low, high
        while i <= j:
            while precedes(values[i], indices[i], value, index):
                i += 1
            while precedes(value, index, values[j], indices[j]):
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                indices[i], indices[j] = indices[j], indices[i]
                i += 1
                j -= 1
        low, high = (low, j) if wanted <= j else ((i, high) if wanted >= i else (wanted, wanted))


@called
def sort_pairs(values: NDArray[np.float64], indices: NDArray[np.int64], count: int) -> None:
    """Sort the first ``count`` pairs in place."""
    gap = 1
    while gap < count // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, count):
            value, index = values[i], indices[i]
            place = i
            while place >= gap and precedes(value, index, values[place - gap], indices[place - gap]):
                values[place], indices[place] = values[place - gap], indices[place - gap]
                place -= gap
            values[place], indices[place] = value, index
        gap //= 3
