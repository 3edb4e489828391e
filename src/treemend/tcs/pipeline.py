"""The published method in one screen: `fit_model` and `mend_rows`, each line one file; below them what was fitted.

The numbers beside the lines are sections of docs/method.md. Rows are float64, rows x columns, in the order and the
units of the user's columns; NaN where a value is missing. ``left_out`` names for each row the reference row that it is,
-1 for none: that row is judged and filled by the others.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemend.exceptions import ModelFileError, ParameterError
from treemend.model_file import check_shapes
from treemend.params import check_choice, check_count, check_share
from treemend.tcs.imputation import IMPUTATIONS, fill_declared, fill_incomplete
from treemend.tcs.index import NodeIndex
from treemend.tcs.scores import counts_at_least, left_out_counts, level_at, radius_limits
from treemend.tcs.search import ROOT_RULES, alarm_rates, attribute_mask, declared_nodes, largest_level, turning_levels
from treemend.tcs.tree import AttributeTree, build_tree

__all__ = ["TCSModel", "TCSParams", "declare", "fit_model", "mend_rows", "node_counts", "score_rows"]

NOTHING_DECLARED = -1.0
"""A tau below every score: no node is anomalous, no row is changed."""


def fit_model(values: NDArray[np.float64], params: TCSParams, *, n_jobs: int | None = None) -> TCSModel:
    """Learn from clean rows what is usual at each node, and which threshold keeps the false-alarm rate."""
    n_rows, n_features = values.shape
    tree = build_tree(n_features, params.depth)  # 2.2
    index = NodeIndex.build(values, tree, params.alpha)  # 2.3
    radii = index.radii(values, params.n_neighbors, left_out=np.arange(n_rows), n_jobs=n_jobs)  # 2.4
    counts = left_out_counts(radii, np.sort(radii, axis=0).T)
    rates = alarm_rates(counts, tree, params.root_rule)  # 2.7
    tau = params.tau
    if tau is None:
        highest = largest_level(rates, params.false_alarm_rate or 0.0)
        tau = highest / n_rows if highest >= 0 else NOTHING_DECLARED
    level = level_at(tau, n_rows)
    reference_rate = float(rates[level]) if level >= 0 else 0.0
    model = TCSModel(values, tree, radii, tau, reference_rate, params)
    vars(model)["index"] = index  # not built again
    return model


def mend_rows(
    model: TCSModel,
    rows: NDArray[np.float64],
    *,
    left_out: NDArray[np.int64] | None = None,
    n_jobs: int | None = None,
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return which values were overwritten, and the rows with these and the missing ones filled, rows x columns."""
    declared = declare(model, rows, left_out=left_out, n_jobs=n_jobs)  # 2.4, 2.5
    missing = np.isnan(rows)
    mask = attribute_mask(declared, model.tree) & ~missing
    complete = ~missing.any(axis=1, keepdims=True)
    filled = rows.copy()
    fill_declared(model, filled, rows, declared & complete, left_out=left_out, n_jobs=n_jobs)  # 2.6
    fill_incomplete(model, filled, rows, mask | missing, left_out=left_out)  # 2.8
    return mask, filled


def declare(
    model: TCSModel,
    rows: NDArray[np.float64],
    *,
    left_out: NDArray[np.int64] | None = None,
    n_jobs: int | None = None,
) -> NDArray[np.bool_]:
    """Return the nodes at which corruption is declared, rows x nodes."""
    if left_out is None:
        limits = radius_limits(model.ascending, model.level)
        anomalous = model.index.labels(rows, model.params.n_neighbors, limits, n_jobs=n_jobs)
    else:
        anomalous = node_counts(model, rows, left_out=left_out, n_jobs=n_jobs) <= model.level
    return declared_nodes(anomalous, model.tree, model.params.root_rule)


def node_counts(
    model: TCSModel,
    rows: NDArray[np.float64],
    *,
    left_out: NDArray[np.int64] | None = None,
    n_jobs: int | None = None,
) -> NDArray[np.int64]:
    """Count the reference rows that are at least as unusual, rows x nodes; scores are these over their number."""
    counts = np.empty((len(rows), model.tree.n_nodes), dtype=np.int64)
    known = np.zeros(len(rows), dtype=np.bool_) if left_out is None else left_out >= 0
    if left_out is not None:
        counts[known] = left_out_counts(model.radii[left_out[known]], model.ascending)
    if not known.all():
        radii = model.index.radii(rows[~known], model.params.n_neighbors, n_jobs=n_jobs)
        counts[~known] = counts_at_least(radii, model.ascending)
    return counts


