"""How the paper corrupts rows: stretches of attributes, or squares of pixels, overwritten with U[0, 1].

Enters: clean rows and a generator of random numbers. Leaves: corrupted copies; the rows that came are not changed.
"""

import numpy as np
from numpy.typing import NDArray

__all__ = ["overwrite_share_of_rows", "overwrite_squares", "overwrite_stretches"]

Rows = NDArray[np.float64]

_SIDE = 16
_SIDES = (5, 11)


def overwrite_stretches(rows: Rows, rng: np.random.Generator, longest: float = 0.5) -> Rows:
    """Overwrite in every row one stretch of attributes.

    Parameters
    ----------
    rows : ndarray, rows x attributes
    rng : Generator
    longest : float
        Largest share of the attributes; lengths from a tenth of them to this share are equally likely.
    """
    corrupted = rows.copy()
    n_features = rows.shape[1]
    shortest_width, longest_width = int(np.ceil(0.1 * n_features)), int(np.floor(longest * n_features))
    for row in corrupted:
        width = rng.integers(shortest_width, longest_width + 1)
        start = rng.integers(0, n_features - width + 1)
        row[start : start + width] = rng.random(width)
    return corrupted


def overwrite_share_of_rows(rows: Rows, share: float, rng: np.random.Generator, longest: float = 0.5) -> Rows:
    """Overwrite stretches in a random share of the rows."""
    corrupted = rows.copy()
    chosen = rng.permutation(len(rows))[: round(share * len(rows))]
    corrupted[chosen] = overwrite_stretches(rows[chosen], rng, longest)
    return corrupted


def overwrite_squares(images: Rows, rng: np.random.Generator) -> tuple[Rows, NDArray[np.bool_]]:
    """Overwrite with probability 1/2 a square of 25 to 121 pixels, the sides from 5 to 11 being equally likely.

    Parameters
    ----------
    images : ndarray, images x 256
        Pixels row by row.

    Returns
    -------
    corrupted : ndarray, images x 256
    mask : ndarray of bool, images x 256
        True where a pixel was overwritten.
    """
    corrupted = images.reshape(-1, _SIDE, _SIDE).copy()
    mask = np.zeros(corrupted.shape, dtype=bool)
    for image in np.flatnonzero(rng.random(len(images)) < 0.5):
        side = rng.integers(_SIDES[0], _SIDES[1] + 1)
        top, left = rng.integers(0, _SIDE - side + 1), rng.integers(0, _SIDE - side + 1)
        corrupted[image, top : top + side, left : left + side] = rng.random((side, side))
        mask[image, top : top + side, left : left + side] = True
    return corrupted.reshape(len(images), -1), mask.reshape(len(images), -1)
