"""Where K reference rows within the limit are looked for, for labels with ``alpha < 1`` (docs/method.md, section 2.10).

For the root and each node of at most 8 wires, reference rows are halved again and again at a median, into blocks of
rows that are near to each other (a k-d tree). A row's search begins in the block in which it lies.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from treemend.tcs.exact import FASTMATH, PADDING, Counting, count_up_to
from treemend.tcs.network import LANES, dot, eight, load, merged, sorted_by_four
from treemend.tcs.tree import F32, I64

__all__ = ["NearRows", "build_near", "count_near", "own_block"]

SAMPLE = 16
"""Rows of a part that say in which column it is widest: more take longer to lay out and place rows little better."""


class NearRows(NamedTuple):
    """Reference rows in an order of its own for each of ``nodes``, in ``blocks``, nodes x blocks x eights x 8 LANES.

    The wires of a node begin at ``begin``. A row that is not below ``cut``, nodes x splits, in ``column`` of the node
    goes to the right at split ``s``, which is to ``2 * s + 1``, others to ``2 * s``, from split 1 on.
    """

    nodes: I64
    begin: I64
    column: I64
    cut: F32
    blocks: F32


def build_near(rows: F32, nodes: I64, begin: I64, width: I64) -> NearRows:
    """Lay out reference rows, rows x wires, for nodes of some wires each."""
    n_blocks, n_eights = -(-len(rows) // LANES), -(-max(width, default=0) // 8)
    n_splits = 1 << (n_blocks.bit_length() - 1)
    column, cut = (np.zeros((len(nodes), n_splits), dtype=dtype) for dtype in (np.int64, np.float32))
    blocks = np.full((len(nodes), n_blocks, 8 * n_eights, LANES), PADDING)
    for n, (low, high) in enumerate(zip(begin, begin + width, strict=True)):
        in_order = np.full((n_blocks * LANES, high - low), PADDING)
        in_order[: len(rows)] = rows[_halved_again(rows[:, low:high], column[n], cut[n]), low:high]
        blocks[n, :, : high - low] = in_order.reshape(n_blocks, LANES, -1).transpose(0, 2, 1)
    return NearRows(nodes, begin, column, cut, blocks.reshape(len(nodes), n_blocks, n_eights, 8 * LANES))


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
    n_splits, split = near.cut.shape[1], 1
    while split < n_splits:
        split = 2 * split + (row[near.begin[n] + near.column[n, split]] >= near.cut[n, split])
    return int((split - n_splits) * near.blocks.shape[1] // n_splits)


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def count_near(near: NearRows, rows: F32, kept: I64, counting: Counting) -> None:
    """Count estimates at narrow nodes, of which so many squares are ``kept``, from the row's own place on."""
    n_blocks, n_steps, counts = near.blocks.shape[1], 2 * near.cut.shape[1], counting.counts
    estimates, wires = np.empty(LANES, dtype=np.float32), np.arange(8)
    for n in range(len(near.nodes)):
        node, begin = near.nodes[n], near.begin[n]
        weights = eight((wires < kept[node]).astype(np.float32), 0)
        for r in range(len(rows)):
            x, place, step = eight(rows[r, begin : begin + 8], 0), own_block(near, n, rows[r]), 0
            while counts[0, r, node] < counting.k and step < n_steps:
                block = place ^ step
                step += 1
                if block < n_blocks:
                    for i in range(LANES):
                        estimates[i] = dot(merged(sorted_by_four(load(near.blocks[n, block], 0, i), x)), weights)
                    count_up_to(counting, r, node, estimates)
