"""The published method in one screen: `fit_model` and `mend_rows`, each line one file.

The numbers beside the lines are sections of docs/method.md. Rows are float64, rows x columns, in the order and the
units of the user's columns; NaN where a value is missing. ``left_out`` names for each row the reference row that it is,
-1 for none: that row is judged and filled by the others.
"""

import numpy as np

from treemend.tcs.imputation import fill_declared, fill_incomplete
from treemend.tcs.index import NodeIndex
from treemend.tcs.model import NOTHING_DECLARED, TCSModel, TCSParams, counts_at_least, level_at, radius_limits
from treemend.tcs.search import alarm_rates, attribute_mask, declared_nodes, largest_level, turning_levels
from treemend.tcs.tree import F64, I64, Bools, build_tree

__all__ = ["declare", "fit_model", "mend_rows", "node_counts", "score_rows"]


def fit_model(values: F64, params: TCSParams, n_jobs: int | None) -> TCSModel:
    """Learn from clean rows what is usual at each node, and which threshold keeps the false-alarm rate."""
    n_rows, n_features = values.shape
    tree = build_tree(n_features, params.depth)  # 2.2
    index = NodeIndex.build(values, tree, params.alpha)  # 2.3
    radii = index.radii(values, params.n_neighbors + 1, n_jobs=n_jobs)  # 2.4: each row is its own nearest one
    counts = counts_at_least(radii, np.sort(radii, axis=0).T) - 1  # each row left out of its own ranking
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


def mend_rows(model: TCSModel, rows: F64, left_out: I64, n_jobs: int | None) -> tuple[Bools, F64]:
    """Return which values were overwritten, and the rows with these and the missing ones filled, rows x columns."""
    declared = declare(model, rows, left_out, n_jobs)  # 2.4, 2.5
    missing = np.isnan(rows)
    mask = attribute_mask(declared, model.tree) & ~missing
    complete = ~missing.any(axis=1, keepdims=True)
    filled = rows.copy()
    fill_declared(model, filled, rows, declared & complete, left_out, n_jobs)  # 2.6
    fill_incomplete(model, filled, rows, mask | missing, left_out, n_jobs)  # 2.8
    return mask, filled


def declare(model: TCSModel, rows: F64, left_out: I64, n_jobs: int | None) -> Bools:
    """Return the nodes at which corruption is declared, rows x nodes."""
    if (left_out < 0).all():
        limits = radius_limits(model.ascending, model.level)
        anomalous = model.index.labels(rows, model.params.n_neighbors, limits, n_jobs=n_jobs)
    else:
        anomalous = node_counts(model, rows, left_out, n_jobs) <= model.level
    return declared_nodes(anomalous, model.tree, model.params.root_rule)


def node_counts(model: TCSModel, rows: F64, left_out: I64, n_jobs: int | None) -> I64:
    """Count the reference rows that are at least as unusual, rows x nodes; scores are these over their number."""
    counts = np.empty((len(rows), model.tree.n_nodes), dtype=np.int64)
    known = left_out >= 0
    counts[known] = counts_at_least(model.radii[left_out[known]], model.ascending) - 1
    radii = model.index.radii(rows[~known], model.params.n_neighbors, n_jobs=n_jobs)
    counts[~known] = counts_at_least(radii, model.ascending)
    return counts


def score_rows(model: TCSModel, rows: F64, left_out: I64, n_jobs: int | None) -> F64:
    """Return the threshold at which the search's result for each row changes, the one nearest to ``tau``.

    The search is not monotone: a higher threshold can clear a row that a lower one declared. For a row in which
    something is declared this is the lowest threshold down to which that remains so, for the others the next one at
    which something would be.
    """
    n_rows = len(model.rows)
    counts = node_counts(model, rows, left_out, n_jobs)
    return turning_levels(counts, model.tree, model.level, n_rows + 1, model.params.root_rule) / n_rows
