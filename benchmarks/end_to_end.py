"""Processor seconds of a fit and of mending, and milliseconds a row: clean, overwritten, with missing values.

    python benchmarks/end_to_end.py
    python benchmarks/end_to_end.py --sizes 1000x64x500

Rows are random walks with a common wave; a twentieth of the mended rows has a stretch of 10 to 50 % overwritten. One
thread, BLAS included, after compilation.
"""

import argparse
import time

import numpy as np

from treemend import Mender
from treemend.synthetic import corrupt, stretch_masks

SIZES = ("1000x64x500", "5000x64x5000", "5000x128x2000", "5000x256x5000", "20000x64x20000", "2000x1000x500")
SOME = 200


def walks(rng, n_rows, n_features):
    wave = np.sin(np.arange(n_features) / 9)
    steps = rng.normal(size=(n_rows, n_features))
    return 0.2 * np.cumsum(steps, axis=1) + rng.normal(size=(n_rows, 1)) * wave + 0.1 * rng.normal(size=steps.shape)


def overwritten(rng, rows):
    return corrupt("noise", rows, stretch_masks(*rows.shape, rng=rng), rng=rng)


def seconds(work):
    begun = time.process_time()
    work()
    return time.process_time() - begun


def measure(n_reference, n_features, n_rows):
    """Return processor seconds of fit and mend, and milliseconds a row of clean, overwritten and incomplete rows."""
    rng = np.random.default_rng(0)
    reference, suspects, clean = (walks(rng, n, n_features) for n in (n_reference, n_rows, SOME))
    suspects[: n_rows // 20] = overwritten(rng, suspects[: n_rows // 20])
    incomplete = np.where(rng.random(clean.shape) < 0.1, np.nan, clean)
    mender = Mender(n_jobs=1)
    for rows in (overwritten(rng, clean[:40]), incomplete[:40]):
        mender.fit(reference[:100]).mend(rows, on_drift="repair")
    whole = seconds(lambda: mender.fit(reference)), seconds(lambda: mender.mend(suspects))
    kinds = clean, overwritten(rng, clean), incomplete
    by_row = [1e3 * seconds(lambda rows=rows: mender.mend(rows, on_drift="repair")) / SOME for rows in kinds]
    return *whole, *by_row


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", default=SIZES, help="reference rows x columns x mended rows")
    asked = parser.parse_args(arguments)
    print("| reference x columns, rows | fit, s | mend, s | clean, ms | overwritten, ms | missing, ms |")
    print("|---|---|---|---|---|---|")
    for size in asked.sizes:
        n_reference, n_features, n_rows = (int(number) for number in size.split("x"))
        fit, mend, *by_row = measure(n_reference, n_features, n_rows)
        shown = " | ".join(f"{value:.2f}" for value in (fit, mend, *by_row))
        print(f"| {n_reference:,} x {n_features:,}, {n_rows:,} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
