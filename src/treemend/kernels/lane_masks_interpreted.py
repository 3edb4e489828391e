"""The operations of ``lane_masks`` in NumPy, for runs without compilation.

Enters and leaves the same as in ``lane_masks``; a vector is an array of ``LANES`` numbers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treemend.kernels.lanes_interpreted import Lanes, load, store
from treemend.kernels.packing import LANES

__all__ = [
    "any_between_of_four",
    "any_less",
    "any_less_of_four",
    "count_less",
    "insert_in_lanes",
    "less_mask",
    "less_mask_of_four",
    "less_mask_of_lanes",
    "lowest_bit",
]


def any_less(lanes: Lanes, bound: float) -> int:
    return int((lanes < bound).any())


def any_less_of_four(lanes_0: Lanes, lanes_1: Lanes, lanes_2: Lanes, lanes_3: Lanes, bounds: Lanes, offset: int) -> int:
    four = bounds.reshape(-1)[offset : offset + 4]
    return int((np.stack([lanes_0, lanes_1, lanes_2, lanes_3]) < four[:, None]).any())


def any_between_of_four(
    lanes_0: Lanes, lanes_1: Lanes, lanes_2: Lanes, lanes_3: Lanes, low: Lanes, high: Lanes, at: int, on: int
) -> int:
    least, limit = (bounds.reshape(-1)[at : at + 3 * on + 1 : on, None] for bounds in (low, high))
    lanes = np.stack([lanes_0, lanes_1, lanes_2, lanes_3])
    return int(((lanes >= least) & (lanes < limit)).any())


def count_less(lanes: Lanes, bound: float) -> int:
    return int((lanes < bound).sum())


def less_mask(lanes: Lanes, bound: float) -> int:
    return sum(1 << lane for lane in np.flatnonzero(lanes < bound).tolist())


def less_mask_of_lanes(lanes: Lanes, bounds: Lanes) -> int:
    return sum(1 << lane for lane in np.flatnonzero(lanes < bounds).tolist())


def less_mask_of_four(array: Lanes, offset: int, bounds: Lanes, first_bound: int) -> int:
    four = bounds.reshape(-1)[first_bound : first_bound + 4]
    return sum(less_mask(load(array, offset + r * LANES), bound) << r * LANES for r, bound in enumerate(four))


def insert_in_lanes(values: Lanes, indices: NDArray[np.int32], offset: int, value: float, index: int) -> None:
    numbers, owners = load(values, offset), indices.reshape(-1)[offset : offset + LANES].copy()
    place = int(np.searchsorted(numbers, value, side="right"))
    store(values, offset, np.insert(numbers, place, value)[:LANES])
    indices.reshape(-1)[offset : offset + LANES] = np.insert(owners, place, index)[:LANES]


def lowest_bit(bits: int) -> int:
    return (bits & -bits).bit_length() - 1
