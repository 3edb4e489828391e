"""Where K reference rows within the limit are looked for, for labels with ``alpha < 1`` (docs/method.md, section 2.10).

For the root and each node of at most 8 wires, reference rows are halved again and again at a median, into blocks of
rows that are near to each other (a k-d tree). A row's search begins in the block in which it lies.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from treemend.tcs.exact import FASTMATH, Counting, count_up_to
from treemend.tcs.network import LANES, Network, dot, eight, estimate_block, load, merged, sorted_by_four
from treemend.tcs.tree import F32, I64

__all__ = ["NearRows", "count_near", "count_ranked"]


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


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def count_ranked(near: NearRows, rows: F32, network: Network, nodes: I64, parent: I64, counting: Counting) -> None:
    """Count estimates at some nodes, with a node its parent, from the row's own place at the root on.

    For each block, a node in doubt is estimated together with all nodes below it.
    """
    n_nodes, blocks, wires = len(parent), near.blocks[0], np.zeros(LANES * network.weights.shape[1], dtype=np.float32)
    estimates = np.zeros((n_nodes + 1, LANES), dtype=np.float32)
    tops, doubtful = np.empty((2, n_nodes + 1), dtype=np.int64)
    covered, counts, k = np.zeros(n_nodes, dtype=np.bool_), counting.counts, counting.k
    for r in range(len(rows)):
        place, decided = own_block(near, 0, rows[r]), True
        for step in range(2 * near.cut.shape[1]):
            block = place ^ step
            if block >= len(blocks):
                continue
            if decided:
                n_tops = n_doubtful = 0
                for node in nodes:
                    in_doubt, below = counts[0, r, node] < k, node > 0 and covered[parent[node]]
                    covered[node] = in_doubt or below
                    tops[n_tops], doubtful[n_doubtful] = node, node
                    n_tops += in_doubt and not below
                    n_doubtful += in_doubt
                if n_doubtful == 0:
                    break
            for i in range(n_tops):
                estimate_block(blocks[block], rows[r], network, tops[i], wires, estimates)
            decided = False
            for i in range(n_doubtful):
                node = doubtful[i]
                count_up_to(counting, r, node, estimates[node])
                decided |= counts[0, r, node] >= k
