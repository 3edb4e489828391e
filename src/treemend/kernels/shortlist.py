"""Ascending lists of the nearest rows found so far.

Enters: a candidate's distance and row index. Leaves: the list with the candidate at its place and the last
one dropped (section 4 of the method). Candidates come in ascending order of row index, and an equal one
goes behind, so that ties are broken by row index.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treemend.kernels.flags import inlined
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
