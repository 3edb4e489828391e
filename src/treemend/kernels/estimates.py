"""Float32 estimates of ranked distances at every node of any tree, for ``alpha < 1``.

Enters: the reference's float32 lane blocks and rows on the same footing. Leaves: estimated squared distances of one
row and one block at all nodes of a subtree (sections 3 and 8 of the method). The leaves' squared differences are
sorted and merged up the tree. ``bitonic`` does the same sooner where the tree is even.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treemend.kernels.flags import inlined
from treemend.kernels.lanes import add, entry, exchange, load, spread, square, store, subtract, zeros_like_row
from treemend.kernels.networks import Network, NodeArrays
from treemend.kernels.packing import LANES, TERMS_AT_A_TIME


@inlined
def ranked_sums(
    blocks: NDArray[np.float32],
    block: int,
    rows: NDArray[np.float32],
    row: int,
    nodes: NodeArrays,
    network: Network,
    top: int,
    wires: NDArray[np.float32],
    sums: NDArray[np.float32],
) -> None:
    """Write the estimates of node ``top`` and of all nodes below it, for one row and one block, to ``sums``."""
    width = blocks.shape[1]
    for k in range(entry(nodes.start, top), entry(nodes.stop, top)):
        difference = subtract(load(blocks, (block * width + k) * LANES), spread(rows, row * width + k))
        store(wires, k * LANES, square(difference))
    for step in range(entry(nodes.first_step, top), entry(nodes.last_step, top) + 1):
        node = entry(nodes.order, step)
        for c in range(entry(network.first, node), entry(network.first, node + 1)):
            exchange(wires, entry(network.low, c) * LANES, entry(network.high, c) * LANES)
        total = zeros_like_row(wires)
        begin, last_wire = entry(network.first_wire, node), entry(network.first_wire, node + 1)
        while begin < last_wire:
            end = min(begin + TERMS_AT_A_TIME, last_wire)
            part = zeros_like_row(wires)
            for w in range(begin, end):
                part = add(part, load(wires, entry(network.wires, w) * LANES))
            total = add(total, part)
            begin = end
        store(sums, node * LANES, total)
