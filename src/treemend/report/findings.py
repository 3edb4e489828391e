"""What was found in some rows: the one record behind the report, the JSON summary, the notebook and the plots.

A method fills in what it knows and leaves the rest None. All arrays are in the order of the table's columns.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from treemend.exceptions import InputError

__all__ = ["CELL_LABELS", "CORRUPTED", "KINDS", "MISSING", "Findings", "Rule", "Tree", "row_runs", "runs"]

KINDS = ("noise", "foreign", "shifted", "stuck")
"""Kinds of corruption; `Findings.kinds` holds indices into it."""
CELL_LABELS = (*KINDS, "corrupted", "missing")
"""What can be told of a cell; "corrupted" is of no known kind. `Findings.cell_labels` holds indices into it."""
CORRUPTED, MISSING = len(KINDS), len(KINDS) + 1
_BY_CELL = ("before", "after", "mask", "missing", "spread", "kinds", "cell_evidence")
_BY_ROW = ("unusual", "p_values", "row_scores")
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
    name : {"rate", "fdr", "tau"}
        A false-alarm rate, a false discovery rate, or a threshold on node scores.
    value : float
        The rate or the threshold in force.
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
    """Rows before and after, and what is known about them.

    Attributes
    ----------
    before, after : ndarray, (n, d)
        The rows as they came and as they are now; NaN in `before` where a value was missing.
    mask : ndarray of bool, (n, d)
        True where a value was replaced as corrupted.
    missing : ndarray of bool, (n, d), optional
        True where a value was missing when the row came.
    spread : ndarray, (n, d), optional
        Standard deviation of the replacement's error, NaN where nothing was replaced.
    unusual : ndarray of bool, (n,), optional
        True where a row is odd as a whole and was left alone.
    p_values : ndarray, (n,), optional
    row_scores : ndarray, (n,), optional
        As from ``score_samples``: higher is cleaner.
    kinds : ndarray of int8, (n, d), optional
        Index into `KINDS` for each cell of `mask`, -1 elsewhere.
    cell_evidence : ndarray, (n, d), optional
        Log odds that the cell is wrong given the rest of its row.
    names, row_ids : sequence, optional
        Names of the columns and of the rows; anything that ``str`` accepts names a row.
    grid : tuple of int, optional
        ``(height, width)`` or ``(height, width, channels)`` if rows are images.
    order : ndarray of int, (d,), optional
        Layout order of the columns: charts show them in this order. None means as they come.
    rule : Rule, optional
        Which rule declared rows.
    reference_low, reference_high : ndarray, (d,), optional
        Smallest and largest value of each column in the reference.
    notes : tuple of str
        Warnings such as drift.
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
    cell_evidence: NDArray[np.float64] | None = None
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
        for names, expected, word in (((*_BY_ROW, "row_ids"), n_rows, "row"), (_BY_COLUMN, n_columns, "column")):
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
        """Index into `CELL_LABELS` for each cell that was replaced or filled, -1 elsewhere."""
        labels = np.where(self.only_missing, np.int8(MISSING), np.int8(-1))
        labels[self.mask] = CORRUPTED
        if self.kinds is not None:
            np.copyto(labels, self.kinds, where=self.mask & (self.kinds >= 0))
        return labels

    def take(self, rows: NDArray[np.int64]) -> "Findings":
        """Return the findings of some rows."""
        arrays = {name: getattr(self, name) for name in (*_BY_CELL, *_BY_ROW)}
        taken: dict[str, Any] = {name: None if array is None else array[rows] for name, array in arrays.items()}
        if self.row_ids is not None:
            taken["row_ids"] = [self.row_ids[row] for row in rows]
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
    """Find the runs of equal labels in every row; negative labels belong to no run.

    Returns
    -------
    rows, start, stop : ndarray of int
        One entry a run, by row, then by start.

    Examples
    --------
    >>> row_runs(np.array([[0, 0, 2, -1], [-1, 1, 1, 1]]))
    (array([0, 0, 1]), array([0, 2, 1]), array([2, 3, 4]))
    """
    edge = np.ones((len(labels), 1), dtype=bool)
    changes = np.hstack([edge, labels[:, 1:] != labels[:, :-1], edge])
    rows, start = np.nonzero(changes[:, :-1] & (labels >= 0))
    return rows, start, np.nonzero(changes[:, 1:] & (labels >= 0))[1] + 1


def runs(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the runs of True in one row of a mask as pairs of start and stop.

    Examples
    --------
    >>> runs(np.array([True, True, False, True]))
    [(0, 2), (3, 4)]
    """
    _, start, stop = row_runs(np.where(mask, 0, -1)[None])
    return list(zip(start.tolist(), stop.tolist(), strict=True))
