"""Ascending lists of the nearest rows found so far.

Enters: a candidate's distance and row index. Leaves: the list with the candidate at its place and the last one dropped
(section 4 of the method). Candidates come in ascending order of row index, and an equal one goes behind, so that
ties are broken by row index.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treemend.kernels.flags import inlined


@inlined
def insert(values: NDArray[np.floating], indices: NDArray[np.int64], value: float, index: int) -> None:
    """Insert a candidate that is known to be smaller than the last of the list."""
    place = values.shape[0] - 1
    while place > 0 and values[place - 1] > value:
        values[place] = values[place - 1]
        indices[place] = indices[place - 1]
        place -= 1
    values[place] = value
    indices[place] = index
