"""Separation (docs/method.md, section 2.5): from the labels of nodes to the nodes at which corruption is declared.

Also what the search says at every threshold at once: the share of reference rows in which it declares something, as a
function of ``tau``, and the threshold at which a row's result changes (docs/method.md, section 2.7).
"""

import numpy as np
from numba import njit

from treemend.tcs.tree import F64, I64, AttributeTree, Bools

__all__ = ["ROOT_RULES", "alarm_rates", "attribute_mask", "declared_nodes", "largest_level", "turning_levels"]

ROOT_RULES = ("continue", "stop")


def declared_nodes(anomalous: Bools, tree: AttributeTree, root_rule: str) -> Bools:
    """Search each row from the root down, and return the nodes at which corruption is declared, rows x nodes.

    The ``root_rule`` says what happens where the root and both its children are anomalous. The root is never declared.
    """
    return np.asarray(_declare_rows(anomalous, tree.left, tree.right, root_rule == "stop"))


def attribute_mask(declared: Bools, tree: AttributeTree) -> Bools:
    """Return which columns the declared nodes of each row hold, rows x columns."""
    mask = np.zeros((len(declared), tree.stop[0]), dtype=np.bool_)
    for node in np.flatnonzero(declared.any(axis=0)):
        mask[declared[:, node], tree.start[node] : tree.stop[node]] = True
    return mask


def alarm_rates(counts: I64, tree: AttributeTree, root_rule: str) -> F64:
    """Return the share of rows in which something is declared, at every level from 0 to the number of rows.

    ``counts``, rows x nodes, are the reference rows' own. A node is anomalous at a level if its count is at most that.
    """
    changes, _ = _follow_levels(counts, tree.left, tree.right, root_rule == "stop", 0, len(counts) + 1)
    return np.asarray(np.cumsum(changes) / len(counts))


def largest_level(rates: F64, rate: float) -> int:
    """Return the largest level up to which no entry of ``rates`` exceeds ``rate``; -1 if the first one does.

    The rates are not monotone: near ``tau = 1``, where everything is anomalous, a search that stops at the root
    declares nothing.

    Examples
    --------
    >>> [largest_level(np.array([0.1, 0.3, 0.2]), rate) for rate in (0.0, 0.2, 0.5)]
    [-1, 0, 2]
    """
    exceeding = np.flatnonzero(rates > rate)
    return int(exceeding[0]) - 1 if len(exceeding) else len(rates) - 1


def turning_levels(counts: I64, tree: AttributeTree, level: int, n_levels: int, root_rule: str) -> I64:
    """Find for each row the level nearest to ``level``, the one in force, at which its result changes.

    For a row with something declared at ``level``: the lowest level down to which that remains so. For the others: the
    next level at which something is declared, or ``n_levels``, one above the highest, if there is none.
    """
    _, turning = _follow_levels(counts, tree.left, tree.right, root_rule == "stop", level, n_levels)
    return np.asarray(turning)


@njit(cache=True, nogil=True)
def _declare(anomalous: Bools, left: I64, right: I64, stop_at_root: bool, searched: Bools, declared: Bools) -> bool:
    """Mark the declared nodes of one row, and tell whether there are any; ``searched`` is scratch."""
    searched[:] = False
    declared[:] = False
    searched[0] = left[0] >= 0
    found = False
    for node in range(len(left)):
        if not searched[node]:
            continue
        one, other = left[node], right[node]
        if anomalous[node] and anomalous[one] and anomalous[other]:
            if node > 0:
                declared[node] = found = True
                continue
            if stop_at_root:
                break
        elif anomalous[node] and not anomalous[one] and not anomalous[other]:
            continue
        for child in (one, other):
            if left[child] >= 0:
                searched[child] = True
            elif anomalous[child]:
                declared[child] = found = True
    return found


@njit(cache=True, nogil=True)
def _declare_rows(anomalous: Bools, left: I64, right: I64, stop_at_root: bool) -> Bools:
    searched, declared = np.empty(len(left), dtype=np.bool_), np.empty_like(anomalous)
    for row in range(len(anomalous)):
        _declare(anomalous[row], left, right, stop_at_root, searched, declared[row])
    return declared


@njit(cache=True, nogil=True)
def _follow_levels(
    counts: I64, left: I64, right: I64, stop_at_root: bool, in_force: int, n_levels: int
) -> tuple[I64, I64]:
    """Search each row at every level at which one of its labels changes.

    Returns by how many the rows with an alarm grow from each level to the next, and each row's turning level.
    """
    changes, turning = np.zeros(n_levels, dtype=np.int64), np.empty(len(counts), dtype=np.int64)
    anomalous, searched, declared = np.empty((3, len(left)), dtype=np.bool_)
    for row in range(len(counts)):
        level, since, before = max(0, counts[row].min()), n_levels, False
        turning[row] = n_levels
        while level < n_levels:
            following = n_levels
            for node in range(len(left)):
                anomalous[node] = counts[row, node] <= level
                if level < counts[row, node] < following:
                    following = counts[row, node]
            found = _declare(anomalous, left, right, stop_at_root, searched, declared)
            if found != before:
                since, before = level, found
                changes[level] += 1 if found else -1
            # A result that holds up to the following level: is it the one in force, or the first above?
            if found and following > in_force and turning[row] == n_levels:
                turning[row] = since
            level = following
    return changes, turning
