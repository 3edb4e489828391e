"""`TCS`, the published method as a scikit-learn estimator: checks, tables in and out; `pipeline` has the method."""

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from treemend import tables
from treemend.base import BaseMender
from treemend.exceptions import InputError
from treemend.report.findings import Findings, Rule
from treemend.result import Result
from treemend.tcs.model import TCSModel, TCSParams
from treemend.tcs.pipeline import declare, fit_model, mend_rows, node_counts, score_rows
from treemend.tcs.tree import F64, I64, AttributeTree, Bools

__all__ = ["TCS"]

_DEFAULT_RATE = 0.05


class TCS(BaseMender):
    """The published method: a binary tree over the columns, a test at each node, a search, one donor a gap.

    Columns are taken in the order and the units in which they come: scale them to a common range first. For pictures
    and other layouts, permute the columns, see `treemend.tcs.grid_order`.

    Parameters
    ----------
    tau : float, optional
        A node is anomalous if at most this share of the reference rows is as unusual there: the false-alarm rate of a
        single test. Give it or ``false_alarm_rate``, not both.
    false_alarm_rate : float, optional
        Share of clean rows in which the search may declare something. The threshold is the largest ``tau`` up to which
        the reference rows, each judged by the others, keep to it. 0.05 if ``tau`` is not given either.
    alpha : float, default=0.75
        Share of a node's columns that count in a distance, the closest ones. Below 1, a few foreign values do not make
        a node unusual, which localises better; 1 is the Euclidean distance.
    depth : int, default=4
        Depth of the attribute tree.
    n_neighbors : int, default=8
        K: a row is as unusual as its K-th nearest reference row is far; also the number of donors to choose among.
    imputation : {"map", "nearest"}, default="map"
        Of the K reference rows nearest on the sibling of a declared node, take the one that is most usual at the
        parent ("map", the paper's TCS-MAP), or the nearest one ("nearest", TCS-NN).
    root_rule : {"continue", "stop"}, default="continue"
        What the search does where the root and both its children are anomalous: go on into both children, as the
        paper's false-alarm analysis needs it, or stop, as its listing says.
    passthrough : sequence of column names, default=()
        Columns of data frames that are not looked at (ids, timestamps). They may be of any type and come back untouched
        in the repaired table. The reference must have them, suspect tables may.
    n_jobs : int, optional
        Number of threads. None takes every core this process may use, or one inside a joblib or Dask worker; -1 takes
        every core.

    Attributes
    ----------
    tree_ : AttributeTree
        The attribute tree, as flat arrays.
    tau_ : float
        The threshold in force. -1 if the reference is too small for the rate that was asked: nothing is declared then.
    reference_rate_ : float
        Share of the reference rows, each judged by the others, in which the search declares something.
    offset_ : float
        Boundary of `score_samples` between corrupted and clean rows.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Column names, if the reference had them.

    See Also
    --------
    treemend.Mender : The recommended method.
    treemend.tcs.false_alarms : The model of the false-alarm rate.

    Examples
    --------
    >>> import numpy as np
    >>> from treemend import TCS
    >>> from treemend.synthetic import waves
    >>> rng = np.random.default_rng(0)
    >>> tcs = TCS(false_alarm_rate=0.1).fit(waves(500, 32, rng=rng))
    >>> suspect = waves(3, 32, rng=rng)
    >>> suspect[1, 8:16] = rng.uniform(-2, 2, 8)
    >>> result = tcs.mend(suspect)
    >>> result.corrupted
    array([False,  True, False])
    >>> np.flatnonzero(result.mask[1])
    array([ 8,  9, 10, 11, 12, 13, 14, 15])
    """

    model_type: ClassVar[type] = TCSModel
    _nan_in_reference = False
    _preserved_dtypes = ("float64", "float32")
    _model: TCSModel

    def __init__(
        self,
        *,
        tau: float | None = None,
        false_alarm_rate: float | None = None,
        alpha: float = 0.75,
        depth: int = 4,
        n_neighbors: int = 8,
        imputation: str = "map",
        root_rule: str = "continue",
        passthrough: Sequence[Any] = (),
        n_jobs: int | None = None,
    ) -> None:
        self.tau = tau
        self.false_alarm_rate = false_alarm_rate
        self.alpha = alpha
        self.depth = depth
        self.n_neighbors = n_neighbors
        self.imputation = imputation
        self.root_rule = root_rule
        self.passthrough = passthrough
        self.n_jobs = n_jobs

    @property
    def tree_(self) -> AttributeTree:
        """The attribute tree, as flat arrays."""
        return self._fitted().tree

    @property
    def tau_(self) -> float:
        """The threshold in force; -1 if nothing can be declared at the rate that was asked."""
        return self._fitted().tau

    @property
    def reference_rate_(self) -> float:
        """Share of the reference rows, each judged by the others, in which the search declares something."""
        return self._fitted().reference_rate

    @property
    def offset_(self) -> float:
        """Boundary of `score_samples`: half a reference row above ``tau_``, since a row at ``tau_`` is corrupted."""
        model = self._fitted()
        return (model.level + 0.5) / len(model.rows)

    def score_nodes(self, X: Any) -> F64:
        """Return the score of every node: the share of reference rows that are at least as unusual there.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Suspect rows.

        Returns
        -------
        ndarray of shape (n_samples, n_nodes)
            Between 0, as unusual as can be, and 1. Nodes are numbered as in ``tree_``.
        """
        rows = self._suspects(X).values
        return node_counts(self._model, rows, _left_out(rows), self.n_jobs) / len(self._model.rows)

    def _fitted(self) -> TCSModel:
        check_is_fitted(self)
        return self._model

    def _params(self) -> TCSParams:
        given = {name: getattr(self, name) for name in TCSParams.__annotations__}
        if self.tau is None and self.false_alarm_rate is None:
            given["false_alarm_rate"] = _DEFAULT_RATE
        return TCSParams(**given)

    def _check_own_params(self) -> None:
        self._params().validate()

    def _learn(self, table: tables.Table) -> I64:
        tables.check_complete(table)
        tables.check_range(table.values, table.names)
        if len(table.values) < self.n_neighbors + 2:
            raise InputError(
                f"The reference must have at least n_neighbors + 2 = {self.n_neighbors + 2} rows, got n_samples = "
                f"{len(table.values)}. Give more clean rows, or lower n_neighbors."
            )
        self._model = fit_model(table.values, self._params(), self.n_jobs)
        return np.arange(len(table.values))

    def _powerless_at(self) -> tuple[int, float] | None:
        rate = self._model.params.false_alarm_rate
        return (len(self._model.rows), rate) if self._model.tau < 0 and rate is not None else None

    def _scores(self, rows: F64) -> F64:
        return score_rows(self._model, rows, _left_out(rows), self.n_jobs)

    def _declared(self, rows: F64, own: I64 | None) -> Bools:
        return np.asarray(declare(self._model, rows, _left_out(rows, own), self.n_jobs).any(axis=1))

    def _mend(self, table: tables.Table, own: I64 | None) -> Result:
        left_out = _left_out(table.values, own)
        mask, filled = mend_rows(self._model, table.values, left_out, self.n_jobs)
        missing = np.isnan(table.values)
        return Result(
            repaired=table.rebuilt(filled, mask | missing),
            mask=table.like(mask),
            corrupted=np.asarray(mask.any(axis=1)),
            unusual=np.zeros(len(mask), dtype=np.bool_),
            p_values=None,
            missing=table.like(missing),
            spread=None,
            draws=[],
            _findings=partial(_findings, self._model, table, mask, filled, left_out, self.n_jobs),
        )


