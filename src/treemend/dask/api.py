"""`mend`, `score_samples` and `fit` for Dask collections.

The number of tasks is proportional to the number of chunks, whatever their sizes, which need not be known.
"""

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.base import tokenize
from narwhals.dependencies import is_dask_dataframe

from treemend.dask.chunks import Estimator, ModelFile, apply_to_chunk, loaded, mend_table, score_table, take_rows
from treemend.exceptions import InputError, ParameterError
from treemend.mender import Mender
from treemend.sampling import sample_rows
from treemend.tcs import TCS


@dataclass(frozen=True, eq=False)
class DaskResult:
    """The result of mending a Dask array or data frame: collections of the same kind, chunks, index and divisions.

    Each is computed when it is asked for. To have several, compute them together: every chunk is mended once then.
    ``dask.compute(mended)[0]`` is the same object with all of them as tables in memory, ``dask.persist(mended)[0]`` one
    whose chunks stay on the workers. The fields are those of `treemend.Result`.
    """

    repaired: Any
    mask: Any
    missing: Any
    spread: Any
    corrupted: Any
    unusual: Any
    p_values: Any


def mend(
    collection: Any, model: Estimator | str | os.PathLike[str], *, false_alarm_rate: float | None = None
) -> DaskResult:
    """Find and repair what was overwritten in the rows of a Dask collection, chunk by chunk, when it is computed.

    The result is bit for bit that of ``model.mend`` on all rows at once, for any chunks: of a single row, without
    rows, of unknown lengths. Each worker gets the model once. With ``n_jobs=None`` a chunk is mended by one thread,
    and Dask mends as many chunks at a time as its workers have threads.

    Parameters
    ----------
    collection : Dask array or Dask data frame, rows x columns
        Suspect rows; NaN where a value is missing. An array that is split between columns is joined along them first.
        Data frames consist of pandas ones.
    model : Mender, TCS or path
        A fitted estimator, which travels within the graph; or the path of a model file that every worker can read.
    false_alarm_rate : float, optional
        Instead of the model's own; for `Mender`.

    Returns
    -------
    DaskResult
        Rows are repaired even if the table has drifted away from the reference: a chunk does not know the others.
    """
    return DaskResult(**_mapped(collection, model, partial(mend_table, rate=false_alarm_rate)))


def score_samples(collection: Any, model: Estimator | str | os.PathLike[str]) -> Any:
    """Return how clean each row of a Dask collection is, as `Mender.score_samples` does; higher is cleaner.

    Parameters
    ----------
    collection : Dask array or Dask data frame, rows x columns
        Suspect rows.
    model : Mender, TCS or path
        As for `mend`.

    Returns
    -------
    Dask array, or Dask series named "score"
        One score a row.
    """
    return _mapped(collection, model, score_table)["score"]


def fit(collection: Any, *, n_rows: int = 100_000, **parameters: Any) -> Mender:
    """Fit a `Mender` to a random sample of the rows of a Dask collection.

    The sample depends on the numbers of the rows and on ``random_state`` alone: any chunks give the same.

    Parameters
    ----------
    collection : Dask array or Dask data frame, rows x columns
        Reference rows.
    n_rows : int, default=100_000
        Size of the sample, which is held in the memory of this process; all rows if there are fewer.
    **parameters
        Those of `treemend.Mender`.

    Returns
    -------
    Mender
        Fitted. Chunks are computed twice, for their lengths and for their rows; `dask.persist` avoids it.
    """
    mender = Mender(**parameters)
    parts = np.ravel(np.array(_in_rows(collection).to_delayed(), dtype=object)).tolist()
    lengths = np.array(dask.compute(*(dask.delayed(len)(part) for part in parts)))
    if lengths.sum() == 0:
        raise InputError("The reference has no rows. Give a collection with rows.")
    seed = mender.random_state if isinstance(mender.random_state, int) else 0
    chosen, firsts = sample_rows(int(lengths.sum()), n_rows, seed), np.cumsum(lengths) - lengths
    places = np.split(chosen, np.searchsorted(chosen, firsts[1:]))
    take = dask.delayed(take_rows)
    numbers = np.flatnonzero(lengths).tolist()
    pieces = dask.compute(*(take(parts[k], places[k] - firsts[k], mender.passthrough, k) for k in numbers))
    if isinstance(pieces[0], np.ndarray):
        return mender.fit(np.concatenate(pieces))
    import pandas as pd

    return mender.fit(pd.concat(pieces))


