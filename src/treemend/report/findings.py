"""What was found in some rows: the one record behind the report, the JSON summary, the notebook and the plots."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from treemend.exceptions import InputError

__all__ = ["CORRUPTED", "KINDS", "MISSING", "Findings", "Rule", "Tree", "findings_table", "row_runs", "runs"]

KINDS = ("noise", "foreign", "shifted", "stuck")
"""Kinds of corruption; `Findings.kinds` holds indices into it."""
_LABELS = np.array([*KINDS, "corrupted", "missing", "unusual"], dtype=object)
CORRUPTED, MISSING, _UNUSUAL = range(len(KINDS), len(KINDS) + 3)
_BY_CELL = ("before", "after", "mask", "missing", "spread", "kinds", "cell_evidence")
_BY_ROW = ("unusual", "p_values", "row_scores", "row_ids")
_BY_COLUMN = ("names", "order", "reference_low", "reference_high")


class Tree(Protocol):
    """What the report needs of an attribute tree: its nodes as intervals of the layout order, the root first."""

    @property
    def start(self) -> NDArray[np.int64]:
        """First place of each node."""

    @property
    def stop(self) -> NDArray[np.int64]:
        """Place after the last one of each node."""

    @property
    def depth(self) -> NDArray[np.int64]:
        """Depth of each node, 0 for the root."""


@dataclass(frozen=True)
class Rule:
    """The rule that declared rows corrupted.

    Attributes
    ----------
    name, value : str and float
        ``"rate"``, a false-alarm rate, ``"fdr"``, a false discovery rate, or ``"tau"``, a threshold on node scores.
    n_reference, reference_rate : int and float, optional
        Number of reference rows behind the decision, and which share of them it declares, each judged by the others.
    powerless : bool
        True if the reference is too small for the rule to declare any row.
    tau : float, optional
        The threshold on node scores in force, where a rate was asked for and the method has one.
    """

    name: Literal["rate", "fdr", "tau"]
    value: float
    n_reference: int | None = None
    reference_rate: float | None = None
    powerless: bool = False
    tau: float | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Findings:
    """Rows before and after, and what a method knows about them, in the order of the table's columns; the rest is None.

    Attributes
    ----------
    before, after : ndarray, (n, d)
        The rows as they came and as they are now; NaN in `before` where a value was missing.
    mask, missing : ndarray of bool, (n, d)
        True where a value was replaced as corrupted, and where one was missing when the row came.
    spread, cell_evidence : ndarray, (n, d), optional
        Standard deviation of the replacement's error, NaN where nothing was replaced; log odds that the cell is wrong
        given the rest of its row.
    unusual : ndarray of bool, (n,), optional
        True where a row is odd as a whole and was left alone.
    p_values, row_scores : ndarray, (n,), optional
        Scores are as from ``score_samples``: higher is cleaner.
    kinds : ndarray of int8, (n, d), optional
        Index into `KINDS` for each cell of `mask`, -1 elsewhere.
    names, row_ids : sequence, optional
        Names of the columns and of the rows; anything that ``str`` accepts names a row.
    grid : tuple of int, optional
        ``(height, width)`` or ``(height, width, channels)`` if rows are images.
    order : ndarray of int, (d,), optional
        Layout order of the columns: charts show them in this order. None means as they come.
    reference_low, reference_high : ndarray, (d,), optional
        Smallest and largest value of each column in the reference.
    rule, notes : Rule and tuple of str, optional
        Which rule declared rows; warnings such as drift.
    tree, node_scores : Tree and callable, optional
        The attribute tree, where the method has one; takes row numbers, returns their scores, rows x nodes.
    """

    before: NDArray[np.float64]
    after: NDArray[np.float64]
    mask: NDArray[np.bool_]
    missing: NDArray[np.bool_] | None = None
    spread: NDArray[np.float64] | None = None
    unusual: NDArray[np.bool_] | None = None
    p_values: NDArray[np.float64] | None = None
    row_scores: NDArray[np.float64] | None = None
    kinds: NDArray[np.int8] | None = None
    cell_evidence: NDArray[np.floating[Any]] | None = None
    names: Sequence[str] | None = None
    row_ids: Sequence[object] | None = None
    grid: tuple[int, ...] | None = None
    order: NDArray[np.int64] | None = None
    rule: Rule | None = None
    reference_low: NDArray[np.float64] | None = None
    reference_high: NDArray[np.float64] | None = None
    notes: tuple[str, ...] = ()
    tree: Tree | None = None
    node_scores: Callable[[NDArray[np.int64]], NDArray[np.float64]] | None = None

    def __post_init__(self) -> None:
        n_rows, n_columns = self.before.shape
        for name in _BY_CELL:
            array = getattr(self, name)
            if array is not None and array.shape != self.before.shape:
                raise InputError(f"{name} must have the shape of before, {self.before.shape}, got {array.shape}.")
        for names, expected, word in ((_BY_ROW, n_rows, "row"), (_BY_COLUMN, n_columns, "column")):
            for name in names:
                given = getattr(self, name)
                if given is not None and len(given) != expected:
                    raise InputError(f"{name} must have one entry for each {word}, {expected}, got {len(given)}.")
        if self.grid is not None and (len(self.grid) not in {2, 3} or int(np.prod(self.grid)) != n_columns):
            expected_grid = f"(height, width) or (height, width, channels) with {n_columns} entries in all"
            raise InputError(f"grid must be {expected_grid}, got {self.grid!r}.")

    @property
    def only_missing(self) -> NDArray[np.bool_]:
        """True where a value was missing and is not in `mask`."""
        return np.zeros(self.mask.shape, dtype=bool) if self.missing is None else self.missing & ~self.mask

    @property
    def left_alone(self) -> NDArray[np.bool_]:
        """True where a row is unusual and nothing in it is in `mask`."""
        return np.zeros(len(self.mask), dtype=bool) if self.unusual is None else self.unusual & ~self.mask.any(axis=1)

    @property
    def cell_labels(self) -> NDArray[np.int8]:
        """The kind of each corrupted cell, `CORRUPTED` if it is not known; `MISSING` for filled gaps; -1 elsewhere."""
        labels = np.where(self.only_missing, np.int8(MISSING), np.int8(-1))
        labels[self.mask] = CORRUPTED
        if self.kinds is not None:
            np.copyto(labels, self.kinds, where=self.mask & (self.kinds >= 0))
        return labels

    def take(self, rows: NDArray[np.int64]) -> "Findings":
        """Return the findings of some rows."""
        given = {name: getattr(self, name) for name in (*_BY_CELL, *_BY_ROW)}
        taken: dict[str, Any] = {
            name: values[rows] if isinstance(values, np.ndarray) else [values[row] for row in rows]
            for name, values in given.items()
            if values is not None
        }
        scores = self.node_scores
        if scores is not None:
            taken["node_scores"] = lambda places: scores(rows[places])
        return replace(self, **taken)

    @property
    def column_names(self) -> list[str]:
        """A name for every column: its own, its pixel, or its number."""
        if self.names is not None:
            return [str(name) for name in self.names]
        if self.grid is not None:
            return [f"pixel {', '.join(map(str, place))}" for place in np.ndindex(*self.grid)]
        return [f"column {column}" for column in range(self.before.shape[1])]


def row_runs(labels: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return row, start and stop of each run of equal labels, in order; negative labels belong to no run."""
    edge = np.ones((len(labels), 1), dtype=bool)
    changes = np.hstack([edge, labels[:, 1:] != labels[:, :-1], edge])
    rows, start = np.nonzero(changes[:, :-1] & (labels >= 0))
    return rows, start, np.nonzero(changes[:, 1:] & (labels >= 0))[1] + 1


