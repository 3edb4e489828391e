"""The level at which the search's verdict on a row turns.

Enters: for each row and node how many reference rows are at least as unusual, the tree, the level in force. Leaves: the
nearest level at which the verdict would be another (method, section 5, for every tau at once).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treemend.kernels.flags import kernel
from treemend.kernels.search import declare, lowest_count
from treemend.kernels.workspace import flags


@kernel
def find_turning_levels(
    counts: NDArray[np.int64],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    stop_at_root: bool,
    level: int,
    n_levels: int,
    turning: NDArray[np.int64],
) -> None:
    """Fill ``turning``: the lowest level down to which a verdict stays, or the next one above at which there is one."""
    n_nodes = left.shape[0]
    searched = flags(n_nodes)
    declared = flags(n_nodes)
    anomalous = flags(n_nodes)
    for row in range(counts.shape[0]):
        since = -1
        turning[row] = n_levels
        step = lowest_count(counts, row)
        while step < n_levels:
            following = n_levels
            for node in range(n_nodes):
                count = counts[row, node]
                anomalous[node] = count <= step
                if step < count < following:
                    following = count
            found = declare(anomalous, left, right, stop_at_root, searched, declared)
            if not found:
                since = -1
            elif since < 0:
                since = max(step, 0)
            # This verdict holds from this step up to the next; is it the one in force, or the first above?
            if found and following > level:
                turning[row] = since
                break
            step = following
