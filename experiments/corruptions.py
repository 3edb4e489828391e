"""How the paper corrupts rows: stretches of attributes, or squares of pixels, overwritten with U[0, 1].

Enters: clean rows and a generator of random numbers. Leaves: corrupted copies; the rows that came are not changed. The
order of the draws is part of the committed results: a place, then its values, row by row.
"""

import numpy as np
from numpy.typing import NDArray

from treemend.synthetic import square_masks, stretch_masks

__all__ = ["overwrite_share_of_rows", "overwrite_squares", "overwrite_stretches"]

Rows = NDArray[np.float64]

_GRID = (16, 16)


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
    for row in corrupted:
        (mask,) = stretch_masks(1, len(row), rng=rng, longest=longest)
        row[mask] = rng.random(mask.sum())
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
    corrupted = images.copy()
    mask = np.zeros(corrupted.shape, dtype=bool)
    for image in np.flatnonzero(rng.random(len(images)) < 0.5):
        (mask[image],) = square_masks(1, _GRID, rng=rng)
        corrupted[image, mask[image]] = rng.random(mask[image].sum())
    return corrupted, mask
