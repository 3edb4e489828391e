"""What mending gives back.

Enters: what the stages found. Leaves: one frozen object, in the caller's kind of table.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Mended"]


@dataclass(frozen=True, eq=False, repr=False)
class Mended:
    """The result of mending rows.

    Attributes
    ----------
    repaired : table of the input's kind
        The rows, with corrupted and missing values replaced and all others bit for bit as they came.
    mask : table of the input's kind, boolean
        True where a value was judged corrupted; columns that were passed through are not in it.
    corrupted : ndarray of bool, one a row
        True where a row holds a corrupted value.
    missing : table of the input's kind, boolean
        True where a value was missing (NaN) and has been filled; never True where ``mask`` is.
    spread : table of the input's kind
        Standard deviation of every filled value, as the donors tell it; NaN where nothing was filled.
    draws : list of tables of the input's kind
        Random completions for multiple imputation, as many as were asked for.
    """

    repaired: Any
    mask: Any
    corrupted: NDArray[np.bool_]
    missing: Any
    spread: Any
    draws: list[Any]

    def __repr__(self) -> str:
        n_cells = int(np.asarray(self.mask).sum())
        return f"Mended({int(self.corrupted.sum())} of {len(self.corrupted)} rows repaired, {n_cells} cells)"
