"""From findings to the summary: counts over all rows, the map, and the worst rows in full.

Enters: `Findings`, at once (`summarise`) or batch by batch (`Gathering`), in memory that does not grow with their
number. Leaves: the summary, a dict of plain values that is the same for any batches. Every form of the report is made
from it and from nothing else.
"""

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from treemend.exceptions import InputError
from treemend.report.findings import Findings
from treemend.report.found_map import FoundMap
from treemend.report.plain import plain_numbers
from treemend.report.reasons import EXPLANATIONS
from treemend.report.row_record import RankedRow, record_rows
from treemend.report.words import headline, promise, sampling

__all__ = ["FORMAT", "Gathering", "summarise"]

FORMAT = 1
_MOST_PLACES = 20_000
_MOST_RECORDS = 400
_FEWEST_RECORDS = 4
_MOST_NUMBERS = 300_000
_MOST_HIT = 15


def summarise(findings: Findings) -> dict[str, Any]:
    """Summarise what was found.

    Parameters
    ----------
    findings : Findings

    Returns
    -------
    dict
        ``headline``, ``totals``, ``promise`` (the false-alarm rate and what it means here), ``attributes``, ``map``,
        ``tree``, ``grid``, ``rows`` (the worst first), ``explanations`` (how many rows each one spoke against),
        ``notes`` (what was left out) and ``repaired`` (false if rows were only looked at); only what JSON can hold.
        Attributes stand in the order of the tree; ``attributes["columns"]`` tells their columns if that differs.

    Examples
    --------
    >>> from treemend.tree import build_tree, lay_out
    >>> before = np.array([[1.0, 2.0, 9.0], [1.0, 2.0, 3.0]])
    >>> after = np.array([[1.0, 2.0, 3.1], [1.0, 2.0, 3.0]])
    >>> tree = build_tree(lay_out("sequence", 3), depth=1)
    >>> summary = summarise(Findings(before=before, after=after, mask=before != after, tree=tree))
    >>> summary["headline"]
    '1 of 2 rows was repaired.'
    >>> summary["rows"][0]["found"], summary["rows"][0]["after"]
    ([[2, 3]], [3.1])
    """
    return Gathering().add(findings).summary()


