"""Values that stand still: dropped to a constant, or stuck (method, section 10).

Enters: rows and the reference. Leaves: the evidence that a region of equal values does not belong where it is, judged
by the rows nearest outside it, and the values that surprise. On a grid a region is a connected set of pixels equal in
all channels.
"""

import numpy as np
from numpy.typing import NDArray

from treemend.reference import Reference
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
    rows: Floats, reference: Reference, grid: Grid | None, left_out: Integers, n_jobs: int | None
) -> tuple[Floats, Bools]:
    """Return the evidence (n,) and the mask (n, d) of each row's most surprising region of equal values."""
    from treemend.kernels.frozen import equal_regions, most_surprising_region
    from treemend.kernels.threads import for_chunks

    rows = np.ascontiguousarray(rows)
    evidence, mask = np.zeros(len(rows)), np.zeros(rows.shape, dtype=bool)
    n_donors = min(DONORS, reference.n_rows - 1)
    if n_donors < 1:
        return evidence, mask
    height, width = grid[:2] if grid else (0, 0)
    smallest = _smallest_region(rows.shape[1], grid)
    # On unit scales a value that stands still moves with the range of its attribute.
    standing_still = reference.unit.on_one_scale(rows)
    region, n_regions = np.empty(rows.shape, dtype=np.int64), np.empty(len(rows), dtype=np.int64)
    for_chunks(
        lambda part: equal_regions(standing_still[part], height, width, smallest, region[part], n_regions[part]),
        len(rows),
        rows.shape[1],
        n_jobs,
    )
    some = np.flatnonzero(n_regions)
    if len(some) == 0:
        return evidence, mask
    standing, regions, counts = rows[some], region[some], n_regions[some]
    donors = reference.nearest_outside(standing, regions, counts, n_donors, left_out[some])
    table, places = reference.laid(donors)
    odd, marked = np.zeros(len(some)), np.zeros(standing.shape, dtype=bool)
    for_chunks(
        lambda part: most_surprising_region(
            standing[part], table, places[part], regions[part], counts[part], odd[part], marked[part]
        ),
        len(some),
        standing.shape[1] * n_donors,
        n_jobs,
    )
    evidence[some], mask[some] = odd, marked
    return evidence, mask


def _smallest_region(d: int, grid: Grid | None) -> int:
    if grid:
        return FEWEST_PIXELS
    return FEWEST_VALUES if d > SHORT_ROW else FEWEST_VALUES_OF_A_SHORT_ROW
