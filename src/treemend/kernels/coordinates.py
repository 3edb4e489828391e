"""A row's coordinates: its warped attributes, or a few numbers for each cell of a wide row.

Enters: rows. Leaves: coordinates, and for each the log of how much the warp compresses there, which turns a density of
coordinates into one of attributes (section 10 of the method). Each row is described by itself, in a fixed order of
operations, and far-out values are held at a distance where nothing overflows.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from treemend.kernels.flags import kernel
from treemend.kernels.workspace import zero_floats

FARTHEST = 1e9


@kernel
def warp_rows(
    rows: NDArray[np.float64],
    centre: NDArray[np.float64],
    scale: NDArray[np.float64],
    described: NDArray[np.float64],
    stretch: NDArray[np.float64],
) -> None:
    """Fill both outputs (rows, d) with ``scale * asinh(away / scale)`` and the log of ``d away / d coordinate``."""
    for row in range(len(rows)):
        for j in range(rows.shape[1]):
            away = min(max((rows[row, j] - centre[j]) / scale[j], -FARTHEST), FARTHEST)
            described[row, j] = scale[j] * math.asinh(away)
            stretch[row, j] = 0.5 * math.log1p(away * away)


@kernel
def summarise_cells(
    rows: NDArray[np.float64],
    centre: NDArray[np.float64],
    cell: NDArray[np.int64],
    axes: NDArray[np.float64],
    described: NDArray[np.float64],
) -> None:
    """Fill ``described`` (rows, cells x (axes + 1)): each cell's leading coordinates, and the size of what they leave over."""
    n_axes = axes.shape[1]
    per = n_axes + 1
    n_cells = described.shape[1] // per
    counts = zero_floats(n_cells)
    for j in range(len(cell)):
        counts[cell[j]] += 1
    for row in range(len(rows)):
        out = described[row]
        out[:] = 0.0
        for j in range(len(cell)):
            away = min(max(rows[row, j] - centre[j], -FARTHEST), FARTHEST)
            first = cell[j] * per
            for r in range(n_axes):
                out[first + r] += away * axes[j, r]
            out[first + n_axes] += away * away
        for c in range(n_cells):
            first = c * per
            left_over = out[first + n_axes]
            for r in range(n_axes):
                left_over -= out[first + r] * out[first + r]
            out[first + n_axes] = math.sqrt(max(left_over, 0.0) / counts[c])
