"""What both estimators share: tables in and out, scikit-learn's methods on top of ``mend``, saving."""

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, OutlierMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

import treemend
from treemend import tables
from treemend.exceptions import ColumnsError
from treemend.model_file import write_model


class BaseMender(OneToOneFeatureMixin, TransformerMixin, OutlierMixin, BaseEstimator):
    """An estimator that mends rows.

    A subclass has the methods ``mend``, ``fit_mend``, ``score_samples`` and ``_check_params``, the threshold
    ``offset_`` and the parameter ``passthrough``. It stores its fitted model, a frozen dataclass, as ``_model``, and
    names its type as ``model_type``.
    """

    mend: Any
    fit_mend: Any
    score_samples: Any
    offset_: Any
    passthrough: Any
    _check_params: Any
    _model: Any
    _nan_in_reference: bool = True
    _preserved_dtypes: tuple[str, ...] = ("float64",)

    def transform(self, X: Any) -> NDArray[np.floating[Any]]:
        """Return the repaired rows as an array of shape (n_samples, n_features), without what is passed through."""
        return np.asarray(tables.attributes_only(self.mend(X).repaired, self.passthrough))

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> NDArray[np.floating[Any]]:
        """Learn from rows and return them as `transform` does, each judged without itself; the rest is ignored."""
        del fit_params
        return np.asarray(tables.attributes_only(self.fit_mend(X, y).repaired, self.passthrough))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return `score_samples` minus ``offset_``, one number a row: negative for declared rows."""
        return np.asarray(self.score_samples(X) - self.offset_)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return -1 for each declared row, one with a negative `decision_function`, and +1 for the others."""
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
        tags.input_tags.allow_nan = self._nan_in_reference
        tags.transformer_tags.preserves_dtype = list(self._preserved_dtypes)
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
