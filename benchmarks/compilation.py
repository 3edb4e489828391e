"""How long the first fit and mend take on a machine that has compiled nothing yet, and how long later ones do.

    python benchmarks/compilation.py [--kernels]

Two processes run one after the other with the same cache of compiled kernels, empty at first. Each imports the package,
fits ``TreeMender()`` on a few rows of 64 attributes and mends some, twice: what the first time takes more than the
second is compiling, or loading what was compiled. Libraries that the package imports only when it needs them are
imported beforehand, since that is neither. Seconds elapsed and of processor are printed for both; with ``--kernels``
also each kernel's seconds of compiling (helpers that are compiled on the way included).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile

TASK = """
import time
begun = time.perf_counter(), time.process_time()
import numpy as np
import numba, sklearn.cluster
from treemend import TreeMender
imported = time.perf_counter(), time.process_time()
generator = np.random.default_rng(0)
steps = generator.normal(size=(120, 79))
rows = np.lib.stride_tricks.sliding_window_view(steps, 16, axis=1).mean(axis=2)
suspects = rows[:10].copy()
suspects[:5, 16:32] = generator.uniform(rows.min(), rows.max(), size=(5, 16))
mender = TreeMender().fit(rows)
fitted = time.perf_counter(), time.process_time()
mender.mend(suspects)
mended = time.perf_counter(), time.process_time()
TreeMender().fit(rows).mend(suspects)
again = time.perf_counter(), time.process_time()
moments = (begun, imported, fitted, mended, again)
names = ("import", "fit", "mend", "fit and mend once more")
for name, before, after in zip(names, moments, moments[1:]):
    print(f"  {name:24s} {after[0] - before[0]:7.2f} {after[1] - before[1]:7.2f}")
waited = [(mended[i] - imported[i]) - (again[i] - mended[i]) for i in (0, 1)]
print(f"  {'compiling or loading':24s} {waited[0]:7.2f} {waited[1]:7.2f}")
"""

LISTENER = """
import numba.core.event as event
recording = event.RecordingListener()
event.register("numba:compile", recording)
"""

REPORT = """
starts, own = [], {}
for moment, each in recording.buffer:
    if each.is_start:
        starts.append([moment, 0.0])
    else:
        start, inside = starts.pop()
        whole = moment - start
        if starts:
            starts[-1][1] += whole
        function = each.data["dispatcher"].py_func
        name = f"{function.__module__.removeprefix('treemend.')}.{function.__name__}"
        count, alone, total = own.get(name, (0, 0.0, 0.0))
        own[name] = count + 1, alone + whole - inside, total + whole
print("  times compiled, seconds alone, seconds with helpers")
for name, (count, alone, total) in sorted(own.items(), key=lambda item: -item[1][1])[:40]:
    print(f"  {name:50s} {count:3d} {alone:7.2f} {total:7.2f}")
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernels", action="store_true", help="print each kernel's seconds of compiling")
    each_kernel = parser.parse_args().kernels
    task = LISTENER + TASK + REPORT if each_kernel else TASK
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        for title in ("with an empty cache", "with the cache of the first"):
            print(f"{title}: seconds elapsed and of processor", flush=True)
            subprocess.run([sys.executable, "-c", task], check=True, env=environment)


if __name__ == "__main__":
    main()
