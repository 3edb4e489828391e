"""The model as one key of the graph.

Enters: a fitted mender, or the path of a model file that every worker can read. Leaves: the mender, and a key that
stands for it in the graph.

A worker that needs the key gets it once, from the scheduler or from another worker, and keeps it as long as chunks are
left. The key is no scattered future: what a scattered future stands for is gone with the workers that held it, while a
key of the graph can be made again when a worker dies.
"""

import os
from pathlib import Path
from typing import Any

from dask import delayed
from dask.base import tokenize

from treemend.exceptions import ParameterError
from treemend.mender import TreeMender

__all__ = ["MenderOrPath", "model_key", "opened"]

MenderOrPath = TreeMender | str | os.PathLike[str]


def opened(mender: MenderOrPath) -> TreeMender:
    """Return a mender that is fitted, read from its file if it was given by path."""
    if isinstance(mender, TreeMender):
        # Raises scikit-learn's NotFittedError, as mending would.
        _ = mender.tree_
        return mender
    if isinstance(mender, str | os.PathLike):
        return TreeMender.load(mender)
    raise ParameterError(
        f"mender must be a fitted TreeMender or the path of a model file, got {type(mender).__name__}."
    )


def model_key(mender: MenderOrPath) -> Any:
    """Return a delayed object that stands for the mender, with the same key for the same mender.

    Parameters
    ----------
    mender : TreeMender or path
        A mender is part of the graph, once. Of a path the graph holds only the path: one worker reads the file, and
        the others get the mender from workers that have it.
    """
    if isinstance(mender, TreeMender):
        return delayed(mender, name=f"treemend-model-{tokenize(mender)}", traverse=False)
    path = Path(mender).absolute()
    state = path.stat()
    name = f"treemend-model-{tokenize(str(path), state.st_size, state.st_mtime_ns)}"
    return delayed(TreeMender.load, pure=True, traverse=False)(str(path), dask_key_name=name)
