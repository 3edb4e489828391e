"""Imputation (docs/method.md, section 2.6): a declared node is filled from one row among those nearest on its sibling.

Rows with missing values are an addition to the paper, since a sibling may be missing as a whole: all gaps of such a row
are filled from one of the rows nearest on the columns that are neither declared nor missing.
"""

from typing import TYPE_CHECKING

import numpy as np

from treemend.tcs.tree import F64, I64, Bools

if TYPE_CHECKING:
    from treemend.tcs.model import TCSModel

__all__ = ["IMPUTATIONS", "fill_declared", "fill_incomplete"]

IMPUTATIONS = ("map", "nearest")
_FEWEST_CLEAN = 0.05
"""Where a smaller share of the columns is left, nearness on them means little: the most usual row is taken instead."""


def fill_declared(
    model: "TCSModel", filled: F64, rows: F64, declared: Bools, left_out: I64, n_jobs: int | None
) -> None:
    """Write into ``filled`` what is put in place of the declared nodes of complete rows.

    ``rows`` are as they came: distances never use a value that was filled in.
    """
    tree, params, (at, nodes) = model.tree, model.params, np.nonzero(declared)
    _, donors = model.index.neighbors(
        rows[at], tree.sibling[nodes], params.n_neighbors, alpha=params.alpha, left_out=left_out[at], n_jobs=n_jobs
    )
    chosen = _choose(donors, model.radii[donors, tree.parent[nodes, None]], model.params.imputation)
    for row, node, donor in zip(at, nodes, chosen, strict=True):
        columns = slice(tree.start[node], tree.stop[node])
        filled[row, columns] = model.rows[donor, columns]


def fill_incomplete(model: "TCSModel", filled: F64, rows: F64, gaps: Bools, left_out: I64, n_jobs: int | None) -> None:
    """Write into ``filled`` what is put in place of the gaps, missing or declared, of rows with missing values."""
    at = np.flatnonzero(np.isnan(rows).any(axis=1))
    if len(at) == 0:
        return
    own, n_neighbors, usual = left_out[at], model.params.n_neighbors, model.radii[:, 0]
    clean, nodes = np.where(gaps[at], np.nan, rows[at]), np.zeros(len(at), dtype=np.int64)
    _, donors = model.index.neighbors(clean, nodes, n_neighbors, alpha=1.0, left_out=own, n_jobs=n_jobs)
    for r in np.flatnonzero(gaps[at].mean(axis=1) > 1 - _FEWEST_CLEAN):
        most_usual = np.argsort(usual, kind="stable")
        donors[r] = most_usual[most_usual != own[r]][:n_neighbors]
    for row, donor in zip(at, _choose(donors, usual[donors], model.params.imputation), strict=True):
        filled[row, gaps[row]] = model.rows[donor, gaps[row]]


def _choose(donors: I64, usual: F64, imputation: str) -> I64:
    """Take one of K donors, which come nearest first: of equally usual ones the nearest."""
    best = 0 if imputation == "nearest" else np.argmin(usual, axis=1)
    return np.asarray(donors[np.arange(len(donors)), best])
