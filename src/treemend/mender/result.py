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
        The rows, with corrupted values replaced and all others bit for bit as they came.
    mask : table of the input's kind, boolean
        True where a value was judged corrupted; columns that were passed through are not in it.
    corrupted : ndarray of bool, one a row
        True where a row holds a corrupted value.
    """

    repaired: Any
    mask: Any
    corrupted: NDArray[np.bool_]

    def __repr__(self) -> str:
        n_cells = int(np.asarray(self.mask).sum())
        return f"Mended({int(self.corrupted.sum())} of {len(self.corrupted)} rows repaired, {n_cells} cells)"
