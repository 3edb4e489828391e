"""Values that stand still: dropped to a constant, or stuck (method, section 10).

Enters: rows and the reference. Leaves: the evidence that a region of equal values does not belong where it is, judged
by the rows nearest outside it, and the values that surprise. On a grid a region is a connected set of pixels equal in
all channels.
"""

import numpy as np
from numpy.typing import NDArray

from treemend.refinement.coordinates import Grid

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Bools = NDArray[np.bool_]

DONORS = 16
FEWEST_PIXELS = 9
FEWEST_VALUES = 3
FEWEST_VALUES_OF_A_SHORT_ROW = 2
SHORT_ROW = 8


def find_frozen(
    rows: Floats, reference: Floats, grid: Grid | None, left_out: Integers, n_jobs: int | None
) -> tuple[Floats, Bools]:
    """Return the evidence (n,) and the mask (n, d) of each row's most surprising region of equal values."""
    from treemend.kernels.frozen import frozen_rows
    from treemend.kernels.threads import for_chunks

    rows, reference = np.ascontiguousarray(rows), np.ascontiguousarray(reference)
    evidence, mask = np.zeros(len(rows)), np.zeros(rows.shape, dtype=bool)
    n_donors = min(DONORS, len(reference) - 1)
    if n_donors < 1:
        return evidence, mask
    height, width = grid[:2] if grid else (0, 0)
    columns = np.ascontiguousarray(reference.T, np.float32)
    smallest = _smallest_region(rows.shape[1], grid)

    def task(part: slice) -> None:
        own = left_out[part]
        frozen_rows(rows[part], reference, columns, own, height, width, smallest, n_donors, evidence[part], mask[part])

    for_chunks(task, len(rows), reference.size, n_jobs)
    return evidence, mask


def _smallest_region(d: int, grid: Grid | None) -> int:
    if grid:
        return FEWEST_PIXELS
    return FEWEST_VALUES if d > SHORT_ROW else FEWEST_VALUES_OF_A_SHORT_ROW
