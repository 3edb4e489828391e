"""Workers, and what runs on them: one chunk in, its tables out, and errors that say which chunk they are about.

Dask runs chunks side by side, so ``n_jobs=None`` is one thread here, whichever of Dask's schedulers runs it. A model
travels by value, or as the path and checksum of its file, which each process loads once.
"""

import logging
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import dask
import numpy as np
from joblib import parallel_config

import treemend
from treemend import tables
from treemend.arrays import Array, Integers
from treemend.exceptions import ModelFileError, ParameterError, TreemendError
from treemend.mender import Mender
from treemend.model_file import checksum_of
from treemend.tcs import TCS

Estimator = Mender | TCS
_LOADING = threading.Lock()
# Where all cores are workers, Dask's profiler, its clocks and its statistics of the machine take time from their work.
_LITTLE_UPKEEP = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
}


@dataclass(frozen=True)
class ModelFile:
    """A model file that every worker can read: where it is, which it is, and the version of treemend that sent it."""

    path: str
    checksum: str
    version: str

    @classmethod
    def at(cls, path: str | os.PathLike[str]) -> "ModelFile":
        """Return the file at a path."""
        return cls(os.path.abspath(path), checksum_of(path), treemend.__version__)


def loaded(model: Estimator | ModelFile) -> Estimator:
    """Return the estimator; a file is loaded once in each process, and by one thread."""
    with _LOADING:
        return _load(model) if isinstance(model, ModelFile) else model


@lru_cache(maxsize=2)
def _load(model: ModelFile) -> Estimator:
    if treemend.__version__ != model.version:
        problem = f"has treemend {treemend.__version__}, and the model was sent by treemend {model.version}"
        raise ParameterError(f"{socket.gethostname()} {problem}. Install the same version on all workers.")
    if not os.path.isfile(model.path) or checksum_of(model.path) != model.checksum:
        remedy = "Workers must see the model under the same path, unchanged as long as they use it."
        raise ModelFileError(f"{model.path} is missing or another file on {socket.gethostname()}. {remedy}")
    return treemend.load(model.path)


def apply_to_chunk(
    chunk: Any,
    function: Callable[[Estimator, Any], dict[str, Any]],
    model: Estimator | ModelFile,
    empty: dict[str, Any],
    *,
    block_id: tuple[int, ...] | None = None,
    partition_info: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Apply `mend_table` or `score_table` to a chunk.

    ``empty`` are the tables of a chunk without rows, of the types that all chunks have. Dask says which chunk it is to
    functions with parameters ``block_id`` or ``partition_info``.
    """
    if len(chunk) == 0:
        return empty
    with _in_chunk(block_id[0] if block_id is not None else (partition_info or {}).get("number")):
        found = function(loaded(model), chunk)
    if "repaired" in found and not isinstance(chunk, np.ndarray):
        # Whether a column stays one of integers depends on what is filled in; chunks must agree.
        found["repaired"] = found["repaired"].astype(dict(empty["repaired"].dtypes))
    return found


def take_rows(chunk: Any, positions: Integers, passthrough: Any, number: int) -> Any:
    """Return some rows of a chunk, after all of its rows were checked."""
    with _in_chunk(number):
        tables.read_table(chunk, passthrough, reference=True)
    return tables.take_rows(chunk, positions)


def mend_table(estimator: Estimator, table: Any, rate: float | None = None) -> dict[str, Any]:
    """Mend rows, and return the tables of a `DaskResult`.

    Whether a table has drifted is a matter of all its rows, and no chunk has them: rows are repaired in any case.
    """
    if isinstance(estimator, Mender):
        mended = estimator.mend(table, false_alarm_rate=rate, on_drift="repair")
    elif rate is None:
        mended = estimator.mend(table)
    else:
        raise ParameterError("The threshold of TCS is set by fit. Fit it with another false_alarm_rate.")
    found = {name: getattr(mended, name) for name in ("repaired", "mask", "missing", "spread")}
    by_row = ("corrupted", "unusual", "p_values")
    return found | {name: _by_row(table, getattr(mended, name), name) for name in by_row}


def score_table(estimator: Estimator, table: Any) -> dict[str, Any]:
    """Score rows."""
    return {"score": _by_row(table, estimator.score_samples(table), "score")}


def _by_row(table: Any, values: Array | None, name: str) -> Any:
    """Return values as an array, or as a series with the index of the data frame they belong to; None stays None."""
    if values is None or isinstance(table, np.ndarray):
        return values
    import pandas as pd

    return pd.Series(values, index=table.index, name=name)


@contextmanager
def _in_chunk(number: int | None) -> Iterator[None]:
    """Take one thread unless told otherwise, and say in which chunk something went wrong."""
    try:
        # Dask's threads have no mark of their own; to be one level down in joblib's count means the same.
        with parallel_config(backend="threading", nesting_level=1):
            yield
    except TreemendError as error:
        raise type(error)(f"Chunk {number}, rows counted from its first: {error}") from None
    except Exception as error:
        error.add_note(f"This happened in chunk {number}.")
        raise


def local_client(n_workers: int) -> Any:
    """Start worker processes of one thread each, which stop when the client is closed; it is not the default one."""
    from distributed import Client

    with dask.config.set(_LITTLE_UPKEEP):
        return Client(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.CRITICAL,
            set_as_default=False,
        )
