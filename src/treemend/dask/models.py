"""The model as one key of the graph.

Enters: a fitted mender, or the path of a model file that all workers can read. Leaves: a `Model`, its mender, and a key
that stands for it in the graph.

A worker that needs the key gets it once and keeps it as long as chunks are left: a mender from the scheduler or from
another worker, a `ModelFile` as its path, which the worker opens. The key is no scattered future: what a scattered
future stands for is gone with the workers that held it, while a key of the graph can be made again when a worker dies.
"""

import os
from typing import Any

from dask import delayed
from dask.base import tokenize

from treemend.exceptions import ParameterError
from treemend.mender import ModelFile, TreeMender

__all__ = ["MenderOrPath", "Model", "checked", "mender_of", "model_key"]

MenderOrPath = TreeMender | str | os.PathLike[str]
Model = TreeMender | ModelFile


def checked(mender: MenderOrPath) -> Model:
    """Return a mender that is fitted, or the file of one."""
    if isinstance(mender, TreeMender):
        # Raises scikit-learn's NotFittedError, as mending would.
        _ = mender.tree_
        return mender
    if isinstance(mender, str | os.PathLike):
        return ModelFile(mender)
    raise ParameterError(
        f"mender must be a fitted TreeMender or the path of a model file, got {type(mender).__name__}."
    )


def mender_of(model: Model) -> TreeMender:
    """Return the mender, from its file if need be."""
    return model.mender if isinstance(model, ModelFile) else model


def model_key(model: Model) -> Any:
    """Return a delayed object that stands for the model, with the same key for the same one."""
    token = tokenize(model.path, model.checksum) if isinstance(model, ModelFile) else tokenize(model)
    return delayed(model, name=f"treemend-model-{token}", traverse=False)
