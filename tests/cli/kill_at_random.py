"""Kill a long ``treemend mend`` at random moments, 20 times, and see that each output is absent or complete.

Run it by hand: ``python tests/cli/kill_at_random.py``; the test suite does the same a few times.
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from treemend import Mender

OUTPUTS = ("out.npy", "mask.npy", "findings.csv", "report.html", "found.json")
COMMAND = (
    "mend long.npy -m model -o out.npy --mask mask.npy --findings findings.csv --report report.html --json found.json "
    "-f -q -j 1"
)


def told(name):
    """Return what stands in an output, without the seconds, which differ from run to run."""
    content = Path(name).read_bytes()
    return json.loads(content) | {"seconds": 0} if name.endswith(".json") else content


def main(n_times: int = 20) -> None:
    """Print for each time when the process was killed and what was there afterwards."""
    rng = random.Random(time.time_ns())
    reference = np.cumsum(np.random.default_rng(0).normal(size=(300, 32)), axis=1)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Mender().fit(reference).save("model")
        np.save("long.npy", np.tile(reference, (200, 1)))
        command = [sys.executable, "-m", "treemend", *COMMAND.split()]
        # The first time kernels may have to be compiled, and moments would be drawn from far too long a time.
        subprocess.run(command, check=True)
        begun = time.monotonic()
        subprocess.run(command, check=True)
        whole = time.monotonic() - begun
        expected = {name: told(name) for name in OUTPUTS}
        n_complete = 0
        for _ in range(n_times):
            for name in OUTPUTS:
                Path(name).unlink(missing_ok=True)
            moment = rng.uniform(0.3, 1.05) * whole
            begun = time.monotonic()
            process = subprocess.Popen(command)
            try:
                process.wait(moment)
                whole = time.monotonic() - begun
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
            there = [name for name in OUTPUTS if os.path.exists(name)]
            others = sorted(set(os.listdir()) - {"model", "long.npy", *OUTPUTS})
            assert all(told(name) == expected[name] for name in there), "a half file"
            assert "out.npy" not in there or len(there) == len(OUTPUTS), "rows without their report"
            assert not others, others
            n_complete += "out.npy" in there
            print(f"killed after {moment:5.2f} s of {whole:.2f} s: {', '.join(there) or 'nothing'} there", flush=True)
        print(f"{n_times} times: {n_times - n_complete} absent, {n_complete} complete, no half file")


if __name__ == "__main__":
    main()
