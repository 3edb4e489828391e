"""What comparing each pair of reference rows once saves, where all reference rows are left out in turn.

    python benchmarks/speed/pairs.py [--rounds 2] [--quick]

Seconds with each pair once and with each pair twice, 2 threads, K = 8; the shortest of interleaved rounds counts. The
last column says which of the two the kernels choose by themselves if memory suffices.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from treemend import kernels
from treemend.kernels import node_scans
from treemend.tree import build_tree, lay_out

SETTINGS = (
    (0.75, 10_000, 64, 4),
    (0.75, 40_000, 64, 4),
    (0.75, 20_000, 256, 6),
    (1.0, 10_000, 64, 4),
    (1.0, 10_000, 256, 6),
    (1.0, 10_000, 256, 3),
    (1.0, 10_000, 784, 6),
    (1.0, 10_000, 784, 4),
)
N_NEIGHBORS = 8
PLENTY, NONE = 2**40, 0


def smooth_rows(n_rows: int, width: int) -> np.ndarray:
    steps = np.random.default_rng(0).normal(size=(n_rows, width + 15))
    return np.lib.stride_tricks.sliding_window_view(steps, 16, axis=1).mean(axis=2) * 4


def seconds(packed: kernels.PackedReference, memory: int) -> float:
    begun = time.perf_counter()
    kernels.left_out_radii(packed, N_NEIGHBORS, n_jobs=2, memory=memory)
    return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="a hundredth of the rows: to see that it runs")
    asked = parser.parse_args()
    print(f"{'alpha':>5} {'rows':>7} {'attributes':>10} {'nodes':>5} {'lists':>7} {'once':>7} {'twice':>7}  chosen")
    chosen_from = node_scans.ATTRIBUTES_FOR_A_NODE
    for alpha, all_rows, width, depth in SETTINGS:
        n_rows = all_rows // 100 if asked.quick else all_rows
        packed = kernels.pack(smooth_rows(n_rows, width), build_tree(lay_out("sequence", width), depth), alpha)
        node_scans.ATTRIBUTES_FOR_A_NODE = 0
        small = kernels.pack(smooth_rows(50, 8), build_tree(lay_out("sequence", 8), 2), alpha)
        for memory in (PLENTY, NONE):
            seconds(small, memory)
        once, twice = np.min([[seconds(packed, memory) for memory in (PLENTY, NONE)] for _ in range(asked.rounds)], 0)
        node_scans.ATTRIBUTES_FOR_A_NODE = chosen_from
        lists = f"{n_rows * packed.n_nodes * 128 / 1e6:.0f} MB"
        chosen = "once" if node_scans.worth_mirroring(packed) else "twice"
        print(f"{alpha:5} {n_rows:7,} {width:10} {packed.n_nodes:5} {lists:>7} {once:7.2f} {twice:7.2f}  {chosen}")


if __name__ == "__main__":
    main()
