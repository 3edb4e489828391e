"""Dask arrays and Dask data frames alike: as chunks of complete rows.

The number of tasks is proportional to the number of chunks, whatever their sizes, which need not be known.
"""

import math
from typing import Any

import dask.array as da
import numpy as np

from treemend.exceptions import InputError

__all__ = ["ArrayChunks", "FrameChunks", "chunks_of"]


class ArrayChunks:
    """A Dask array, its chunks joined along the columns."""

    def __init__(self, array: Any) -> None:
        if array.ndim != 2 or math.isnan(array.shape[1]):
            raise InputError(
                f"The array must have two dimensions, rows x columns, and a known number of columns, got shape "
                f"{array.shape}. Reshape it, or call compute_chunk_sizes."
            )
        self._array = array if array.numblocks[1] == 1 else array.rechunk({1: -1})

    def example(self) -> Any:
        """Return a row with the columns and types of the collection; its values mean nothing."""
        return np.ones((1, self._array.shape[1]), dtype=self._array.dtype)

    def parts(self) -> list[Any]:
        """Return the chunks as delayed objects."""
        return list(self._array.to_delayed().ravel())

    def map(self, function: Any, *shared: Any) -> Any:
        """Apply a function to every chunk, with delayed objects that all chunks share; it returns a dict of tables."""
        meta = np.empty((0, 0), dtype=object)
        return da.map_blocks(function, self._array, *shared, dtype=meta.dtype, meta=meta)

    def table(self, mapped: Any, name: str, like: Any) -> Any:
        """Take one table out of what `map` returned; ``like`` is the same for a chunk without rows."""
        axes = "ij"[: like.ndim]
        return da.blockwise(_item, axes, mapped, "ij", name, None, dtype=like.dtype, meta=like, concatenate=False)


class FrameChunks:
    """A Dask data frame; the methods are those of `ArrayChunks`."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def example(self) -> Any:  # noqa: D102
        return self._frame._meta_nonempty

    def parts(self) -> list[Any]:  # noqa: D102
        return list(self._frame.to_delayed())

    def map(self, function: Any, *shared: Any) -> Any:  # noqa: D102
        # Dask has no type for dicts of tables: the type of the rows stands for it.
        return self._frame.map_partitions(function, *shared, meta=self._frame._meta, enforce_metadata=False)

    def table(self, mapped: Any, name: str, like: Any) -> Any:  # noqa: D102
        return mapped.map_partitions(_item, name, meta=like, enforce_metadata=False)


def chunks_of(collection: Any) -> ArrayChunks | FrameChunks:
    """Return a Dask array or data frame as chunks of complete rows."""
    if isinstance(collection, da.Array):
        return ArrayChunks(collection)
    kind = type(collection)
    if kind.__module__.startswith("dask.dataframe") and kind.__name__ == "DataFrame":
        return FrameChunks(collection)
    raise InputError(
        f"The rows must be a Dask array or a Dask data frame, got {kind.__module__}.{kind.__name__}. For tables in "
        "memory, call Mender.mend."
    )


def _item(mapped: Any, name: str) -> Any:
    """Return one table of a chunk; Dask gives a list of chunks where a dimension is dropped, here always of one."""
    return (mapped[0] if isinstance(mapped, list) else mapped)[name]
