"""Six kinds of corruption, on rows scaled to [0, 1].

Enters: true rows, masks, and a generator of random numbers. Leaves: corrupted copies. A stretch has 10 to 50 % of the
attributes; a square has about 10 to 50 % of the pixels.
"""

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["KINDS", "corrupt", "square_masks", "stretch_masks"]

Rows = NDArray[np.float64]
Masks = NDArray[np.bool_]

KINDS = ("noise", "zero", "stuck", "swap", "additive", "offset")
_ADDED_DEVIATION = 0.25
_OFFSET = 0.3


def stretch_masks(n_rows: int, n_features: int, rng: np.random.Generator) -> Masks:
    """Return one stretch of 10 to 50 % of the attributes for every row."""
    masks = np.zeros((n_rows, n_features), dtype=bool)
    shortest, longest = math.ceil(0.1 * n_features), max(1, math.floor(0.5 * n_features))
    for mask in masks:
        width = rng.integers(shortest, longest + 1)
        start = rng.integers(0, n_features - width + 1)
        mask[start : start + width] = True
    return masks


def square_masks(n_rows: int, grid: tuple[int, int], rng: np.random.Generator) -> Masks:
    """Return one square for every image, its sides equally likely: 5 to 11 of 16 pixels, 3 to 5 of 8."""
    height, width = grid
    masks = np.zeros((n_rows, height, width), dtype=bool)
    shortest, longest = round(math.sqrt(0.1 * height * width)), math.floor(math.sqrt(0.5 * height * width))
    for mask in masks:
        side = rng.integers(shortest, longest + 1)
        top, left = rng.integers(0, height - side + 1), rng.integers(0, width - side + 1)
        mask[top : top + side, left : left + side] = True
    return masks.reshape(n_rows, -1)


def corrupt(kind: str, true: Rows, masks: Masks, others: Rows, rng: np.random.Generator) -> Rows:
    """Return the rows with the masked values overwritten.

    Parameters
    ----------
    kind : str
        One of `KINDS`: uniform noise, zero, stuck at the stretch's first value, the same stretch of another row,
        normal noise of standard deviation .25 added, .3 added or subtracted.
    true : ndarray, rows x attributes
    masks : ndarray of bool, rows x attributes
    others : ndarray, rows x attributes
        Rows to take stretches from; none of them may be among ``true``.
    rng : Generator
    """
    shape = true.shape
    if kind == "noise":
        values = rng.random(shape)
    elif kind == "zero":
        values = np.zeros(shape)
    elif kind == "stuck":
        first = masks.argmax(axis=1)
        values = np.broadcast_to(true[np.arange(len(true)), first][:, None], shape)
    elif kind == "swap":
        values = others[rng.integers(0, len(others), len(true))]
    elif kind == "additive":
        values = true + rng.normal(0, _ADDED_DEVIATION, shape)
    elif kind == "offset":
        values = true + _OFFSET * rng.choice([-1.0, 1.0], (len(true), 1))
    else:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}; got {kind!r}")
    return np.where(masks, values, true)
