"""Kernels against scikit-learn brute force, FAISS flat and NumPy's partition, looped over the nodes of the tree.

    python benchmarks/speed [--threads 2] [--reference 10000] [--rows 1000] ...

Everything is measured in one run with the same number of threads, after compilation, in interleaved rounds;
the shortest of each counts. Two ratios are printed for each pair: of elapsed time, and of processor time
summed over threads, which other work on the machine disturbs less. NumPy's partition is measured on fewer
rows and multiplied up.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--reference", type=int, default=10_000)
    parser.add_argument("--ranked-reference", type=int, default=1_500, help="reference rows for NumPy's partition")
    parser.add_argument("--rows", type=int, default=1_000)
    parser.add_argument("--partition-rows", type=int, default=16)
    parser.add_argument("--attributes", type=int, default=256)
    parser.add_argument("--depth", type=int, default=6)
    parser.add_argument("--neighbors", type=int, default=8)
    parser.add_argument("--alpha", type=float, default=0.75)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--skip-peers", action="store_true", help="time the kernels only")
    return parser.parse_args()


ARGUMENTS = parsed()
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = str(ARGUMENTS.threads)

import numpy as np  # noqa: E402

from treemend import kernels  # noqa: E402
from treemend.tree import build_tree, lay_out  # noqa: E402


def smooth_rows(generator: np.random.Generator, n_rows: int, width: int) -> np.ndarray:
    """Rows whose neighbouring attributes go together, every attribute in about the same range."""
    steps = generator.normal(size=(n_rows, width + 15))
    return np.lib.stride_tricks.sliding_window_view(steps, 16, axis=1).mean(axis=2) * 4


def with_some_corrupted(generator: np.random.Generator, rows: np.ndarray) -> np.ndarray:
    """Overwrite a quarter of the attributes, at a random place, in one row of twenty."""
    rows = rows.copy()
    width = rows.shape[1] // 4
    for row in rows[::20]:
        begin = generator.integers(0, rows.shape[1] - width)
        row[begin : begin + width] = generator.uniform(rows.min(), rows.max(), size=width)
    return rows


def scikit_learn(reference, rows, tree, n_neighbors, dtype):
    from sklearn.neighbors import NearestNeighbors

    radii = np.empty((len(rows), len(tree.start)))
    for node, (a, b) in enumerate(zip(tree.start, tree.stop, strict=True)):
        finder = NearestNeighbors(n_neighbors=n_neighbors, algorithm="brute")
        finder.fit(np.ascontiguousarray(reference[:, a:b], dtype=dtype))
        radii[:, node] = finder.kneighbors(np.ascontiguousarray(rows[:, a:b], dtype=dtype))[0][:, -1]
    return radii


def faiss_flat(reference, rows, tree, n_neighbors):
    import faiss

    faiss.omp_set_num_threads(ARGUMENTS.threads)
    radii = np.empty((len(rows), len(tree.start)))
    for node, (a, b) in enumerate(zip(tree.start, tree.stop, strict=True)):
        index = faiss.IndexFlatL2(int(b - a))
        index.add(np.ascontiguousarray(reference[:, a:b], dtype=np.float32))
        squares, _ = index.search(np.ascontiguousarray(rows[:, a:b], dtype=np.float32), n_neighbors)
        radii[:, node] = np.sqrt(np.maximum(squares[:, -1], 0))
    return radii


def numpy_partition(reference, rows, tree, n_neighbors, alpha):
    """One row after the other in each thread, float32, so that NumPy is at its best."""
    reference = np.asarray(reference, dtype=np.float32)
    radii = np.empty((len(rows), len(tree.start)))

    def one_row(r):
        row = rows[r].astype(np.float32)
        for node, (a, b) in enumerate(zip(tree.start, tree.stop, strict=True)):
            m = kernels.kept(int(b - a), alpha)
            squares = (reference[:, a:b] - row[a:b]) ** 2
            if m < b - a:
                squares = np.partition(squares, m - 1, axis=1)[:, :m]
            radii[r, node] = np.sqrt(np.partition(squares.sum(axis=1), n_neighbors - 1)[n_neighbors - 1])

    with ThreadPoolExecutor(ARGUMENTS.threads) as pool:
        list(pool.map(one_row, range(len(rows))))
    return radii


def best_times(tasks: dict[str, Callable[[], object]], rounds: int) -> dict[str, tuple[float, float]]:
    best = dict.fromkeys(tasks, (np.inf, np.inf))
    for _ in range(rounds):
        for name, task in tasks.items():
            elapsed, processor = time.perf_counter(), time.process_time()
            task()
            elapsed, processor = time.perf_counter() - elapsed, time.process_time() - processor
            best[name] = min(best[name][0], elapsed), min(best[name][1], processor)
    return best


def main() -> None:
    a = ARGUMENTS
    generator = np.random.default_rng(0)
    tree = build_tree(lay_out("sequence", a.attributes), a.depth)
    reference = smooth_rows(generator, a.reference, a.attributes)
    rows = smooth_rows(generator, a.rows, a.attributes)
    small, few = reference[: a.ranked_reference], rows[: a.partition_rows]
    begun = time.perf_counter()
    packed = {alpha: kernels.pack(reference, tree, alpha) for alpha in (1.0, a.alpha)}
    packed_small = kernels.pack(small, tree, a.alpha)
    for each in packed.values():
        kernels.node_radii(each, rows[:1], a.neighbors)
    print(f"packing and compiling (or loading): {time.perf_counter() - begun:.1f} s")
    ranked = f"alpha {a.alpha}"
    mixed = with_some_corrupted(generator, rows)
    thresholds = {
        alpha: np.quantile(
            kernels.node_radii(each, smooth_rows(generator, 500, a.attributes), a.neighbors), 0.996, axis=0
        )
        for alpha, each in packed.items()
    }
    for alpha, each in packed.items():
        exact = kernels.node_radii(each, mixed, a.neighbors) > thresholds[alpha]
        labels = kernels.node_labels(each, mixed, thresholds[alpha], a.neighbors)
        print(f"alpha {alpha}: labels equal: {np.array_equal(exact, labels)}; anomalous nodes: {exact.mean():.4f}")
    tasks = {
        "alpha 1": lambda: kernels.node_radii(packed[1.0], rows, a.neighbors, n_jobs=a.threads),
        ranked: lambda: kernels.node_radii(packed[a.alpha], rows, a.neighbors, n_jobs=a.threads),
        "labels, alpha 1": lambda: kernels.node_labels(
            packed[1.0], mixed, thresholds[1.0], a.neighbors, n_jobs=a.threads
        ),
        f"labels, {ranked}": lambda: kernels.node_labels(
            packed[a.alpha], mixed, thresholds[a.alpha], a.neighbors, n_jobs=a.threads
        ),
        f"{ranked}, small": lambda: kernels.node_radii(packed_small, rows, a.neighbors, n_jobs=a.threads),
    }
    if not a.skip_peers:
        tasks |= {
            "scikit-learn float32": lambda: scikit_learn(reference, rows, tree, a.neighbors, np.float32),
            "scikit-learn float64": lambda: scikit_learn(reference, rows, tree, a.neighbors, np.float64),
            "NumPy partition, small": lambda: numpy_partition(small, few, tree, a.neighbors, a.alpha),
        }
        if find_spec("faiss") is None:
            print("FAISS is not installed and left out: pip install faiss-cpu")
        else:
            tasks["FAISS flat"] = lambda: faiss_flat(reference, rows, tree, a.neighbors)
    best = best_times(tasks, a.rounds)
    print(f"{a.rows} rows, {a.reference} reference rows ({len(small)} where small), {a.attributes} attributes,")
    print(f"{len(tree.start)} nodes, K = {a.neighbors}, {a.threads} threads; seconds elapsed and of processor")
    if not a.skip_peers:
        share = a.rows / len(few)
        elapsed, processor = best["NumPy partition, small"]
        best["NumPy partition, small"] = elapsed * share, processor * share
    for name, (elapsed, processor) in best.items():
        print(f"  {name:24s} {elapsed:9.3f} {processor:9.3f}")
    print("ratios, elapsed and processor")
    pairs = [("labels, alpha 1", "alpha 1"), (f"labels, {ranked}", ranked)]
    peers = [
        ("alpha 1", "scikit-learn float32"),
        ("alpha 1", "scikit-learn float64"),
        ("alpha 1", "FAISS flat"),
        (ranked, "scikit-learn float32"),
        (ranked, "scikit-learn float64"),
        (f"{ranked}, small", "NumPy partition, small"),
    ]
    for fast, peer in [pair for pair in pairs + peers if pair[1] in best]:
        elapsed, processor = (slow / quick for slow, quick in zip(best[peer], best[fast], strict=True))
        print(f"  {fast + ' against ' + peer:46s} {elapsed:7.1f} {processor:7.1f}")


if __name__ == "__main__":
    main()
