"""The plain Python door in front of the kernels: types, chunks, threads, units.

Enters: arrays in the caller's units. Leaves: arrays in the caller's units. The compiled modules are
imported at the first call, so that importing the package stays quick. No array here has as many entries as
rows times reference rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treemend.kernels.checks import check_neighbors, checked_exclusions, checked_indices, checked_rows, work_of_a_row
from treemend.kernels.node_scans import distances_of_rows, radii_of_reference, sorters
from treemend.kernels.packing import PackedReference, TreeLike, estimate_rows, scale_rows
from treemend.kernels.threads import for_chunks

LABELS_IN_A_CHUNK = 256 * 1024
MOST_ROWS_LABELLED_TOGETHER = 256
BYTES_OF_LISTS = 2**28


def node_radii(
    packed: PackedReference,
    rows: NDArray[np.float64],
    n_neighbors: int,
    *,
    exclude: NDArray[np.int64] | None = None,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Return the distance from each row to its K-th nearest reference row, at every node.

    Parameters
    ----------
    packed
        The reference.
    rows
        Rows of shape (n, d), attributes in the tree's order.
    n_neighbors
        K, from 1 to the number of reference rows.
    exclude
        A reference row to leave out for each row; a negative number leaves out none.
    n_jobs
        Threads, as in joblib; ``None`` uses every core, or one inside a joblib or Dask worker.

    Returns
    -------
    ndarray of shape (n, n_nodes)
        ``R(x; K)`` of section 4, exact in float64.
    """
    return _distances(packed, rows, [n_neighbors], exclude, n_jobs)[:, :, 0]


