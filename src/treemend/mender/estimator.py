"""`TreeMender`, the estimator: it checks, calls the stages in order, and hands back tables of the caller's kind.

Enters: reference rows at `fit`, suspect rows afterwards. Leaves: see each method. No computing is done here.
"""

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, OutlierMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from treemend import tables
from treemend.exceptions import ColumnsError, InputError
from treemend.mender import saving
from treemend.mender.cleaning import learn_cleaned
from treemend.mender.judging import cleanness, judge, node_counts, offset, promises_nothing, touched_share
from treemend.mender.knowledge import Workshop, learn
from treemend.mender.mending import mend_table
from treemend.mender.parameters import check_choice, check_count, check_names
from treemend.mender.parts import in_parts
from treemend.mender.result import Mended
from treemend.mender.settings import Settings, settle
from treemend.progress import silenced
from treemend.reference import HeldRows, Means, Rows
from treemend.tree import AttributeTree, Part, grid_shape, lay_out

__all__ = ["TreeMender"]


class TreeMender(OneToOneFeatureMixin, TransformerMixin, OutlierMixin, BaseEstimator):
    """Find the overwritten stretches of rows, and put back what most likely stood there.

    Learns from clean reference rows. Promises how often a clean row is touched.

    Parameters
    ----------
    layout : "sequence", "correlated", tuple of int, or groups of columns, default="sequence"
        How attributes lie beside each other. "sequence": in the order of the columns. "correlated": their order means
        nothing; columns that go together in the reference are put side by side. ``(height, width)`` or ``(height,
        width, channels)``: images, row by row. A list of lists of columns, or a mapping of names to such lists:
        groups, such as the columns of one sensor each; cuts fall between groups first.
    depth : int or "auto", default="auto"
        Depth of the attribute tree. "auto" leaves about four attributes a leaf.
    n_neighbors : int, default=8
        K: a row is as unusual as its K-th nearest reference row is far; and the number of donors.
    alpha : float, default=0.75
        Share of a node's attributes that counts in a distance, the closest ones. Below 1, a few foreign values do not
        make a whole node unusual, which localises better; 1 is the Euclidean distance.
    tau : float, optional
        False-alarm rate of a single node's test. The published search alone then decides which rows are touched, and
        ``refine`` moves the borders of what it finds. Give it or ``false_alarm_rate``, not both.
    false_alarm_rate : float, optional
        Share of clean rows that may be touched; 0.05 if ``tau`` is not given.
    donors : "clean" or "sibling", default="clean"
        Which reference rows donate: those nearest on all attributes that are neither corrupted nor missing, or, for
        each declared node, those nearest on its sibling's attributes, as published.
    imputation : "reconstruct", "map", "nearest", "mean" or "draw", default="reconstruct"
        What fills a gap. "reconstruct": the combination of reference rows that best rebuilds the clean attributes.
        Of the K nearest donors, "map" takes the most usual, "nearest" the nearest, "mean" their mean, "draw" one at
        random.
    refine : bool, default=True
        Judge every stretch given the rest of its row, too: finds what the search cannot see (a stretch of another row,
        a shift, values that stand still), and the borders of what it finds. False leaves the published search alone.
    scale : "minmax" or None, default="minmax"
        "minmax" measures each attribute in units of its range in the reference. None takes values as they are.
    root_rule : "continue" or "stop", default="continue"
        What the search does when the whole row and both its halves are unusual: go on into the halves, or stop as the
        paper's listing says.
    passthrough : sequence of column names, default=()
        Columns of data frames that are no attributes (ids, timestamps): they may be of any type, are not looked at, and
        come back untouched in the repaired table. The reference must have them, suspect tables may.
    clean_reference : bool, default=False
        Find corrupted rows of the reference first, in rounds, and set them aside; needs ``refine=True``.
    incomplete_reference : "refuse" or "drop", default="refuse"
        What to do with reference rows that hold NaN.
    calibration_rows : int, "auto" or "all", default="auto"
        How many reference rows set the thresholds, while all of them are neighbours and donors. "auto" takes all up to
        10,000, and a random sample of that many above. Fewer make fitting quicker and the promised rate less certain.
    memory_limit : int, str or None, default=None
        Bytes that the work on rows may use beside the tables themselves, as a number or as in "500 MB". None stands for
        a quarter of the memory that is free. It changes how the work is cut into portions, and no result.
    progress : bool or None, default=None
        Whether to show a bar for what lasts longer than a second. None and True show it where standard error is a
        terminal; False never does.
    random_state : int, RandomState or None, default=0
        Seed of what is left to chance: stretches that are cut out of the reference to learn how to fill, and draws.
        A row's draw depends on the seed and on the row alone.
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
        The reference rows that were learnt from, as they came, as float64.
    set_aside_ : ndarray of int
        Numbers of the reference rows that ``clean_reference`` took for corrupted.
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
    array([ 8,  9, 10, 11, 12, 13, 14, 15])
    """

    _workshop: Workshop
    _set_aside: NDArray[np.int64]

    def __init__(
        self,
        *,
        layout: Any = "sequence",
        depth: int | str = "auto",
        n_neighbors: int = 8,
        alpha: float = 0.75,
        tau: float | None = None,
        false_alarm_rate: float | None = None,
        donors: str = "clean",
        imputation: str = "reconstruct",
        refine: bool = True,
        scale: str | None = "minmax",
        root_rule: str = "continue",
        passthrough: Sequence[Any] = (),
        clean_reference: bool = False,
        incomplete_reference: str = "refuse",
        calibration_rows: int | str = "auto",
        memory_limit: int | str | None = None,
        progress: bool | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.layout = layout
        self.depth = depth
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.tau = tau
        self.false_alarm_rate = false_alarm_rate
        self.donors = donors
        self.imputation = imputation
        self.refine = refine
        self.scale = scale
        self.root_rule = root_rule
        self.passthrough = passthrough
        self.clean_reference = clean_reference
        self.incomplete_reference = incomplete_reference
        self.calibration_rows = calibration_rows
        self.memory_limit = memory_limit
        self.progress = progress
        self.random_state = random_state
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
        TreeMender(depth=6, donors='sibling', imputation='map', refine=False,
                   scale=None, tau=0.016)
        """
        return cls(
            tau=tau,
            alpha=alpha,
            depth=depth,
            n_neighbors=n_neighbors,
            imputation=imputation,
            layout="sequence",
            donors="sibling",
            refine=False,
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
        before = dict(vars(self))
        try:
            with self._followed():
                self._learn(X)
        except BaseException:
            # Whatever happens, Ctrl-C included, the mender is what it was.
            self.__dict__ = before
            raise
        self._warn_if_powerless()
        return self

    @property
    def tree_(self) -> AttributeTree:
        """The attribute tree, as flat arrays."""
        return self._fitted().tree

    @property
    def tau_(self) -> float:
        """The threshold in force; -1 if nothing can be declared at the rate that was asked."""
        return self._fitted().knowledge.threshold.tau

    @property
    def reference_rate_(self) -> float:
        """Share of the reference rows, each judged by the others, that are found corrupted."""
        return touched_share(self._fitted())

    @property
    def reference_(self) -> NDArray[np.float64]:
        """The reference rows that were learnt from, as they came."""
        return self._fitted().reference.values

    @property
    def set_aside_(self) -> NDArray[np.int64]:
        """Numbers of the reference rows that ``clean_reference`` took for corrupted."""
        self._fitted()
        return self._set_aside

    def mend(self, X: Any, *, n_draws: int = 0) -> Mended:
        """Find and repair what was overwritten, and fill what is missing.

        Parameters
        ----------
        X : array-like or data frame, rows x attributes
            Suspect rows; NaN where a value is known to be missing.
        n_draws : int, default=0
            Number of random completions, for multiple imputation.

        Returns
        -------
        Mended
            ``repaired`` and ``mask`` in the kind of table that came, ``corrupted`` one flag a row, and more.
        """
        check_count("n_draws", n_draws, least=0)
        table = self._suspects(X)
        with self._followed():
            return mend_table(self._workshop, table, n_draws=n_draws)

    def mend_batches(self, batches: Iterable[Any], *, n_draws: int = 0) -> Iterator[Mended]:
        """Mend tables one after the other, as they come: for more rows than memory holds.

        Parameters
        ----------
        batches : iterable of array-likes or data frames, rows x attributes
            Taken one at a time. Rows have the results that they would have in one table.
        n_draws : int, default=0
            Number of random completions, for multiple imputation.

        Yields
        ------
        Mended
            One for each batch.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> rows = rng.normal(size=(300, 8)).cumsum(axis=1)
        >>> mender = TreeMender().fit(rows[:200])
        >>> whole = mender.mend(rows[200:])
        >>> parts = list(mender.mend_batches([rows[200:250], rows[250:]]))
        >>> bool(np.all(np.vstack([part.repaired for part in parts]) == whole.repaired))
        True
        """
        check_count("n_draws", n_draws, least=0)
        self._fitted()
        if isinstance(batches, str | bytes | Mapping) or hasattr(batches, "shape"):
            raise InputError(
                f"batches must be an iterable of tables, such as a list of arrays or a generator of data frames; got "
                f"a {type(batches).__name__}. For one table, call mend."
            )
        return (self.mend(batch, n_draws=n_draws) for batch in batches)

    def fit_mend(self, X: Any, y: Any = None, *, n_draws: int = 0) -> Mended:
        """Learn from rows and mend them, each judged and repaired by the others.

        Parameters
        ----------
        X : array-like or data frame, rows x attributes
            Reference rows.
        y : ignored
        n_draws : int, default=0
            Number of random completions, for multiple imputation.
        """
        check_count("n_draws", n_draws, least=0)
        return self.fit(X, y)._mend_reference(X, n_draws=n_draws)

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
        return self._as_array(self.fit_mend(X, y))

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
        return np.where(self.fit_mend(X, y).corrupted, -1, 1)

    def localize(self, X: Any) -> NDArray[np.bool_]:
        """Return True where a value was judged corrupted, rows x attributes.

        Parameters
        ----------
        X : array-like or data frame, rows x attributes
            Suspect rows.
        """
        found = self._asked(X, lambda rows: judge(self._workshop, rows).mask & ~np.isnan(rows))
        return np.asarray(self._workshop.to_columns(found), dtype=np.bool_)

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
        counts = self._asked(X, lambda rows: node_counts(self._workshop, rows))
        return np.asarray(counts / self._workshop.calibration.n_rows)

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Return how clean each row is; higher is cleaner.

        The log of how often a clean row has as much evidence against it; with ``refine=False`` or a given ``tau``, the
        ``tau`` at which the search's verdict turns.

        Parameters
        ----------
        X : array-like or data frame, rows x attributes
            Suspect rows.
        """
        return np.asarray(self._asked(X, lambda rows: cleanness(self._workshop, rows)))

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
        self._fitted()
        saving.save(self, path)

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
        """Boundary of `score_samples` between corrupted and clean."""
        return offset(self._fitted())

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_workshop")

    def _fitted(self) -> Workshop:
        check_is_fitted(self)
        if self._workshop.settings.means != Means(self.n_jobs, self.memory_limit):
            settled = settle(self.get_params(deep=False), self.n_features_in_)
            self._workshop = self._workshop.by_means_of(settled.means)
        return self._workshop

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

    def _learn(self, X: Any) -> None:
        check_choice("incomplete_reference", self.incomplete_reference, ("refuse", "drop"))
        check_names("passthrough", self.passthrough)
        table = self._read(X, reset=True)
        complete = self._complete(table)
        values = np.ascontiguousarray(table.values[complete])
        if not self.clean_reference:
            self._learn_rows(HeldRows(values), table.names)
            return
        learning = self._learning(HeldRows(values), table.names)
        cleaned = learn_cleaned(values, *learning)
        self._workshop, self._set_aside = cleaned.workshop, np.flatnonzero(complete)[~cleaned.kept]

    def _learn_rows(self, rows: Rows, names: tuple[str, ...] | None) -> None:
        """Learn from rows wherever they are."""
        self._workshop = learn(rows, *self._learning(rows, names))
        self._set_aside = np.empty(0, dtype=np.int64)

    def _warn_if_powerless(self) -> None:
        """Warn whoever called the caller, if the reference is too small for the rate that was asked."""
        if promises_nothing(self._workshop):
            warnings.warn(
                f"{self._workshop.calibration.n_rows} reference rows are too few to promise a false-alarm rate of "
                f"{self._workshop.settings.false_alarm_rate:g}: nothing will be declared. Give more clean rows, or ask "
                "for a higher rate.",
                UserWarning,
                stacklevel=3,
            )

    def _learning(
        self, rows: Rows, names: tuple[str, ...] | None
    ) -> tuple[Callable[[NDArray[np.float64]], Part], tuple[int, int, int] | None, Settings]:
        """Return what learning needs to know beside the rows."""
        settings = settle(self.get_params(deep=False), rows.n_attributes)
        if rows.n_rows < settings.n_neighbors + 2:
            raise InputError(
                f"The reference must have at least n_neighbors + 2 = {settings.n_neighbors + 2} rows, got n_samples = "
                f"{rows.n_rows}. Give more clean rows, or lower n_neighbors."
            )
        return partial(self._lay_out, names), grid_shape(self.layout), settings

    def _complete(self, table: tables.Table) -> NDArray[np.bool_]:
        """Return the reference rows to learn from; refuse what cannot be learnt from."""
        complete = np.ones(len(table.values), dtype=bool)
        if self.incomplete_reference == "drop":
            complete = ~np.any(np.isnan(table.values), axis=1)
        kept = table.values[complete]
        tables.check_finite(kept, table.names, "reference", "set incomplete_reference='drop'")
        if len(kept):
            tables.check_range(kept, table.names)
        return complete

    def _lay_out(self, names: tuple[str, ...] | None, values: NDArray[np.float64]) -> Part:
        return lay_out(self.layout, values.shape[1], names=names, reference=lambda: values)

    def _suspects(self, X: Any) -> tables.Table:
        """Read suspect rows, and refuse what cannot be judged."""
        self._fitted()
        table = self._read(X, reset=False)
        tables.check_not_infinite(table.values, table.names, "suspect")
        return table

    def _asked(self, X: Any, ask: Callable[[NDArray[np.float64]], NDArray[Any]]) -> NDArray[Any]:
        """Ask something of suspect rows, part by part."""
        table = self._suspects(X)
        with self._followed():
            return in_parts(self._workshop, table.values, ask)

    def _followed(self) -> AbstractContextManager[None]:
        """Show progress while a block runs, unless it is not wanted."""
        return silenced(self.progress is False)

    def _mend_reference(self, X: Any, *, n_draws: int = 0) -> Mended:
        """Mend the reference rows themselves, each left out of its own judgement."""
        table = self._suspects(X)
        learnt = np.ones(len(table.values), dtype=bool)
        if self.incomplete_reference == "drop":
            learnt = ~np.any(np.isnan(table.values), axis=1)
        learnt[self._set_aside] = False
        own = np.full(len(learnt), -1)
        own[learnt] = np.arange(np.count_nonzero(learnt))
        with self._followed():
            return mend_table(self._workshop, table, left_out=own, n_draws=n_draws)

    def _mend_among(self, X: Any, own: NDArray[np.int64]) -> Mended:
        """Mend rows of which some are rows of ``reference_``: ``own`` says which, -1 for none; these are left out."""
        table = self._suspects(X)
        with self._followed():
            return mend_table(self._workshop, table, left_out=own)

    def _as_array(self, mended: Mended) -> NDArray[np.floating[Any]]:
        """Return the repaired attributes, without the columns that were passed through."""
        return np.asarray(tables.attributes_only(mended.repaired, self.passthrough))
