"""The search for corrupted nodes, row by row.

Enters: which nodes of each row are anomalous, and the tree. Leaves: which nodes are declared corrupted
(section 5 of the method), or, for every level at which a node may count as anomalous, how many rows have
anything declared (section 7: the false-alarm rate of this data for any tau).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treemend.kernels.flags import inlined, kernel
from treemend.kernels.workspace import flags


@inlined
def lowest_count(counts: NDArray[np.int64], row: int) -> int:
    """Return the least number of a row."""
    least: int = counts[row, 0]
    for node in range(1, counts.shape[1]):
        least = min(least, counts[row, node])
    return least


@inlined
def declare(
    anomalous: NDArray[np.bool_],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    stop_at_root: bool,
    searched: NDArray[np.bool_],
    declared: NDArray[np.bool_],
) -> bool:
    """Mark the declared nodes of one row; return whether there are any."""
    for node in range(left.shape[0]):
        searched[node] = declared[node] = False
    searched[0] = left[0] >= 0
    found = False
    for node in range(left.shape[0]):
        if not searched[node]:
            continue
        one, other = left[node], right[node]
        if anomalous[node] and anomalous[one] and anomalous[other]:
            if node > 0:
                declared[node] = True
                found = True
                continue
            if stop_at_root:
                break
        elif anomalous[node] and not anomalous[one] and not anomalous[other]:
            continue
        for child in (one, other):
            if left[child] >= 0:
                searched[child] = True
            elif anomalous[child]:
                declared[child] = True
                found = True
    return found


@kernel
def declare_rows(
    anomalous: NDArray[np.bool_],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    stop_at_root: bool,
    declared: NDArray[np.bool_],
) -> None:
    """Fill ``declared`` (rows, nodes)."""
    searched = flags(left.shape[0])
    for row in range(anomalous.shape[0]):
        declare(anomalous[row], left, right, stop_at_root, searched, declared[row])


@kernel
def count_alarms(
    counts: NDArray[np.int64],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    stop_at_root: bool,
    changes: NDArray[np.int64],
) -> None:
    """Add to ``changes[k]`` by how much the number of rows with an alarm grows from level ``k - 1`` to ``k``."""
    n_levels = changes.shape[0]
    n_nodes = left.shape[0]
    searched = flags(n_nodes)
    declared = flags(n_nodes)
    anomalous = flags(n_nodes)
    for row in range(counts.shape[0]):
        alarm = False
        level = lowest_count(counts, row)
        while level < n_levels:
            following = n_levels
            for node in range(n_nodes):
                count = counts[row, node]
                anomalous[node] = count <= level
                if level < count < following:
                    following = count
            found = declare(anomalous, left, right, stop_at_root, searched, declared)
            if found != alarm:
                changes[max(level, 0)] += 1 if found else -1
                alarm = found
            level = following
