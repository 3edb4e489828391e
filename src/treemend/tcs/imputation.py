"""Imputation (docs/method.md, section 2.6): a declared node is filled from one row among those nearest on its sibling.

Rows with missing values are an addition to the paper, since a sibling may be missing as a whole: all gaps of such a row
are filled from one of the rows nearest on the columns that are neither declared nor missing.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from treemend.tcs.model import TCSModel

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

    ``rows`` are as they came: distances never use a value that was filled in.
    """
    tree, (at, nodes) = model.tree, np.nonzero(declared)
    own = None if left_out is None else left_out[at]
    donors = model.index.neighbors(rows[at], tree.sibling[nodes], model.params.n_neighbors, left_out=own, n_jobs=n_jobs)
    chosen = _choose(donors, model.radii[donors, tree.parent[nodes, None]], model.params.imputation)
    for row, node, donor in zip(at, nodes, chosen, strict=True):
        columns = slice(tree.start[node], tree.stop[node])
        filled[row, columns] = model.rows[donor, columns]


def fill_incomplete(
    model: "TCSModel",
    filled: NDArray[np.float64],
    rows: NDArray[np.float64],
    gaps: NDArray[np.bool_],
    *,
    left_out: NDArray[np.int64] | None = None,
) -> None:
    """Write into ``filled`` what is put in place of the gaps, missing or declared, of rows with missing values."""
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
        [donor] = _choose(donors[None], usual[donors][None], model.params.imputation)
        filled[row, gaps[row]] = model.rows[donor, gaps[row]]


def _choose(donors: NDArray[np.int64], usual: NDArray[np.float64], imputation: str) -> NDArray[np.int64]:
    """Take one of K donors, which come nearest first: of equally usual ones the nearest."""
    best = 0 if imputation == "nearest" else np.argmin(usual, axis=1)
    return np.asarray(donors[np.arange(len(donors)), best])
