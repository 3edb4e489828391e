"""How long the first fit and mend take on a machine that has compiled nothing yet, and how long later ones do.

    python benchmarks/compilation.py [TCS] [Mender]

For each class two processes run one after the other with the same cache of compiled kernels, empty at first. Each fits
a few rows of 64 columns and mends some, twice: what the first time takes more than the second is compiling, or loading
what was compiled. Seconds elapsed and of processor are printed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

TASK = """
import sys, time
import numpy as np
import numba, sklearn
import treemend
generator = np.random.default_rng(0)
rows = np.lib.stride_tricks.sliding_window_view(generator.normal(size=(400, 79)), 16, axis=1).mean(axis=2)
suspects = rows[:10].copy()
suspects[:5, 16:32] = generator.uniform(rows.min(), rows.max(), size=(5, 16))
moments = [(time.perf_counter(), time.process_time())]
for _ in range(2):
    getattr(treemend, sys.argv[1])().fit(rows).mend(suspects)
    moments.append((time.perf_counter(), time.process_time()))
first, second = ([b - a for a, b in zip(before, after)] for before, after in zip(moments, moments[1:]))
print(" ".join(f"{one - other:8.2f}" for one, other in zip(first, second)))
"""


def main() -> None:
    for name in sys.argv[1:] or ["TCS", "Mender"]:
        with tempfile.TemporaryDirectory() as cache:
            for which in ("compiling", "loading"):
                command = [sys.executable, "-c", TASK, name]
                environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
                told = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
                print(f"{name:8s} {which:10s} {told.strip()}", flush=True)


if __name__ == "__main__":
    main()
