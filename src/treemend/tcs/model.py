"""What was fitted, and scores of nodes by it (docs/method.md, section 2.4).

The score of a row at a node is ``count / N``, the share of the ``N`` reference rows whose left-out radius is at least
as large. A node is anomalous at ``tau`` exactly if its count is at most ``level_at(tau, N)``, which is the case exactly
if its radius is larger than `radius_limits` at that level.
"""

import math
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from treemend.exceptions import ModelFileError, ParameterError
from treemend.model_file import check_shapes
from treemend.params import check_choice, check_count, check_share
from treemend.tcs.imputation import IMPUTATIONS
from treemend.tcs.index import NodeIndex
from treemend.tcs.search import ROOT_RULES
from treemend.tcs.tree import F64, I64, AttributeTree, build_tree

__all__ = ["NOTHING_DECLARED", "TCSModel", "TCSParams", "counts_at_least", "level_at", "radius_limits"]

NOTHING_DECLARED = -1.0
"""A tau below every score: no node is anomalous, no row is changed."""


def counts_at_least(radii: F64, ascending: F64) -> I64:
    """Count the reference rows that are at least as unusual, rows x nodes.

    A reference row is left out of the ranking, as of its own neighbours, by taking 1 off: a fresh row can be more
    unusual than all reference rows, and one that took part in its own ranking could not.

    Examples
    --------
    >>> counts_at_least(np.array([[0.5], [2.0], [9.0]]), np.array([[1.0, 2.0, 3.0]])).ravel().tolist()
    [3, 2, 0]
    """
    counts = np.empty(radii.shape, dtype=np.int64)
    for node, usual in enumerate(ascending):
        counts[:, node] = len(usual) - np.searchsorted(usual, radii[:, node], side="left")
    return counts


def level_at(tau: float, n_rows: int) -> int:
    """Return the largest count whose score is at most ``tau``; -1 if there is none.

    Examples
    --------
    >>> level_at(0.1, 30), level_at(0.0, 30), level_at(-1.0, 30)
    (3, 0, -1)
    """
    return max(-1, min(math.floor(tau * n_rows + 1e-9), n_rows))


def radius_limits(ascending: F64, level: int) -> F64:
    """Return the radius of each node beyond which its count is at most ``level``.

    Examples
    --------
    >>> ascending = np.array([[1.0, 2.0, 3.0]])
    >>> [radius_limits(ascending, level).item() for level in (-1, 0, 1, 3)]
    [inf, 3.0, 2.0, -inf]
    """
    n_nodes, n_rows = ascending.shape
    if 0 <= level < n_rows:
        return np.ascontiguousarray(ascending[:, n_rows - 1 - level])
    return np.full(n_nodes, np.inf if level < 0 else -np.inf)


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
        """Refuse values that have no meaning."""
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

    ``radii``, reference rows x nodes, are the K-th radii of the reference rows, each left out of its own neighbours.
    ``tau`` is the threshold in force, -1 if nothing can be declared at the rate that was asked; ``reference_rate`` the
    share of the reference rows, each judged by the others, in which the search declares something.
    """

    rows: F64
    tree: AttributeTree
    radii: F64
    tau: float
    reference_rate: float
    params: TCSParams

    def __getstate__(self) -> dict[str, Any]:
        # What can be computed again is not pickled.
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def validate(self) -> None:
        """Refuse arrays that cannot come from a fit: a model file may have been altered and sealed again."""
        tree, n_columns, depth = self.tree, self.tree.n_features, self.params.depth
        check_shapes(self, {"nodes": tree.n_nodes, "columns": n_columns}, rows="n columns", radii="n nodes")
        expected = vars(build_tree(n_columns, depth))
        if not all(np.array_equal(getattr(tree, name), array) for name, array in expected.items()):
            raise ModelFileError(f"tree is not the attribute tree of {n_columns} columns and depth {depth}.")
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
    def ascending(self) -> F64:
        """The radii, nodes x reference rows, sorted at each node."""
        return np.ascontiguousarray(np.sort(self.radii, axis=0).T)
