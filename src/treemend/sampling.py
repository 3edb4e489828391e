"""Random samples of rows that are the same for any batches or chunks.

Every row number has a hash; the sample is the rows with the smallest ones. Contents are not hashed: equal rows would
then be in the sample together or not at all.
"""

import numpy as np

from treemend.arrays import Floats, Integers

_BLOCK = 2**20
# Shifts and factors of SplitMix64: different numbers stay different.
_MIXING = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))


class RowSample:
    """A sample of at most ``size`` rows that grows with the batches of a table."""

    def __init__(self, size: int, seed: int = 0) -> None:
        self._size = size
        self._offset = np.random.SeedSequence(seed).generate_state(1, np.uint64)
        self._parts: list[tuple[Floats, Integers]] = []

    def add(self, values: Floats, rows: Integers) -> None:
        """Offer rows, of which ``rows`` are the numbers in the table, each offered once."""
        self._parts.append((values, rows))
        if sum(len(part) for _, part in self._parts) > 2 * self._size:
            self._parts = [self.result()]

    def result(self) -> tuple[Floats, Integers]:
        """Return the values of the sample and its row numbers, in the order of the table."""
        values, rows = (np.concatenate(part) for part in zip(*self._parts, strict=True))
        hashes = rows.astype(np.uint64) + self._offset
        for shift, factor in _MIXING:
            hashes = (hashes ^ (hashes >> np.uint64(shift))) * np.uint64(factor)
        kept = np.argsort(hashes)[: self._size]
        order = kept[np.argsort(rows[kept])]
        return values[order], rows[order]


def sample_rows(n_rows: int, size: int, seed: int = 0) -> Integers:
    """Return the row numbers that `RowSample` keeps of so many rows, ascending."""
    sample = RowSample(size, seed)
    for first in range(0, max(1, n_rows), _BLOCK):
        rows = np.arange(first, min(first + _BLOCK, n_rows))
        sample.add(np.empty((len(rows), 0)), rows)
    return sample.result()[1]
