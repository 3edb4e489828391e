"""The map of what was found, rows x attributes, in at most a fixed number of cells.

Enters: masks, batch by batch, their number unknown beforehand. Leaves: the share found in each cell. A cell starts as
one row; whenever the map grows too tall, neighbouring rows of cells are joined. The result is the same for any batches.
"""

import numpy as np
from numpy.typing import NDArray

__all__ = ["FoundMap"]

_MOST_ROWS = 256
_MOST_COLUMNS = 400
_CHUNK = 4096


class FoundMap:
    """Counts of marked values in cells of some rows and some attributes.

    Parameters
    ----------
    n_features : int
        Number of attributes.

    Attributes
    ----------
    rows_per_cell, features_per_cell : int
        Size of a cell; those at the edges may be smaller.

    Examples
    --------
    >>> tall = FoundMap(2)
    >>> tall.add(np.arange(1024).reshape(-1, 2) % 4 == 0)
    >>> tall.rows_per_cell, tall.percent()[:2]
    (2, [[50, 0], [50, 0]])
    """

    def __init__(self, n_features: int) -> None:
        self.n_rows = 0
        self.n_features = n_features
        self.rows_per_cell = 1
        self.features_per_cell = -(-n_features // _MOST_COLUMNS)
        self._starts = np.arange(0, n_features, self.features_per_cell)
        self._counts = np.zeros((_MOST_ROWS, len(self._starts)), dtype=np.int64)

    def add(self, mask: NDArray[np.bool_]) -> None:
        """Count the marked values of more rows."""
        for first in range(0, len(mask), _CHUNK):
            self._add_chunk(mask[first : first + _CHUNK])

    def _add_chunk(self, mask: NDArray[np.bool_]) -> None:
        rows = np.arange(self.n_rows, self.n_rows + len(mask))
        self.n_rows += len(mask)
        while (self.n_rows - 1) // self.rows_per_cell >= _MOST_ROWS:
            self._join_neighbours()
        np.add.at(self._counts, rows // self.rows_per_cell, np.add.reduceat(mask, self._starts, axis=1, dtype=np.int64))

    def _join_neighbours(self) -> None:
        joined = self._counts[0::2] + self._counts[1::2]
        self._counts[: len(joined)] = joined
        self._counts[len(joined) :] = 0
        self.rows_per_cell *= 2

    def percent(self) -> list[list[int]]:
        """Return the share of marked values in every cell, in percent rounded up: 0 only where there is none."""
        tall = -(-self.n_rows // self.rows_per_cell)
        heights = np.minimum(self.rows_per_cell, self.n_rows - np.arange(tall) * self.rows_per_cell)
        widths = np.diff(np.append(self._starts, self.n_features))
        shares: NDArray[np.int64] = -(-100 * self._counts[:tall] // (heights[:, None] * widths))
        return [[int(share) for share in line] for line in shares]
