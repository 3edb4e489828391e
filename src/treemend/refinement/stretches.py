"""From the best window to the stretch itself (method, section 10).

Enters: rows found corrupted, what weighed most, and which explanation won. Leaves: masks, the windows' borders moved to
where the evidence of that explanation is largest; frozen stretches as they were found.
"""

import math

import numpy as np
from numpy.typing import NDArray

from treemend.refinement.context import FROZEN, Context, Weighed
from treemend.refinement.coordinates import describe
from treemend.refinement.mixture import TAIL, density_constants
from treemend.refinement.scan import SHIFT
from treemend.refinement.windows import BLOCKS, WIDEST

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Bools = NDArray[np.bool_]


def find_stretches(
    context: Context,
    rows: Floats,
    weighed: Weighed,
    which: Bools | Integers,
    explanation: Integers,
    *,
    n_jobs: int | None = None,
) -> Bools:
    """Draw the stretches of some rows.

    Parameters
    ----------
    context, rows, weighed
        As given to `weigh`, and what it returned.
    which : ndarray of bool (n,) or of int
        The rows to draw.
    explanation : ndarray of int (n,)
        The explanation of each row, an index into `EXPLANATIONS`. Rows with another number are left without a stretch.
    n_jobs : int, optional
        Threads, as in joblib.

    Returns
    -------
    ndarray of bool of shape (n, d)
        All False for rows that were not asked for.
    """
    mask = np.zeros(rows.shape, dtype=bool)
    chosen = np.arange(len(rows))[which]
    of_chosen = explanation[chosen]
    frozen = chosen[of_chosen == FROZEN]
    mask[frozen] = weighed.frozen_mask[frozen]
    windowed = chosen[(of_chosen >= 0) & (of_chosen < FROZEN)]
    windowed = windowed[weighed.window[windowed, explanation[windowed]] >= 0]
    if len(windowed):
        mask[windowed] = _refined(context, rows[windowed], weighed, windowed, explanation[windowed], n_jobs)
    return mask


def _refined(
    context: Context, rows: Floats, weighed: Weighed, places: Integers, explanation: Integers, n_jobs: int | None
) -> Bools:
    from treemend.kernels.borders import BorderModel, refine_boxes, refine_intervals
    from treemend.kernels.threads import for_chunks

    cells, mixture = context.cells, context.mixture
    described, stretch = describe(context.coordinates, cells, rows)
    constant = density_constants(described.shape[1])
    model = BorderModel(
        mixture.centre, mixture.covariance, mixture.precision, mixture.log_det, constant, float(TAIL), float(SHIFT)
    )
    component = weighed.component[places, explanation]
    extents = _extents(context, weighed.window[places, explanation])
    windows = _covered(context, extents)
    reach = math.ceil(cells.n_cells / BLOCKS) + 1

    def task(part: slice) -> None:
        known = (
            described[part],
            stretch[part],
            model,
            explanation[part],
            component[part],
            extents[part],
            cells.per_cell,
        )
        if cells.grid:
            refine_boxes(*known, *cells.grid)
        else:
            refine_intervals(*known, reach)

    for_chunks(task, len(rows), described.shape[1] ** 3, n_jobs)
    covered = _covered(context, extents)
    # What covers most of a row would better be called the clean part: then the window stands as it was weighed.
    most = covered.mean(axis=1) > WIDEST
    return np.where(most[:, None], windows, covered)[:, cells.of_attribute]


def _extents(context: Context, windows: Integers) -> Integers:
    """Return start and stop of each window, or top, bottom, left and right on a grid."""
    extents: list[tuple[int, ...]] = []
    for window in windows:
        cells = context.windows.cells(int(window))
        if context.cells.grid:
            row, column = np.divmod(cells, context.cells.grid[1])
            extents.append((row.min(), row.max() + 1, column.min(), column.max() + 1))
        else:
            extents.append((cells.min(), cells.max() + 1))
    return np.array(extents, dtype=np.int64)


def _covered(context: Context, extents: Integers) -> Bools:
    """Return the cells of intervals or boxes, rows x cells."""
    if context.cells.grid is None:
        cell = np.arange(context.cells.n_cells)
        return np.asarray((cell >= extents[:, :1]) & (cell < extents[:, 1:]))
    row, column = np.divmod(np.arange(context.cells.n_cells), context.cells.grid[1])
    top, bottom, left, right = extents.T[:, :, None]
    return np.asarray((row >= top) & (row < bottom) & (column >= left) & (column < right))
