"""Findings as a table with one line for each run of adjacent cells, for spreadsheets and scripts."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemend.report.findings import CELL_LABELS, Findings, row_runs

__all__ = ["findings_table"]

_LABELS = np.array([*CELL_LABELS, "unusual"], dtype=object)
_UNUSUAL = len(CELL_LABELS)


def findings_table(findings: Findings, *, first_row: int = 0) -> dict[str, list[Any]]:
    """Return one line for each run of adjacent columns that were replaced, filled, or flagged in the same way.

    Parameters
    ----------
    findings : Findings
    first_row : int
        Number of the first row, where the findings are one batch of a longer table.

    Returns
    -------
    dict of str to list
        ``row`` and ``id`` of the row; ``first_column``, ``last_column`` and ``n_cells`` of the run; ``kind``: one of
        `KINDS`, ``corrupted`` if the method tells no kinds, ``missing`` for filled gaps, or ``unusual`` for a row left
        alone, which is one run over all columns; ``p_value`` of the row; ``before_mean``, ``after_mean`` and
        ``spread_mean`` over the run; ``evidence_max``, the largest log odds of its cells. NaN where nothing is known.

    Examples
    --------
    >>> before = np.array([[1.0, 9.0, 9.0], [1.0, 2.0, np.nan]])
    >>> after = np.array([[1.0, 2.1, 3.1], [1.0, 2.0, 3.0]])
    >>> mask, missing = np.array([[False, True, True], [False] * 3]), np.isnan(before)
    >>> table = findings_table(Findings(before=before, after=after, mask=mask, missing=missing, names=list("abc")))
    >>> for line in zip(*(table[name] for name in ("row", "first_column", "last_column", "kind", "after_mean"))):
    ...     print(*line)
    0 b c corrupted 2.6
    1 c c missing 3.0
    """
    labels = findings.cell_labels
    labels[findings.left_alone] = _UNUSUAL
    rows, start, stop = row_runs(labels)
    names = np.array(findings.column_names, dtype=object)
    ids = rows + first_row if findings.row_ids is None else [findings.row_ids[row] for row in rows]
    unknown = np.full(labels.shape, np.nan)
    bounds = (rows[:, None] * labels.shape[1] + np.column_stack([start, stop])).ravel()
    table = {
        "row": rows + first_row,
        "id": np.array([str(one) for one in ids], dtype=object),
        "first_column": names[start],
        "last_column": names[stop - 1],
        "n_cells": stop - start,
        "kind": _LABELS[labels[rows, start]],
        "p_value": np.full(len(rows), np.nan) if findings.p_values is None else findings.p_values[rows],
        "before_mean": _means(findings.before, bounds),
        "after_mean": _means(findings.after, bounds),
        "spread_mean": _means(unknown if findings.spread is None else findings.spread, bounds),
        "evidence_max": _over_runs(
            np.fmax, unknown if findings.cell_evidence is None else findings.cell_evidence, bounds
        ),
    }
    return {name: column.tolist() for name, column in table.items()}


def _means(values: NDArray[np.float64], bounds: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean over each run, NaN left out; NaN if a run holds nothing else."""
    known = np.isfinite(values)
    counts = _over_runs(np.add, known.astype(np.float64), bounds)
    sums = _over_runs(np.add, np.where(known, values, 0.0), bounds)
    means: NDArray[np.float64] = np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)
    return means


def _over_runs(function: np.ufunc, values: NDArray[np.float64], bounds: NDArray[np.int64]) -> NDArray[np.float64]:
    """Reduce the flat values of each run; `bounds` are start and stop of each run, one after the other, in order."""
    padded = np.append(values.ravel(), 0.0)
    return np.asarray(function.reduceat(padded, bounds)[::2]) if len(bounds) else np.zeros(0)
