"""What both estimators share: tables in and out, scikit-learn's methods on top of ``mend``, saving."""

import os
from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, OutlierMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

import treemend
from treemend import tables
from treemend.exceptions import ColumnsError
from treemend.model_file import write_model
from treemend.result import Result

__all__ = ["BaseMender"]


class BaseMender(OneToOneFeatureMixin, TransformerMixin, OutlierMixin, BaseEstimator):
    """An estimator that mends rows.

    A subclass stores its fitted model, a frozen dataclass, as ``_model``, names its type as ``model_type``, and has the
    parameter ``passthrough``.
    """

    passthrough: Any
    _model: Any

    @abstractmethod
    def mend(self, X: Any) -> Result:
        """Find and repair what was overwritten, and fill what is missing."""

    @abstractmethod
    def fit_mend(self, X: Any, y: Any = None) -> Result:
        """Learn from rows and mend them, each judged without itself."""

    @abstractmethod
    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Return how clean each row is; higher is cleaner."""

    @property
    @abstractmethod
    def offset_(self) -> float:
        """Boundary of `score_samples` between declared and other rows."""

    @abstractmethod
    def _check_params(self) -> None:
        """Raise a `ParameterError` if a parameter is out of range or of the wrong type."""

    def transform(self, X: Any) -> NDArray[np.floating[Any]]:
        """Return the repaired rows as an array.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Suspect rows.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Without the columns that were passed through.
        """
        return np.asarray(tables.attributes_only(self.mend(X).repaired, self.passthrough))

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> NDArray[np.floating[Any]]:
        """Learn from rows and return them repaired, each judged without itself.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Reference rows.
        y : ignored
            For scikit-learn's pipelines.
        **fit_params : ignored
            For scikit-learn's pipelines.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Without the columns that were passed through.
        """
        del fit_params
        return np.asarray(tables.attributes_only(self.fit_mend(X, y).repaired, self.passthrough))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return `score_samples` minus ``offset_``: negative for declared rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Suspect rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return np.asarray(self.score_samples(X) - self.offset_)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return -1 for declared rows and +1 for the others.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Suspect rows.

        Returns
        -------
        ndarray of int of shape (n_samples,)
            -1 exactly where `decision_function` is negative.
        """
        return np.where(self.decision_function(X) < 0, -1, 1)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to a model file, which `treemend.load` reads.

        An existing file is replaced, completely or not at all. Nothing in the file is code.

        Parameters
        ----------
        path : path
            Where to; the usual ending is ``.safetensors``.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        write_model(
            path,
            written_by=f"treemend {treemend.__version__}",
            estimator=type(self).__name__,
            parameters=self.get_params(deep=False),
            names=None if names is None else tuple(names),
            model=self._model,
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _read(self, X: Any, *, reset: bool) -> tables.Table:
        """Read a table, and compare its columns with the reference's."""
        table = tables.read_table(X, self.passthrough, all_there=reset)
        try:
            validate_data(self, table.attributes if table.names else table.values, reset=reset, skip_check_array=True)
        except ValueError as error:
            expected = list(getattr(self, "feature_names_in_", []))
            difference = tables.columns_difference(expected, table.names or []) if expected and table.names else ""
            raise ColumnsError(f"{error}\n{difference}".rstrip()) from None
        tables.check_not_infinite(table.values, table.names, "reference" if reset else "suspect")
        return table

    def _suspects(self, X: Any) -> tables.Table:
        """Read suspect rows, and refuse what cannot be judged."""
        check_is_fitted(self)
        self._check_params()
        return self._read(X, reset=False)