def runs(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the runs of True in one row of a mask as pairs of start and stop."""
    _, start, stop = row_runs(np.where(mask, 0, -1)[None])
    return list(zip(start.tolist(), stop.tolist(), strict=True))


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
    >>> list(zip(*(table[name] for name in ("row", "first_column", "last_column", "kind", "after_mean"))))
    [(0, 'b', 'c', 'corrupted', 2.6), (1, 'c', 'c', 'missing', 3.0)]
    """
    labels = findings.cell_labels
    labels[findings.left_alone] = _UNUSUAL
    rows, start, stop = row_runs(labels)
    names = np.array(findings.column_names, dtype=object)
    ids = rows + first_row if findings.row_ids is None else [findings.row_ids[row] for row in rows]
    unknown = np.full(labels.shape, np.nan)
    spread, evidence = (unknown if given is None else given for given in (findings.spread, findings.cell_evidence))
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
        "spread_mean": _means(spread, bounds),
        "evidence_max": _over_runs(np.fmax, evidence, bounds),
    }
    return {name: column.tolist() for name, column in table.items()}


def _means(values: NDArray[np.float64], bounds: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean over each run, NaN left out; NaN if a run holds nothing else."""
    known = np.isfinite(values)
    counts = _over_runs(np.add, known.astype(np.float64), bounds)
    return _over_runs(np.add, np.where(known, values, 0.0), bounds) / np.where(counts > 0, counts, np.nan)


def _over_runs(function: np.ufunc, values: NDArray[np.float64], bounds: NDArray[np.int64]) -> NDArray[np.float64]:
    """Reduce the flat values of each run; `bounds` are start and stop of each run, one after the other, in order."""
    padded = np.append(values.ravel(), 0.0)
    return np.asarray(function.reduceat(padded, bounds)[::2]) if len(bounds) else np.zeros(0)
