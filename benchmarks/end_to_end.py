"""What a user waits for: fit and mend beside what one would assemble, growth, and milliseconds a row.

    python -m benchmarks.end_to_end --peer .venv-peers/bin/python --write docs/performance.md
    python -m benchmarks.end_to_end --sizes 1000x64x500 --growth

Rows are random walks with a common wave; a twentieth of the mended rows has a stretch of 10 to 50 % overwritten. The
peer, PyOD's KNN on 8 segments with KNNImputer (``make peers`` makes its environment), declares 5 % of the clean rows.
Each method runs in its own process right after the other, once on one thread, BLAS included, and once as installed;
compilation is not counted. Seconds are of processor and, after a slash, elapsed.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

from treemend.synthetic import corrupt, stretch_masks

SIZES = ("1000x64x500", "5000x64x5000", "5000x128x5000", "5000x256x5000", "20000x64x20000", "2000x1000x500")
GROWTH = (
    *("5000x64x100", "20000x64x100", "100000x64x100"),
    *("1000x256x100", "1000x1024x100", "1000x4096x100"),
    *("2000x64x1000", "2000x64x10000", "2000x64x100000"),
)
SOME = 200
ROOT = Path(__file__).parents[1]
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "MKL")}
BEGIN, END = "<!-- benchmarks/end_to_end.py begins -->\n", "<!-- benchmarks/end_to_end.py ends -->\n"


def walks(rng, n_rows, n_features):
    wave = np.sin(np.arange(n_features) / 9)
    steps = rng.normal(size=(n_rows, n_features))
    return 0.2 * np.cumsum(steps, axis=1) + rng.normal(size=(n_rows, 1)) * wave + 0.1 * rng.normal(size=steps.shape)


def overwritten(rng, rows):
    return corrupt("noise", rows, stretch_masks(*rows.shape, rng=rng), rng=rng)


def data(size):
    """Return a reference and the rows to mend."""
    n_reference, n_features, n_rows = (int(number) for number in size.split("x"))
    rng = np.random.default_rng(0)
    reference, suspects = walks(rng, n_reference, n_features), walks(rng, n_rows, n_features)
    suspects[: n_rows // 20] = overwritten(rng, suspects[: n_rows // 20])
    return reference, suspects


def seconds(work):
    """Return seconds of processor and elapsed."""
    begun = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - begun[0], time.perf_counter() - begun[1]


def mender_seconds(size, n_jobs):
    """Return the seconds of fit and of mend."""
    from treemend import Mender

    reference, suspects = data(size)
    mender = Mender(n_jobs=n_jobs)
    mender.fit(reference[:100]).mend(suspects[:40], on_drift="repair")
    return seconds(lambda: mender.fit(reference)), seconds(lambda: mender.mend(suspects))


def peer_seconds(size):
    """Return the seconds of fit and of mend of the peer."""
    from benchmarks.peers.segment_knn import SegmentKNN

    reference, suspects = data(size)
    peer = SegmentKNN(8)

    def mend(rows):
        scores = peer.score(rows)
        declared = np.quantile(scores[len(rows) // 20 :].max(axis=1), 0.95)
        peer.fillings()["KNNImputer"](rows, scores > declared)

    peer.fit(reference[:100])
    mend(suspects[:40])
    return seconds(lambda: peer.fit(reference)), seconds(lambda: mend(suspects))


def in_own_process(python, method, size, one_thread):
    """Return the seconds of a method, measured by a process of its own."""
    command = [python, "-m", "benchmarks.end_to_end", "--method", method, "--sizes", size]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    if one_thread:
        environment |= ONE_THREAD
        command += ["--jobs", "1"]
    told = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, cwd=ROOT)
    return np.array(json.loads(told.stdout.splitlines()[-1]))


def shown(values):
    return " / ".join(f"{value:.2f}" for value in values)


def titled(size):
    n_reference, n_features, n_rows = (int(number) for number in size.split("x"))
    return f"{n_reference:,} x {n_features:,}, {n_rows:,}"


def compared(sizes, python):
    """Yield a table for one thread and one as installed: ours, the peer's, and how many times as fast."""
    for one_thread in (True, False):
        yield "One thread for both:" if one_thread else "As installed, on every core:"
        yield ""
        yield "| reference x columns, rows | fit | mend | peer: fit | mend | times as fast: both | mend |"
        yield "|---|---|---|---|---|---|---|"
        for size in sizes:
            own = in_own_process(sys.executable, "mender", size, one_thread)
            other = in_own_process(python, "peer", size, one_thread)
            ratios = other.sum(axis=0) / own.sum(axis=0), other[1] / own[1]
            yield f"| {titled(size)} | " + " | ".join(shown(pair) for pair in (*own, *other, *ratios)) + " |"
        yield ""


def grown(sizes):
    """Yield a table of fit and mend on one thread."""
    yield "| reference x columns, rows | fit | mend |"
    yield "|---|---|---|"
    for size in sizes:
        fit, mend = in_own_process(sys.executable, "mender", size, True)
        yield f"| {titled(size)} | {shown(fit)} | {shown(mend)} |"
    yield ""


def by_row(sizes):
    """Yield a table of milliseconds a row on one thread: clean, overwritten, and with a tenth missing at random."""
    from treemend import Mender

    yield "| reference x columns | clean, ms | overwritten, ms | missing, ms |"
    yield "|---|---|---|---|"
    for size in sizes:
        rng = np.random.default_rng(1)
        reference = data(size)[0]
        clean = walks(rng, SOME, reference.shape[1])
        kinds = clean, overwritten(rng, clean), np.where(rng.random(clean.shape) < 0.1, np.nan, clean)
        mender = Mender(n_jobs=1).fit(reference)
        found = []
        for rows in kinds:
            mender.mend(rows[:3], on_drift="repair")
            found.append(1e3 * seconds(partial(mender.mend, rows, on_drift="repair"))[0] / SOME)
        yield f"| {titled(size).rpartition(', ')[0]} | " + " | ".join(f"{v:.2f}" for v in found) + " |"
    yield ""


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", default=SIZES, help="reference rows x columns x mended rows")
    parser.add_argument("--growth", nargs="*", default=GROWTH, help="sizes of the table of growth")
    parser.add_argument("--peer", help="Python of the peer's environment")
    parser.add_argument("--write", type=Path, help="page whose marked part is replaced")
    parser.add_argument("--method", choices=("mender", "peer"), help="measure this one in this process")
    parser.add_argument("--jobs", type=int)
    asked = parser.parse_args(arguments)
    if asked.method:
        own = asked.method == "mender"
        print(json.dumps(mender_seconds(*asked.sizes, asked.jobs) if own else peer_seconds(*asked.sizes)))
        return
    lines = []
    for table in (compared(asked.sizes, asked.peer) if asked.peer else (), grown(asked.growth), by_row(asked.sizes)):
        for line in table:
            print(line, flush=True)
            lines.append(line + "\n")
    if asked.write:
        before, _, rest = asked.write.read_text().partition(BEGIN)
        asked.write.write_text(before + BEGIN + "".join(lines) + END + rest.partition(END)[2])


if __name__ == "__main__":
    main()
