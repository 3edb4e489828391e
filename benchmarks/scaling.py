"""Two single-threaded Dask workers against one, and the memory of a worker against the formula of docs/scaling.md.

    python -m benchmarks.scaling [--references 4000 16000] [--rows 64000] [--attributes 64] [--chunk 1000]
        [--sharded 100000] [--quick]

The clusters take turns, and only one is up at a time. They are those of ``treemend mend --dask local``: Dask's profiler
is off and its clocks tick slowly. Starting up does not count. A row in twenty is overwritten. Throughput of one worker
is measured for each size of the reference, the ratio and the memory for the largest.

A reference in four shards is fitted to and asked about four chunks on a cluster of its own, for the memory of its two
workers.

Two ratios are printed, of the sums over all rounds: of elapsed time, and of the processor time of the busier worker,
which is what elapsed time would be if nothing else ran on the machine.
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
from treemend import TreeMender
from treemend.dask.local import local_client

BASE, MODEL_TIMES, CHUNK_TIMES, SHARD_TIMES = 600_000_000, 16, 12, 8
"""A worker's memory: bytes of an idle one, times the reference, times a chunk for each thread, times its shards."""


@dataclass(frozen=True)
class Measured:
    """What one run measured: rows a second by reference rows, ratios of two workers to one, bytes of a worker."""

    throughput: dict[int, float]
    elapsed_ratio: float
    by_round: tuple[float, ...]
    processor_ratio: float
    idle: int
    peak: int
    formula: int
    sharded_peak: int
    sharded_formula: int
    sharded_seconds: tuple[float, float]


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--references", type=int, nargs="+", default=[4_000, 16_000])
    parser.add_argument("--attributes", type=int, default=64)
    parser.add_argument("--rows", type=int, default=64_000)
    parser.add_argument("--chunk", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sharded", type=int, default=100_000, help="reference rows in shards")
    parser.add_argument("--quick", action="store_true", help="tiny rows, one round: to see that it runs")
    asked = parser.parse_args(arguments)
    asked.references.sort()
    if asked.quick:
        asked.references, asked.attributes, asked.rows, asked.chunk, asked.rounds = [100, 150], 12, 120, 20, 1
        asked.sharded = 120
    return asked


def smooth_rows(generator: np.random.Generator, n_rows: int, width: int) -> np.ndarray:
    steps = generator.normal(size=(n_rows, width + 15))
    return np.lib.stride_tricks.sliding_window_view(steps, 16, axis=1).mean(axis=2) * 4


def overwritten(generator: np.random.Generator, rows: np.ndarray) -> np.ndarray:
    rows = rows.copy()
    width = rows.shape[1] // 4
    for row in rows[::20]:
        begin = generator.integers(0, rows.shape[1] - width)
        row[begin : begin + width] = generator.uniform(rows.min(), rows.max(), size=width)
    return rows


def made_on_workers(make: Callable[..., np.ndarray], n_chunks: int, chunk: int, width: int) -> da.Array:
    """Return rows that the workers make themselves, so that none are sent."""
    parts = [da.from_delayed(delayed(make)(part, chunk, width), (chunk, width), float) for part in range(n_chunks)]
    return da.concatenate(parts)


def made_suspects(part: int, n_rows: int, width: int) -> np.ndarray:
    generator = np.random.default_rng([2, part])
    return overwritten(generator, smooth_rows(generator, n_rows, width))


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
        treemend.dask.mend(model, collection.blocks[: 2 * n_workers]).mask.sum().compute()
        total = treemend.dask.mend(model, collection).mask.sum()
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
    TreeMender().fit(rows).mend(overwritten(np.random.default_rng(0), rows))
    return peak_bytes()


def measure_shards(asked: argparse.Namespace, rows: da.Array) -> tuple[int, int, tuple[float, float]]:
    """Return the peak of a worker's memory, what the formula says, and the seconds of fitting and of mending."""
    chunk = asked.sharded // 4
    with local_client(2) as client, client.as_current():
        client.run(load_everything)
        begun = time.perf_counter()
        mender = treemend.dask.fit(TreeMender(), made_on_workers(made_shard, 4, chunk, asked.attributes))
        fitted = time.perf_counter()
        treemend.dask.mend(mender, rows).mask.sum().compute()
        mended = time.perf_counter()
        peak = max(client.run(peak_bytes).values())
    bytes_a_row = asked.attributes * 8
    formula = BASE + (SHARD_TIMES * 2 * chunk + CHUNK_TIMES * 2 * asked.chunk) * bytes_a_row
    return peak, formula, (fitted - begun, mended - fitted)


def made_shard(part: int, n_rows: int, width: int) -> np.ndarray:
    return smooth_rows(np.random.default_rng([1, part]), n_rows, width)


def measure(asked: argparse.Namespace) -> Measured:
    generator = np.random.default_rng(0)
    rows = made_on_workers(made_suspects, asked.rows // asked.chunk, asked.chunk, asked.attributes)
    with tempfile.TemporaryDirectory() as folder:
        models = {}
        for n_reference in asked.references:
            models[n_reference] = Path(folder, f"{n_reference}.safetensors")
            TreeMender().fit(smooth_rows(generator, n_reference, asked.attributes)).save(models[n_reference])
        *smaller, largest = asked.references
        turns = [*((1, n) for n in smaller), (1, largest), (2, largest)]
        taken = [[turn(n_workers, models[n], rows) for n_workers, n in turns] for _ in range(asked.rounds)]
    seconds = np.array([[(done.elapsed, done.processor) for done in round_] for round_ in taken])
    totals = seconds.sum(axis=0)
    throughput = {n: asked.rows * asked.rounds / totals[place, 1] for place, n in enumerate(asked.references)}
    elapsed_ratio, processor_ratio = (totals[-2] / totals[-1]).tolist()
    by_round = tuple((seconds[:, -2, 0] / seconds[:, -1, 0]).tolist())
    idle, peak = (max(getattr(done, name) for round_ in taken for done in round_) for name in ("idle", "peak"))
    bytes_a_row = asked.attributes * 8
    formula = BASE + (MODEL_TIMES * largest + CHUNK_TIMES * asked.chunk) * bytes_a_row
    shards = measure_shards(asked, rows.blocks[:4])
    return Measured(throughput, elapsed_ratio, by_round, processor_ratio, idle, peak, formula, *shards)


def main(arguments: Sequence[str] | None = None) -> Measured:
    asked = parsed(arguments)
    measured = measure(asked)
    print(f"{asked.attributes} attributes, {asked.rows:,} rows, chunks of {asked.chunk:,}, {os.cpu_count()} cores")
    for n_reference, rate in measured.throughput.items():
        print(f"one worker, {n_reference:>7,} reference rows: {rate:8.1f} rows a second of processor time")
    print(
        f"two single-threaded workers against one: {measured.elapsed_ratio:.2f} times the throughput by elapsed time "
        f"(single rounds {min(measured.by_round):.2f} to {max(measured.by_round):.2f}), {measured.processor_ratio:.2f} "
        "by processor time"
    )
    print(
        f"memory of a worker: idle {measured.idle / 1e6:.0f} MB, peak {measured.peak / 1e6:.0f} MB, by the formula "
        f"{measured.formula / 1e6:.0f} MB"
    )
    fitting, mending = measured.sharded_seconds
    print(
        f"{asked.sharded:,} reference rows in 4 shards on 2 workers: fitting {fitting:.1f} s, mending {mending:.1f} s; "
        f"peak of a worker {measured.sharded_peak / 1e6:.0f} MB, by the formula {measured.sharded_formula / 1e6:.0f} MB"
    )
    return measured


if __name__ == "__main__":
    main()
