"""`Mender`, the recommended estimator: it reads tables, calls the pipeline, and returns tables of the caller's kind."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from treemend import tables
from treemend.arrays import Booleans, Floats
from treemend.base import BaseMender
from treemend.exceptions import InputError, ParameterError
from treemend.mender.contaminated import fit_contaminated
from treemend.mender.filling import FillOptions, Imputation
from treemend.mender.layout import resolve_layout
from treemend.mender.learning import CrossFit
from treemend.mender.model import MenderModel
from treemend.mender.pipeline import Judged, fit_model, judge_rows, mend_rows
from treemend.params import check_choice, check_count, check_flag, check_share
from treemend.progress import silenced
from treemend.report.findings import Findings, Rule
from treemend.result import Result, adjusted_p_values
from treemend.threads import one_library_thread

IMPUTATIONS = ("mean", "mode", "draw")
FEWEST_ROWS = 5
_NONE_AT_FDR = (
    "No row was declared: in a table that is its own reference rows are ranked among themselves, and hardly any "
    "p-value is small enough for a false discovery rate. Give clean rows, or a false-alarm rate instead."
)


class Mender(BaseMender):
    """Find what was overwritten in rows, and put back what most likely stood there.

    Learns a density of clean rows. A row is declared when the evidence that some set of its cells is wrong exceeds what
    clean rows show, at a false-alarm rate that is kept whatever the data look like.

    Parameters
    ----------
    false_alarm_rate : float, default=0.05
        Share of clean rows that may be declared. It is applied when rows are mended: another rate needs no new fit.
    layout : {"auto", "sequence", "correlated"}, tuple of int, or groups of columns, default="auto"
        Which cells are neighbours, since what is overwritten is often a run of neighbours. "sequence": the order of
        the columns. "correlated": columns that are alike in the reference are put side by side. "auto": the order of
        the columns, unless the reference shows that it means nothing. ``(height, width)`` or ``(height, width,
        channels)``: images, row by row. A list of lists of columns, or a mapping of names to such lists: groups, such
        as the columns of one sensor each; a run ends at the border of its group.
    passthrough : sequence of column names, default=()
        Columns of data frames that are not measured values (ids, timestamps): they may be of any type, are ignored,
        and come back untouched in the repaired table. The reference must have them, suspect tables may.
    contaminated : bool, default=False
        Whether some reference rows are corrupted themselves. Their corrupted cells are then found in rounds and not
        learnt from.
    imputation : {"mean", "mode", "draw"}, default="mean"
        What fills a cell. "mean": its conditional mean, in the coordinates of the density. "mode": the
        conditional mean of the likeliest component, a typical value where the mean would fall between two groups.
        "draw": a random value from the conditional distribution, which preserves variances.
    progress : bool or None, default=None
        Whether to show a progress bar for anything that takes more than a second. None shows it on terminals and in
        notebooks; False never.
    random_state : int, RandomState or None, default=0
        Seed of clusters, folds and draws. A row's draw depends on the seed and on the row alone.
    n_jobs : int, optional
        Number of threads. None takes every core this process may use, or one inside a joblib or Dask worker; -1 takes
        every core.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Column names, if the reference had them.
    offset_ : float
        The boundary of `score_samples` at ``false_alarm_rate``: rows below it are declared.

    See Also
    --------
    treemend.mend : Mend one table without clean rows.
    treemend.TCS : The published method.

    Examples
    --------
    >>> import numpy as np
    >>> from treemend import Mender
    >>> from treemend.synthetic import waves
    >>> rng = np.random.default_rng(0)
    >>> mender = Mender(false_alarm_rate=0.05).fit(waves(500, 32, rng=rng))
    >>> suspect = waves(3, 32, rng=rng)
    >>> suspect[1, 8:16] = rng.uniform(-2, 2, 8)
    >>> mended = mender.mend(suspect)
    >>> mended.corrupted
    array([False,  True, False])
    >>> np.flatnonzero(mended.mask[1])
    array([ 8,  9, 10, 11, 12, 13, 14, 15])
    """

    model_type: ClassVar[type] = MenderModel
    _model: MenderModel

    def __init__(
        self,
        *,
        false_alarm_rate: float = 0.05,
        layout: Any = "auto",
        passthrough: Sequence[Any] = (),
        contaminated: bool = False,
        imputation: Imputation = "mean",
        progress: bool | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.false_alarm_rate = false_alarm_rate
        self.layout = layout
        self.passthrough = passthrough
        self.contaminated = contaminated
        self.imputation = imputation
        self.progress = progress
        self.random_state = random_state
        self.n_jobs = n_jobs

    def mend(
        self,
        X: Any,
        *,
        false_alarm_rate: float | None = None,
        fdr: float | None = None,
        on_drift: str = "leave",
        n_draws: int = 0,
    ) -> Result:
        """Find and repair what was overwritten, and fill what is missing.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Suspect rows; NaN where a value is missing.
        false_alarm_rate : float, optional
            Instead of the estimator's own.
        fdr : float, optional
            Declare rows at this false discovery rate instead: of the declared rows, about this share are clean. The
            choice for large tables with few corrupted rows.
        on_drift : {"leave", "repair"}, default="leave"
            What to do when the table as a whole has drifted away from the reference: leave every value as it is and say
            so in ``notes``, or repair all the same.
        n_draws : int, default=0
            Number of random completions, for multiple imputation.

        Returns
        -------
        Result
            ``repaired`` and ``mask`` in the kind of table that came, ``corrupted``, ``unusual`` and ``p_values`` with
            one entry a row, and more.
        """
        check_count("n_draws", n_draws, least=0)
        check_choice("on_drift", on_drift, ("leave", "repair"))
        if fdr is not None:
            check_share("fdr", fdr, zero=True)
        return self._mend(self._suspects(X), None, false_alarm_rate, fdr, on_drift, n_draws)

    def fit_mend(self, X: Any, y: Any = None, *, fdr: float | None = None, n_draws: int = 0) -> Result:
        """Learn from rows and mend them, each judged by a model that has not seen it.

        Of more than 3,000 rows, those that a single density learns from are judged by it as if they were fresh.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Reference rows.
        y : ignored
        fdr : float, optional
            As for `mend`.
        n_draws : int, default=0
            Number of random completions, for multiple imputation.

        Returns
        -------
        Result
        """
        del y
        check_count("n_draws", n_draws, least=0)
        if fdr is not None:
            check_share("fdr", fdr, zero=True)
        own = self._fit(X)
        return self._mend(self._suspects(X), own, None, fdr, "repair", n_draws)

    def p_values(self, X: Any) -> Floats:
        """Return the share of clean rows with at least as much evidence against them as each row has.

        Where at most one reference row is as odd, this is smoothed by the tail of the reference rows; below
        ``1 / (n_reference + 1)`` it is extrapolated.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Suspect rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._judge(self._suspects(X).values, rate=self._rate(None)).p_values

    @property
    def offset_(self) -> float:
        """Boundary of `score_samples` between declared and other rows, at ``false_alarm_rate``."""
        check_is_fitted(self)
        return -self._model.detector.calibration.threshold(self._rate(None))

    def _learn(self, table: tables.Table) -> CrossFit:
        if len(table.values) < FEWEST_ROWS:
            raise InputError(
                f"The reference must have at least {FEWEST_ROWS} rows, got n_samples = {len(table.values)}. "
                "Give more clean rows."
            )
        tables.check_range(table.values, table.names)
        layout = resolve_layout(self.layout, table.values, table.names)
        learn = fit_contaminated if self.contaminated else fit_model
        with self._running():
            self._model, cross_fit = learn(table.values, layout, seed=self._seed(), n_jobs=self.n_jobs)
        return cross_fit

    def _powerless_at(self) -> tuple[int, float] | None:
        return None if np.isfinite(self.offset_) else (self._model.detector.calibration.n_rows, self.false_alarm_rate)

    def _judge(self, rows: Floats, cross_fit: CrossFit | None = None, rate: float = 0.0) -> Judged:
        with self._running():
            return judge_rows(self._model, rows, cross_fit, rate=rate, n_jobs=self.n_jobs)

    def _scores(self, rows: Floats) -> Floats:
        return -self._judge(rows, rate=self._rate(None)).statistic

    def _declared(self, rows: Floats, own: CrossFit | None) -> Booleans:
        return self._judge(rows, own, self._rate(None)).declared

    def _mend(
        self,
        table: tables.Table,
        own: CrossFit | None,
        rate: float | None = None,
        fdr: float | None = None,
        on_drift: str = "leave",
        n_draws: int = 0,
        largest: float | None = None,
    ) -> Result:
        rate = self._rate(rate)
        calibration = self._model.detector.calibration
        judged = self._judge(table.values, own, rate if fdr is None else fdr)
        if fdr is None:
            rule = Rule("rate", rate, calibration.n_rows, powerless=not np.isfinite(calibration.threshold(rate)))
            declared = judged.declared
        else:
            rule = Rule("fdr", fdr, calibration.n_rows)
            declared = adjusted_p_values(judged.p_values) <= fdr if largest is None else judged.p_values <= largest
        left_alone = (judged.statistic < judged.raw) & (judged.raw > calibration.unusual_threshold(rate))
        unusual = ~declared & (left_alone | judged.sparse)
        with self._running():
            kinds, filled, notes = mend_rows(
                self._model,
                table.values,
                np.where(declared[:, None], judged.kinds, np.int8(-1)),
                unusual,
                options=FillOptions(self.imputation, n_draws, self._seed()),
                leave_if_drifted=on_drift == "leave",
                names=table.names,
            )
        if own is not None and fdr is not None and not declared.any():
            notes = (*notes, _NONE_AT_FDR)
        mask, missing = kinds >= 0, np.isnan(table.values)
        gaps, layout, quantiles = mask | missing, self._model.layout, self._model.drift.quantiles
        repaired = table.rebuilt(filled.values, gaps)
        np.copyto(filled.values, table.values, where=~gaps)
        findings = Findings(
            before=table.values,
            after=filled.values,
            mask=mask,
            missing=missing,
            spread=filled.spread,
            unusual=unusual,
            p_values=judged.p_values,
            row_scores=-judged.statistic,
            kinds=kinds,
            cell_evidence=judged.cell_evidence,
            names=table.names,
            row_ids=table.row_ids,
            grid=layout.grid[:2] if layout.grid and layout.grid[2] == 1 else layout.grid,
            order=layout.order,
            rule=rule,
            reference_low=quantiles[0],
            reference_high=quantiles[-1],
            notes=notes,
        )
        return Result(
            repaired=repaired,
            mask=table.like(mask),
            corrupted=np.asarray(mask.any(axis=1)),
            unusual=unusual,
            p_values=judged.p_values,
            missing=table.like(missing),
            spread=table.like(filled.spread),
            draws=[table.rebuilt(draw, gaps) for draw in filled.draws],
            _findings=findings,
        )

    def _check_own_params(self) -> None:
        check_share("false_alarm_rate", self.false_alarm_rate, zero=True)
        check_flag("contaminated", self.contaminated)
        check_choice("imputation", self.imputation, IMPUTATIONS)
        if self.progress is not None:
            check_flag("progress", self.progress)

    def _rate(self, given: float | None) -> float:
        rate = self.false_alarm_rate if given is None else given
        check_share("false_alarm_rate", rate, zero=True)
        return float(rate)

    def _seed(self) -> int:
        try:
            return int(check_random_state(self.random_state).randint(2**31 - 1))
        except ValueError:
            raise ParameterError(
                f"random_state must be an integer, None or a numpy.random.RandomState, got {self.random_state!r}."
            ) from None

    @contextmanager
    def _running(self) -> Iterator[None]:
        """Show progress while a block runs, unless it is not wanted, and let ``n_jobs`` govern every thread."""
        with silenced(self.progress is False), one_library_thread():
            yield
