"""The worst rows of all batches, each as a plain record of all that the page shows of it."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemend.report.findings import CORRUPTED, KINDS, MISSING, Findings, findings_table, row_runs
from treemend.report.words import name_run, strongest_node, why


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
            numbers = [rank[-1] for rank in ranks]
            taken = findings.take(np.array(numbers) - first_row)
            nodes = None if taken.node_scores is None else taken.node_scores(np.arange(len(numbers)))
            for row, rank in enumerate(ranks):
                own_nodes = None if nodes is None else np.asarray(nodes[row])
                self._ranked.append((rank, _record(taken.take(np.array([row])), rank[-1], own_nodes, self._columns)))
            self._ranked = sorted(self._ranked, key=lambda one: one[0])[: self._most]

    def records(self) -> list[dict[str, Any]]:
        """Return the records, the worst row first."""
        return [record for _, record in self._ranked]


def _record(
    findings: Findings, number: int, nodes: NDArray[np.float64] | None, columns: ShownColumns
) -> dict[str, Any]:
    """Return the record of the only row of `findings`, which has this number in the table."""
    shown, labels = columns.order[columns.places], findings.cell_labels[0, columns.order]
    _, start, stop = row_runs(labels[None])
    runs = list(zip(start.tolist(), stop.tolist(), labels[start].tolist(), strict=True))
    filled_at = np.flatnonzero(labels[columns.places] >= 0)
    filled = shown[filled_at]
    record = {
        "row": number,
        "id": str(number if findings.row_ids is None else findings.row_ids[0]),
        "unusual": bool(findings.left_alone[0]),
        "n_corrupted": int(findings.mask.sum()),
        "n_missing": int(findings.only_missing.sum()),
        "corrupted": [[a, b, -1 if label == CORRUPTED else label] for a, b, label in runs if label != MISSING],
        "missing": [[a, b] for a, b, label in runs if label == MISSING],
        "before": plain_numbers(findings.before[0, shown]),
        "filled_at": filled_at.tolist(),
        "after": plain_numbers(findings.after[0, filled]),
        "spread": None if findings.spread is None else plain_numbers(findings.spread[0, filled]),
        "evidence": None if findings.cell_evidence is None else plain_numbers(findings.cell_evidence[0, shown], 3),
        "nodes": None if nodes is None else plain_numbers(nodes),
    }
    for name, scores in {"score": findings.row_scores, "p_value": findings.p_values}.items():
        record[name] = None if scores is None else plain_numbers(scores)[0]
    table = findings_table(findings)
    lines = [table[name] for name in ("first_column", "last_column", "n_cells", "kind")]
    means = ("before_mean", "after_mean", "spread_mean", "evidence_max")
    lines += [plain_numbers(np.array(table[name])) for name in means]
    record["findings"] = [list(line) for line in zip(*lines, strict=True)]
    record["why"] = _why(record, findings, columns.names, nodes)
    return record


def _why(record: dict[str, Any], findings: Findings, names: list[str], nodes: NDArray[np.float64] | None) -> str:
    n_reference = findings.rule.n_reference if findings.rule else None
    parts, found = [], np.zeros(len(names), dtype=bool)
    for start, stop, kind in record["corrupted"]:
        found[start:stop] = True
        name = name_run(names[start], names[stop - 1]) if findings.grid is None else ""
        parts.append((name, KINDS[kind] if kind >= 0 else "", stop - start))
    words = why(parts, unusual=record["unusual"], p_value=record["p_value"], n_reference=n_reference)
    if nodes is not None and findings.tree is not None and parts:
        words = f"{words} {strongest_node(nodes, found, findings.tree, names, n_reference)}".strip()
    return words


def plain_numbers(values: NDArray[np.float64], digits: int = 6) -> list[float | None]:
    """Round to significant digits; None where a value is not finite."""
    return [float(f"{value:.{digits}g}") if math.isfinite(value) else None for value in values.tolist()]
