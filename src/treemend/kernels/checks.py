"""What the doors ask of their arguments.

Enters: arguments as the caller gave them. Leaves: contiguous arrays of the kernels' types, or an error that says
what to do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treemend.kernels.packing import PackedReference


def work_of_a_row(packed: PackedReference) -> int:
    """Return roughly how many operations one row takes."""
    return packed.n_rows * (packed.n_attributes + len(packed.sorting_network.low))


def checked_rows(rows: ArrayLike, n_attributes: int) -> NDArray[np.float64]:
    """Return rows of ``n_attributes`` numbers."""
    array = np.ascontiguousarray(rows, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != n_attributes:
        raise ValueError(f"rows must have shape (n, {n_attributes}), got {array.shape}.")
    return array


def checked_indices(rows: ArrayLike, n_rows: int) -> NDArray[np.int64]:
    """Return indices into ``n_rows`` rows."""
    array = np.asarray(rows)
    if array.ndim != 1 or not (np.issubdtype(array.dtype, np.integer) or array.size == 0):
        raise ValueError(f"rows must be a list of row indices, got {array.dtype} of shape {array.shape}.")
    if array.size and not (array.min() >= 0 and array.max() < n_rows):
        raise ValueError(f"rows must be indices from 0 to {n_rows - 1}, got some from {array.min()} to {array.max()}.")
    return np.ascontiguousarray(array, dtype=np.int64)


def checked_exclusions(exclude: NDArray[np.int64] | None, n_rows: int) -> NDArray[np.int64]:
    """Return a row to leave out for each row, -1 where there is none."""
    if exclude is None:
        return np.full(n_rows, -1, dtype=np.int64)
    return np.ascontiguousarray(exclude, dtype=np.int64)


def check_neighbors(n_neighbors: int, available: int) -> None:
    """Refuse a number of neighbours that there are not."""
    if not 1 <= n_neighbors <= available:
        raise ValueError(
            f"n_neighbors must be between 1 and the {available} reference rows there are to choose from,"
            f" got {n_neighbors}; give more reference rows or a smaller n_neighbors."
        )
