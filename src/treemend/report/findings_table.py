"""Findings as a table with one line for each run of adjacent cells, for spreadsheets and scripts."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemend.report.findings import KINDS, Findings, row_runs

__all__ = ["findings_table"]

_LABELS = np.array([*KINDS, "corrupted", "missing", "unusual"])
_CORRUPTED, _MISSING, _UNUSUAL = (len(KINDS) + extra for extra in range(3))


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
    labels = np.where(findings.mask, _CORRUPTED if findings.kinds is None else findings.kinds, -1)
    labels[findings.mask & (labels < 0)] = _CORRUPTED
    if findings.unusual is not None:
        labels[findings.unusual & ~findings.mask.any(axis=1)] = _UNUSUAL
    labels[findings.only_missing & (labels != _UNUSUAL)] = _MISSING
    rows, start, stop = row_runs(labels)
    names = np.array(findings.column_names, dtype=object)
    ids = rows + first_row if findings.row_ids is None else [findings.row_ids[row] for row in rows]
    n_columns = labels.shape[1]
    first, last = rows * n_columns + start, rows * n_columns + stop
    table = {
        "row": rows + first_row,
        "id": np.array([str(one) for one in ids], dtype=object),
        "first_column": names[start],
        "last_column": names[stop - 1],
        "n_cells": stop - start,
        "kind": _LABELS[labels[rows, start]].astype(object),
        "p_value": _or_nan(findings.p_values, len(labels))[rows],
        "before_mean": _means(findings.before, first, last),
        "after_mean": _means(findings.after, first, last),
        "spread_mean": _means(_or_nan(findings.spread, labels.shape), first, last),
        "evidence_max": _over_runs(np.fmax, _or_nan(findings.cell_evidence, labels.shape), first, last),
    }
    return {name: column.tolist() for name, column in table.items()}


def _or_nan(values: NDArray[np.float64] | None, shape: int | tuple[int, ...]) -> NDArray[np.float64]:
    return np.full(shape, np.nan) if values is None else np.asarray(values, dtype=np.float64)


def _means(values: NDArray[np.float64], first: NDArray[np.int64], last: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean over each run, NaN left out; NaN if a run holds nothing else."""
    known = np.isfinite(values)
    counts = _over_runs(np.add, known.astype(np.float64), first, last)
    sums = _over_runs(np.add, np.where(known, values, 0.0), first, last)
    means: NDArray[np.float64] = np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)
    return means


def _over_runs(
    function: np.ufunc, values: NDArray[np.float64], first: NDArray[np.int64], last: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Reduce the flat values from each `first` up to, not including, `last`; runs do not overlap and are in order."""
    if not len(first):
        return np.zeros(0)
    bounds = np.column_stack([first, last]).ravel()
    padded = np.append(values.ravel(), 0.0)
    return np.asarray(function.reduceat(padded, bounds)[::2])
