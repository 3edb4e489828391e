"""Seconds and memory of the judged case: 1,500 x 256 reference rows, 750 rows mended, depth 6.

    python benchmarks/core.py

Each setting runs twice; the second time nothing is compiled.
"""

import resource
import time

import numpy as np

from treemend import TreeMender


def smooth_rows(rng, n_rows):
    steps = rng.normal(size=(n_rows, 271))
    return np.lib.stride_tricks.sliding_window_view(steps, 16, axis=1).mean(axis=2) * 4


def main():
    rng = np.random.default_rng(0)
    reference, suspects = smooth_rows(rng, 1500), smooth_rows(rng, 750)
    suspects[::2, 50:120] = rng.uniform(-3, 3, (375, 70))
    menders = {"published": TreeMender.as_published(0.016, depth=6), "default": TreeMender(depth=6)}
    for name, mender in menders.items():
        for _ in range(2):
            begun = time.perf_counter()
            mender.fit(reference)
            fitted = time.perf_counter()
            mender.mend(suspects)
            ended = time.perf_counter()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(f"{name:10s} fit {fitted - begun:.1f} s, mend {ended - fitted:.1f} s, at most {peak} MB so far")


if __name__ == "__main__":
    main()
