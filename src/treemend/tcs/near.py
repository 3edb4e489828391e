"""Labels of narrow nodes: where K reference rows within the limit are looked for (docs/method.md, section 2.10).

For each node of at most `WIDEST` columns, reference rows are halved again and again at a median, into blocks of rows
that are near to each other (a k-d tree). A row's search begins in the block in which it lies. Wider nodes gain little.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from treemend.tcs.exact import FASTMATH, Counting, Ends, count_up_to
from treemend.tcs.network import LANES, Eight, dot, eight, load, merged, sorted_by_four, squares
from treemend.tcs.tree import F32, I64

__all__ = ["FEWEST_ROWS", "WIDEST", "NearRows", "count_near"]

WIDEST = 8
FEWEST_ROWS = 2000
"""With fewer rows, Euclidean distances to rows in any order are counted in less time (benchmarks/speed)."""


class NearRows(NamedTuple):
    """Reference rows, less their centre, in an order of its own for each of ``nodes``; ``others`` have none.

    ``blocks`` are nodes x blocks x 8 LANES, padded where there is no row or column. A row that is not below ``cut``,
    nodes x splits, in ``column`` of the node goes to the right at split ``s``, which is to ``2 * s + 1``, others to
    ``2 * s``, from split 1 on.
    """

    nodes: I64
    others: I64
    column: I64
    cut: F32
    blocks: F32


@njit(forceinline=True, fastmath=FASTMATH)
def _estimate(blocks: F32, block: int, x: Eight, weights: Eight, width: int, all_count: bool, estimates: F32) -> None:
    if width <= 4:
        for i in range(len(estimates)):
            w = sorted_by_four(load(blocks, block, i), x)
            estimates[i] = w[0] * weights[0] + w[1] * weights[1] + w[2] * weights[2] + w[3] * weights[3]
    elif all_count:
        for i in range(len(estimates)):
            estimates[i] = dot(squares(load(blocks, block, i), x), weights)
    else:
        for i in range(len(estimates)):
            estimates[i] = dot(merged(sorted_by_four(load(blocks, block, i), x)), weights)


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def count_near(near: NearRows, rows: F32, ends: Ends, kept: I64, counting: Counting) -> None:
    """Count estimates at narrow nodes where K have not been counted yet, from the row's own block on.

    ``rows`` are complete and less the centre; 8 columns of zeros follow. At each node so many squares are ``kept``.
    """
    n_splits, n_blocks = near.cut.shape[1], near.blocks.shape[1]
    estimates, counts = np.empty(LANES, dtype=np.float32), counting.counts
    places = np.arange(8)
    for n, node in enumerate(near.nodes):
        blocks, first, width = near.blocks[n], ends[0][node], ends[1][node] - ends[0][node]
        weights = eight((places < kept[node]).astype(np.float32), 0)
        for r in range(len(rows)):
            if counts[0, r, node] >= counting.k:
                continue
            counts[0, r, node] = counts[1, r, node] = 0
            x, split, step = eight(rows[r, first : first + 8], 0), 1, 0
            while split < n_splits:
                split = 2 * split + (rows[r, first + near.column[n, split]] >= near.cut[n, split])
            while counts[0, r, node] < counting.k and step < n_splits:
                block = (split - n_splits) ^ step
                step += 1
                if block < n_blocks:
                    _estimate(blocks, block, x, weights, width, kept[node] == width, estimates)
                    count_up_to(counting, r, node, estimates)
