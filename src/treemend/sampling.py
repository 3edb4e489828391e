"""Random samples of rows that are the same for any batches or chunks.

Every row number has a hash; the sample is the rows with the smallest ones. Contents are not hashed: equal rows would
then be in the sample together or not at all.
"""

import numpy as np
from numpy.typing import NDArray

_BLOCK = 2**20


class RowSample:
    """A sample of at most ``size`` rows that grows with the batches of a table."""

    def __init__(self, size: int, seed: int = 0) -> None:
        self._size = size
        self._offset = np.random.SeedSequence(seed).generate_state(1, np.uint64)
        self._parts: list[tuple[NDArray[np.float64], NDArray[np.int64]]] = []

    def add(self, values: NDArray[np.float64], rows: NDArray[np.int64]) -> None:
        """Offer rows, of which ``rows`` are the numbers in the table, each offered once."""
        self._parts.append((values, rows))
        if sum(len(part) for _, part in self._parts) > 2 * self._size:
            self._parts = [self.result()]

    def result(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the values of the sample and its row numbers, in the order of the table."""
        values, rows = (np.concatenate(part) for part in zip(*self._parts, strict=True))
        kept = np.argsort(_mixed(rows.astype(np.uint64) + self._offset))[: self._size]
        order = kept[np.argsort(rows[kept])]
        return values[order], rows[order]


def sample_rows(n_rows: int, size: int, seed: int = 0) -> NDArray[np.int64]:
    """Return the row numbers that `RowSample` keeps of so many rows, ascending."""
    sample = RowSample(size, seed)
    for first in range(0, max(1, n_rows), _BLOCK):
        rows = np.arange(first, min(first + _BLOCK, n_rows))
        sample.add(np.empty((len(rows), 0)), rows)
    return sample.result()[1]


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix bits so that different numbers stay different."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
