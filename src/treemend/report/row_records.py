"""The worst rows of all batches, each as a plain record of all that the page shows of it."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemend.report.findings import CORRUPTED, KINDS, MISSING, Findings, findings_table, row_runs
from treemend.report.words import name_run, strongest_node, why

__all__ = ["ShownColumns", "WorstRows", "plain_numbers"]


class ShownColumns(NamedTuple):
    """All columns in layout order, their names in that order, and the places of those that charts show."""

    order: NDArray[np.int64]
    names: list[str]
    places: NDArray[np.int64]


class WorstRows:
    """The records of the worst rows of all batches: corrupted before filled before untouched, the least clean first."""

    def __init__(self, columns: ShownColumns, most: int) -> None:
        self._columns, self._most = columns, most
        self._ranked: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def add(self, findings: Findings, rows: NDArray[np.int64], first_row: int) -> None:
        """Consider some rows of a batch whose first row has the number `first_row` in the table."""
        n_corrupted, n_missing = findings.mask[rows].sum(axis=1), findings.only_missing[rows].sum(axis=1)
        group = np.where(n_corrupted > 0, 0, np.where(n_missing > 0, 1, 2))
        scores = findings.p_values if findings.row_scores is None else findings.row_scores
        score = np.zeros(len(rows)) if scores is None else np.nan_to_num(scores[rows])
        keys = (group, score, -(n_corrupted + n_missing), rows + first_row)
        worst = np.lexsort(keys[::-1])[: self._most]
        ranks = list(zip(*(key[worst].tolist() for key in keys), strict=True))
        if len(self._ranked) == self._most:
            ranks = [rank for rank in ranks if rank < self._ranked[-1][0]]
        if ranks:
            numbers = np.array([rank[-1] for rank in ranks], dtype=np.int64)
            records = _records(findings.take(numbers - first_row), numbers, self._columns)
            ranked = sorted([*self._ranked, *zip(ranks, records, strict=True)], key=lambda one: one[0])
            self._ranked = ranked[: self._most]

    def records(self) -> list[dict[str, Any]]:
        """Return the records, the worst row first."""
        return [record for _, record in self._ranked]


def _records(findings: Findings, numbers: NDArray[np.int64], columns: ShownColumns) -> list[dict[str, Any]]:
    """Return one record for each row of `findings`, whose numbers in the table are `numbers`."""
    n_rows, shown, unknown = len(numbers), columns.order[columns.places], [None] * len(numbers)
    labels = findings.cell_labels[:, columns.order]
    rows, start, stop = row_runs(labels)
    runs = _by_row(rows, [start.tolist(), stop.tolist(), labels[rows, start].tolist()], n_rows)
    filled_at = [np.flatnonzero(line >= 0) for line in labels[:, columns.places]]
    filled = [shown[at] for at in filled_at]
    table = findings_table(findings)
    numbers_of_run = ("before_mean", "after_mean", "spread_mean", "evidence_max")
    lines = [table[name] for name in ("first_column", "last_column", "n_cells", "kind")]
    lines += [plain_numbers(np.array(table[name])) for name in numbers_of_run]
    scores = None if findings.node_scores is None else np.asarray(findings.node_scores(np.arange(n_rows)))
    fields: dict[str, Sequence[Any]] = {
        "row": numbers.tolist(),
        "id": [str(one) for one in (numbers if findings.row_ids is None else findings.row_ids)],
        "score": unknown if findings.row_scores is None else plain_numbers(findings.row_scores),
        "p_value": unknown if findings.p_values is None else plain_numbers(findings.p_values),
        "unusual": findings.left_alone.tolist(),
        "n_corrupted": findings.mask.sum(axis=1).tolist(),
        "n_missing": findings.only_missing.sum(axis=1).tolist(),
        "corrupted": [[[a, b, -1 if k == CORRUPTED else k] for a, b, k in line if k != MISSING] for line in runs],
        "missing": [[[a, b] for a, b, k in line if k == MISSING] for line in runs],
        "before": _rounded(findings.before, [shown] * n_rows),
        "filled_at": [at.tolist() for at in filled_at],
        "after": _rounded(findings.after, filled),
        "spread": _rounded(findings.spread, filled),
        "evidence": _rounded(findings.cell_evidence, [shown] * n_rows, digits=3),
        "nodes": _rounded(scores, [slice(None)] * n_rows),
        "findings": _by_row(np.array(table["row"]), lines, n_rows),
    }
    records = [dict(zip(fields, line, strict=True)) for line in zip(*fields.values(), strict=True)]
    for row, record in enumerate(records):
        record["why"] = _why(record, findings, columns.names, None if scores is None else scores[row])
    return records


def _by_row(rows: NDArray[np.int64], columns: list[list[Any]], n_rows: int) -> list[list[list[Any]]]:
    """Turn columns of a table, sorted by row, into lists of lines, one list for each row."""
    lines = [list(line) for line in zip(*columns, strict=True)]
    bounds = np.searchsorted(rows, np.arange(n_rows + 1)).tolist()
    return [lines[first:last] for first, last in pairwise(bounds)]


def _rounded(values: NDArray[np.float64] | None, columns: Sequence[Any], digits: int = 6) -> list[Any]:
    """Return the values of each row in its own columns, rounded; None for each row if there are no values."""
    if values is None:
        return [None] * len(columns)
    return [plain_numbers(line[own], digits) for line, own in zip(values, columns, strict=True)]


def _why(record: dict[str, Any], findings: Findings, names: list[str], scores: NDArray[np.float64] | None) -> str:
    n_reference = findings.rule.n_reference if findings.rule else None
    parts, found = [], np.zeros(len(names), dtype=bool)
    for start, stop, kind in record["corrupted"]:
        found[start:stop] = True
        parts.append((name_run(names[start], names[stop - 1]), KINDS[kind] if kind >= 0 else "", stop - start))
    words = why(parts, unusual=record["unusual"], p_value=record["p_value"], n_reference=n_reference)
    if scores is not None and findings.tree is not None and parts:
        words = f"{words} {strongest_node(scores, found, findings.tree, names, n_reference)}".strip()
    return words


def plain_numbers(values: NDArray[np.float64], digits: int = 6) -> list[float | None]:
    """Round to significant digits; None where a value is not finite."""
    return [float(f"{value:.{digits}g}") if math.isfinite(value) else None for value in values.tolist()]
