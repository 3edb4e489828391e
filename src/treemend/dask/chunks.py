"""One chunk, on a worker: what is computed for it, and what is said when that fails.

Enters: a chunk (an array or a pandas data frame), a model. Leaves: `Pieces`, the tables of a `Mended` without
the evidence behind them, which holds the whole model; or `Scores`. A chunk without rows gives tables without
rows. Dask runs chunks side by side, so ``n_jobs=None`` is one thread here, whichever of Dask's schedulers runs it.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import parallel_config
from numpy.typing import NDArray

from treemend.dask.models import Model, mender_of
from treemend.exceptions import TreemendError
from treemend.mender import TreeMender
from treemend.reference import ShardedReference

__all__ = [
    "Pieces",
    "Scores",
    "mend_chunk",
    "mended_example",
    "piece",
    "reference_chunk",
    "score_chunk",
    "scored_example",
]


@dataclass(frozen=True, eq=False)
class Pieces:
    """The tables of a `DaskMended`, for one chunk."""

    repaired: Any
    mask: Any
    corrupted: Any
    missing: Any
    spread: Any


@dataclass(frozen=True, eq=False)
class Scores:
    """One score a row, for one chunk."""

    score: Any


def mend_chunk(
    chunk: Any,
    model: Model,
    empty: Pieces,
    *,
    block_id: tuple[int, ...] | None = None,
    partition_info: dict[str, Any] | None = None,
) -> Pieces:
    """Mend the rows of a chunk.

    Parameters
    ----------
    chunk : ndarray or pandas DataFrame
    model : TreeMender or ModelFile
    empty : Pieces
        Tables without rows, of the types that every chunk shall have.
    block_id, partition_info
        Which chunk this is, as Dask tells functions that have these names.
    """
    if len(chunk) == 0:
        return empty
    with _ready(model) as mender, _in_chunk(block_id, partition_info):
        pieces = _pieces(mender, chunk)
    if isinstance(chunk, np.ndarray):
        return pieces
    # A column with nothing to fill keeps a type that a filled one may lose; chunks must agree.
    repaired = pieces.repaired.astype(dict(empty.repaired.dtypes))
    return Pieces(repaired, pieces.mask, pieces.corrupted, pieces.missing, pieces.spread)


def score_chunk(
    chunk: Any,
    model: Model,
    empty: Scores,
    *,
    block_id: tuple[int, ...] | None = None,
    partition_info: dict[str, Any] | None = None,
) -> Scores:
    """Score the rows of a chunk; the parameters are those of `mend_chunk`."""
    if len(chunk) == 0:
        return empty
    with _ready(model) as mender, _in_chunk(block_id, partition_info):
        return _scores(mender, chunk)


def reference_chunk(
    chunk: Any,
    reader: TreeMender,
    *,
    block_id: tuple[int, ...] | None = None,
    partition_info: dict[str, Any] | None = None,
) -> NDArray[np.float64]:
    """Read the reference rows of a chunk, as `TreeMender.fit` reads and refuses them.

    Parameters
    ----------
    chunk : ndarray or pandas DataFrame
    reader : TreeMender
        Knows the columns, and nothing else.
    block_id, partition_info
        As for `mend_chunk`.
    """
    if len(chunk) == 0:
        return np.empty((0, reader.n_features_in_))
    with _in_chunk(block_id, partition_info):
        table = reader._read(chunk, reset=False)
        return np.ascontiguousarray(table.values[reader._complete(table)])


def piece(found: Any, name: str) -> Any:
    """Return one table of a chunk; Dask gives a list of chunks where a dimension is dropped, here always of one."""
    return getattr(found[0] if isinstance(found, list) else found, name)


def mended_example(mender: TreeMender, example: Any) -> Pieces:
    """Mend example rows and drop them: what is left has the columns and types of any chunk.

    A collection whose columns the mender does not know is refused here, before anything is sent anywhere.
    """
    return Pieces(**{name: table[:0] for name, table in vars(_pieces(mender, example)).items()})


def scored_example(mender: TreeMender, example: Any) -> Scores:
    """Score example rows and drop them."""
    return Scores(_scores(mender, example).score[:0])


def _pieces(mender: TreeMender, table: Any) -> Pieces:
    mended = mender.mend(table)
    corrupted = _one_a_row(table, mended.corrupted, "corrupted")
    return Pieces(mended.repaired, mended.mask, corrupted, mended.missing, mended.spread)


def _scores(mender: TreeMender, table: Any) -> Scores:
    return Scores(_one_a_row(table, mender.score_samples(table), "score"))


def _one_a_row(table: Any, values: Any, name: str) -> Any:
    """Return values as an array, or as a series with the index of the data frame they belong to."""
    if isinstance(table, np.ndarray):
        return values
    import pandas as pd

    return pd.Series(values, index=table.index, name=name)


@contextmanager
def _ready(model: Model) -> Iterator[TreeMender]:
    """Give the mender, and make room for others if it has to ask them: its reference is elsewhere."""
    from treemend.dask.crew import seat

    mender = mender_of(model)
    with seat() if isinstance(mender._workshop.reference, ShardedReference) else nullcontext():
        yield mender


@contextmanager
def _in_chunk(block_id: tuple[int, ...] | None, partition_info: dict[str, Any] | None) -> Iterator[None]:
    """Take one thread unless told otherwise, and say in which chunk something went wrong."""
    number = block_id[0] if block_id is not None else (partition_info or {}).get("number")
    try:
        # Dask's threads have no mark of their own; to be one level down in joblib's count means the same.
        with parallel_config(backend="threading", nesting_level=1):
            yield
    except TreemendError as error:
        raise type(error)(f"Chunk {number}, rows counted from its first: {error}") from None
    except Exception as error:
        error.add_note(f"This happened in chunk {number}.")
        raise
