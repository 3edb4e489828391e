"""Practice: clean rows, overwritten in the ways people meet (method, section 10, six kinds).

Enters: clean rows, scaled so that each attribute spans [0, 1]. Leaves: the same rows with one stretch overwritten, and
where that is.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from treemend.imputation.stretches import random_stretches

__all__ = ["KINDS", "overwrite"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
_SPREAD = 0.25
_SHIFT = 0.3


def _noise(rng: np.random.Generator, rows: Floats, mask: Bools) -> Floats:
    del mask
    return rng.random(rows.shape)


def _zero(rng: np.random.Generator, rows: Floats, mask: Bools) -> Floats:
    del rng, mask
    return np.zeros_like(rows)


def _stuck(rng: np.random.Generator, rows: Floats, mask: Bools) -> Floats:
    del rng
    first = rows[np.arange(len(rows)), mask.argmax(axis=1)]
    return np.broadcast_to(first[:, None], rows.shape)


def _another_row(rng: np.random.Generator, rows: Floats, mask: Bools) -> Floats:
    del mask
    others = (np.arange(len(rows)) + rng.integers(1, max(2, len(rows)), len(rows))) % len(rows)
    return np.asarray(rows[others])


def _added_noise(rng: np.random.Generator, rows: Floats, mask: Bools) -> Floats:
    del mask
    return rows + rng.normal(0, _SPREAD, rows.shape)


def _offset(rng: np.random.Generator, rows: Floats, mask: Bools) -> Floats:
    del mask
    return rows + np.where(rng.random((len(rows), 1)) < 0.5, -_SHIFT, _SHIFT)


KINDS: dict[str, Callable[[np.random.Generator, Floats, Bools], Floats]] = {
    "noise": _noise,
    "zero": _zero,
    "stuck": _stuck,
    "another row": _another_row,
    "added noise": _added_noise,
    "offset": _offset,
}


def overwrite(rng: np.random.Generator, rows: Floats, kind: str) -> tuple[Floats, Bools]:
    """Overwrite one random stretch of 10 to 50 % of the attributes of every row.

    Parameters
    ----------
    rng : numpy.random.Generator
    rows : ndarray, rows x attributes
        On [0, 1] scales, in the order of the layout.
    kind : str
        One of `KINDS`.

    Returns
    -------
    ndarray, rows x attributes
        The rows, overwritten.
    ndarray of bool, rows x attributes
        Where.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> overwritten, mask = overwrite(rng, np.ones((3, 10)), "zero")
    >>> bool((overwritten == ~mask).all())
    True
    """
    mask = random_stretches(rng, *rows.shape)
    return np.where(mask, KINDS[kind](rng, rows, mask), rows), mask