def score_rows(
    model: TCSModel,
    rows: NDArray[np.float64],
    *,
    left_out: NDArray[np.int64] | None = None,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Return the threshold at which the search's result for each row changes, the one nearest to ``tau``.

    The search is not monotone: a higher threshold can clear a row that a lower one declared. For a row in which
    something is declared this is the lowest threshold down to which that remains so, for the others the next one at
    which something would be.
    """
    n_rows = len(model.rows)
    counts = node_counts(model, rows, left_out=left_out, n_jobs=n_jobs)
    return turning_levels(counts, model.tree, model.level, n_rows + 1, model.params.root_rule) / n_rows


@dataclass(frozen=True)
class TCSParams:
    """Parameters as `treemend.TCS` documents them; exactly one of ``tau`` and ``false_alarm_rate`` is a number."""

    tau: float | None
    false_alarm_rate: float | None
    alpha: float
    depth: int
    n_neighbors: int
    imputation: str
    root_rule: str

    def validate(self) -> None:
        """Refuse values that have no meaning.

        Raises
        ------
        ParameterError
            Naming the parameter, what it must be and what it was.
        """
        if self.tau is not None and self.false_alarm_rate is not None:
            raise ParameterError(
                f"Give tau or false_alarm_rate, not both: got tau={self.tau!r} and false_alarm_rate="
                f"{self.false_alarm_rate!r}. tau is the rate of one node's test, false_alarm_rate that of a row."
            )
        if self.tau is not None:
            check_share("tau", self.tau, zero=True)
        else:
            check_share("false_alarm_rate", self.false_alarm_rate, zero=True)
        check_share("alpha", self.alpha, zero=False)
        check_count("depth", self.depth, least=1)
        check_count("n_neighbors", self.n_neighbors, least=1)
        check_choice("imputation", self.imputation, IMPUTATIONS)
        check_choice("root_rule", self.root_rule, ROOT_RULES)


@dataclass(frozen=True, eq=False)
class TCSModel:
    """What was fitted.

    Attributes
    ----------
    rows : ndarray, reference rows x columns
        As they came.
    tree : AttributeTree
        Over the columns.
    radii : ndarray, reference rows x nodes
        K-th radii of the reference rows, each left out of its own neighbours.
    tau : float
        The threshold in force; -1 if nothing can be declared at the rate that was asked.
    reference_rate : float
        Share of the reference rows, each judged by the others, in which the search declares something.
    params : TCSParams
    """

    rows: NDArray[np.float64]
    tree: AttributeTree
    radii: NDArray[np.float64]
    tau: float
    reference_rate: float
    params: TCSParams

    def __getstate__(self) -> dict[str, Any]:
        # What can be computed again is not pickled.
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def validate(self) -> None:
        """Refuse arrays that cannot come from a fit.

        Raises
        ------
        ModelFileError
            If a model file was altered and sealed again.
        """
        check_shapes(
            self, {"nodes": self.tree.n_nodes, "columns": self.tree.n_features}, rows="n columns", radii="n nodes"
        )
        expected = build_tree(self.n_features, self.params.depth)
        if not all(
            np.array_equal(getattr(self.tree, field.name), getattr(expected, field.name)) for field in fields(expected)
        ):
            raise ModelFileError(
                f"tree is not the attribute tree of {self.n_features} columns and depth {self.params.depth}."
            )
        if not np.isfinite(self.rows).all() or not (self.radii >= 0).all():
            raise ModelFileError("rows must be finite and radii must not be negative.")
        if not (0 <= self.tau <= 1 or self.tau == NOTHING_DECLARED) or not 0 <= self.reference_rate <= 1:
            raise ModelFileError(f"tau = {self.tau:g} or reference_rate = {self.reference_rate:g} is out of range.")
        if len(self.rows) < self.params.n_neighbors + 2:
            raise ModelFileError(f"rows has {len(self.rows)} rows, too few for {self.params.n_neighbors} neighbors.")

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.rows.shape[1])

    @property
    def level(self) -> int:
        """The largest count at which a node is anomalous."""
        return level_at(self.tau, len(self.rows))

    @cached_property
    def index(self) -> NodeIndex:
        """The reference rows, arranged for distances at every node."""
        return NodeIndex.build(self.rows, self.tree, self.params.alpha)

    @cached_property
    def ascending(self) -> NDArray[np.float64]:
        """The radii, nodes x reference rows, sorted at each node."""
        return np.ascontiguousarray(np.sort(self.radii, axis=0).T)
