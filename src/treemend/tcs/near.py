"""Where K reference rows within the limit are looked for, for labels with ``alpha < 1`` (docs/method.md, section 2.10).

For the root and each node of at most 8 columns, reference rows are halved again and again at a median, into blocks of
rows that are near to each other (a k-d tree). A row's search begins in the block in which it lies.
"""

from typing import NamedTuple, Self

import numpy as np
from numba import njit

from treemend.tcs.exact import FASTMATH, PADDING, Counting, count_up_to
from treemend.tcs.network import LANES, Eight, dot, eight, load, merged, sorted_by_four
from treemend.tcs.tree import F32, I64

__all__ = ["NearRows", "count_near", "own_block"]

SAMPLE = 16
"""Rows of a part that say in which column it is widest: more take longer to lay out and place rows little better."""


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

    @classmethod
    def build(cls, rows: F32, nodes: I64, begin: I64, end: I64) -> Self:
        """Lay rows out at some of the nodes."""
        n_blocks, width = -(-len(rows) // LANES), end - begin
        n_splits, n_columns = 1 << (n_blocks.bit_length() - 1), np.maximum(4, width)
        first = np.append(0, np.cumsum(n_blocks * n_columns))
        column, cut = (np.zeros((len(nodes), n_splits), dtype=dtype) for dtype in (np.int64, np.float32))
        blocks = np.empty((first[-1], LANES), dtype=np.float32)
        for n in range(len(nodes)):
            order = _halved_again(rows[:, begin[n] : end[n]], column[n], cut[n])
            padded = np.full((n_blocks * LANES, n_columns[n]), PADDING)
            padded[: len(rows), : width[n]] = rows[order, begin[n] : end[n]]
            by_column = padded.reshape(n_blocks, LANES, n_columns[n]).transpose(0, 2, 1)
            blocks[first[n] : first[n + 1]].reshape(by_column.shape)[:] = by_column
        return cls(nodes, begin, n_columns, first, column, cut, blocks)


def _halved_again(rows: F32, column: I64, cut: F32) -> I64:
    """Return an order of rows, halved at medians of the widest columns, and write which and where."""
    n_rows, n_splits = len(rows), len(cut)
    # As many as can be halved: the last ones stand for the first again, and are left out in the end.
    order = np.arange(-(-n_rows // n_splits) * n_splits)
    for level in range(n_splits.bit_length() - 1):
        parts, at = order.reshape(1 << level, -1), slice(1 << level, 2 << level)
        n_left = parts.shape[1] // 2
        sample = rows[parts[:, :: max(1, parts.shape[1] // SAMPLE)] % n_rows]
        column[at] = np.argmax(np.ptp(sample, axis=1), axis=1)
        values = rows[parts % n_rows, column[at, None]]
        turn = np.argpartition(values, n_left, axis=1)
        order, cut[at] = np.take_along_axis(parts, turn, 1), np.take_along_axis(values, turn, 1)[:, n_left]
    return order.ravel()[order.ravel() < n_rows]


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
