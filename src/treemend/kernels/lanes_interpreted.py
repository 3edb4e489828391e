"""The operations of ``lanes`` in NumPy, for runs without compilation (coverage, stepping through a kernel).

Enters and leaves the same as in ``lanes``; a vector is an array of ``LANES`` numbers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treemend.kernels.packing import LANES

__all__ = [
    "add",
    "add_multiple",
    "add_square",
    "assign",
    "entry",
    "exchange",
    "load",
    "maximum",
    "minimum",
    "plain",
    "spread",
    "square",
    "store",
    "subtract",
    "zeros_like_row",
]

Lanes = NDArray[np.floating]


def load(array: Lanes, offset: int) -> Lanes:
    return array.reshape(-1)[offset : offset + LANES].copy()


def store(array: Lanes, offset: int, lanes: Lanes) -> None:
    array.reshape(-1)[offset : offset + LANES] = lanes


def exchange(array: Lanes, low: int, high: int) -> None:
    first, second = load(array, low), load(array, high)
    store(array, low, minimum(first, second))
    store(array, high, maximum(first, second))


def zeros_like_row(array: Lanes) -> Lanes:
    return np.zeros(LANES, dtype=array.dtype)


def entry(array: Lanes, offset: int) -> float:
    return array.reshape(-1)[offset]  # type: ignore[no-any-return]


def assign(array: Lanes, offset: int, number: float) -> None:
    array.reshape(-1)[offset] = number


def spread(array: Lanes, offset: int) -> Lanes:
    return np.full(LANES, array.reshape(-1)[offset], dtype=array.dtype)


def subtract(first: Lanes, second: Lanes) -> Lanes:
    return first - second


def add(first: Lanes, second: Lanes) -> Lanes:
    return first + second


def square(lanes: Lanes) -> Lanes:
    return lanes * lanes


def add_square(total: Lanes, lanes: Lanes) -> Lanes:
    return total + lanes * lanes


def minimum(first: Lanes, second: Lanes) -> Lanes:
    return np.minimum(first, second)


def maximum(first: Lanes, second: Lanes) -> Lanes:
    return np.maximum(first, second)


def add_multiple(total: Lanes, number: float, lanes: Lanes) -> Lanes:
    return np.asarray(total + number * lanes)


def plain(number: int) -> int:
    return number
