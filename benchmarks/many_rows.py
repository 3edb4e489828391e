"""Many rows, busy machines and first calls.

    python -m benchmarks.many_rows [--table 500000] [--rows 1000000]

Printed are: `treemend.mend` of a table of 10 columns; mending of rows of 64 columns in one call, with the memory that
the process held beyond its rows; a fit of 2,000 x 256 as installed and with one BLAS thread, while a process keeps each
core busy; and, in processes of their own, `import treemend` and the first mend after it with compiled kernels at hand.
Seconds are of processor / elapsed.
"""

import argparse
import os
import resource
import subprocess
import sys
import time

import numpy as np
from benchmarks.end_to_end import ONE_THREAD, data, overwritten, seconds, shown, walks

import treemend

FIT = "from treemend import Mender; from benchmarks.end_to_end import data; rows = data('2000x256x1')[0]"
FIRST = "import numpy; rows = numpy.random.default_rng(0).normal(size=(60, 8))"
TASKS = {
    "fit of 2,000 x 256, every core busy, as installed": (f"{FIT}; Mender().fit(rows[:100])", "Mender().fit(rows)"),
    "the same with one BLAS thread": (f"{FIT}; Mender().fit(rows[:100])", "Mender().fit(rows)"),
    "import": ("pass", "import treemend"),
    "first fit and mend after import": (f"{FIRST}; import treemend", "treemend.Mender().fit(rows).mend(rows)"),
}


def in_own_process(before, work, environment):
    """Return the seconds of some work in a process of its own."""
    code = f"import time; {before}; begun = time.process_time(), time.perf_counter(); {work}"
    code += "; print(time.process_time() - begun[0], time.perf_counter() - begun[1])"
    told = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
    return [float(number) for number in told.stdout.split()]


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", type=int, default=500_000, help="rows of the table of 10 columns")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of 64 columns")
    asked = parser.parse_args(arguments)
    reference, suspects = data(f"2000x64x{asked.rows}")
    mender = treemend.Mender().fit(reference)
    mender.mend(suspects[:100], on_drift="repair")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    taken = seconds(lambda: mender.mend(suspects))
    beyond = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"{asked.rows:,} x 64 mended: {shown(taken)} s, {beyond:.0f} MB more than before", flush=True)
    rng = np.random.default_rng(0)
    table = walks(rng, asked.table, 10)
    table[::20] = overwritten(rng, table[::20])
    print(f"treemend.mend of {asked.table:,} x 10: {shown(seconds(lambda: treemend.mend(table)))} s", flush=True)
    for what, (prepared, work) in TASKS.items():
        n_busy = os.cpu_count() if FIT in prepared else 0
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n_busy)]
        try:
            environment = os.environ | (ONE_THREAD if "one BLAS" in what else {})
            in_own_process(prepared, work, environment)
            time.sleep(0.5)
            print(f"{what}: {shown(in_own_process(prepared, work, environment))} s", flush=True)
        finally:
            for process in busy:
                process.kill()


if __name__ == "__main__":
    main()
