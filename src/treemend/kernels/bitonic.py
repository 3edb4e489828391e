"""Float32 estimates for ``alpha < 1`` on even trees, by bitonic merges eight wires at a time.

Enters: the reference's float32 lane blocks with every leaf padded to the same power of two, rows padded
likewise. Leaves: the same estimates as ``estimates.ranked_sums``, which serves uneven trees
(sections 3, 4 and 8 of the method).

Bitonic merges have more comparators than Batcher's odd-even merges but fall into equal pieces of eight
wires, each loaded and stored once in three stages, and it is stores that limit the comparators.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemend.kernels.bitonic_lanes import eight_next, first_eight, first_four, first_two, sort_eight
from treemend.kernels.flags import inlined
from treemend.kernels.lanes import add, entry, load, minimum, store, zeros_like_row
from treemend.kernels.networks import EvenLayout, NodeArrays
from treemend.kernels.packing import LANES


@inlined
def merge(wires: NDArray[np.float32], offset: int, width: int, upper_half_only: bool) -> None:
    """Merge the ascending halves of ``width`` wires; if so told, leave the smaller half of them in any order."""
    stages = 0
    while 1 << stages < width:
        stages += 1
    first_stages = (stages - 1) % 3 + 1
    size = width >> first_stages
    for i in range(offset, offset + size):
        low, high = i * LANES, (2 * offset + width - 1 - i) * LANES
        if first_stages == 1:
            first_two(wires, low, high, size * LANES)
        elif first_stages == 2:
            first_four(wires, low, high, size * LANES)
        else:
            first_eight(wires, low, high, size * LANES)
    begin = offset + width // 2 if upper_half_only else offset
    while size > 1:
        stride = size // 8
        for segment in range(begin, offset + width, size):
            for i in range(segment, segment + stride):
                eight_next(wires, i * LANES, stride * LANES)
        size = stride


@inlined
def sum_of_wires(wires: NDArray[np.float32], begin: int, end: int) -> Any:
    """Return the sum of some wires, taken in four sums at a time."""
    part_0 = part_1 = part_2 = part_3 = zeros_like_row(wires)
    w = begin
    while w + 4 <= end:
        part_0 = add(part_0, load(wires, w * LANES))
        part_1 = add(part_1, load(wires, (w + 1) * LANES))
        part_2 = add(part_2, load(wires, (w + 2) * LANES))
        part_3 = add(part_3, load(wires, (w + 3) * LANES))
        w += 4
    while w < end:
        part_0 = add(part_0, load(wires, w * LANES))
        w += 1
    return add(add(part_0, part_1), add(part_2, part_3))


@inlined
def select(wires: NDArray[np.float32], offset: int, half: int, kept: int, sums: NDArray[np.float32], node: int) -> None:
    """Write the sum of the ``kept`` smallest of two ascending lists of ``half`` wires to a node's place.

    The smallest are those that win against their counterpart when the upper list is turned round and moved by
    ``kept``; wires without counterpart are certain.
    """
    certain = max(0, kept - half)
    below = sum_of_wires(wires, offset, offset + certain)
    below = add(sum_of_wires(wires, offset + half, offset + half + certain), below)
    part_0 = part_1 = zeros_like_row(wires)
    begin, end = offset + certain, offset + min(half, kept)
    mirror = 2 * offset + half + kept - 1
    for i in range(begin, end - 1, 2):
        part_0 = add(part_0, minimum(load(wires, i * LANES), load(wires, (mirror - i) * LANES)))
        part_1 = add(part_1, minimum(load(wires, (i + 1) * LANES), load(wires, (mirror - i - 1) * LANES)))
    if (end - begin) % 2 == 1:
        part_0 = add(part_0, minimum(load(wires, (end - 1) * LANES), load(wires, (mirror - end + 1) * LANES)))
    store(sums, node * LANES, add(add(part_0, part_1), below))


@inlined
def even_sums(
    blocks: NDArray[np.float32],
    block: int,
    rows: NDArray[np.float32],
    row: int,
    nodes: NodeArrays,
    layout: EvenLayout,
    top: int,
    wires: NDArray[np.float32],
    sums: NDArray[np.float32],
) -> None:
    """Write the estimates of node ``top`` and of all nodes below it, for one row and one block, to ``sums``."""
    n_wires = blocks.shape[1]
    leaf_width = n_wires // ((nodes.start.shape[0] + 1) // 2)
    width, first = n_wires, 0
    while 2 * first + 1 <= top:
        first = 2 * first + 1
        width //= 2
    offset = (top - first) * width
    for wire in range(offset // 8 * 8, offset + width, 8):
        sort_eight(
            blocks,
            (block * n_wires + wire) * LANES,
            rows,
            row * n_wires + wire,
            wires,
            wire,
            layout.masks,
            n_wires,
            leaf_width,
            layout.first_nodes,
            sums,
        )
    half = width // 2
    part = min(16, width)  # not plainly 16, for which ``merge`` would be compiled once more
    while part <= half:
        first_node = n_wires // part - 1
        unordered = False
        if part == half and entry(nodes.kept, top) - half >= half // 2:
            # The top adds up at least half of each child's wires: those need no order.
            unordered = leaf_width > half or (
                min(entry(nodes.kept, 2 * top + 1), entry(nodes.kept, 2 * top + 2)) >= half // 2
            )
        for begin in range(offset, offset + width, part):
            merge(wires, begin, part, unordered)
            if part >= leaf_width:
                node = first_node + begin // part
                store(sums, node * LANES, sum_of_wires(wires, begin, begin + entry(nodes.kept, node)))
        part *= 2
    if width >= 16:
        select(wires, offset, half, entry(nodes.kept, top), sums, top)