class Gathering:
    """Gathers findings batch by batch.

    Batches must be of one table: the same attributes, tree and reference; the first one counts for these.

    Parameters
    ----------
    repaired : bool, default=True
        Whether what was found has been repaired, too; the words of the report follow.
    """

    _names: list[str]
    _places: NDArray[np.int64]
    _n_records: int
    _worst: list[RankedRow]
    _found: FoundMap
    _missing: FoundMap
    _hits: NDArray[np.int64]
    _gaps: NDArray[np.int64]
    _n_touched: int
    _spoken: dict[str, int] | None

    def __init__(self, *, repaired: bool = True) -> None:
        self._first: Findings | None = None
        self._repaired = repaired

    def add(self, findings: Findings) -> Self:
        """Take the next rows."""
        if self._first is None:
            self._start(findings)
        elif findings.tree.n_features != len(self._names):
            raise InputError(
                f"All batches must have {len(self._names)} attributes as the first one has, got "
                f"{findings.tree.n_features}."
            )
        order = findings.tree.order
        found, missing = findings.mask[:, order], findings.only_missing[:, order]
        full = len(self._worst) == self._n_records
        self._worst += record_rows(
            findings,
            self._found.n_rows,
            self._names,
            self._places,
            at_most=self._n_records,
            before=self._worst[-1].rank if full else None,
        )
        self._worst = sorted(self._worst, key=lambda ranked: ranked.rank)[: self._n_records]
        self._found.add(found)
        self._missing.add(missing)
        self._hits += found.sum(axis=0)
        self._gaps += missing.sum(axis=0)
        touched = found.any(axis=1)
        self._n_touched += int(touched.sum())
        if self._spoken is not None and findings.reasons is not None:
            for name in findings.reasons.explanation[touched].tolist():
                self._spoken[name] += 1
        return self

    def summary(self) -> dict[str, Any]:
        """Return the summary of all rows taken so far."""
        if self._first is None:
            raise InputError("There is nothing to summarise: give at least one batch of findings first.")
        first, n_rows, n_features = self._first, self._found.n_rows, len(self._names)
        totals = {
            "rows": n_rows,
            "attributes": n_features,
            "cells": n_rows * n_features,
            "touched_rows": self._n_touched,
            "found_cells": int(self._hits.sum()),
            "missing_cells": int(self._gaps.sum()),
        }
        return {
            "format": FORMAT,
            "repaired": self._repaired,
            "headline": headline(totals, repaired=self._repaired),
            "totals": totals,
            "promise": promise(
                n_rows,
                self._n_touched,
                asked_rate=first.asked_rate,
                tau=first.tau,
                n_reference=first.n_reference,
                reference_rate=first.reference_rate,
            ),
            "attributes": self._attributes(first),
            "map": {
                "rows_per_cell": self._found.rows_per_cell,
                "attributes_per_cell": self._found.features_per_cell,
                "found_percent": self._found.percent(),
                "missing_percent": self._missing.percent() if self._gaps.any() else None,
            },
            "explanations": self._spoken,
            "tree": {name: getattr(first.tree, name).tolist() for name in ("start", "stop", "parent", "depth")},
            "grid": list(first.grid) if first.grid and n_features <= _MOST_PLACES else None,
            "rows": [ranked.record for ranked in self._worst],
            "notes": sampling(
                n_rows,
                len(self._worst),
                n_features,
                len(self._places),
                self._found.rows_per_cell,
                self._found.features_per_cell,
                drawn=first.grid is None or n_features <= _MOST_PLACES,
            ),
        }

    def _start(self, findings: Findings) -> None:
        n_features = findings.tree.n_features
        names = _names(findings)
        self._first = _without_rows(findings)
        self._names = [names[column] for column in findings.tree.order]
        self._places = np.unique(np.linspace(0, n_features - 1, min(n_features, _MOST_PLACES)).astype(np.int64))
        numbers = 3 * len(self._places) + findings.tree.n_nodes
        self._n_records = int(np.clip(_MOST_NUMBERS // numbers, _FEWEST_RECORDS, _MOST_RECORDS))
        self._worst = []
        self._found, self._missing = FoundMap(n_features), FoundMap(n_features)
        self._hits = np.zeros(n_features, dtype=np.int64)
        self._gaps = np.zeros(n_features, dtype=np.int64)
        self._n_touched = 0
        self._spoken = None if findings.reasons is None else dict.fromkeys(EXPLANATIONS, 0)

    def _attributes(self, first: Findings) -> dict[str, Any]:
        order, places = first.tree.order, self._places
        thinned = len(places) < len(order)
        hit = np.lexsort((np.arange(len(order)), -self._hits))[:_MOST_HIT]
        return {
            "named": first.names is not None,
            "names": [self._names[place] for place in places],
            "places": places.tolist() if thinned else None,
            "columns": None if np.array_equal(order, np.arange(len(order))) else order[places].tolist(),
            "found": self._hits[places].tolist(),
            "missing": self._gaps[places].tolist(),
            "reference_low": _shown(first.reference_low, order[places]),
            "reference_high": _shown(first.reference_high, order[places]),
            "most_hit": [
                {"name": self._names[place], "place": int(place), "found": int(self._hits[place])}
                for place in hit
                if self._hits[place]
            ],
        }


def _without_rows(findings: Findings) -> Findings:
    """Return what holds for all batches, so that the rows of the first one need not be kept."""
    none = findings.before[:0].copy()
    return replace(
        findings,
        before=none,
        after=none,
        mask=none.astype(bool),
        missing=None,
        spread=None,
        row_scores=None,
        reasons=None,
        row_ids=None,
        node_scores=None,
    )


def _names(findings: Findings) -> list[str]:
    """Return a name for every column: its own, its pixel, or its number."""
    if findings.names is not None:
        return [str(name) for name in findings.names]
    if findings.grid is not None:
        return [f"pixel {', '.join(map(str, place))}" for place in np.ndindex(*findings.grid)]
    return [f"attribute {column}" for column in range(findings.tree.n_features)]


def _shown(values: NDArray[np.float64] | None, columns: NDArray[np.int64]) -> list[float | int | None] | None:
    return None if values is None else plain_numbers(values[columns])
