"""`load`: a model file in, the estimator that wrote it out."""

import os
from typing import Any

import numpy as np

from treemend.exceptions import ModelFileError
from treemend.mender import Mender
from treemend.model_file import Document, read_model
from treemend.tcs import TCS
from treemend.threads import one_library_thread


def load(path: str | os.PathLike[str]) -> Mender | TCS:
    """Load an estimator that ``save`` wrote; it gives the same answers, bit for bit.

    A file that is missing, truncated, altered, of another format version or not a model file is a `ModelFileError`.

    Parameters
    ----------
    path : path
        The model file.

    Returns
    -------
    Mender or TCS
        Fitted; the file says which.

    Examples
    --------
    >>> import tempfile, numpy as np, treemend
    >>> rows = np.random.default_rng(0).normal(size=(100, 8))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     treemend.Mender().fit(rows).save(f"{folder}/model.safetensors")
    ...     loaded = treemend.load(f"{folder}/model.safetensors")
    >>> loaded
    Mender()
    """
    return read_estimator(path)[1]


def read_estimator(path: str | os.PathLike[str]) -> tuple[Document, Mender | TCS]:
    """Return what a model file holds, and the fitted estimator that it makes."""
    kinds: dict[str, Any] = {kind.__name__: kind for kind in (Mender, TCS)}
    # What follows from the rest is computed as in a fit, by one thread: other threads round differently.
    with one_library_thread():
        document = read_model(path, {name: kind.model_type for name, kind in kinds.items()})
    kind, parameters, names, model = kinds[document.estimator], document.parameters, document.names, document.model
    differing = set(parameters) ^ set(kind().get_params(deep=False))
    if differing:
        listed = ", ".join(sorted(differing)[:5])
        raise ModelFileError(f"{path} must have the parameters of {kind.__name__}; {listed} differ.")
    if names is not None and len(names) != model.n_features:
        raise ModelFileError(f"{path} has {len(names)} column names for a model of {model.n_features} columns.")
    estimator: Mender | TCS = kind(**parameters)
    try:
        estimator._check_params()
    except ValueError as error:
        raise ModelFileError(f"{path} does not hold a usable model: {error}") from None
    estimator._model, estimator.n_features_in_ = model, model.n_features
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    return document, estimator
