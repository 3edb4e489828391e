"""Kill a long ``treemend mend`` at random moments, 20 times, and see that its output is absent or complete.

Run it by hand: ``python tests/cli/kill_at_random.py``; the test suite does the same a few times.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from treemend import TreeMender


def main(n_times: int = 20) -> None:
    """Print for each time when the process was killed and what was there afterwards."""
    rng = random.Random(time.time_ns())
    reference = np.cumsum(np.random.default_rng(0).normal(size=(300, 32)), axis=1)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        TreeMender().fit(reference).save("model")
        np.save("long.npy", np.tile(reference, (200, 1)))
        command = [
            sys.executable,
            "-m",
            "treemend",
            "mend",
            "long.npy",
            "-m",
            "model",
            "-o",
            "out.npy",
            "-f",
            "-q",
            "-j",
            "1",
        ]
        begun = time.monotonic()
        subprocess.run(command, check=True)
        whole = time.monotonic() - begun
        expected = Path("out.npy").read_bytes()
        absent = complete = 0
        for _ in range(n_times):
            os.unlink("out.npy") if os.path.exists("out.npy") else None
            moment = rng.uniform(0.3, 1.05) * whole
            process = subprocess.Popen(command)
            try:
                process.wait(moment)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
            others = sorted(set(os.listdir()) - {"model", "long.npy", "out.npy"})
            there = os.path.exists("out.npy")
            assert not there or Path("out.npy").read_bytes() == expected, "a half file"
            assert not others, others
            absent, complete = absent + (not there), complete + there
            print(
                f"killed after {moment:5.2f} s of {whole:.2f} s: output {'complete' if there else 'absent'}", flush=True
            )
        print(f"{n_times} times: {absent} absent, {complete} complete, no half file")


if __name__ == "__main__":
    main()
