"""From findings, batch by batch, to one plain dict: totals, rule, kinds, columns, map, worst rows.

Every form of the report is made from this dict and from nothing else. It is the same for any batches, holds only what
JSON can, and is built in memory that does not grow with the number of rows.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from treemend.exceptions import InputError
from treemend.report.findings import KINDS, Findings
from treemend.report.row_records import RowRecorder, WorstRows, plain_numbers
from treemend.report.words import counted, headline, name_run, rule_summary

__all__ = ["FORMAT", "SummaryBuilder", "summarise"]

FORMAT = 2
REST = "mended.findings_table() and the option --findings of the command line give the findings of every row."
_MOST_SHOWN_COLUMNS = 20_000
_MOST_RECORDS, _FEWEST_RECORDS = 1000, 4
# Bounds the page: about 4 MB of JSON.
_MOST_NUMBERS = 600_000
_MOST_HIT = 15
_MAP_ROWS, _MAP_COLUMNS, _MAP_CHUNK = 256, 400, 4096


def summarise(
    findings: Findings, *, labels: Mapping[str, str] | None = None, units: Mapping[str, str] | str | None = None
) -> dict[str, Any]:
    """Summarise the findings of one table.

    Parameters
    ----------
    findings : Findings
    labels, units
        As in `SummaryBuilder`.

    Returns
    -------
    dict
        As from `SummaryBuilder.summary`.

    Examples
    --------
    >>> before = np.array([[1.0, 2.0, 9.0], [1.0, 2.0, 3.0]])
    >>> after = np.array([[1.0, 2.0, 3.1], [1.0, 2.0, 3.0]])
    >>> summary = summarise(Findings(before=before, after=after, mask=before != after))
    >>> summary["headline"]
    '1 of 2 rows was repaired.'
    >>> summary["rows"][0]["corrupted"], summary["rows"][0]["after"]
    ([[2, 3, -1]], [3.1])
    """
    return SummaryBuilder(labels=labels, units=units).add(findings).summary()


class SummaryBuilder:
    """Collects findings batch by batch; batches must be of one table, and the first one gives names, order and rule.

    Parameters
    ----------
    repaired : bool
        Whether what was found has been repaired, too; the words of the report follow.
    labels : mapping, optional
        Column names to the words that charts and sentences show instead.
    units : mapping or str, optional
        Column names to units, or one unit for all columns.
    rest : str
        A sentence that says where the findings of all rows are, for tables with more rows than a summary holds.
    """

    def __init__(
        self,
        *,
        repaired: bool = True,
        labels: Mapping[str, str] | None = None,
        units: Mapping[str, str] | str | None = None,
        rest: str = REST,
    ) -> None:
        self._repaired, self._labels, self._units, self._rest = repaired, labels or {}, units, rest
        self._shared: Findings | None = None
        self._n_rows = self._n_corrupted = self._n_unusual = 0
        self._warnings: list[str] = []

    def add(self, findings: Findings) -> Self:
        """Take the next rows."""
        if self._shared is None:
            self._start(findings)
        elif findings.before.shape[1] != len(self._names):
            raise InputError(
                f"All batches must have {len(self._names)} columns as the first one has, got "
                f"{findings.before.shape[1]}."
            )
        corrupted, missing = findings.mask[:, self._order], findings.only_missing[:, self._order]
        self._warnings = list(dict.fromkeys([*self._warnings, *findings.notes]))
        self._map.add(corrupted)
        self._missing_map.add(missing)
        self._hits += corrupted.sum(axis=0)
        self._joint_hits += (corrupted[:, 1:] & corrupted[:, :-1]).sum(axis=0)
        self._gaps += missing.sum(axis=0)
        touched = corrupted.any(axis=1)
        unusual = np.zeros_like(touched) if findings.unusual is None else findings.unusual & ~touched
        if findings.kinds is not None:
            for kind in range(len(KINDS)):
                cells = (findings.kinds == kind) & findings.mask
                self._kinds[kind] += (int(cells.any(axis=1).sum()), int(cells.sum()))
        for worst, of_interest in ((self._worst, ~unusual), (self._worst_unusual, unusual)):
            worst.add(findings, np.flatnonzero(of_interest), self._n_rows)
        self._n_rows += len(corrupted)
        self._n_corrupted += int(touched.sum())
        self._n_unusual += int(unusual.sum())
        return self

    def summary(self) -> dict[str, Any]:
        """Return the summary of all rows taken so far.

        Returns
        -------
        dict
            ``headline``; ``totals``; ``rule`` (which rule declared rows, in numbers and words); ``kinds`` (rows and
            cells of each kind, None if the method tells none); ``columns``, ``map``, ``grid`` and ``tree``; ``rows``
            (the worst first) and ``unusual_rows``; ``rest`` (where the findings of the other rows are, empty if all
            are here); ``warnings`` and ``notes``. Places are in layout order; ``columns["order"]`` gives the columns
            if that differs.
        """
        if self._shared is None:
            raise InputError("There is nothing to summarise: add at least one batch of findings first.")
        shared, n_columns = self._shared, len(self._names)
        totals = {
            "rows": self._n_rows,
            "columns": n_columns,
            "cells": self._n_rows * n_columns,
            "corrupted_rows": self._n_corrupted,
            "unusual_rows": self._n_unusual,
            "corrupted_cells": int(self._hits.sum()),
            "missing_cells": int(self._gaps.sum()),
        }
        rows, unusual_rows = self._worst.records(), self._worst_unusual.records()
        too_large = shared.grid is not None and n_columns > _MOST_SHOWN_COLUMNS
        grid = None if shared.grid is None or too_large else list(shared.grid)
        return {
            "format": FORMAT,
            "repaired": self._repaired,
            "headline": headline(totals, repaired=self._repaired),
            "totals": totals,
            "rule": rule_summary(shared.rule, self._n_rows, self._n_corrupted),
            "kinds": None
            if shared.kinds is None
            else {name: {"rows": int(n), "cells": int(m)} for name, (n, m) in zip(KINDS, self._kinds, strict=True)},
            "columns": self._columns(shared),
            "map": {
                "rows_per_cell": self._map.rows_per_cell,
                "columns_per_cell": self._map.columns_per_cell,
                "corrupted": self._map.counts(),
                "missing": self._missing_map.counts() if self._gaps.any() else None,
            },
            "tree": None
            if shared.tree is None
            else {name: getattr(shared.tree, name).tolist() for name in ("start", "stop", "depth")},
            "grid": grid,
            "rows": rows,
            "unusual_rows": unusual_rows,
            "rest": self._where_the_rest_is(len(rows) + len(unusual_rows)),
            "warnings": self._warnings,
            "notes": self._notes(grid, too_large=too_large),
        }

    def _where_the_rest_is(self, n_listed: int) -> str:
        if n_listed == self._n_rows:
            return ""
        listed = f"The {n_listed:,} worst of {counted(self._n_rows, 'row')} are listed with their values"
        return f"{listed}; counts and the map cover all. {self._rest}"

    def _notes(self, grid: list[int] | None, *, too_large: bool) -> list[str]:
        """Say what charts leave out or join."""
        notes, n_columns = [], len(self._names)
        if len(self._places) < n_columns:
            notes.append(f"Charts show {len(self._places):,} of {n_columns:,} columns; shaded runs are exact.")
        if too_large:
            notes.append(f"Rows are images of {n_columns:,} values; images of this size are not drawn.")
        if grid is None and max(self._map.rows_per_cell, self._map.columns_per_cell) > 1:
            size = f"{counted(self._map.rows_per_cell, 'row')} x {counted(self._map.columns_per_cell, 'column')}"
            notes.append(f"Each cell of the map stands for {size} and is shaded by the share of them that was found.")
        return notes

    def _start(self, findings: Findings) -> None:
        n_columns = findings.before.shape[1]
        # What holds for all batches; the rows of the first one need not stay in memory.
        self._shared = replace(findings.take(np.zeros(0, dtype=np.int64)), node_scores=None, row_ids=None)
        self._order = np.arange(n_columns) if findings.order is None else np.asarray(findings.order)
        names = findings.column_names
        columns = [names[column] for column in self._order]
        self._names = [self._labels.get(name, name) for name in columns]
        self._unit = [_unit_of(name, self._units) for name in columns]
        self._places = np.unique(np.linspace(0, n_columns - 1, min(n_columns, _MOST_SHOWN_COLUMNS)).astype(np.int64))
        numbers = 2 * len(self._places) + (0 if findings.tree is None else len(findings.tree.start))
        most = int(np.clip(_MOST_NUMBERS // numbers, _FEWEST_RECORDS, _MOST_RECORDS))
        recorder = RowRecorder(self._order, self._places, self._names)
        self._worst, self._worst_unusual = WorstRows(recorder, most), WorstRows(recorder, max(1, most // 4))
        self._map, self._missing_map = _CountMap(n_columns), _CountMap(n_columns)
        self._hits, self._gaps = np.zeros((2, n_columns), dtype=np.int64)
        self._joint_hits = np.zeros(n_columns - 1, dtype=np.int64)
        self._kinds = np.zeros((len(KINDS), 2), dtype=np.int64)

    def _columns(self, shared: Findings) -> dict[str, Any]:
        places, columns = self._places, self._order[self._places]
        return {
            "named": shared.names is not None,
            "names": [self._names[place] for place in places],
            "units": [self._unit[place] for place in places] if any(self._unit) else None,
            "places": places.tolist() if len(places) < len(self._names) else None,
            "order": None if np.array_equal(self._order, np.arange(len(self._order))) else columns.tolist(),
            "corrupted": self._hits[places].tolist(),
            "missing": self._gaps[places].tolist(),
            "reference_low": None if shared.reference_low is None else plain_numbers(shared.reference_low[columns]),
            "reference_high": None if shared.reference_high is None else plain_numbers(shared.reference_high[columns]),
            "most_hit": [
                {"name": name_run(self._names[start], self._names[stop - 1]), "peak": self._names[peak]}
                | {"start": start, "stop": stop, "rows": int(self._hits[peak])}
                for start, stop, peak in hit_together(self._hits, self._joint_hits)[:_MOST_HIT]
            ],
        }


def _unit_of(name: str, units: Mapping[str, str] | str | None) -> str:
    return units if isinstance(units, str) else (units or {}).get(name, "")


def hit_together(hits: NDArray[np.int64], joint: NDArray[np.int64]) -> list[tuple[int, int, int]]:
    """Group adjacent columns that were mostly hit in the same rows and about as often, the most hit group first.

    `hits` counts the rows in which each column was hit, `joint` those in which it and the next one were. A group is its
    start, its stop, and the column hit most.

    Examples
    --------
    >>> hit_together(np.array([0, 8, 9, 9, 1, 5]), np.array([0, 8, 9, 1, 1]))
    [(1, 4, 2), (5, 6, 5), (4, 5, 4)]
    """
    groups, free = [], hits > 0
    joined = 2 * joint >= np.maximum(hits[1:], hits[:-1])
    for peak in np.argsort(-hits, kind="stable").tolist():
        if not free[peak]:
            continue
        alike = free & (hits >= 0.7 * hits[peak])
        start = stop = peak
        while start > 0 and alike[start - 1] and joined[start - 1]:
            start -= 1
        while stop + 1 < len(hits) and alike[stop + 1] and joined[stop]:
            stop += 1
        free[start : stop + 1] = False
        groups.append((start, stop + 1, peak))
        if len(groups) == _MOST_HIT:
            break
    return groups


class _CountMap:
    """Counts of marked values in at most 256 x 400 cells; grows by joining neighbouring rows of cells."""

    def __init__(self, n_columns: int) -> None:
        self._n_rows, self.rows_per_cell = 0, 1
        self.columns_per_cell = -(-n_columns // _MAP_COLUMNS)
        self._starts = np.arange(0, n_columns, self.columns_per_cell)
        self._counts = np.zeros((_MAP_ROWS, len(self._starts)), dtype=np.int64)

    def add(self, mask: NDArray[np.bool_]) -> None:
        for first in range(0, len(mask), _MAP_CHUNK):
            chunk = mask[first : first + _MAP_CHUNK]
            rows = np.arange(self._n_rows, self._n_rows + len(chunk))
            self._n_rows += len(chunk)
            while (self._n_rows - 1) // self.rows_per_cell >= _MAP_ROWS:
                joined = self._counts[0::2] + self._counts[1::2]
                self._counts[: len(joined)], self._counts[len(joined) :] = joined, 0
                self.rows_per_cell *= 2
            counts = np.add.reduceat(chunk, self._starts, axis=1, dtype=np.int64)
            np.add.at(self._counts, rows // self.rows_per_cell, counts)

    def counts(self) -> list[list[int]]:
        lines: list[list[int]] = self._counts[: -(-self._n_rows // self.rows_per_cell)].tolist()
        return lines
