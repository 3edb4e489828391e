"""Where K reference rows within the limit are looked for, for labels with ``alpha < 1`` (docs/method.md, section 2.10).

For the root and each node of at most 8 columns, reference rows are halved again and again at a median, into blocks of
rows that are near to each other (a k-d tree). A row's search begins in the block in which it lies.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from treemend.tcs.exact import FASTMATH, Counting, count_up_to
from treemend.tcs.network import LANES, Eight, dot, eight, load, merged, sorted_by_four
from treemend.tcs.tree import F32, I64

__all__ = ["NearRows", "count_near", "own_block"]


class NearRows(NamedTuple):
    """Reference rows in an order of its own for each of ``nodes``, the first of which is the root, in blocks of LANES.

    The wires of node ``n`` are ``begin[n]`` to ``begin[n] + width[n] - 1``, its blocks one after the other in
    ``blocks``, from ``first[n]`` on. A row that is not below ``cut``, nodes x splits, in ``column`` of the node goes to
    the right at split ``s``, which is to ``2 * s + 1``, others to ``2 * s``, from split 1 on.
    """

    nodes: I64
    begin: I64
    width: I64
    first: I64
    column: I64
    cut: F32
    blocks: F32


@njit(forceinline=True)
def own_block(near: NearRows, n: int, row: F32) -> int:
    """Return the block in which a row would be itself, in the order of the n-th node; the next ones are `^ step`."""
    n_splits, n_blocks, split = near.cut.shape[1], (near.first[n + 1] - near.first[n]) // near.width[n], 1
    while split < n_splits:
        split = 2 * split + (row[near.begin[n] + near.column[n, split]] >= near.cut[n, split])
    return int((split - n_splits) * n_blocks // n_splits)


@njit(forceinline=True, fastmath=FASTMATH)
def _estimate(blocks: F32, block: int, x: Eight, counts: Eight, estimates: F32) -> None:
    if blocks.shape[1] == 4 * LANES:
        for i in range(LANES):
            w = sorted_by_four(load(blocks, block, i), x)
            estimates[i] = w[0] * counts[0] + w[1] * counts[1] + w[2] * counts[2] + w[3] * counts[3]
    else:
        for i in range(LANES):
            estimates[i] = dot(merged(sorted_by_four(load(blocks, block, i), x)), counts)


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def count_near(near: NearRows, rows: F32, kept: I64, counting: Counting) -> None:
    """Count estimates where K have not been counted yet, from the row's own place on.

    At each node so many squares are ``kept``.
    """
    k, counts, n_steps = counting.k, counting.counts, 2 * near.cut.shape[1]
    estimates, places = np.empty(LANES, dtype=np.float32), np.arange(8)
    for n in range(1, len(near.nodes)):
        node = near.nodes[n]
        begin, blocks = near.begin[n], near.blocks[near.first[n] : near.first[n + 1]].reshape(-1, near.width[n] * LANES)
        weights = eight((places < kept[node]).astype(np.float32), 0)
        for r in range(len(rows)):
            if counts[0, r, node] >= k:
                continue
            counts[0, r, node] = counts[1, r, node] = 0
            x, place, step = eight(rows[r, begin : begin + 8], 0), own_block(near, n, rows[r]), 0
            while counts[0, r, node] < k and step < n_steps:
                block = place ^ step
                step += 1
                if block < len(blocks):
                    _estimate(blocks, block, x, weights, estimates)
                    count_up_to(counting, r, node, estimates)
