"""What both estimators share: the methods of scikit-learn, tables in and out, saving."""

import os
import warnings
from typing import Any, Self, cast

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, OutlierMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

import treemend
from treemend import tables
from treemend.arrays import Array, Floats, Integers
from treemend.exceptions import ColumnsError
from treemend.model_file import Document, write_model
from treemend.params import check_count, check_names
from treemend.result import Result


class BaseMender(OneToOneFeatureMixin, TransformerMixin, OutlierMixin, BaseEstimator):
    """An estimator that mends rows.

    A subclass has the threshold ``offset_``, the parameters ``passthrough`` and ``n_jobs``, and the type of its fitted
    model, a frozen dataclass, as ``model_type``. ``_learn`` sets ``_model`` and returns what it takes to judge the
    reference rows themselves, which ``_mend`` and ``_declared`` take for them, None for other rows; ``_scores`` is
    `score_samples` of an array, ``_check_own_params`` refuses wrong parameters, and ``_powerless_at`` returns the
    number of reference rows and the false-alarm rate if these are too few for it, else None.
    """

    _nan_in_reference: bool = True
    _preserved_dtypes: tuple[str, ...] = ("float64",)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what clean rows look like.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Clean reference rows. `treemend.Mender` needs at least five, with NaN where a value is missing;
            `treemend.TCS` at least ``n_neighbors + 2``, all complete.
        y : ignored

        Returns
        -------
        Mender or TCS
            The estimator itself; it warns if the rows are too few for the false-alarm rate.
        """
        self._fit(X)
        return self

    def mend(self, X: Any) -> Result:
        """Find and repair what was overwritten, and fill what is missing.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Suspect rows; NaN where a value is missing.

        Returns
        -------
        Result
            ``repaired`` and ``mask`` in the kind of table that came, ``corrupted`` one flag a row, and more.
        """
        return cast(Result, self._mend(self._suspects(X), None))

    def fit_mend(self, X: Any, y: Any = None) -> Result:
        """Learn from rows and return what `mend` does for them, each judged without itself; ``y`` is ignored."""
        own = self._fit(X)
        return cast(Result, self._mend(self._suspects(X), own))

    def fit_predict(self, X: Any, y: Any = None, **fit_params: Any) -> Integers:
        """Learn from rows and return -1 for each declared one and +1 for the others, each judged without itself."""
        own = self._fit(X)
        return np.where(self._declared(self._suspects(X).values, own), -1, 1)

    def score_samples(self, X: Any) -> Floats:
        """Return how clean each row is, one number a row: higher is cleaner, and declared rows are below ``offset_``.

        For `treemend.Mender` minus the statistic of the evidence against the row; for `treemend.TCS` the ``tau``
        nearest to the one in force at which the row's result changes.
        """
        return np.asarray(self._scores(self._suspects(X).values))

    def transform(self, X: Any) -> Array:
        """Return the repaired rows as an array of shape (n_samples, n_features), without what is passed through."""
        return np.asarray(tables.attributes_only(self.mend(X).repaired, self.passthrough))

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Array:
        """Learn from rows and return them as `transform` does, each judged without itself; the rest is ignored."""
        return np.asarray(tables.attributes_only(self.fit_mend(X, y).repaired, self.passthrough))

    def decision_function(self, X: Any) -> Floats:
        """Return `score_samples` minus ``offset_``, one number a row: negative for declared rows."""
        return np.asarray(self.score_samples(X) - self.offset_)

    def predict(self, X: Any) -> Integers:
        """Return -1 for each declared row, one with a negative `decision_function`, and +1 for the others."""
        return np.where(self._declared(self._suspects(X).values, None), -1, 1)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to a model file (``.safetensors`` as a rule), which `treemend.load` reads.

        An existing file is replaced, completely or not at all. Nothing in the file is code.
        """
        check_is_fitted(self)
        names, parameters = tuple(getattr(self, "feature_names_in_", ())) or None, self.get_params(deep=False)
        written_by = f"treemend {treemend.__version__}"
        write_model(path, Document(written_by, type(self).__name__, parameters, names, self._model))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._nan_in_reference
        tags.transformer_tags.preserves_dtype = list(self._preserved_dtypes)
        return tags

    def _check_params(self) -> None:
        self._check_own_params()
        check_names("passthrough", self.passthrough)
        if self.n_jobs not in (None, -1):
            check_count("n_jobs", self.n_jobs, least=1)

    def _fit(self, X: Any) -> Any:
        """Fit, and return what `_learn` does; whatever happens, Ctrl-C included, else the estimator is what it was."""
        self._check_params()
        before = dict(vars(self))
        try:
            own = self._learn(self._read(X, reset=True))
        except BaseException:
            self.__dict__ = before
            raise
        powerless = self._powerless_at()
        if powerless is not None:
            problem = f"{powerless[0]} reference rows are too few for a false-alarm rate of {powerless[1]:g}"
            remedy = "nothing will be declared. Give more clean rows, or ask for a higher rate."
            warnings.warn(f"{problem}: {remedy}", UserWarning, stacklevel=3)
        return own

    def _read(self, X: Any, *, reset: bool) -> tables.Table:
        """Read a table, and compare its columns with the reference's."""
        table = tables.read_table(X, self.passthrough, reference=reset)
        try:
            known = table.values if table.frame is None else table.frame.to_native()
            validate_data(self, known, reset=reset, skip_check_array=True)
        except ValueError as error:
            expected = list(getattr(self, "feature_names_in_", []))
            difference = tables.columns_difference(expected, table.names or []) if expected and table.names else ""
            raise ColumnsError(f"{error}\n{difference}".rstrip()) from None
        return table

    def _suspects(self, X: Any) -> tables.Table:
        """Read suspect rows, and refuse what cannot be judged."""
        check_is_fitted(self)
        self._check_params()
        return self._read(X, reset=False)
