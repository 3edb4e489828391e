"""Collections in chunks of rows: Dask arrays and Dask data frames, behind the same few questions.

Enters: a Dask collection. Leaves: a `Chunked`, which shows example rows, puts a function to every chunk, and takes
single tables out of what came back. The number of tasks is proportional to the number of chunks, whatever their sizes,
which need not be known.
"""

import math
from typing import Any, Protocol

import dask.array as da
import numpy as np

from treemend.dask.chunks import piece
from treemend.exceptions import InputError

__all__ = ["Chunked", "chunked"]


class Chunked(Protocol):
    """Rows in chunks."""

    def example(self) -> Any:
        """Return a row or two with the columns and types of the collection; their values mean nothing."""
        ...

    def mapped(self, function: Any, *shared: Any) -> Any:
        """Put a function to every chunk, with delayed objects that all chunks share; what comes back is no table."""
        ...

    def parts(self, found: Any) -> list[Any]:
        """Return what `mapped` gave as delayed objects, one a chunk."""
        ...

    def piece(self, found: Any, name: str, like: Any) -> Any:
        """Take one table out of what `mapped` gave; ``like`` is the same for a chunk without rows."""
        ...


def chunked(collection: Any) -> Chunked:
    """Return a Dask array or data frame as chunks of whole rows."""
    if isinstance(collection, da.Array):
        return _Array(collection)
    kind = type(collection)
    if kind.__module__.startswith("dask.dataframe") and kind.__name__ == "DataFrame":
        return _Frame(collection)
    raise InputError(
        f"The rows must be a Dask array or a Dask data frame, got {kind.__module__}.{kind.__name__}. For tables in "
        "memory, call TreeMender.mend."
    )


class _Array:
    def __init__(self, array: Any) -> None:
        if array.ndim != 2 or math.isnan(array.shape[1]):
            raise InputError(
                f"The array must have two dimensions, rows x attributes, and a known number of attributes, got shape "
                f"{array.shape}. Reshape it, or call compute_chunk_sizes."
            )
        self._array = array if array.numblocks[1] == 1 else array.rechunk({1: -1})

    def example(self) -> Any:
        return np.ones((1, self._array.shape[1]), dtype=self._array.dtype)

    def mapped(self, function: Any, *shared: Any) -> Any:
        meta = np.empty((0, 0), dtype=object)
        return da.map_blocks(function, self._array, *shared, dtype=meta.dtype, meta=meta)

    def parts(self, found: Any) -> list[Any]:
        return list(found.to_delayed().ravel())

    def piece(self, found: Any, name: str, like: Any) -> Any:
        axes = "ij"[: like.ndim]
        return da.blockwise(piece, axes, found, "ij", name, None, dtype=like.dtype, meta=like, concatenate=False)


class _Frame:
    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def example(self) -> Any:
        return self._frame._meta_nonempty

    def mapped(self, function: Any, *shared: Any) -> Any:
        # No table comes back, and Dask has no word for other things: the type of the rows stands for it.
        return self._frame.map_partitions(function, *shared, meta=self._frame._meta, enforce_metadata=False)

    def parts(self, found: Any) -> list[Any]:
        return list(found.to_delayed())

    def piece(self, found: Any, name: str, like: Any) -> Any:
        return found.map_partitions(piece, name, meta=like, enforce_metadata=False)
