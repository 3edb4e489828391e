"""What was found in some rows: the one record behind the report, the JSON summary, the notebook and the plots."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from treemend.arrays import Array, Booleans, Floats, Integers, Labels

KINDS = ("noise", "foreign", "shifted", "stuck")
"""Kinds of corruption; `Findings.kinds` holds indices into it."""
_LABELS = np.array([*KINDS, "corrupted", "missing", "unusual"], dtype=object)
CORRUPTED, MISSING, UNUSUAL = range(len(KINDS), len(KINDS) + 3)
_BY_CELL = ("before", "after", "mask", "missing", "spread", "kinds", "cell_evidence")
_BY_ROW = ("unusual", "p_values", "row_scores")


@dataclass(frozen=True)
class Rule:
    """The rule that declared rows corrupted."""

    name: Literal["rate", "fdr", "tau"]  # a false-alarm rate, a false discovery rate, or a threshold on node scores
    value: float
    n_reference: int | None = None  # number of reference rows behind the decision
    reference_rate: float | None = None  # which share of them it declares, each judged by the others
    powerless: bool = False  # True if the reference is too small for the rule to declare any row
    tau: float | None = None  # the threshold on node scores in force, where a rate was asked for


@dataclass(frozen=True, eq=False, kw_only=True)
class Findings:
    """Rows before and after, and what a method knows about them, in the order of the table's columns; the rest is None.

    Arrays are of shape (n, d), or hold one entry a row or a column.
    """

    before: Floats  # NaN where a value was missing
    after: Floats
    mask: Booleans  # True where a value was replaced as corrupted
    missing: Booleans | None = None  # True where a value was missing when the row came
    spread: Floats | None = None  # standard deviation of the replacement's error, NaN where nothing was replaced
    unusual: Booleans | None = None  # True where a row is odd as a whole and was left alone
    p_values: Floats | None = None
    row_scores: Floats | None = None  # as from score_samples: higher is cleaner
    kinds: Labels | None = None  # index into KINDS for each cell of mask, -1 elsewhere
    cell_evidence: Floats | None = None  # log odds that the cell is wrong given the rest of its row
    names: Sequence[str] | None = None
    row_ids: Sequence[object] | None = None  # anything that str accepts names a row
    grid: tuple[int, ...] | None = None  # (height, width) or (height, width, channels) if rows are images
    order: Integers | None = None  # layout order of the columns: charts show them in this order
    rule: Rule | None = None
    reference_low: Floats | None = None  # smallest and largest value of each column in the reference
    reference_high: Floats | None = None
    notes: tuple[str, ...] = ()  # warnings such as drift
    tree: Any = None  # attribute tree: start, stop and depth of its nodes, intervals of the layout order, root first
    node_scores: Callable[[Integers], Floats] | None = None  # takes row numbers, returns their scores, rows x nodes

    @property
    def only_missing(self) -> Booleans:
        """True where a value was missing and is not in `mask`."""
        return np.zeros(self.mask.shape, dtype=bool) if self.missing is None else self.missing & ~self.mask

    @property
    def left_alone(self) -> Booleans:
        """True where a row is unusual and nothing in it is in `mask`."""
        return np.zeros(len(self.mask), dtype=bool) if self.unusual is None else self.unusual & ~self.mask.any(axis=1)

    @property
    def cell_labels(self) -> Labels:
        """The kind of each corrupted cell, `CORRUPTED` if it is not known; `MISSING` for filled gaps; -1 elsewhere."""
        labels = np.where(self.only_missing, np.int8(MISSING), np.int8(-1))
        labels[self.mask] = CORRUPTED
        if self.kinds is not None:
            np.copyto(labels, self.kinds, where=self.mask & (self.kinds >= 0))
        return labels

    @property
    def layout_order(self) -> Integers:
        """The columns in the order in which charts show them."""
        return np.arange(self.before.shape[1]) if self.order is None else np.asarray(self.order)

    @property
    def column_names(self) -> list[str]:
        """A name for every column: its own, its pixel, or its number."""
        if self.names is not None:
            return [str(name) for name in self.names]
        if self.grid is not None:
            return [f"pixel {', '.join(map(str, place))}" for place in np.ndindex(*self.grid)]
        return [f"column {column}" for column in range(self.before.shape[1])]

    def take(self, rows: Integers) -> "Findings":
        """Return the findings of some rows."""
        taken: dict[str, Any] = {name: getattr(self, name) for name in _BY_CELL + _BY_ROW}
        taken = {name: values[rows] for name, values in taken.items() if values is not None}
        if self.row_ids is not None:
            taken["row_ids"] = [self.row_ids[row] for row in rows]
        if (scores := self.node_scores) is not None:
            taken["node_scores"] = lambda places: scores(rows[places])
        return replace(self, **taken)


def row_runs(labels: Array) -> tuple[Integers, Integers, Integers]:
    """Return row, start and stop of each run of equal labels, in order; negative labels belong to no run."""
    edge = np.ones((len(labels), 1), dtype=bool)
    changes = np.hstack([edge, labels[:, 1:] != labels[:, :-1], edge])
    rows, start = np.nonzero(changes[:, :-1] & (labels >= 0))
    return rows, start, np.nonzero(changes[:, 1:] & (labels >= 0))[1] + 1


def findings_table(findings: Findings, *, first_row: int = 0) -> dict[str, list[Any]]:
    """Return one line for each run of adjacent columns that were replaced, filled, or flagged in the same way.

    ``kind`` is one of `KINDS`, ``corrupted`` if the method tells no kinds, ``missing`` for filled gaps, or ``unusual``
    for a row left alone, which is one run over all columns. ``p_value`` is the row's; means and the largest log odds
    are over the run. NaN stands where nothing is known. ``first_row`` is the number of the first row, where the
    findings are one batch of a longer table.
    """
    labels = findings.cell_labels
    labels[findings.left_alone] = UNUSUAL
    rows, start, stop = row_runs(labels)
    names = np.array(findings.column_names, dtype=object)
    ids = range(first_row, first_row + len(labels)) if findings.row_ids is None else findings.row_ids
    cells, n_cells = labels >= 0, stop - start
    first = np.cumsum(n_cells) - n_cells  # of each run among all cells of runs
    unknown = np.full(labels.shape, np.nan)
    spread, evidence = (unknown if given is None else given for given in (findings.spread, findings.cell_evidence))
    table = {
        "row": rows + first_row,
        "id": np.array([str(ids[row]) for row in rows], dtype=object),
        "first_column": names[start],
        "last_column": names[stop - 1],
        "n_cells": n_cells,
        "kind": _LABELS[labels[rows, start]],
        "p_value": np.full(len(rows), np.nan) if findings.p_values is None else findings.p_values[rows],
        "before_mean": _means(findings.before[cells], first),
        "after_mean": _means(findings.after[cells], first),
        "spread_mean": _means(spread[cells], first),
        "evidence_max": np.fmax.reduceat(evidence[cells], first),
    }
    return {name: column.tolist() for name, column in table.items()}


def _means(values: Floats, first: Integers) -> Floats:
    """Return the mean of each run of values, NaN left out; NaN if it holds nothing else."""
    known = np.isfinite(values)
    counts = np.add.reduceat(known, first, dtype=np.float64)
    return np.asarray(np.add.reduceat(np.where(known, values, 0.0), first) / np.where(counts > 0, counts, np.nan))
