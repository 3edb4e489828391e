"""Chance that belongs to a row: the same row and seed give the same numbers, whatever rows come with it.

Enters: rows and a seed. Leaves: one random generator a row.
"""

import hashlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = ["row_generators"]


def row_generators(rows: NDArray[np.float64], seed: int) -> Iterator[np.random.Generator]:
    """Yield a generator for each row, seeded by the row's own values.

    Examples
    --------
    >>> one, two = row_generators(np.array([[1.0, 2.0], [1.0, 2.0]]), seed=0)
    >>> int(one.integers(1000)) - int(two.integers(1000))
    0
    """
    for row in rows:
        digest = hashlib.blake2b(np.ascontiguousarray(row).tobytes(), digest_size=16).digest()
        yield np.random.default_rng([seed, *np.frombuffer(digest, dtype=np.uint32).tolist()])