def model_key(model: Estimator | ModelFile) -> Any:
    """Return a delayed object that stands for the model in the graph, with the same key for the same model.

    A worker that needs the key gets it once and keeps it as long as chunks are left. The key is not a scattered future:
    what such a future stands for is gone with the workers that held it, while a key of the graph can be made again.
    """
    token = tokenize(type(model).__name__, vars(model))
    return dask.delayed(model, name=f"treemend-model-{token}", traverse=False)


def _in_rows(collection: Any) -> Any:
    """Return a data frame, or an array whose chunks hold complete rows."""
    if is_dask_dataframe(collection):
        return collection
    if not isinstance(collection, da.Array):
        kind = f"{type(collection).__module__}.{type(collection).__name__}"
        remedy = "For tables in memory, call Mender.mend."
        raise InputError(f"The rows must be a Dask array or a Dask data frame, got {kind}. {remedy}")
    if collection.ndim != 2 or math.isnan(collection.shape[1]):
        problem = f"two dimensions, rows x columns, and a known number of columns, got shape {collection.shape}"
        raise InputError(f"The array must have {problem}. Reshape it, or call compute_chunk_sizes.")
    return collection if collection.numblocks[1] == 1 else collection.rechunk({1: -1})


def _mapped(collection: Any, model: Any, function: Callable[[Estimator, Any], dict[str, Any]]) -> dict[str, Any]:
    """Apply a function to every chunk, which returns a dict of tables; return these as collections.

    Example rows tell the types of all tables, and foreign columns are refused before anything is sent.
    """
    rows = _in_rows(collection)
    sent = ModelFile.at(model) if isinstance(model, str | os.PathLike) else model
    if not isinstance(sent, Mender | TCS | ModelFile):
        kinds = "a fitted Mender or TCS, or the path of a model file"
        raise ParameterError(f"model must be {kinds}, got {type(model).__name__}.")
    is_array = isinstance(rows, da.Array)
    example = function(loaded(sent), np.ones((1, rows.shape[1]), rows.dtype) if is_array else rows._meta_nonempty)
    # The tables of a chunk without rows, which have the types of all chunks.
    empty: dict[str, Any] = {name: table[:0] for name, table in example.items() if table is not None}
    if not is_array and "repaired" in empty:
        # Dividing turns columns of integers into floats, whatever their kind.
        floats = (empty["repaired"][empty["mask"].columns] / 1).dtypes
        empty["repaired"] = empty["repaired"].astype(dict(floats))
    shared = (function, model_key(sent), dask.delayed(empty, pure=True, traverse=False))
    if is_array:
        mapped = da.map_blocks(apply_to_chunk, rows, *shared, dtype=object, meta=np.empty((0, 0), dtype=object))
    else:
        # Dask has no type for dicts of tables: the type of the rows stands for it.
        mapped = rows.map_partitions(apply_to_chunk, *shared, meta=rows._meta, enforce_metadata=False)
    return dict.fromkeys(example) | {name: _taken(mapped, name, like) for name, like in empty.items()}


def _taken(mapped: Any, name: str, like: Any) -> Any:
    """Take one table out of what was mapped; ``like`` is the same for a chunk without rows."""
    if not isinstance(mapped, da.Array):
        return mapped.map_partitions(_item, name, meta=like, enforce_metadata=False)
    axes = "ij"[: like.ndim]
    return da.blockwise(_item, axes, mapped, "ij", name, None, dtype=like.dtype, meta=like, concatenate=False)


def _item(mapped: Any, name: str) -> Any:
    """Return one table of a chunk; Dask gives a list of chunks where a dimension is dropped, here always of one."""
    return (mapped[0] if isinstance(mapped, list) else mapped)[name]
