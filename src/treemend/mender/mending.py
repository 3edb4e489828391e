"""Mending: rows are judged, gaps are filled, and tables of the caller's kind come out.

Enters: a table as read, its rows scaled and in the order of the tree, a `Workshop`. Leaves: a `Mended`.
"""

import numpy as np
from numpy.typing import NDArray

from treemend.imputation import fill
from treemend.mender.evidence import Evidence
from treemend.mender.judging import judge
from treemend.mender.knowledge import Workshop
from treemend.mender.result import Mended
from treemend.tables import Table

__all__ = ["mend_rows"]


def mend_rows(
    workshop: Workshop,
    table: Table,
    rows: NDArray[np.float64],
    *,
    left_out: NDArray[np.int64] | None = None,
    n_draws: int = 0,
) -> Mended:
    """Mend rows.

    Parameters
    ----------
    workshop : Workshop
    table : Table
        The rows as they came.
    rows : ndarray, rows x attributes
        The same, scaled, in the order of the tree, NaN where missing.
    left_out : ndarray of int, one a row, optional
        The reference rows that these rows are, -1 for none; they are judged and filled by the others.
    n_draws : int, default=0
        Number of random completions.
    """
    verdict = judge(workshop, rows, left_out)
    missing = np.isnan(rows)
    found = verdict.mask & ~missing
    filled = fill(
        workshop.filler,
        rows,
        found | missing,
        verdict.declared,
        left_out=left_out,
        n_draws=n_draws,
        seed=workshop.settings.seed,
        n_jobs=workshop.settings.n_jobs,
    )
    found, missing = workshop.to_columns(found), workshop.to_columns(missing)
    values, spread = workshop.to_columns(filled.values), workshop.to_columns(filled.spread)
    gaps = found | missing
    return Mended(
        repaired=table.rebuilt(values, gaps),
        mask=table.like(found),
        corrupted=np.asarray(found.any(axis=1)),
        missing=table.like(missing),
        spread=table.like(spread),
        draws=[table.rebuilt(workshop.to_columns(draw), gaps) for draw in filled.draws],
        _evidence=Evidence(workshop, table, values, found, missing, spread, left_out, verdict.surprise),
    )
