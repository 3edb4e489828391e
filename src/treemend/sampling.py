"""Random samples of rows that are the same for any batches or chunks.

Every row number has a pseudo-random hash; the sample is the rows with the smallest ones. Contents are not hashed: equal
rows would then be in the sample together or not at all.
"""

import numpy as np
from numpy.typing import NDArray

__all__ = ["RowSample", "sample_rows"]

_BLOCK = 2**20


class RowSample:
    """A sample that grows with the batches of a table.

    Parameters
    ----------
    size : int
        How many rows to keep at most.
    seed : int

    Examples
    --------
    >>> sample = RowSample(2, seed=0)
    >>> sample.add(np.array([[0.0], [1.0], [2.0]]), np.arange(3))
    >>> values, rows = sample.result()
    >>> len(rows), bool((values[:, 0] == rows).all())
    (2, True)
    """

    def __init__(self, size: int, seed: int = 0) -> None:
        self._size, self._seed = size, seed
        self._kept: list[tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.uint64]]] = []
        self._limit = np.uint64(2**64 - 1)

    def add(self, values: NDArray[np.float64], rows: NDArray[np.int64]) -> None:
        """Offer rows, of which ``rows`` are the numbers in the table, each offered once."""
        hashes = _hashes(rows, self._seed)
        few = hashes <= self._limit
        self._kept.append((values[few], rows[few], hashes[few]))
        if sum(len(part[1]) for part in self._kept) > 2 * self._size:
            self._reduce()

    def result(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the values of the sample and its row numbers, in the order of the table."""
        self._reduce()
        values, rows, _ = self._kept[0]
        order = np.argsort(rows)
        return values[order], rows[order]

    def _reduce(self) -> None:
        values, rows, hashes = (np.concatenate(part) for part in zip(*self._kept, strict=True))
        if len(rows) > self._size:
            self._limit = np.partition(hashes, self._size - 1)[self._size - 1]
        few = hashes <= self._limit
        self._kept = [(values[few], rows[few], hashes[few])]


def sample_rows(n_rows: int, size: int, seed: int = 0) -> NDArray[np.int64]:
    """Return the row numbers that `RowSample` keeps of so many rows, ascending."""
    sample = RowSample(size, seed)
    for first in range(0, max(1, n_rows), _BLOCK):
        rows = np.arange(first, min(first + _BLOCK, n_rows))
        sample.add(np.empty((len(rows), 0)), rows)
    return sample.result()[1]


def _hashes(rows: NDArray[np.int64], seed: int) -> NDArray[np.uint64]:
    """Mix the bits of row number and seed; different rows have different hashes."""
    bits = rows.astype(np.uint64) + np.uint64(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
