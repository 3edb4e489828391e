"""The worst rows of all batches, each as a plain record of all that the page shows of it."""

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from treemend.report.findings import KINDS, Findings, row_runs, runs
from treemend.report.findings_table import findings_table
from treemend.report.words import name_run, strongest_node, why

__all__ = ["RowRecorder", "WorstRows", "plain_numbers"]

_EVIDENCE_DIGITS = 3

Rank: TypeAlias = tuple[int, float, int, int]


class WorstRows:
    """The records of the worst rows of all batches: corrupted before filled before untouched, the least clean first."""

    def __init__(self, recorder: "RowRecorder", most: int) -> None:
        self._recorder, self._most = recorder, most
        self._ranked: list[tuple[Rank, dict[str, Any]]] = []

    def add(self, findings: Findings, rows: NDArray[np.int64], first_row: int) -> None:
        """Consider some rows of a batch whose first row has the number `first_row` in the table."""
        n_corrupted = findings.mask[rows].sum(axis=1)
        n_missing = findings.only_missing[rows].sum(axis=1)
        group = np.where(n_corrupted > 0, 0, np.where(n_missing > 0, 1, 2))
        scores = findings.p_values if findings.row_scores is None else findings.row_scores
        score = np.zeros(len(rows)) if scores is None else np.nan_to_num(scores[rows])
        hit = -(n_corrupted + n_missing)
        worst = np.lexsort((hit, score, group))[: self._most].tolist()
        ranks = [(int(group[at]), float(score[at]), int(hit[at]), first_row + int(rows[at])) for at in worst]
        if len(self._ranked) == self._most:
            ranks = [rank for rank in ranks if rank < self._ranked[-1][0]]
        if ranks:
            taken = np.array([rank[-1] - first_row for rank in ranks], dtype=np.int64)
            self._ranked += zip(ranks, self._recorder.records(findings.take(taken), taken + first_row), strict=True)
            self._ranked = sorted(self._ranked, key=lambda one: one[0])[: self._most]

    def records(self) -> list[dict[str, Any]]:
        """Return the records, the worst row first."""
        return [record for _, record in self._ranked]


class RowRecorder:
    """Makes the record of a row: all that the page shows of it."""

    def __init__(self, order: NDArray[np.int64], places: NDArray[np.int64], names: list[str]) -> None:
        self._order, self._places, self._names = order, places, names

    def records(self, findings: Findings, numbers: NDArray[np.int64]) -> list[dict[str, Any]]:
        """Return one record for each row of `findings`, whose numbers in the table are `numbers`."""
        scores = None
        if findings.node_scores is not None:
            scores = np.asarray(findings.node_scores(np.arange(len(numbers))))
        table = findings_table(findings)
        bounds = np.searchsorted(table["row"], np.arange(len(numbers) + 1))
        lines = _table_lines(table)
        return [
            self._record(findings, row, int(number), lines[bounds[row] : bounds[row + 1]], scores)
            for row, number in enumerate(numbers)
        ]

    def _record(
        self, findings: Findings, row: int, number: int, lines: list[list[Any]], scores: NDArray[np.float64] | None
    ) -> dict[str, Any]:
        order, shown = self._order, self._order[self._places]
        corrupted = findings.mask[row, order]
        missing = np.zeros_like(corrupted) if findings.missing is None else findings.missing[row, order] & ~corrupted
        kinds = np.full(len(order), -1) if findings.kinds is None else findings.kinds[row, order]
        marked = self._kind_runs(corrupted, kinds)
        filled = np.flatnonzero((corrupted | missing)[self._places])
        columns = shown[filled]
        unusual = bool(findings.unusual is not None and findings.unusual[row] and not corrupted.any())
        p_value = _number_at(findings.p_values, row)
        n_reference = None if findings.rule is None else findings.rule.n_reference
        parts = [
            (name_run(self._names[start], self._names[stop - 1]), KINDS[kind] if kind >= 0 else "", stop - start)
            for start, stop, kind in marked
        ]
        words = why(parts, unusual=unusual, p_value=p_value, n_reference=n_reference)
        if scores is not None and findings.tree is not None and corrupted.any():
            node = strongest_node(scores[row], corrupted, findings.tree, self._names, n_reference)
            words = f"{words} {node}".strip()
        return {
            "row": number,
            "id": str(number) if findings.row_ids is None else str(findings.row_ids[row]),
            "score": _number_at(findings.row_scores, row),
            "p_value": p_value,
            "unusual": unusual,
            "n_corrupted": int(corrupted.sum()),
            "n_missing": int(missing.sum()),
            "corrupted": marked,
            "missing": [list(run) for run in runs(missing)],
            "before": plain_numbers(findings.before[row, shown]),
            "filled_at": filled.tolist(),
            "after": plain_numbers(findings.after[row, columns]),
            "spread": None if findings.spread is None else plain_numbers(findings.spread[row, columns]),
            "evidence": None
            if findings.cell_evidence is None
            else plain_numbers(findings.cell_evidence[row, shown], _EVIDENCE_DIGITS),
            "nodes": None if scores is None else plain_numbers(scores[row]),
            "findings": lines,
            "why": words,
        }

    @staticmethod
    def _kind_runs(corrupted: NDArray[np.bool_], kinds: NDArray[np.integer]) -> list[list[int]]:
        """Return start, stop and kind (-1 if none is known) of each run of corrupted cells of one kind."""
        labels = np.where(corrupted, kinds.astype(np.int64) + 1, -1)
        _, start, stop = row_runs(labels[None])
        return [[int(a), int(b), int(labels[a]) - 1] for a, b in zip(start, stop, strict=True)]


def _table_lines(table: dict[str, list[Any]]) -> list[list[Any]]:
    """Return the lines of a findings table without row, id and p-value, which the record has."""
    numbers = ("before_mean", "after_mean", "spread_mean", "evidence_max")
    texts = ("first_column", "last_column", "n_cells", "kind")
    columns = [table[name] for name in texts] + [plain_numbers(np.array(table[name])) for name in numbers]
    return [list(line) for line in zip(*columns, strict=True)]


def plain_numbers(values: NDArray[np.float64], digits: int = 6) -> list[float | None]:
    """Round to significant digits; None where a value is not finite.

    Examples
    --------
    >>> plain_numbers(np.array([1 / 3, 4.0, 123456789.0, np.nan]))
    [0.333333, 4.0, 123457000.0, None]
    """
    return [float(f"{value:.{digits}g}") if math.isfinite(value) else None for value in values.tolist()]


def _number_at(values: NDArray[np.float64] | None, row: int) -> float | None:
    return None if values is None else plain_numbers(values[row : row + 1])[0]
