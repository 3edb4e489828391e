"""What mending a Dask collection gives back.

Enters: Dask collections. Leaves: one frozen object that holds them.
"""

from dataclasses import dataclass
from typing import Any

__all__ = ["DaskMended"]


@dataclass(frozen=True, eq=False)
class DaskMended:
    """The result of mending a Dask array or data frame: collections of the same kind, chunks, index and divisions.

    Each is computed when it is asked for. To have several, compute them together: every chunk is mended once then.
    ``dask.compute(mended)[0]`` is the same object with all of them as tables in memory, ``dask.persist(mended)[0]`` one
    whose chunks stay on the workers.

    Attributes
    ----------
    repaired : Dask array or data frame
        The rows, with corrupted and missing values replaced and all others bit for bit as they came.
    mask : Dask array or data frame, boolean
        True where a value was judged corrupted; columns that were passed through are not in it.
    corrupted : Dask array or series of bool, one a row
        True where a row holds a corrupted value.
    missing : Dask array or data frame, boolean
        True where a value was missing (NaN) and has been filled.
    spread : Dask array or data frame
        Standard deviation of every filled value, as the donors tell it; NaN where nothing was filled.
    """

    repaired: Any
    mask: Any
    corrupted: Any
    missing: Any
    spread: Any
