"""Synthetic rows and synthetic corruption: what the examples, the demonstration, the tests and the experiments share.

Masks are boolean arrays of shape (n_samples, n_features), True where a value is to be overwritten. Every function takes
``rng``, a seed or a generator, and draws from it in a fixed order: equal seeds give equal rows with any later version.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from treemend.arrays import Booleans, Floats

__all__ = ["KINDS", "TYPOS", "corrupt", "scattered_masks", "square_masks", "stretch_masks", "waves"]

Seed = int | np.random.Generator

KINDS = ("noise", "zero", "stuck", "swap", "additive", "offset")
"""Kinds of corruption of a stretch, for rows whose columns span [0, 1]."""
TYPOS = ("factor", "sign", "neighbours")
"""Kinds of corruption of single cells, as people make them who type numbers."""

_SMALLEST, _LARGEST = 0.1, 0.5


def waves(n_rows: int, n_features: int = 32, *, rng: Seed = 0, noise: float = 0.0) -> Floats:
    """Return sine waves of random phase and height, one a row, with normal noise if asked.

    Parameters
    ----------
    n_rows, n_features : int
    rng : int or Generator
    noise : float, default=0.0
        Standard deviation of the noise.

    Returns
    -------
    ndarray of shape (n_rows, n_features)
    """
    rng = np.random.default_rng(rng)
    phase, height = rng.uniform(0, 6, (n_rows, 1)), rng.uniform(1, 2, (n_rows, 1))
    rows = height * np.sin(np.linspace(0, 6, n_features) + phase)
    return np.asarray(rows + rng.normal(0, noise, rows.shape) if noise else rows)


def stretch_masks(n_rows: int, n_features: int, *, rng: Seed = 0, count: int = 1, longest: float = 0.5) -> Booleans:
    """Return masks of one or several stretches a row, with 10 % of the columns to the share ``longest``.

    Parameters
    ----------
    n_rows, n_features : int
    rng : int or Generator
    count : int, default=1
        Stretches a row. Several are apart by at least one column.
    longest : float, default=0.5

    Returns
    -------
    ndarray of bool of shape (n_rows, n_features)

    Examples
    --------
    >>> stretch_masks(2, 12, count=2).astype(int)
    array([[0, 1, 1, 1, 1, 0, 0, 0, 1, 1, 0, 0],
           [1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0]])
    """
    if 2 * count - 1 > n_features:
        raise ValueError(f"count must be at most {(n_features + 1) // 2} for {n_features} columns; got {count}")
    masks, rng = np.zeros((n_rows, n_features), dtype=bool), np.random.default_rng(rng)
    least = max(count, math.ceil(_SMALLEST * n_features))
    most = min(max(least, math.floor(longest * n_features)), n_features - count + 1)
    for mask in masks:
        # Random widths, and random gaps of at least one column between them.
        total = int(rng.integers(least, most + 1))
        cuts = np.concatenate(([0], np.sort(rng.choice(total - 1, count - 1, replace=False)) + 1, [total]))
        before = np.sort(rng.integers(0, n_features - total - (count - 1) + 1, count)) + np.arange(count)
        for start, stop in zip(before + cuts[:-1], before + cuts[1:], strict=True):
            mask[start:stop] = True
    return masks


def square_masks(n_rows: int, grid: tuple[int, int], *, rng: Seed = 0, count: int = 1) -> Booleans:
    """Return masks of squares with about 10 to 50 % of the cells of a row, all sides equally likely.

    Parameters
    ----------
    n_rows : int
    grid : tuple of int
        Height and width.
    rng : int or Generator
    count : int, default=1
        Squares a row; each has 1 / ``count`` of the area, and they may overlap.

    Returns
    -------
    ndarray of bool of shape (n_rows, height * width)
    """
    masks, rng = np.zeros((n_rows, *grid), dtype=bool), np.random.default_rng(rng)
    n_cells = grid[0] * grid[1] / count
    shortest, longest = round(math.sqrt(_SMALLEST * n_cells)), math.floor(math.sqrt(_LARGEST * n_cells))
    for mask in masks:
        for _ in range(count):
            side = int(rng.integers(shortest, max(shortest, longest) + 1))
            top, left = (int(rng.integers(0, length - side + 1)) for length in grid)
            mask[top : top + side, left : left + side] = True
    return masks.reshape(n_rows, -1)


def scattered_masks(n_rows: int, n_features: int, share: float, *, rng: Seed = 0) -> Booleans:
    """Return masks of single cells, each drawn with probability ``share``; every row has at least one.

    Parameters
    ----------
    n_rows, n_features : int
    share : float
    rng : int or Generator

    Returns
    -------
    ndarray of bool of shape (n_rows, n_features)
    """
    rng = np.random.default_rng(rng)
    masks = rng.random((n_rows, n_features)) < share
    masks[np.arange(n_rows), rng.integers(0, n_features, n_rows)] |= ~masks.any(axis=1)
    return np.asarray(masks)


def corrupt(kind: str, rows: Floats, masks: Booleans, *, rng: Seed = 0, others: Floats | None = None) -> Floats:
    """Return a copy of the rows with the masked values overwritten.

    Parameters
    ----------
    kind : str
        Of `KINDS`: "noise" (uniform on [0, 1]), "zero", "stuck" (at the mask's first value), "swap" (the same cells of
        another row), "additive" (normal noise of standard deviation .25 added), "offset" (.3 added or subtracted, the
        same to all cells of a row). Of `TYPOS`: "factor" (times or divided by 10), "sign", "neighbours" (exchanged with
        the next column's value, which is overwritten too). Others are a `ValueError`.
    rows : ndarray of shape (n_samples, n_features)
    masks : ndarray of bool of shape (n_samples, n_features)
    rng : int or Generator
    others : ndarray of shape (n_others, n_features), optional
        Rows to swap in; without it, each row gets the cells of another of ``rows``.

    Returns
    -------
    ndarray of shape (n_samples, n_features)
    """
    rng = np.random.default_rng(rng)
    n, shape = len(rows), rows.shape
    if kind == "neighbours":
        result = rows.copy()
        for row, column in np.argwhere(masks):
            pair = [column, column + 1 if column < shape[1] - 1 else column - 1]
            result[row, pair] = result[row, pair[::-1]]
        return result
    overwritten: dict[str, Callable[[], Any]] = {
        "noise": lambda: rng.random(shape),
        "zero": lambda: 0.0,
        "stuck": lambda: rows[np.arange(n), masks.argmax(axis=1)][:, None],
        "swap": lambda: (
            rows[(np.arange(n) + rng.integers(1, max(2, n), n)) % n]
            if others is None
            else others[rng.integers(0, len(others), n)]
        ),
        "additive": lambda: rows + rng.normal(0, 0.25, shape),
        "offset": lambda: rows + 0.3 * rng.choice([-1.0, 1.0], (n, 1)),
        "factor": lambda: rows * rng.choice([0.1, 10.0], shape),
        "sign": lambda: -rows,
    }
    if kind not in overwritten:
        raise ValueError(f"kind must be one of {', '.join(KINDS + TYPOS)}; got {kind!r}")
    return np.where(masks, overwritten[kind](), rows)
