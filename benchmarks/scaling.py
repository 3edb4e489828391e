"""Two single-threaded Dask workers against one, the memory of a worker, and what a sample of the reference loses.

    python -m benchmarks.scaling [--reference 16000] [--rows 64000] [--attributes 64] [--chunk 1000]
        [--all 400000] [--samples 1000 10000 100000] [--quick]

The clusters take turns, and only one is up at a time. They are those of ``treemend mend --dask local``: Dask's profiler
is off and its clocks tick slowly. Starting up does not count. A row in twenty is overwritten. Two ratios are printed,
of the sums over all rounds: of elapsed time, and of the processor time of the busier worker, which is what elapsed time
would be if nothing else ran on the machine.

Then `treemend.dask.fit` fits to samples of a longer reference: seconds, rows found, and the mean error of their repair.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import dask.array as da
import numpy as np
from dask import delayed

import treemend.dask
from treemend import Mender
from treemend.dask.chunks import local_client
from treemend.synthetic import stretch_masks

BASE, CHUNK_TIMES = 600_000_000, 40
"""A worker's memory: bytes of an idle one, and times a chunk for each thread."""


@dataclass(frozen=True)
class Fitted:
    """What a fit to a sample took and gave."""

    seconds: float
    found: float
    error: float


@dataclass(frozen=True)
class Measured:
    """What one run measured: rows a second, ratios of two workers to one, bytes of a worker, fits by sample size."""

    throughput: float
    elapsed_ratio: float
    by_round: tuple[float, ...]
    processor_ratio: float
    idle: int
    peak: int
    formula: int
    fits: dict[int, Fitted]


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reference", type=int, default=16_000)
    parser.add_argument("--attributes", type=int, default=64)
    parser.add_argument("--rows", type=int, default=64_000)
    parser.add_argument("--chunk", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--all", type=int, default=400_000, help="rows that samples are drawn from")
    parser.add_argument("--samples", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--quick", action="store_true", help="tiny rows, one round: to see that it runs")
    asked = parser.parse_args(arguments)
    if asked.quick:
        asked.reference, asked.attributes, asked.rows, asked.chunk, asked.rounds = 150, 12, 120, 20, 1
        asked.all, asked.samples = 300, [100, 300]
    return asked


def smooth_rows(generator: np.random.Generator, n_rows: int, width: int) -> np.ndarray:
    steps = generator.normal(size=(n_rows, width + 15))
    return np.lib.stride_tricks.sliding_window_view(steps, 16, axis=1).mean(axis=2) * 4


def overwritten(generator: np.random.Generator, rows: np.ndarray, every: int) -> np.ndarray:
    """Overwrite a stretch of one row in so many by noise."""
    rows = rows.copy()
    masks = stretch_masks(len(rows[::every]), rows.shape[1], rng=generator)
    rows[::every] = np.where(masks, generator.uniform(rows.min(), rows.max(), masks.shape), rows[::every])
    return rows


def made_on_workers(make: Callable[..., np.ndarray], n_chunks: int, chunk: int, width: int) -> da.Array:
    """Return rows that the workers make themselves, so that none are sent."""
    parts = [da.from_delayed(delayed(make)(part, chunk, width), (chunk, width), float) for part in range(n_chunks)]
    return da.concatenate(parts)


def made_suspects(part: int, n_rows: int, width: int) -> np.ndarray:
    generator = np.random.default_rng([2, part])
    return overwritten(generator, smooth_rows(generator, n_rows, width), 20)


def made_clean(part: int, n_rows: int, width: int) -> np.ndarray:
    return smooth_rows(np.random.default_rng([1, part]), n_rows, width)


@dataclass(frozen=True)
class Turn:
    """What one cluster took: elapsed seconds, those of the busier processor, bytes of the largest worker."""

    elapsed: float
    processor: float
    idle: int
    peak: int


def turn(n_workers: int, model: Path, collection: da.Array) -> Turn:
    """Start a cluster and let it mend the rows."""
    with local_client(n_workers) as client, client.as_current():
        idle = max(client.run(load_everything).values())
        # A sum over the mask: all the mending, and next to nothing to send back. Two chunks a worker for the start.
        treemend.dask.mend(collection.blocks[: 2 * n_workers], model).mask.sum().compute()
        total = treemend.dask.mend(collection, model).mask.sum()
        before = client.run(time.process_time)
        begun = time.perf_counter()
        total.compute()
        elapsed = time.perf_counter() - begun
        after = client.run(time.process_time)
        processor = max(after[worker] - before[worker] for worker in before)
        return Turn(elapsed, processor, idle, max(client.run(peak_bytes).values()))


def peak_bytes() -> int:
    """Return the most memory that this process had; the kernel's ru_maxrss would count the process that started it."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def load_everything() -> int:
    """Mend a few rows, so that all code is loaded, and tell the memory of an otherwise idle worker."""
    rows = smooth_rows(np.random.default_rng(0), 60, 12)
    Mender().fit(rows).mend(overwritten(np.random.default_rng(0), rows, 3))
    return peak_bytes()


def measure_fit(collection: da.Array, n_rows: int) -> Fitted:
    """Fit to a sample of the rows, and mend fresh ones, all overwritten in part."""
    begun = time.process_time()
    mender = treemend.dask.fit(collection, n_rows=n_rows)
    seconds = time.process_time() - begun
    generator = np.random.default_rng(3)
    true = smooth_rows(generator, 500, collection.shape[1])
    mended = mender.mend(overwritten(generator, true, 1), on_drift="repair")
    return Fitted(seconds, float(mended.corrupted.mean()), float(np.abs(mended.repaired - true)[mended.mask].mean()))


def measure(asked: argparse.Namespace) -> Measured:
    rows = made_on_workers(made_suspects, asked.rows // asked.chunk, asked.chunk, asked.attributes)
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder, "model.safetensors")
        Mender().fit(smooth_rows(np.random.default_rng(0), asked.reference, asked.attributes)).save(model)
        taken = [[turn(n_workers, model, rows) for n_workers in (1, 2)] for _ in range(asked.rounds)]
    seconds = np.array([[(done.elapsed, done.processor) for done in round_] for round_ in taken])
    totals = seconds.sum(axis=0)
    elapsed_ratio, processor_ratio = (totals[0] / totals[1]).tolist()
    by_round = tuple((seconds[:, 0, 0] / seconds[:, 1, 0]).tolist())
    idle, peak = (max(getattr(done, name) for round_ in taken for done in round_) for name in ("idle", "peak"))
    formula = BASE + CHUNK_TIMES * asked.chunk * asked.attributes * 8
    chunk = -(-asked.all // 8)
    reference = made_on_workers(made_clean, 8, chunk, asked.attributes)[: asked.all]
    fits = {n_rows: measure_fit(reference, n_rows) for n_rows in asked.samples}
    throughput = asked.rows * asked.rounds / totals[0, 1]
    return Measured(throughput, elapsed_ratio, by_round, processor_ratio, idle, peak, formula, fits)


def main(arguments: Sequence[str] | None = None) -> Measured:
    asked = parsed(arguments)
    measured = measure(asked)
    print(f"{asked.attributes} attributes, {asked.rows:,} rows, chunks of {asked.chunk:,}, {os.cpu_count()} cores")
    print(f"one worker: {measured.throughput:,.0f} rows a second of processor time")
    print(
        f"two single-threaded workers against one: {measured.elapsed_ratio:.2f} times the throughput by elapsed time "
        f"(single rounds {min(measured.by_round):.2f} to {max(measured.by_round):.2f}), {measured.processor_ratio:.2f} "
        "by processor time"
    )
    print(
        f"memory of a worker: idle {measured.idle / 1e6:.0f} MB, peak {measured.peak / 1e6:.0f} MB, by the formula "
        f"{measured.formula / 1e6:.0f} MB"
    )
    for n_rows, fitted in measured.fits.items():
        print(
            f"fitted to {n_rows:,} of {asked.all:,} rows in {fitted.seconds:.1f} s of processor time: "
            f"{fitted.found:.1%} of the overwritten rows found, mean error {fitted.error:.3f}"
        )
    return measured


if __name__ == "__main__":
    main()
