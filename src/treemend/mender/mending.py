"""Mending: rows are judged, gaps are filled, and tables of the caller's kind come out.

Enters: a table as read, a `Workshop`. Leaves: a `Mended`.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from treemend.imputation import Filled, fill
from treemend.mender.evidence import Evidence
from treemend.mender.judging import Verdict, judge
from treemend.mender.knowledge import Workshop
from treemend.mender.parts import row_parts
from treemend.mender.result import Mended
from treemend.mender.weighing import Surprise, join_surprises
from treemend.tables import Table

__all__ = ["mend_table"]


def mend_table(
    workshop: Workshop, table: Table, *, left_out: NDArray[np.int64] | None = None, n_draws: int = 0
) -> Mended:
    """Mend the rows of a table.

    Parameters
    ----------
    workshop : Workshop
    table : Table
        The rows as they came.
    left_out : ndarray of int, one a row, optional
        The reference rows that these rows are, -1 for none; they are judged and filled by the others.
    n_draws : int, default=0
        Number of random completions.
    """
    shape = table.values.shape
    found = np.zeros(shape, dtype=bool)
    missing = np.isnan(table.values)
    values, spread = np.full(shape, np.nan), np.full(shape, np.nan)
    draws = np.full((n_draws, *shape), np.nan)
    surprises: list[Surprise | None] = []
    for part in row_parts(workshop, len(table.values), n_draws):
        own = None if left_out is None else left_out[part]
        verdict, mask, filled = _mend_part(workshop, workshop.to_tree(table.values[part]), own, n_draws)
        surprises.append(None if verdict.surprise is None else replace(verdict.surprise, draft=None))
        found[part] = workshop.to_columns(mask)
        values[part], spread[part] = workshop.to_columns(filled.values), workshop.to_columns(filled.spread)
        for draw, drawn in zip(draws, filled.draws, strict=True):
            draw[part] = workshop.to_columns(drawn)
    gaps = found | missing
    return Mended(
        repaired=table.rebuilt(values, gaps),
        mask=table.like(found),
        corrupted=np.asarray(found.any(axis=1)),
        missing=table.like(missing),
        spread=table.like(spread),
        draws=[table.rebuilt(draw, gaps) for draw in draws],
        _evidence=Evidence(workshop, table, values, found, missing, spread, left_out, join_surprises(surprises)),
    )


def _mend_part(
    workshop: Workshop, rows: NDArray[np.float64], left_out: NDArray[np.int64] | None, n_draws: int
) -> tuple[Verdict, NDArray[np.bool_], Filled]:
    """Return the verdict, what was found, and what stands in for it and for what was missing, in the tree's order."""
    verdict = judge(workshop, rows, left_out)
    missing = np.isnan(rows)
    found = verdict.mask & ~missing
    gaps = found | missing
    done = _done(workshop, verdict, gaps, n_draws)
    filled = fill(
        workshop.filler,
        rows,
        gaps & ~done[:, None],
        verdict.declared,
        left_out=left_out,
        n_draws=n_draws,
        seed=workshop.settings.seed,
        n_jobs=workshop.settings.means.n_jobs,
    )
    if verdict.surprise is not None and verdict.surprise.draft is not None:
        draft = verdict.surprise.draft
        filled.values[done], filled.spread[done] = draft.values[done], draft.spread[done]
    return verdict, found, filled


def _done(workshop: Workshop, verdict: Verdict, gaps: NDArray[np.bool_], n_draws: int) -> NDArray[np.bool_]:
    """Tell in which rows all gaps were filled while they were judged, and nothing is left to chance."""
    draft = None if verdict.surprise is None else verdict.surprise.draft
    if draft is None or n_draws > 0 or workshop.settings.imputation == "draw":
        return np.zeros(len(gaps), dtype=bool)
    return np.asarray((draft.gaps == gaps).all(axis=1) & gaps.any(axis=1))
