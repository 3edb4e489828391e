"""Memory that kernels work in.

Enters: how many numbers are wanted. Leaves: an array of them, not filled unless the name says so.

Numba compiles an allocation anew for each kind of shape and type, and again under another caller's options. All
kernels that the first fit waits for therefore ask here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treemend.kernels.flags import called


@called
def floats(count: int) -> NDArray[np.float64]:
    """Return room for float64."""
    return np.empty(count)


@called
def zero_floats(count: int) -> NDArray[np.float64]:
    """Return float64 zeros."""
    numbers = floats(count)
    for place in range(count):
        numbers[place] = 0.0
    return numbers


@called
def float_table(n_lines: int, n_columns: int) -> NDArray[np.float64]:
    """Return room for a table of float64."""
    return np.empty((n_lines, n_columns))


@called
def single_table(n_lines: int, n_columns: int) -> NDArray[np.float32]:
    """Return room for a table of float32."""
    return np.empty((n_lines, n_columns), np.float32)


@called
def integers(count: int) -> NDArray[np.int64]:
    """Return room for int64."""
    return np.empty(count, np.int64)


@called
def flags(count: int) -> NDArray[np.bool_]:
    """Return room for booleans."""
    return np.empty(count, np.bool_)
