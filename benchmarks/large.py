"""Large references and many rows: how long they take, and how much memory.

    python benchmarks/large.py [fit] [mend] [--reference 100000] [--rows 1000000] [--attributes 64]

``fit`` fits the defaults to a large reference, with thresholds from a sample and once more from all rows. ``mend`` fits
to 2,000 rows and mends many rows in batches as they are made, one row of twenty corrupted; the seconds of each tenth
show whether time is linear in the rows. Each runs in a process of its own; its peak of memory is printed, and what it
had before the work began.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

import numpy as np

from treemend import TreeMender

BATCH = 10_000


def smooth_rows(generator: np.random.Generator, n_rows: int, width: int) -> np.ndarray:
    steps = generator.normal(size=(n_rows, width + 15))
    return np.lib.stride_tricks.sliding_window_view(steps, 16, axis=1).mean(axis=2)


def with_some_corrupted(generator: np.random.Generator, rows: np.ndarray) -> np.ndarray:
    width = rows.shape[1] // 4
    for row in rows[::20]:
        begin = generator.integers(0, rows.shape[1] - width)
        row[begin : begin + width] = generator.uniform(-1, 1, width)
    return rows


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def warm_up(width: int) -> None:
    rows = smooth_rows(np.random.default_rng(1), 200, width)
    TreeMender().fit(rows).mend(with_some_corrupted(np.random.default_rng(2), rows[:40].copy()))


def fit(n_reference: int, width: int, calibration: str) -> None:
    reference = smooth_rows(np.random.default_rng(0), n_reference, width)
    before = peak()
    begun = time.perf_counter()
    TreeMender(calibration_rows=calibration).fit(reference)
    print(
        f"fit {n_reference:,} x {width}, calibration_rows={calibration!r}: {time.perf_counter() - begun:.0f} s, "
        f"peak {peak()} MB (before {before} MB)"
    )


def mend(n_rows: int, width: int) -> None:
    generator = np.random.default_rng(0)
    mender = TreeMender().fit(smooth_rows(generator, 2_000, width))
    before = peak()
    batches = (with_some_corrupted(generator, smooth_rows(generator, BATCH, width)) for _ in range(n_rows // BATCH))
    begun, moments, n_found = time.perf_counter(), [], 0
    for mended in mender.mend_batches(batches):
        n_found += int(mended.corrupted.sum())
        moments.append(time.perf_counter() - begun)
    tenths = np.diff([0.0, *moments[len(moments) // 10 - 1 :: max(1, len(moments) // 10)]])
    print(
        f"mend {n_rows:,} x {width} in batches of {BATCH:,}: {moments[-1]:.0f} s, peak {peak()} MB (before {before} "
        f"MB), {n_found:,} rows repaired; seconds of each tenth: {' '.join(f'{tenth:.1f}' for tenth in tenths)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tasks", nargs="*", metavar="fit|mend")
    parser.add_argument("--reference", type=int, default=100_000)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--attributes", type=int, default=64)
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    tasks = asked.tasks or ["fit", "mend"]
    if asked.inside:
        warm_up(asked.attributes)
        if asked.inside == "mend":
            mend(asked.rows, asked.attributes)
        else:
            fit(asked.reference, asked.attributes, asked.inside)
        return
    for inside in [*(["auto", "all"] if "fit" in tasks else []), *(["mend"] if "mend" in tasks else [])]:
        sizes = [f"--{name}={getattr(asked, name)}" for name in ("reference", "rows", "attributes")]
        subprocess.run([sys.executable, __file__, "--inside", inside, *sizes], check=True)


if __name__ == "__main__":
    main()
