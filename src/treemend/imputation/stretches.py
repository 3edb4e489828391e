"""Stretches to practise on: random ones, and slightly wrong ones as a detector finds them.

Enters: numbers of rows and attributes. Leaves: boolean masks, one stretch a row.
"""

import numpy as np
from numpy.typing import NDArray

__all__ = ["random_stretches", "shifted_stretches"]

_NARROWEST, _WIDEST = 0.1, 0.5
_OFF = 0.2


def random_stretches(rng: np.random.Generator, n_rows: int, n_features: int) -> NDArray[np.bool_]:
    """Return one random stretch of 10 to 50 % of the attributes for each row."""
    width = np.round(n_features * rng.uniform(_NARROWEST, _WIDEST, n_rows)).astype(int)
    width = np.clip(width, 1, max(1, n_features - 1))
    start = (rng.random(n_rows) * (n_features - width + 1)).astype(int)
    return _between(start, start + width, n_features)


def shifted_stretches(rng: np.random.Generator, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the stretches with both ends off by up to a fifth of the width."""
    n_features = mask.shape[1]
    start, stop = mask.argmax(axis=1), n_features - mask[:, ::-1].argmax(axis=1)
    reach = np.maximum(1, (_OFF * (stop - start)).astype(int))
    new_start = np.clip(start + rng.integers(-reach, reach + 1), 0, n_features - 1)
    new_stop = np.clip(stop + rng.integers(-reach, reach + 1), new_start + 1, n_features)
    shifted = _between(new_start, new_stop, n_features)
    nothing_left = np.all(shifted, axis=1, keepdims=True)
    return np.where(nothing_left, mask, shifted)


def _between(start: NDArray[np.int64], stop: NDArray[np.int64], n_features: int) -> NDArray[np.bool_]:
    place = np.arange(n_features)
    return np.asarray((place >= start[:, None]) & (place < stop[:, None]))
