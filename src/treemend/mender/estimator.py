"""`TreeMender`, the estimator: it checks, calls the stages in order, and hands back tables of the caller's kind.

Enters: reference rows at `fit`, suspect rows afterwards. Leaves: see each method.
"""

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, OutlierMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from treemend import calibration, tables
from treemend.exceptions import ColumnsError, InputError, ParameterError
from treemend.imputation import IMPUTATIONS, fill_from_siblings
from treemend.kernels import left_out_radii, node_radii, pack
from treemend.mender import saving
from treemend.mender.parameters import check_choice, check_count, check_names, check_share
from treemend.mender.result import Mended
from treemend.separation import attribute_mask, declare, turning_levels
from treemend.tree import build_tree, default_depth, lay_out

__all__ = ["TreeMender"]

_DEFAULT_RATE = 0.05
_ROOT_RULES = ("continue", "stop")


@dataclass(frozen=True, eq=False)
class _Judged:
    """What the search found: rows x nodes, and rows x attributes in the order of the columns."""

    declared: NDArray[np.bool_]
    mask: NDArray[np.bool_]
    filled: NDArray[np.float64]


class TreeMender(OneToOneFeatureMixin, TransformerMixin, OutlierMixin, BaseEstimator):
    """Find the overwritten stretches of rows, and put back what most likely stood there.

    Learns from clean reference rows. Promises how often a clean row is touched.

    Parameters
    ----------
    layout : "sequence", default="sequence"
        How attributes lie beside each other. "sequence": in the order of the columns.
    depth : int or "auto", default="auto"
        Depth of the attribute tree. "auto" leaves about four attributes a leaf.
    n_neighbors : int, default=8
        K: a row is as unusual as its K-th nearest reference row is far; and the number of donors.
    alpha : float, default=0.75
        Share of a node's attributes that counts in a distance, the closest ones. Below 1, a few foreign values do not
        make a whole node unusual, which localises better; 1 is the Euclidean distance.
    tau : float, optional
        False-alarm rate of a single node's test. Give it or ``false_alarm_rate``, not both.
    false_alarm_rate : float, optional
        Share of clean rows that may be touched; 0.05 if ``tau`` is not given.
    imputation : "map" or "nearest", default="map"
        Which donor fills a stretch: the most usual of the K nearest, or the nearest.
    scale : "minmax" or None, default="minmax"
        "minmax" measures each attribute in units of its range in the reference. None takes values as they are.
    root_rule : "continue" or "stop", default="continue"
        What the search does when the whole row and both its halves are unusual: go on into the halves, or stop as the
        paper's listing says.
    passthrough : sequence of column names, default=()
        Columns of data frames that are no attributes (ids, timestamps): they may be of any type, are not looked at, and
        come back untouched in the repaired table. The reference must have them, suspect tables may.
    n_jobs : int, optional
        Number of threads. None takes every core this process may use, or one inside a joblib or Dask worker; -1 takes
        every core.

    Attributes
    ----------
    tree_ : AttributeTree
        The attribute tree, as flat arrays.
    tau_ : float
        The threshold in force: a node is anomalous if its score is at most this. -1 if the reference is too small for
        the rate that was asked; nothing is declared then.
    reference_rate_ : float
        Share of the reference rows, each judged by the others, that the search touches at ``tau_``.
    reference_ : ndarray, reference rows x attributes
        The reference rows as they came, as float64.
    n_features_in_ : int
        Number of attributes.
    feature_names_in_ : ndarray of str
        Column names, if the reference had them.

    See Also
    --------
    treemend.false_alarms : The model of the false-alarm rate.

    Examples
    --------
    >>> import numpy as np
    >>> from treemend import TreeMender
    >>> rng = np.random.default_rng(0)
    >>> def waves(n):
    ...     phase, height = rng.uniform(0, 6, (n, 1)), rng.uniform(1, 2, (n, 1))
    ...     return height * np.sin(np.linspace(0, 6, 32) + phase)
    >>> mender = TreeMender(false_alarm_rate=0.05).fit(waves(500))
    >>> suspect = waves(3)
    >>> suspect[1, 8:16] = rng.uniform(-2, 2, 8)
    >>> mended = mender.mend(suspect)
    >>> mended.corrupted
    array([False,  True, False])
    >>> np.flatnonzero(mended.mask[1])
    array([ 8,  9, 10, 11])
    """

    def __init__(
        self,
        *,
        layout: str = "sequence",
        depth: int | str = "auto",
        n_neighbors: int = 8,
        alpha: float = 0.75,
        tau: float | None = None,
        false_alarm_rate: float | None = None,
        imputation: str = "map",
        scale: str | None = "minmax",
        root_rule: str = "continue",
        passthrough: Sequence[Any] = (),
        n_jobs: int | None = None,
    ) -> None:
        self.layout = layout
        self.depth = depth
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.tau = tau
        self.false_alarm_rate = false_alarm_rate
        self.imputation = imputation
        self.scale = scale
        self.root_rule = root_rule
        self.passthrough = passthrough
        self.n_jobs = n_jobs

    @classmethod
    def as_published(
        cls,
        tau: float,
        *,
        alpha: float = 0.75,
        depth: int = 4,
        n_neighbors: int = 8,
        imputation: str = "map",
    ) -> Self:
        """Return the published method and nothing else: no scaling, the columns' order, donors by the sibling.

        Parameters
        ----------
        tau : float
            False-alarm rate of a single node's test.
        alpha, depth, n_neighbors, imputation
            As for the class; ``imputation="nearest"`` is the paper's TCS-NN.

        Examples
        --------
        >>> TreeMender.as_published(0.016, depth=6)
        TreeMender(depth=6, scale=None, tau=0.016)
        """
        return cls(
            tau=tau,
            alpha=alpha,
            depth=depth,
            n_neighbors=n_neighbors,
            imputation=imputation,
            layout="sequence",
            scale=None,
            root_rule="continue",
        )

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what is usual from clean rows.

        Parameters
        ----------
        X : array-like or data frame, rows x attributes
            Clean reference rows, at least ``n_neighbors + 2`` of them, finite.
        y : ignored
            For scikit-learn's pipelines.
        """
        del y
        self._check_parameters()
        table = self._read(X, reset=True)
        values = table.values
        tables.check_finite(values, table.names, "reference")
        tables.check_range(values, table.names)
        if len(values) < self.n_neighbors + 2:
            raise InputError(
                f"The reference must have at least n_neighbors + 2 = {self.n_neighbors + 2} rows, got n_samples = "
                f"{len(values)}. Give more clean rows, or lower n_neighbors."
            )
        depth = default_depth(values.shape[1]) if self.depth == "auto" else int(self.depth)
        self.tree_ = build_tree(lay_out(self.layout, values.shape[1]), depth)
        self.reference_ = values
        self._scaling = tables.learn_scaling(values, self.scale)
        self._packed = pack(self._to_tree(values), self.tree_, float(self.alpha))
        self._calibration = calibration.calibrate(left_out_radii(self._packed, self.n_neighbors, n_jobs=self.n_jobs))
        threshold = self._choose_threshold()
        self.tau_ = threshold.tau
        self.reference_rate_ = threshold.rate
        return self

    def mend(self, X: Any) -> Mended:
        """Find and repair what was overwritten.

        Parameters
        ----------
        X : array-like or data frame, rows x attributes
            Suspect rows.

        Returns
        -------
        Mended
            ``repaired`` and ``mask`` in the kind of table that came, ``corrupted`` one flag a row.
        """
        table, rows = self._suspects(X)
        return _in_kind(table, self._judge(rows, node_radii(self._packed, rows, self.n_neighbors, n_jobs=self.n_jobs)))

    def transform(self, X: Any) -> NDArray[np.floating[Any]]:
        """Return the repaired rows as an array.

        Parameters
        ----------
        X : array-like or data frame, rows x attributes
            Suspect rows.
        """
        return self._as_array(self.mend(X))

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> NDArray[np.floating[Any]]:
        """Learn from rows and return them repaired, each judged and repaired by the others.

        Parameters
        ----------
        X : array-like or data frame, rows x attributes
            Reference rows.
        y : ignored
        **fit_params : ignored
        """
        del fit_params
        return self._as_array(self.fit(X, y)._mend_reference(X))

    def fit_predict(self, X: Any, y: Any = None, **fit_params: Any) -> NDArray[np.int64]:
        """Learn from rows and return +1 for clean and -1 for corrupted ones, each judged by the others.

        Parameters
        ----------
        X : array-like or data frame, rows x attributes
            Reference rows.
        y : ignored
        **fit_params : ignored
        """
        del fit_params
        return np.where(self.fit(X, y)._mend_reference(X).corrupted, -1, 1)

    def localize(self, X: Any) -> NDArray[np.bool_]:
        """Return True where a value was judged corrupted, rows x attributes.

        Parameters
        ----------
        X : array-like or data frame, rows x attributes
            Suspect rows.
        """
        declared = declare(self.score_nodes(X), self.tree_, self.tau_, stop_at_root=self._stops_at_root)
        return self._to_columns(attribute_mask(declared, self.tree_))

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return +1 for clean and -1 for corrupted rows.

        Parameters
        ----------
        X : array-like or data frame, rows x attributes
            Suspect rows.
        """
        return np.where(self.localize(X).any(axis=1), -1, 1)

    def score_nodes(self, X: Any) -> NDArray[np.float64]:
        """Return the score of every node, rows x nodes: the share of reference rows at least as unusual there.

        Parameters
        ----------
        X : array-like or data frame, rows x attributes
            Suspect rows.
        """
        _, rows = self._suspects(X)
        return self._calibration.scores(node_radii(self._packed, rows, self.n_neighbors, n_jobs=self.n_jobs))

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Return how clean each row is: the ``tau`` at which its verdict turns; higher is cleaner.

        Parameters
        ----------
        X : array-like or data frame, rows x attributes
            Suspect rows.

        Notes
        -----
        The search is not monotone: raising ``tau`` can let a row go that was found before. The score of a row is
        therefore the turning point nearest to ``tau_``: for a corrupted row the smallest threshold down to which it
        stays found, for a clean one the next threshold at which it would be found.
        """
        n_rows = self._fitted()._calibration.n_rows
        counts = np.rint(self.score_nodes(X) * n_rows).astype(np.int64)
        turning = turning_levels(counts, self.tree_, self._level(), n_rows + 1, stop_at_root=self._stops_at_root)
        return turning / n_rows

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return `score_samples` minus the offset: below 0 for rows found corrupted, above 0 for clean ones.

        Parameters
        ----------
        X : array-like or data frame, rows x attributes
            Suspect rows.
        """
        return self.score_samples(X) - self.offset_

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted mender to a model file; one that is there already is replaced, whole or not at all.

        Parameters
        ----------
        path : path
            Where to; the usual ending is ``.safetensors``.

        Notes
        -----
        The file holds the reference rows, the parameters, the column names and what was learnt, with checksums. Nothing
        in it is code, and nothing is executed when it is read.
        """
        saving.save(self._fitted(), path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a mender that `save` wrote; it gives the same bits.

        Parameters
        ----------
        path : path
            The model file. One that is truncated, altered, or of a newer version is a `ModelFileError`.
        """
        return cast(Self, saving.load(cls, path))

    @property
    def offset_(self) -> float:
        """Boundary of `score_samples` between corrupted and clean: half a reference row above ``tau_``."""
        return (self._fitted()._level() + 0.5) / self._calibration.n_rows

    def _fitted(self) -> Self:
        check_is_fitted(self, "tau_")
        return self

    @property
    def _stops_at_root(self) -> bool:
        return self.root_rule == "stop"

    def _level(self) -> int:
        """Return how many reference rows may be at least as unusual before a node counts as normal."""
        return int(np.floor(self.tau_ * self._calibration.n_rows + 1e-9))

    def _check_parameters(self) -> None:
        check_count("depth", self.depth, least=1, also=("auto",))
        check_count("n_neighbors", self.n_neighbors, least=1)
        check_share("alpha", self.alpha, zero=False)
        check_choice("imputation", self.imputation, IMPUTATIONS)
        check_choice("scale", self.scale, ("minmax", None))
        check_choice("root_rule", self.root_rule, _ROOT_RULES)
        check_names("passthrough", self.passthrough)
        if self.n_jobs != -1:
            check_count("n_jobs", self.n_jobs, least=1, also=(None, -1))
        if self.tau is not None and self.false_alarm_rate is not None:
            raise ParameterError(
                f"Give tau or false_alarm_rate, not both: got tau={self.tau!r} and false_alarm_rate="
                f"{self.false_alarm_rate!r}. tau is the rate of one node's test, false_alarm_rate that of a whole row."
            )
        for name in ("tau", "false_alarm_rate"):
            if getattr(self, name) is not None:
                check_share(name, getattr(self, name), zero=True)

    def _choose_threshold(self) -> calibration.Threshold:
        if self.tau is not None:
            return calibration.rate_at(self._calibration, self.tree_, float(self.tau), stop_at_root=self._stops_at_root)
        rate = _DEFAULT_RATE if self.false_alarm_rate is None else float(self.false_alarm_rate)
        threshold = calibration.largest_tau(self._calibration, self.tree_, rate, stop_at_root=self._stops_at_root)
        if threshold.tau == calibration.NOTHING_DECLARED:
            warnings.warn(
                f"{self._calibration.n_rows} reference rows are too few to promise a false-alarm rate of {rate:g} with "
                f"{self.tree_.n_nodes} nodes: nothing will be declared. Give more clean rows, lower depth, or ask for "
                "a higher rate.",
                UserWarning,
                stacklevel=3,
            )
        return threshold

    def _read(self, X: Any, *, reset: bool) -> tables.Table:
        """Read a table, and hold its columns against the reference's."""
        table = tables.read_table(X, self.passthrough, all_there=reset)
        try:
            validate_data(self, table.attributes if table.names else table.values, reset=reset, skip_check_array=True)
        except ValueError as error:
            expected = list(getattr(self, "feature_names_in_", []))
            difference = tables.columns_difference(expected, table.names or []) if expected and table.names else ""
            raise ColumnsError(f"{error}\n{difference}".rstrip()) from None
        return table

    def _suspects(self, X: Any) -> tuple[tables.Table, NDArray[np.float64]]:
        """Return the table as read, and its rows as kernels want them."""
        table = self._fitted()._read(X, reset=False)
        tables.check_finite(table.values, table.names, "suspect")
        return table, self._to_tree(table.values)

    def _to_tree(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scale values and put the attributes into the order of the tree."""
        return np.ascontiguousarray(self._scaling.apply(values)[:, self.tree_.order])

    def _to_columns(self, in_tree_order: NDArray[Any]) -> NDArray[Any]:
        """Put attributes back into the order of the columns."""
        in_columns = np.empty_like(in_tree_order)
        in_columns[:, self.tree_.order] = in_tree_order
        return in_columns

    def _judge(
        self,
        rows: NDArray[np.float64],
        radii: NDArray[np.float64],
        left_out: NDArray[np.int64] | None = None,
    ) -> _Judged:
        counts = self._calibration.counts(radii) if left_out is None else self._calibration.left_out_counts()
        declared = declare(counts / self._calibration.n_rows, self.tree_, self.tau_, stop_at_root=self._stops_at_root)
        filled = fill_from_siblings(
            rows,
            declared,
            self.tree_,
            self._packed,
            self.reference_[:, self.tree_.order],
            self._calibration.radii,
            n_neighbors=self.n_neighbors,
            imputation=self.imputation,
            left_out=left_out,
            n_jobs=self.n_jobs,
        )
        mask = attribute_mask(declared, self.tree_)
        return _Judged(declared=declared, mask=self._to_columns(mask), filled=self._to_columns(filled))

    def _mend_reference(self, X: Any) -> Mended:
        """Mend the reference rows themselves, each left out of its own judgement."""
        rows = self._to_tree(self.reference_)
        judged = self._judge(rows, self._calibration.radii, left_out=np.arange(len(rows)))
        return _in_kind(tables.read_table(X, self.passthrough), judged)

    def _as_array(self, mended: Mended) -> NDArray[np.floating[Any]]:
        """Return the repaired attributes, without the columns that were passed through."""
        return np.asarray(tables.attributes_only(mended.repaired, self.passthrough))


def _in_kind(table: tables.Table, judged: _Judged) -> Mended:
    """Turn what was found into tables of the kind that came."""
    return Mended(
        repaired=table.rebuilt(judged.filled, judged.mask),
        mask=table.like_mask(judged.mask),
        corrupted=np.asarray(judged.mask.any(axis=1)),
    )