def node_distances(
    packed: PackedReference,
    rows: NDArray[np.float64],
    n_neighbors: int,
    *,
    exclude: NDArray[np.int64] | None = None,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Return the distances from each row to its K nearest reference rows, at every node.

    Parameters
    ----------
    packed, rows, n_neighbors, exclude, n_jobs
        As in ``node_radii``.

    Returns
    -------
    ndarray of shape (n, n_nodes, K)
        Ascending; the last one is that of ``node_radii``.
    """
    return _distances(packed, rows, list(range(1, n_neighbors + 1)), exclude, n_jobs)


def _distances(
    packed: PackedReference,
    rows: NDArray[np.float64],
    ranks: list[int],
    exclude: NDArray[np.int64] | None,
    n_jobs: int | None,
) -> NDArray[np.float64]:
    skipped = checked_exclusions(exclude, len(rows))
    check_neighbors(ranks[-1], packed.n_rows - bool((skipped >= 0).any()))
    found = distances_of_rows(packed, checked_rows(rows, packed.n_attributes), skipped, ranks, n_jobs)
    return np.ldexp(found, packed.exponent)


def left_out_radii(
    packed: PackedReference,
    n_neighbors: int,
    *,
    rows: NDArray[np.int64] | None = None,
    n_jobs: int | None = None,
    memory: int = BYTES_OF_LISTS,
) -> NDArray[np.float64]:
    """Return ``node_radii`` of the reference rows themselves, each left out of its own list.

    Rows are left out by index: a duplicate of a row stays its neighbour at distance 0.

    Parameters
    ----------
    packed
        The reference.
    n_neighbors
        K, from 1 to the number of reference rows less one.
    rows
        Indices of the reference rows whose radii are wanted, in this order; ``None`` means all of them.
    n_jobs
        Threads, as in ``node_radii``.
    memory
        Bytes that the lists of nearest rows may take. If those of all rows fit, each pair of rows is compared once,
        where that is quicker; the radii are the same.

    Returns
    -------
    ndarray of shape (number of rows asked for, n_nodes)
    """
    check_neighbors(n_neighbors, packed.n_rows - 1)
    indices = None if rows is None else checked_indices(rows, packed.n_rows)
    return np.ldexp(radii_of_reference(packed, indices, n_neighbors, n_jobs, memory), packed.exponent)


def node_labels(
    packed: PackedReference,
    rows: NDArray[np.float64],
    radius_thresholds: NDArray[np.float64],
    n_neighbors: int,
    *,
    n_jobs: int | None = None,
) -> NDArray[np.bool_]:
    """Return which nodes of which rows have a K-th radius beyond the node's threshold.

    Parameters
    ----------
    packed
        The reference.
    rows
        Rows of shape (n, d), attributes in the tree's order.
    radius_thresholds
        For each node, in the units of the rows; a radius equal to it is still normal.
    n_neighbors, n_jobs
        As in ``node_radii``.

    Returns
    -------
    ndarray of bool, of shape (n, n_nodes)
        The same as ``node_radii(...) > radius_thresholds``, sooner.
    """
    from treemend.kernels.euclidean_labels import euclidean_labels
    from treemend.kernels.ranked_labels import ranked_labels

    check_neighbors(n_neighbors, packed.n_rows)
    rows = checked_rows(rows, packed.n_attributes)
    thresholds = np.ldexp(np.ascontiguousarray(radius_thresholds, dtype=np.float64), -packed.exponent)
    block_order = np.random.default_rng(0).permutation(len(packed.exact))
    anomalous = np.empty((len(rows), packed.n_nodes), dtype=np.bool_)

    def task(part: slice) -> None:
        scaled = scale_rows(packed, rows[part])
        bounds = packed.centre, packed.spread, packed.roundings
        entering = packed.estimate, estimate_rows(packed, scaled), packed.exact, scaled, *bounds, packed.nodes
        if packed.alpha == 1:
            euclidean_labels(*entering, block_order, thresholds, n_neighbors, anomalous[part])
        else:
            ranked_labels(*entering, *sorters(packed), block_order, thresholds, n_neighbors, anomalous[part])

    # About 50 bytes are kept for each row and node of a chunk.
    largest = min(MOST_ROWS_LABELLED_TOGETHER, max(1, LABELS_IN_A_CHUNK // packed.n_nodes))
    for_chunks(task, len(rows), work_of_a_row(packed), n_jobs, largest=largest)
    return anomalous


def declared_nodes(anomalous: NDArray[np.bool_], tree: TreeLike, *, stop_at_root: bool = False) -> NDArray[np.bool_]:
    """Return which nodes the search declares corrupted (section 5).

    Parameters
    ----------
    anomalous
        Labels of shape (n, n_nodes).
    tree
        Flat arrays. A tree without inner nodes declares nothing.
    stop_at_root
        End the search where root and both its children are anomalous, as the paper's listing says, instead of
        going on into both children.

    Returns
    -------
    ndarray of bool, of shape (n, n_nodes)
    """
    from treemend.kernels.search import declare_rows

    labels = np.ascontiguousarray(anomalous, dtype=np.bool_)
    declared = np.empty_like(labels)
    declare_rows(labels, *_children(tree), bool(stop_at_root), declared)
    return declared


def alarm_curve(
    counts: NDArray[np.int64], tree: TreeLike, n_levels: int, *, stop_at_root: bool = False
) -> NDArray[np.int64]:
    """Return in how many rows anything is declared, for every level up to which a node's count is anomalous.

    Parameters
    ----------
    counts
        For each row and node, of shape (n, n_nodes): how many reference radii are at least the row's own.
    tree
        Flat arrays.
    n_levels
        Levels 0 to ``n_levels - 1``; a node is anomalous at level ``k`` iff its count is at most ``k``.
    stop_at_root
        As in ``declared_nodes``.

    Returns
    -------
    ndarray of int64, of shape (n_levels,)
    """
    from treemend.kernels.search import count_alarms

    changes = np.zeros(n_levels, dtype=np.int64)
    count_alarms(np.ascontiguousarray(counts, dtype=np.int64), *_children(tree), bool(stop_at_root), changes)
    return np.cumsum(changes)


def _children(tree: TreeLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return np.ascontiguousarray(tree.left, dtype=np.int64), np.ascontiguousarray(tree.right, dtype=np.int64)
