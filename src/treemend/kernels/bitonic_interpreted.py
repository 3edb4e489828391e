"""The operations of ``bitonic_lanes`` in NumPy, for runs without compilation.

Enters and leaves the same as in ``bitonic_lanes``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treemend.kernels.packing import LANES

__all__ = ["eight_next", "first_eight", "first_four", "first_two", "sort_eight"]

Wires = NDArray[np.float32]


def _sort_halves(array: Wires, lower: list[int], upper: list[int]) -> None:
    """Bring the smaller numbers to the lower wires; a bitonic list's halves are again bitonic, as the wires say."""
    flat = array.reshape(-1)
    for low, high in zip(lower, upper, strict=True):
        first, second = flat[low : low + LANES].copy(), flat[high : high + LANES].copy()
        flat[low : low + LANES] = np.minimum(first, second)
        flat[high : high + LANES] = np.maximum(first, second)


def _sort_bitonic(array: Wires, wires: list[int]) -> None:
    half = len(wires) // 2
    if half:
        _sort_halves(array, wires[:half], wires[half:])
        _sort_bitonic(array, wires[:half])
        _sort_bitonic(array, wires[half:])


def _first_stages(array: Wires, low: int, high: int, stride: int, count: int) -> None:
    lower = [low + place * stride for place in range(count // 2)]
    upper = [high - place * stride for place in range(count // 2)]
    _sort_halves(array, lower, upper)
    _sort_bitonic(array, lower)
    _sort_bitonic(array, upper[::-1])


def first_two(array: Wires, low: int, high: int, stride: int) -> None:
    _first_stages(array, low, high, stride, 2)


def first_four(array: Wires, low: int, high: int, stride: int) -> None:
    _first_stages(array, low, high, stride, 4)


def first_eight(array: Wires, low: int, high: int, stride: int) -> None:
    _first_stages(array, low, high, stride, 8)


def eight_next(array: Wires, offset: int, stride: int) -> None:
    _sort_bitonic(array, [offset + place * stride for place in range(8)])


def sort_eight(
    blocks: Wires,
    block_offset: int,
    rows: Wires,
    row_offset: int,
    wires: Wires,
    wire: int,
    masks: NDArray[np.int32],
    n_wires: int,
    leaf_width: int,
    first_nodes: NDArray[np.int64],
    sums: Wires,
) -> None:
    reference = blocks.reshape(-1)[block_offset : block_offset + 8 * LANES].reshape(8, LANES)
    squares = (reference - rows.reshape(-1)[row_offset : row_offset + 8, None]) ** 2
    for level, width in enumerate((1, 2, 4, 8)):
        squares = np.sort(squares.reshape(8 // width, width, LANES), axis=1).reshape(8, LANES)
        if width >= leaf_width:
            first_mask = level * n_wires + wire
            counted = np.where(masks[first_mask : first_mask + 8, None] != 0, squares, np.float32(0))
            node = first_nodes[level] + wire // width
            sums[node : node + 8 // width] = counted.reshape(8 // width, width, LANES).sum(axis=1)
    wires[wire : wire + 8] = squares
