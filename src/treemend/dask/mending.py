"""Mending Dask collections: the stages of this room called in order.

Enters: a fitted mender or the path of its model file, a Dask array or data frame. Leaves: Dask collections.
"""

from dataclasses import fields
from typing import Any

from dask import delayed

from treemend.dask.chunked import chunked
from treemend.dask.chunks import mend_chunk, mended_example, score_chunk, scored_example
from treemend.dask.models import MenderOrPath, checked, mender_of, model_key
from treemend.dask.result import DaskMended

__all__ = ["mend", "score_samples"]


def mend(mender: MenderOrPath, collection: Any) -> DaskMended:
    """Find and repair what was overwritten in the rows of a Dask collection, chunk by chunk, when it is computed.

    The result is bit for bit that of ``mender.mend`` on all rows at once, for any chunks: of a single row, without
    rows, of unknown lengths. Each worker gets the mender once. With ``n_jobs=None`` a chunk is mended by one thread,
    and Dask mends as many chunks at a time as its workers have threads.

    Parameters
    ----------
    mender : TreeMender or path
        Fitted. A mender travels within the graph, through the scheduler; of a model of more than some ten megabytes,
        give the path of a file that `TreeMender.save` wrote where every worker can read it.
    collection : Dask array or Dask data frame, rows x attributes
        Suspect rows; NaN where a value is known to be missing. An array that is split between columns is put together
        along them first. Data frames consist of pandas ones.

    Returns
    -------
    DaskMended
        ``repaired``, ``mask``, ``corrupted``, ``missing`` and ``spread`` as collections.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import treemend.dask
    >>> from treemend import TreeMender
    >>> rng = np.random.default_rng(0)
    >>> def waves(n):
    ...     phase, height = rng.uniform(0, 6, (n, 1)), rng.uniform(1, 2, (n, 1))
    ...     return height * np.sin(np.linspace(0, 6, 32) + phase)
    >>> mender = TreeMender(false_alarm_rate=0.05).fit(waves(500))
    >>> suspect = waves(6)
    >>> suspect[1, 8:16] = rng.uniform(-2, 2, 8)
    >>> mended = treemend.dask.mend(mender, da.from_array(suspect, chunks=(2, 32)))
    >>> mended.repaired
    dask.array<piece, shape=(6, 32), dtype=float64, chunksize=(2, 32), chunktype=numpy.ndarray>
    >>> mended.corrupted.compute()
    array([False,  True, False, False, False, False])
    """
    rows = chunked(collection)
    model = checked(mender)
    empty = mended_example(mender_of(model), rows.example())
    pieces = rows.mapped(mend_chunk, model_key(model), delayed(empty, pure=True, traverse=False))
    return DaskMended(
        **{field.name: rows.piece(pieces, field.name, getattr(empty, field.name)) for field in fields(DaskMended)}
    )


def score_samples(mender: MenderOrPath, collection: Any) -> Any:
    """Return how clean each row of a Dask collection is, as `TreeMender.score_samples` does; higher is cleaner.

    Parameters
    ----------
    mender : TreeMender or path
        As for `mend`.
    collection : Dask array or Dask data frame, rows x attributes
        Suspect rows.

    Returns
    -------
    Dask array, or Dask series named "score"
        One score a row.
    """
    rows = chunked(collection)
    model = checked(mender)
    empty = scored_example(mender_of(model), rows.example())
    scores = rows.mapped(score_chunk, model_key(model), delayed(empty, pure=True, traverse=False))
    return rows.piece(scores, "score", empty.score)
