"""Imputation (method, section 6): a declared node is filled from one row among those nearest on its sibling.

Rows with missing values are an addition to the paper, since a sibling may be missing as a whole: all gaps of such a row
are filled from one of the rows nearest on the columns that are neither declared nor missing.
"""

import numpy as np
from numpy.typing import NDArray

from treemend.tcs.index import NodeIndex
from treemend.tcs.tree import AttributeTree

__all__ = ["IMPUTATIONS", "fill_declared", "fill_incomplete"]

IMPUTATIONS = ("map", "nearest")
_FEWEST_CLEAN = 0.05
"""Where a smaller share of the columns is left, nearness on them means little: the most usual row is taken instead."""

_FARTHEST = 1e15
"""Values are drawn in to this many widths of the reference, so that no square overflows."""


def fill_declared(
    filled: NDArray[np.float64],
    rows: NDArray[np.float64],
    declared: NDArray[np.bool_],
    *,
    reference: NDArray[np.float64],
    tree: AttributeTree,
    index: NodeIndex,
    radii: NDArray[np.float64],
    n_neighbors: int,
    imputation: str,
    left_out: NDArray[np.int64] | None = None,
    n_jobs: int | None = None,
) -> None:
    """Write into ``filled`` what stands in for the declared nodes of complete rows.

    Parameters
    ----------
    filled : ndarray, rows x columns
        Changed where something is declared.
    rows : ndarray, rows x columns
        As they came: distances never use a value that was filled in.
    declared : ndarray of bool, rows x nodes
        From the search.
    reference : ndarray, reference rows x columns
        The rows to take values from.
    tree, index
        Of the reference.
    radii : ndarray, reference rows x nodes
        Their left-out K-th radii.
    n_neighbors : int
        K, the number of rows to choose among.
    imputation : {"map", "nearest"}
        Take the row that is most usual at the parent, or the nearest one.
    left_out : ndarray of int64, one a row, optional
        The reference row that each row is, -1 for none; it is not chosen.
    n_jobs : int, optional
        Number of threads.
    """
    for node in np.flatnonzero(declared.any(axis=0)):
        at = np.flatnonzero(declared[:, node])
        own = None if left_out is None else left_out[at]
        donors = index.neighbors(rows[at], int(tree.sibling[node]), n_neighbors, left_out=own, n_jobs=n_jobs)
        donor = _choose(donors, radii[:, tree.parent[node]], imputation)
        columns = slice(tree.start[node], tree.stop[node])
        filled[at, columns] = reference[donor, columns]


def fill_incomplete(
    filled: NDArray[np.float64],
    rows: NDArray[np.float64],
    gaps: NDArray[np.bool_],
    *,
    reference: NDArray[np.float64],
    radii: NDArray[np.float64],
    n_neighbors: int,
    imputation: str,
    left_out: NDArray[np.int64] | None = None,
) -> None:
    """Write into ``filled`` what stands in for the gaps of rows with missing values.

    Parameters
    ----------
    filled, rows, reference, radii, n_neighbors, imputation, left_out
        As in `fill_declared`.
    gaps : ndarray of bool, rows x columns
        What is missing or declared. Rows without missing values are left alone.
    """
    # A common power of two is exact and keeps squares within range.
    unit = np.ldexp(1.0, np.frexp(np.ptp(reference, axis=0).max())[1])
    columns = np.ascontiguousarray(reference.T) / unit
    usual = radii[:, 0]
    for row in np.flatnonzero(np.isnan(rows).any(axis=1)):
        clean = ~gaps[row]
        own = -1 if left_out is None else int(left_out[row])
        if clean.mean() < _FEWEST_CLEAN:
            distances = usual.copy()
        else:
            values = np.clip(rows[row, clean] / unit, -_FARTHEST, _FARTHEST)
            distances = np.sqrt(((columns[clean] - values[:, None]) ** 2).sum(axis=0))
        if own >= 0:
            distances[own] = np.inf
        donors = np.argsort(distances, kind="stable")[:n_neighbors]
        donor = _choose(donors[None], usual, imputation)[0]
        filled[row, gaps[row]] = reference[donor, gaps[row]]


def _choose(donors: NDArray[np.int64], usual: NDArray[np.float64], imputation: str) -> NDArray[np.int64]:
    """Take one of K donors, which come nearest first: of equally usual ones the nearest."""
    if imputation == "nearest":
        return np.asarray(donors[:, 0])
    best = np.argmin(usual[donors], axis=1)
    return np.asarray(donors[np.arange(len(donors)), best])
