"""`treemend.tcs.index.NodeIndex` against scikit-learn's brute force and NumPy's partition, node by node.

    python benchmarks/speed [--rounds 3] [--quick]

One thread, after compilation, in interleaved rounds; the shortest processor time of each counts, and a ratio compares
what was measured in the same run: scikit-learn's time to ours, NumPy's (on float64, and on float32) to ours, and that
of labels to that of exact radii, where one row of twenty is overwritten in part. NumPy's partition is measured on fewer
rows and multiplied up.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402
from sklearn.datasets import load_digits  # noqa: E402
from sklearn.neighbors import NearestNeighbors  # noqa: E402

from treemend.tcs.index import NodeIndex  # noqa: E402
from treemend.tcs.tree import AttributeTree, build_tree  # noqa: E402

N_NEIGHBORS = 8
ALPHA = 0.75
TAIL = 0.004
PARTITION_ROWS = 8


def uniform(n_reference: int, n_rows: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    return generator.uniform(size=(n_reference, width)), generator.uniform(size=(n_rows, width))


def smooth(n_reference: int, n_rows: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose neighbouring columns go together."""
    steps = np.random.default_rng(0).normal(size=(n_reference + n_rows, width + 15))
    rows = np.lib.stride_tricks.sliding_window_view(steps, 16, axis=1).mean(axis=2)
    return rows[n_rows:], rows[:n_rows]


def digits(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    values = np.random.default_rng(0).permutation(load_digits().data)
    return values[n_rows:], values[:n_rows]


def with_some_overwritten(rows: np.ndarray) -> np.ndarray:
    """Overwrite a quarter of the columns, at a random place, in one row of twenty."""
    generator = np.random.default_rng(1)
    rows, width = rows.copy(), rows.shape[1] // 4
    for row in rows[::20]:
        begin = generator.integers(0, rows.shape[1] - width)
        row[begin : begin + width] = generator.uniform(rows.min(), rows.max(), size=width)
    return rows


def scikit_learn(reference: np.ndarray, rows: np.ndarray, tree: AttributeTree) -> np.ndarray:
    radii = np.empty((len(rows), tree.n_nodes))
    for node, (a, b) in enumerate(zip(tree.start, tree.stop, strict=True)):
        finder = NearestNeighbors(n_neighbors=N_NEIGHBORS, algorithm="brute").fit(reference[:, a:b])
        radii[:, node] = finder.kneighbors(rows[:, a:b])[0][:, -1]
    return radii


def numpy_partition(reference: np.ndarray, rows: np.ndarray, tree: AttributeTree) -> np.ndarray:
    """One row after the other, so that what is partitioned stays in a cache."""
    radii = np.empty((len(rows), tree.n_nodes))
    for r, row in enumerate(rows):
        for node, (a, b) in enumerate(zip(tree.start, tree.stop, strict=True)):
            kept = max(1, int(ALPHA * (b - a) + 1e-9))
            squares = (reference[:, a:b] - row[a:b]) ** 2
            sums = np.partition(squares, kept - 1, axis=1)[:, :kept].sum(axis=1)
            radii[r, node] = np.sqrt(np.partition(sums, N_NEIGHBORS - 1)[N_NEIGHBORS - 1])
    return radii


def best_times(tasks: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    best = dict.fromkeys(tasks, np.inf)
    for _ in range(rounds):
        for name, task in tasks.items():
            begun = time.process_time()
            task()
            best[name] = min(best[name], time.process_time() - begun)
    return best


def measure(name: str, reference: np.ndarray, rows: np.ndarray, depth: int, rounds: int) -> None:
    tree = build_tree(reference.shape[1], depth)
    index = {alpha: NodeIndex.build(reference, tree, alpha) for alpha in (1.0, ALPHA)}
    mixed, few = with_some_overwritten(rows), rows[:PARTITION_ROWS]
    limits = {}
    for alpha, each in index.items():
        usual = each.radii(reference, N_NEIGHBORS + 1)
        limits[alpha] = np.quantile(usual, 1 - TAIL, axis=0, method="higher")
        labels = each.labels(mixed, N_NEIGHBORS, limits[alpha])
        if not np.array_equal(labels, each.radii(mixed, N_NEIGHBORS) > limits[alpha]):
            raise AssertionError(f"labels differ from radii at alpha {alpha}")
    peers = (index[1.0].radii(rows, N_NEIGHBORS), scikit_learn(reference, rows, tree))
    np.testing.assert_allclose(*peers, rtol=1e-6, atol=1e-6)
    peers = (index[ALPHA].radii(few, N_NEIGHBORS), numpy_partition(reference, few, tree))
    np.testing.assert_allclose(*peers, rtol=1e-12, atol=1e-12)
    single = few.astype(np.float32), reference.astype(np.float32)
    best = best_times(
        {
            "exact 1": lambda: index[1.0].radii(rows, N_NEIGHBORS, n_jobs=1),
            "scikit-learn": lambda: scikit_learn(reference, rows, tree),
            "exact": lambda: index[ALPHA].radii(rows, N_NEIGHBORS, n_jobs=1),
            "partition 64": lambda: numpy_partition(reference, few, tree),
            "partition 32": lambda: numpy_partition(single[1], single[0], tree),
            "mixed 1": lambda: index[1.0].radii(mixed, N_NEIGHBORS, n_jobs=1),
            "labels 1": lambda: index[1.0].labels(mixed, N_NEIGHBORS, limits[1.0], n_jobs=1),
            "mixed": lambda: index[ALPHA].radii(mixed, N_NEIGHBORS, n_jobs=1),
            "labels": lambda: index[ALPHA].labels(mixed, N_NEIGHBORS, limits[ALPHA], n_jobs=1),
        },
        rounds,
    )
    share = len(rows) / len(few)
    milliseconds = {task: 1000 * seconds / len(rows) for task, seconds in best.items()}
    print(
        f"{name:22s} {milliseconds['exact 1']:8.3f} {best['scikit-learn'] / best['exact 1']:8.1f}"
        f" {best['labels 1'] / best['mixed 1']:8.2f}  {milliseconds['exact']:8.3f}"
        f" {best['partition 64'] * share / best['exact']:8.1f} {best['partition 32'] * share / best['exact']:8.1f}"
        f" {best['labels'] / best['mixed']:8.2f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="few rows: to see that it runs")
    asked = parser.parse_args()
    n_rows, few = (16, 10) if asked.quick else (256, 1)
    print(f"K = {N_NEIGHBORS}, one thread; milliseconds a row for all nodes, and ratios of processor time")
    heads = ("alpha 1", "sklearn", "labels", f" alpha {ALPHA}", "NumPy 64", "NumPy 32", "labels")
    print(" ".join([" " * 22, *(f"{head:>8s}" for head in heads)]))
    measure("uniform 6,000 x 256", *uniform(6000 // few, n_rows, 256), 6, asked.rounds)
    measure("uniform 1,000 x 64", *uniform(1000 // few, n_rows, 64), 4, asked.rounds)
    measure("smooth 3,000 x 256", *smooth(3000 // few, n_rows, 256), 6, asked.rounds)
    measure("digits 1,541 x 64", *digits(n_rows), 4, asked.rounds)


if __name__ == "__main__":
    main()
