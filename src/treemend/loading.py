"""`load`: a model file in, the estimator that wrote it out."""

import os
from typing import Any

import numpy as np

from treemend.exceptions import ModelFileError
from treemend.mender import Mender
from treemend.model_file import read_model
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
    stored = read_model(path)
    kinds: dict[str, Any] = {kind.__name__: kind for kind in (Mender, TCS)}
    if stored.estimator not in kinds:
        raise ModelFileError(f"{path} holds a {stored.estimator[:40]!r}; expected one of {', '.join(kinds)}.")
    kind = kinds[stored.estimator]
    differing = set(stored.parameters) ^ set(kind().get_params(deep=False))
    if differing:
        names = ", ".join(sorted(differing)[:5])
        raise ModelFileError(f"{path} must have the parameters of {kind.__name__}; {names} differ.")
    estimator: Mender | TCS = kind(**stored.parameters)
    try:
        estimator._check_params()
    except ValueError as error:
        raise ModelFileError(f"{path} does not hold a usable model: {error}") from None
    # What follows from the rest is computed as in a fit, by one thread: other threads round differently.
    with one_library_thread():
        estimator._model = model = stored.decoded(kind.model_type)
    estimator.n_features_in_ = model.n_features
    if stored.names is not None:
        estimator.feature_names_in_ = np.array(stored.names, dtype=object)
        if len(stored.names) != model.n_features:
            names = f"{len(stored.names)} column names"
            raise ModelFileError(f"{path} has {names} for a model of {model.n_features} columns.")
    return estimator
