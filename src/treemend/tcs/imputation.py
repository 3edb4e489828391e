"""Imputation (docs/method.md, section 2.6): a declared node is filled from one row among those nearest on its sibling.

Rows with missing values are an addition to the paper, since a sibling may be missing as a whole: all gaps of such a row
are filled from one of the rows nearest on the columns that are neither declared nor missing.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from treemend.tcs.pipeline import TCSModel

__all__ = ["IMPUTATIONS", "fill_declared", "fill_incomplete"]

IMPUTATIONS = ("map", "nearest")
_FEWEST_CLEAN = 0.05
"""Where a smaller share of the columns is left, nearness on them means little: the most usual row is taken instead."""

_FARTHEST = 1e15
"""Values are drawn in to this many widths of the reference, so that no square overflows."""


def fill_declared(
    model: "TCSModel",
    filled: NDArray[np.float64],
    rows: NDArray[np.float64],
    declared: NDArray[np.bool_],
    *,
    left_out: NDArray[np.int64] | None = None,
    n_jobs: int | None = None,
) -> None:
    """Write into ``filled`` what is put in place of the declared nodes of complete rows.

    Parameters
    ----------
    model : TCSModel
        Its reference rows are the donors.
    filled : ndarray, rows x columns
        Changed where something is declared.
    rows : ndarray, rows x columns
        As they came: distances never use a value that was filled in.
    declared : ndarray of bool, rows x nodes
        From the search.
    left_out : ndarray of int64, one a row, optional
        The reference row that each row is, -1 for none; it is not chosen.
    n_jobs : int, optional
        Number of threads.
    """
    tree, params = model.tree, model.params
    for node in np.flatnonzero(declared.any(axis=0)):
        at = np.flatnonzero(declared[:, node])
        own = None if left_out is None else left_out[at]
        donors = model.index.neighbors(
            rows[at], int(tree.sibling[node]), params.n_neighbors, left_out=own, n_jobs=n_jobs
        )
        donor = _choose(donors, model.radii[:, tree.parent[node]], params.imputation)
        columns = slice(tree.start[node], tree.stop[node])
        filled[at, columns] = model.rows[donor, columns]


def fill_incomplete(
    model: "TCSModel",
    filled: NDArray[np.float64],
    rows: NDArray[np.float64],
    gaps: NDArray[np.bool_],
    *,
    left_out: NDArray[np.int64] | None = None,
) -> None:
    """Write into ``filled`` what is put in place of the gaps of rows with missing values.

    Parameters
    ----------
    model, filled, rows, left_out
        As in `fill_declared`.
    gaps : ndarray of bool, rows x columns
        What is missing or declared. Rows without missing values are left alone.
    """
    incomplete = np.flatnonzero(np.isnan(rows).any(axis=1))
    if len(incomplete) == 0:
        return
    # A common power of two is exact and keeps squares within range.
    unit = np.ldexp(1.0, np.frexp(np.ptp(model.rows, axis=0).max())[1])
    columns = np.ascontiguousarray(model.rows.T) / unit
    usual = model.radii[:, 0]
    for row in incomplete:
        clean = ~gaps[row]
        distances = usual.copy()
        if clean.mean() >= _FEWEST_CLEAN:
            values = np.clip(rows[row, clean] / unit, -_FARTHEST, _FARTHEST)
            distances = np.sqrt(((columns[clean] - values[:, None]) ** 2).sum(axis=0))
        if left_out is not None and left_out[row] >= 0:
            distances[left_out[row]] = np.inf
        donors = np.argsort(distances, kind="stable")[: model.params.n_neighbors]
        donor = _choose(donors[None], usual, model.params.imputation)[0]
        filled[row, gaps[row]] = model.rows[donor, gaps[row]]


def _choose(donors: NDArray[np.int64], usual: NDArray[np.float64], imputation: str) -> NDArray[np.int64]:
    """Take one of K donors, which come nearest first: of equally usual ones the nearest."""
    if imputation == "nearest":
        return np.asarray(donors[:, 0])
    best = np.argmin(usual[donors], axis=1)
    return np.asarray(donors[np.arange(len(donors)), best])
