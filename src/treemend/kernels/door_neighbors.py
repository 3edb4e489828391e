"""The plain Python door in front of the kernels that find nearest rows.

Enters: arrays in the caller's units. Leaves: arrays in the caller's units (section 6 of the method). ``door`` is
the one for radii, labels and the search.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treemend.kernels.checks import check_neighbors, checked_exclusions, checked_rows, work_of_a_row
from treemend.kernels.packing import PackedReference, scale_rows
from treemend.kernels.threads import for_chunks


def node_neighbors(
    packed: PackedReference,
    rows: NDArray[np.float64],
    nodes: NDArray[np.int64],
    n_neighbors: int,
    *,
    exclude: NDArray[np.int64] | None = None,
    n_jobs: int | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return each row's K nearest reference rows over the attributes of one node.

    Parameters
    ----------
    packed
        The reference.
    rows
        Rows of shape (q, d), attributes in the tree's order.
    nodes
        The node at which row ``r`` is compared, of shape (q,).
    n_neighbors
        K.
    exclude
        A reference row to leave out for each row; a negative number leaves out none.
    n_jobs
        Threads, as in ``node_radii``.

    Returns
    -------
    indices, distances
        Of shape (q, K), sorted by distance, then by row index.
    """
    from treemend.kernels.exact import neighbors_at_nodes

    skipped = checked_exclusions(exclude, len(rows))
    check_neighbors(n_neighbors, packed.n_rows - bool((skipped >= 0).any()))
    rows = checked_rows(rows, packed.n_attributes)
    at = np.ascontiguousarray(nodes, dtype=np.int64)
    indices = np.empty((len(rows), n_neighbors), dtype=np.int64)
    distances = np.empty((len(rows), n_neighbors))

    def task(part: slice) -> None:
        neighbors_at_nodes(
            packed.exact,
            scale_rows(packed, rows[part]),
            skipped[part],
            at[part],
            packed.nodes,
            packed.sorting_network,
            distances[part],
            indices[part],
        )

    for_chunks(task, len(rows), work_of_a_row(packed), n_jobs)
    return indices, np.ldexp(distances, packed.exponent)


def masked_neighbors(
    packed: PackedReference,
    rows: NDArray[np.float64],
    observed: NDArray[np.bool_],
    n_neighbors: int,
    *,
    exclude: NDArray[np.int64] | None = None,
    n_jobs: int | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return each row's K nearest reference rows by Euclidean distance over the row's observed attributes.

    Parameters
    ----------
    packed
        The reference.
    rows
        Rows of shape (q, d), attributes in the tree's order.
    observed
        Which attributes of each row count, of shape (q, d). A row that observes nothing is at distance 0 from all.
    n_neighbors, exclude, n_jobs
        As in ``node_neighbors``.

    Returns
    -------
    indices, distances
        Of shape (q, K), sorted by distance, then by row index.
    """
    from treemend.kernels.masked import neighbors_on_observed

    skipped = checked_exclusions(exclude, len(rows))
    check_neighbors(n_neighbors, packed.n_rows - bool((skipped >= 0).any()))
    rows = checked_rows(rows, packed.n_attributes)
    trusted = np.ascontiguousarray(observed, dtype=np.bool_)
    indices = np.empty((len(rows), n_neighbors), dtype=np.int64)
    distances = np.empty((len(rows), n_neighbors))

    def task(part: slice) -> None:
        neighbors_on_observed(
            packed.exact,
            scale_rows(packed, rows[part]),
            trusted[part],
            skipped[part],
            distances[part],
            indices[part],
        )

    for_chunks(task, len(rows), packed.exact.size, n_jobs)
    return indices, np.ldexp(distances, packed.exponent)


def neighbors_outside(
    columns: NDArray[np.float32],
    rows: NDArray[np.float64],
    region: NDArray[np.int64],
    n_regions: NDArray[np.int64],
    n_neighbors: int,
    *,
    exclude: NDArray[np.int64],
    n_jobs: int | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the K reference rows nearest to each row outside of each of its regions, by float32 squared distance.

    Parameters
    ----------
    columns
        The reference, transposed, of shape (d, N).
    rows
        Rows of shape (q, d), attributes in the order of ``columns``.
    region, n_regions
        From ``frozen.equal_regions``.
    n_neighbors, exclude, n_jobs
        As in ``node_neighbors``.

    Returns
    -------
    indices, squared distances
        Of shape (q, REGIONS, K), sorted by distance, then by row index; -1 and infinity where there is no region.
    """
    from treemend.kernels.frozen import REGIONS, nearest_outside

    skipped = checked_exclusions(exclude, len(rows))
    indices = np.full((len(rows), REGIONS, n_neighbors), -1, dtype=np.int64)
    squares = np.full(indices.shape, np.inf, dtype=np.float32)

    def task(part: slice) -> None:
        nearest_outside(rows[part], columns, region[part], n_regions[part], skipped[part], indices[part], squares[part])

    for_chunks(task, len(rows), columns.size, n_jobs)
    return indices, squares
