"""One row of a summary: its values, what was found, the scores of the tree's nodes.

Enters: `Findings` and the number of a row. Leaves: a dict of plain values. Attributes stand in the order of the tree
throughout, so that every node, and most of what was found, is one stretch; a place is a number in that order.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from treemend.plots import stretches
from treemend.report.findings import Findings
from treemend.report.plain import plain_number, plain_numbers
from treemend.report.reasons import told
from treemend.report.words import why

__all__ = ["RankedRow", "record_rows"]

Rank: TypeAlias = tuple[int, float, int, int]


@dataclass(frozen=True, eq=False)
class RankedRow:
    """A row's record, and its rank: found before filled before untouched, then the least clean, then the most hit."""

    rank: Rank
    record: dict[str, Any]


def worst_rows(findings: Findings, first_row: int, at_most: int) -> list[tuple[Rank, int]]:
    """Return the ranks and numbers of the worst rows, the worst first."""
    n_found = findings.mask.sum(axis=1)
    n_missing = findings.only_missing.sum(axis=1)
    kind = np.where(n_found > 0, 0, np.where(n_missing > 0, 1, 2))
    scores = np.zeros(findings.n_rows) if findings.row_scores is None else np.nan_to_num(findings.row_scores)
    hit = -(n_found + n_missing)
    worst = np.lexsort((hit, scores, kind))[:at_most].tolist()
    return [((int(kind[row]), float(scores[row]), int(hit[row]), first_row + row), row) for row in worst]


def record_rows(
    findings: Findings,
    first_row: int,
    names: list[str],
    places: NDArray[np.int64],
    *,
    at_most: int,
    before: Rank | None,
) -> list[RankedRow]:
    """Make the records of the worst rows.

    Parameters
    ----------
    findings : Findings
    first_row : int
        Number of the first row, counted over all batches.
    names : list of str
        Of the attributes, in the order of the tree.
    places : ndarray of int
        The places whose values are shown.
    at_most : int
        How many records to make.
    before : tuple, optional
        Only rows that rank before this one are of interest.
    """
    ranked = worst_rows(findings, first_row, at_most)
    worst = [(rank, row) for rank, row in ranked if before is None or rank < before]
    rows = np.array([row for _, row in worst], dtype=np.int64)
    scores = findings.scores_of(rows) if len(rows) else None
    return [
        RankedRow(rank, _record(findings, row, first_row, names, places, None if scores is None else scores[position]))
        for position, (rank, row) in enumerate(worst)
    ]


def _record(
    findings: Findings,
    row: int,
    first_row: int,
    names: list[str],
    places: NDArray[np.int64],
    scores: NDArray[np.float64] | None,
) -> dict[str, Any]:
    order, reasons = findings.tree.order, findings.reasons
    found = findings.mask[row, order]
    missing = np.zeros_like(found) if findings.missing is None else findings.missing[row, order] & ~found
    filled = np.flatnonzero((found | missing)[places])
    columns = order[places[filled]]
    return {
        "row": first_row + row,
        "id": str(first_row + row) if findings.row_ids is None else str(findings.row_ids[row]),
        "score": None if findings.row_scores is None else plain_number(findings.row_scores[row]),
        "n_found": int(found.sum()),
        "n_missing": int(missing.sum()),
        "found": [list(stretch) for stretch in stretches(found)],
        "missing": [list(stretch) for stretch in stretches(missing)],
        "before": plain_numbers(findings.before[row, order[places]]),
        "filled_at": filled.tolist(),
        "after": plain_numbers(findings.after[row, columns]),
        "spread": None if findings.spread is None else plain_numbers(findings.spread[row, columns]),
        "nodes": None if scores is None else plain_numbers(scores),
        "explanation": None if reasons is None or not found.any() else str(reasons.explanation[row]),
        "why": _why(findings, row, found, names, scores),
    }


def _why(
    findings: Findings,
    row: int,
    found: NDArray[np.bool_],
    names: list[str],
    scores: NDArray[np.float64] | None,
) -> str:
    """Say what spoke against a row: the explanation, and where the search decided, the part it points to."""
    reasons, tree = findings.reasons, findings.tree
    by_search = why(scores, found, tree.start, tree.stop, names, findings.n_reference)
    if reasons is None or not found.any():
        return by_search
    spoken = told(reasons, row, found, reasons.explained[row, tree.order], names)
    return f"{spoken} {by_search}".strip() if reasons.explanation[row] == "search" else spoken
