"""From findings, batch by batch, to one plain dict: totals, rule, kinds, columns, map, worst rows.

Every form of the report is made from this dict and from nothing else. It is the same for any batches, holds only what
JSON can, and is built in memory that does not grow with the number of rows.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from typing import Any, Self, TypeAlias

import numpy as np

from treemend.arrays import Booleans, Floats, Integers
from treemend.exceptions import ParameterError
from treemend.report.findings import CORRUPTED, KINDS, MISSING, Findings, findings_table, row_runs
from treemend.report.words import headline, name_columns, rule_summary, why
from treemend.tables import counted, matching, shortened

Words: TypeAlias = Mapping[Any, str]
# What was found in single rows by their rank, which ends with the number of the row; the worst first.
Ranked: TypeAlias = dict[tuple[Any, ...], Findings]
FORMAT = 2
REST = "mended.findings_table() and the option --findings of the command line give the findings of every row."
_MOST_PIXELS, _MOST_HIT = 20_000, 15
_MOST_RECORDS, _FEWEST_RECORDS = 1000, 8
# Bounds the page: about 4 MB of JSON up to 20,000 columns.
_MOST_NUMBERS = 600_000
_MAP_ROWS, _MAP_COLUMNS = 256, 400


def summarise(findings: Findings, *, labels: Words | None = None, units: Words | str | None = None) -> dict[str, Any]:
    """Summarise the findings of one table.

    ``labels`` and ``units`` are by the names of columns, or patterns of them; columns without a name also have their
    number. One unit alone is that of all columns.
    """
    names = findings.column_names
    called = [names] if findings.names is not None else [names, list(map(str, range(len(names))))]
    labels = by_column("labels", labels or {}, *called)
    units = by_column("units", {"*": units} if isinstance(units, str) else units or {}, *called)
    return SummaryBuilder(labels=labels, units=units).add(findings).summary()


def by_column(what: str, words: Words, *called: Sequence[str]) -> dict[int, str]:
    """Return words by the number of the column, given by name or pattern; ``called`` are the names that columns have.

    A later pattern replaces what an earlier one says; one that no column has is refused.
    """
    found: dict[int, str] = {}
    for pattern, word in words.items():
        columns = [column for names in called for column in matching(names, str(pattern))]
        if not columns:
            remedy = f"Give names of columns, or patterns; the columns are {shortened(called[-1])}."
            raise ParameterError(f"{what}: no column is called {pattern!r}. {remedy}")
        found |= dict.fromkeys(columns, word)
    return found


@dataclass(kw_only=True)
class SummaryBuilder:
    """Collects findings batch by batch; batches must be of one table, and the first one gives names, order and rule."""

    repaired: bool = True  # whether what was found has been repaired, too
    labels: Words = field(default_factory=dict)  # instead of column names, by the number of the column
    units: Words = field(default_factory=dict)  # beside values, by the same
    rest: str = REST  # where the findings of all rows are, for tables with more rows than a summary holds

    def __post_init__(self) -> None:
        self._shared: Findings | None = None
        self._worst: dict[bool, Ranked] = {False: {}, True: {}}  # unusual rows apart from the others
        self._totals: Counter[str] = Counter()
        self._warnings: list[str] = []

    def add(self, findings: Findings) -> Self:
        """Take the next rows."""
        if self._shared is None:
            self._start(findings)
        labels, unusual, corrupted = findings.cell_labels, findings.left_alone, findings.mask[:, self._order]
        self._map.add(np.stack([corrupted, findings.only_missing[:, self._order]]))
        self._joint_hits += (corrupted[:, 1:] & corrupted[:, :-1]).sum(axis=0)
        for kind in range(len(KINDS)):
            cells = labels == kind
            self._kinds[kind] += (cells.any(axis=1).sum(), cells.sum())
        for apart, most in ((False, self._most), (True, max(1, self._most // 4))):
            rows = np.flatnonzero(unusual == apart)
            self._worst[apart] = self._keep_worst(self._worst[apart], findings, rows, most)
        self._warnings = list(dict.fromkeys([*self._warnings, *findings.notes]))
        n_corrupted = int(corrupted.any(axis=1).sum())
        self._totals.update(rows=len(corrupted), corrupted_rows=n_corrupted, unusual_rows=int(unusual.sum()))
        return self

    def summary(self) -> dict[str, Any]:
        """Return the summary of all rows taken so far; places are in layout order, which ``columns["order"]`` gives."""
        shared, n_columns = self._shared, len(self._names)
        assert shared is not None, "at least one batch was added"
        totals = {**self._totals, "columns": n_columns, "cells": self._totals["rows"] * n_columns}
        totals["corrupted_cells"], totals["missing_cells"] = self._map.by_column.sum(axis=1).tolist()
        rows, unusual_rows = ([self._record(*found) for found in ranked.items()] for ranked in self._worst.values())
        kinds = [{"rows": n_rows, "cells": n_cells} for n_rows, n_cells in self._kinds.tolist()]
        n_listed = len(rows) + len(unusual_rows)
        listed = f"The {n_listed:,} worst of {counted(totals['rows'], 'row')} are listed with their values"
        return {
            "format": FORMAT,
            "repaired": self.repaired,
            "headline": headline(totals, repaired=self.repaired),
            "totals": totals,
            "rule": rule_summary(shared.rule, totals["rows"], totals["corrupted_rows"]),
            "kinds": None if shared.kinds is None else dict(zip(KINDS, kinds, strict=True)),
            "columns": self._column_summary(shared),
            "map": self._map.summary(),
            "tree": shared.tree and {name: getattr(shared.tree, name).tolist() for name in ("start", "stop", "depth")},
            "grid": None if shared.grid is None or n_columns > _MOST_PIXELS else list(shared.grid),
            "rows": rows,
            "unusual_rows": unusual_rows,
            "rest": f"{listed}; counts and the map cover all. {self.rest}" if n_listed < totals["rows"] else "",
            "warnings": self._warnings,
            "notes": self._notes(is_image=shared.grid is not None),
        }

    def _notes(self, *, is_image: bool) -> list[str]:
        """Say what charts leave out or join."""
        notes, n_columns = [], len(self._names)
        if is_image and n_columns > _MOST_PIXELS:
            notes.append(f"Rows are images of {n_columns:,} values; images of this size are not drawn.")
        tall, wide = self._map.rows_per_cell, self._map.columns_per_cell
        if max(tall, wide) > 1 and not (is_image and n_columns <= _MOST_PIXELS):
            size = f"{counted(tall, 'row')} x {counted(wide, 'column')}"
            notes.append(f"Each cell of the map stands for {size}; its shade is the share of them that was found.")
        return notes

    def _start(self, findings: Findings) -> None:
        n_columns = findings.before.shape[1]
        # What holds for all batches; the rows of the first one need not stay in memory.
        self._shared = replace(findings.take(np.zeros(0, dtype=np.int64)), node_scores=None, row_ids=None)
        self._order = findings.layout_order
        self._names = [self.labels.get(column, name) for column, name in enumerate(findings.column_names)]
        numbers = 2 * n_columns + (0 if findings.tree is None else len(findings.tree.start))
        self._most = int(np.clip(_MOST_NUMBERS // numbers, _FEWEST_RECORDS, _MOST_RECORDS))
        self._map = _CountMap(n_columns)
        self._joint_hits = np.zeros(n_columns - 1, dtype=np.int64)
        self._kinds = np.zeros((len(KINDS), 2), dtype=np.int64)

    def _keep_worst(self, kept: Ranked, findings: Findings, rows: Integers, most: int) -> Ranked:
        """Keep the worst rows: corrupted before filled before untouched, the least clean first."""
        first_row = self._totals["rows"]
        n_corrupted, n_missing = findings.mask.sum(axis=1), findings.only_missing.sum(axis=1)
        group = np.where(n_corrupted > 0, 0, np.where(n_missing > 0, 1, 2))
        scores = findings.p_values if findings.row_scores is None else findings.row_scores
        score = np.zeros(len(group)) if scores is None else np.nan_to_num(scores)
        keys = (group, score, -(n_corrupted + n_missing), np.arange(first_row, first_row + len(group)))
        worst = nsmallest(most, [*kept, *zip(*(key[rows].tolist() for key in keys), strict=True)])
        new = [rank for rank in worst if rank not in kept]
        taken = findings.take(np.array([rank[-1] for rank in new], dtype=np.int64) - first_row)
        if taken.node_scores is not None:
            taken = replace(taken, node_scores=taken.node_scores(np.arange(len(new))).__getitem__)
        both = kept | {rank: taken.take(np.array([place])) for place, rank in enumerate(new)}
        return {rank: both[rank] for rank in worst}

    def _record(self, rank: tuple[Any, ...], findings: Findings) -> dict[str, Any]:
        """Return all that the page shows of the only row of some findings."""
        labels = findings.cell_labels[0, self._order]
        _, start, stop = row_runs(labels[None])
        runs = list(zip(start.tolist(), stop.tolist(), labels[start].tolist(), strict=True))
        filled_at = np.flatnonzero(labels >= 0)
        filled = self._order[filled_at]
        nodes = None if findings.node_scores is None else findings.node_scores(np.zeros(1, dtype=np.int64))[0]
        row_scores = {"score": findings.row_scores, "p_value": findings.p_values}
        table = findings_table(findings)
        told = [table[name] for name in ("first_column", "last_column", "n_cells", "kind")]
        told += [plain_numbers(table[name]) for name in ("before_mean", "after_mean", "spread_mean", "evidence_max")]
        return {
            "row": rank[-1],
            "id": str(rank[-1] if findings.row_ids is None else findings.row_ids[0]),
            "unusual": bool(findings.left_alone[0]),
            "n_corrupted": int(findings.mask.sum()),
            "n_missing": int(findings.only_missing.sum()),
            "corrupted": [[a, b, -1 if label == CORRUPTED else label] for a, b, label in runs if label != MISSING],
            "missing": [[a, b] for a, b, label in runs if label == MISSING],
            "before": _numbers_at(findings.before, self._order),
            "filled_at": filled_at.tolist(),
            "after": _numbers_at(findings.after, filled),
            "spread": _numbers_at(findings.spread, filled),
            "evidence": _numbers_at(findings.cell_evidence, self._order, 3),
            "nodes": None if nodes is None else plain_numbers(nodes),
            **{name: None if scores is None else plain_numbers(scores)[0] for name, scores in row_scores.items()},
            "findings": [list(line) for line in zip(*told, strict=True)],
            "why": why(findings, self._names, nodes),
        }

    def _column_summary(self, shared: Findings) -> dict[str, Any]:
        names, (hits, missing), columns = self._names, self._map.by_column, self._order
        return {
            "named": shared.names is not None or bool(self.labels),
            "names": [names[column] for column in columns],
            "units": [self.units.get(column, "") for column in columns.tolist()] if self.units else None,
            "order": None if np.array_equal(columns, np.arange(len(names))) else columns.tolist(),
            "corrupted": hits.tolist(),
            "missing": missing.tolist(),
            "reference_low": _numbers_at(shared.reference_low, columns),
            "reference_high": _numbers_at(shared.reference_high, columns),
            "most_hit": [
                {"name": name_columns(columns[start:stop], names), "peak": names[columns[peak]]}
                | {"start": start, "stop": stop, "rows": int(hits[peak])}
                for start, stop, peak in hit_together(hits, self._joint_hits)
            ],
        }


def plain_numbers(values: Iterable[float], digits: int = 6) -> list[float | None]:
    """Round to significant digits; None where a value is not finite."""
    return [float(f"{value:.{digits}g}") if math.isfinite(value) else None for value in values]


def _numbers_at(values: Floats | None, columns: Integers, digits: int = 6) -> Any:
    """Return the values of one row in some columns, or None if there are none."""
    return None if values is None else plain_numbers(values[..., columns].ravel().tolist(), digits)


def hit_together(hits: Integers, joint: Integers) -> list[tuple[int, int, int]]:
    """Group adjacent columns that were mostly hit in the same rows and about as often, the most hit group first.

    `hits` counts the rows in which each column was hit, `joint` those in which it and the next one were. A group is its
    start, its stop, and the column hit most.
    """
    groups: list[tuple[int, int, int]] = []
    free = hits > 0
    joined = 2 * joint >= np.maximum(hits[1:], hits[:-1])
    for peak in np.argsort(-hits, kind="stable").tolist():
        if not free[peak] or len(groups) == _MOST_HIT:
            continue
        alike = free & (hits >= 0.7 * hits[peak])
        breaks = np.flatnonzero(~(joined & alike[1:] & alike[:-1])) + 1
        start, stop = int(breaks[breaks <= peak].max(initial=0)), int(breaks[breaks > peak].min(initial=len(hits)))
        free[start:stop] = False
        groups.append((start, stop, peak))
    return groups


class _CountMap:
    """Corrupted and missing values by column and in at most 256 x 400 cells; joins neighbouring lines to grow."""

    def __init__(self, n_columns: int) -> None:
        self._n_rows, self.rows_per_cell = 0, 1
        self.columns_per_cell = -(-n_columns // _MAP_COLUMNS)
        self.by_column = np.zeros((2, n_columns), dtype=np.int64)
        self._starts = np.arange(0, n_columns, self.columns_per_cell)
        self._counts = np.zeros((2, _MAP_ROWS, len(self._starts)), dtype=np.int64)

    def add(self, marks: Booleans) -> None:
        rows = np.arange(self._n_rows, self._n_rows + marks.shape[1])
        self._n_rows += len(rows)
        while self._n_rows > _MAP_ROWS * self.rows_per_cell:
            joined = self._counts[:, 0::2] + self._counts[:, 1::2]
            self._counts = np.concatenate([joined, np.zeros_like(joined)], axis=1)
            self.rows_per_cell *= 2
        lines, first = np.unique(rows // self.rows_per_cell, return_index=True)
        counts = np.add.reduceat(marks, first, axis=1, dtype=np.int64)
        self.by_column += counts.sum(axis=1)
        self._counts[:, lines] += np.add.reduceat(counts, self._starts, axis=2)

    def summary(self) -> dict[str, Any]:
        corrupted, missing = self._counts[:, : -(-self._n_rows // self.rows_per_cell)]
        size = {"rows_per_cell": self.rows_per_cell, "columns_per_cell": self.columns_per_cell}
        return {**size, "corrupted": corrupted.tolist(), "missing": missing.tolist() if missing.any() else None}