def _left_out(rows: F64, own: I64 | None = None) -> I64:
    """Say of each row which reference row it is; fresh ones are none."""
    return np.full(len(rows), -1) if own is None else own


def _findings(
    model: TCSModel, table: tables.Table, mask: Bools, filled: F64, left_out: I64, n_jobs: int | None
) -> Findings:
    """Return what a report needs; rows in which nothing was declared have no score."""
    rows, rate = table.values, model.params.false_alarm_rate
    scores, touched = np.full(len(rows), np.nan), mask.any(axis=1)
    scores[touched] = score_rows(model, rows[touched], left_out[touched], n_jobs)

    def node_scores(numbers: I64) -> F64:
        return node_counts(model, rows[numbers], left_out[numbers], n_jobs) / len(model.rows)

    return Findings(
        before=rows,
        after=filled,
        mask=mask,
        missing=np.isnan(rows),
        row_scores=scores,
        names=table.names,
        row_ids=table.row_ids,
        rule=Rule(
            name="tau" if rate is None else "rate",
            value=model.tau if rate is None else rate,
            n_reference=len(model.rows),
            reference_rate=model.reference_rate,
            powerless=model.tau < 0,
            tau=model.tau,
        ),
        reference_low=model.rows.min(axis=0),
        reference_high=model.rows.max(axis=0),
        tree=model.tree,
        node_scores=node_scores,
    )
