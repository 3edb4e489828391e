import resource
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.conftest import NAMES

pytestmark = pytest.mark.slow

CODE = """
import resource, sys
from treemend.cli.errors import run
from treemend.files import arrow, csv
arrow.CELLS_IN_BATCH = 100_000
csv.BLOCK_BYTES = 2**20
model, small, large = sys.argv[1:]
peaks = []
for name in (small, large):
    assert run(["mend", name, "-m", model, "-o", f"out.{name}", "--json", f"{name}.json", "-q", "-j", "1"]) == 0
    peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
print(peaks[1] - peaks[0])
"""


def write(name, n_times):
    """Clean rows again and again, of 128 bytes in Parquet (one row group) and about 300 in CSV."""
    rows = np.tile(np.loadtxt("clean.csv", delimiter=",", skiprows=1), (32, 1))
    if name.endswith(".csv"):
        block = "\n".join(",".join(map(repr, row)) for row in rows.tolist()) + "\n"
        with open(name, "w") as file:
            file.write(",".join(NAMES) + "\n")
            file.writelines(block for _ in range(n_times))
    else:
        table = pa.table({column: np.tile(rows[:, place], n_times) for place, column in enumerate(NAMES)})
        pq.write_table(table, name, row_group_size=10**9, use_dictionary=False, compression="none")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_memory_does_not_grow_with_the_file(ending, model):
    """After a file of some batches, one of 40 MB takes hardly more: neither its rows nor what was found is held."""
    write(f"small.{ending}", 4)
    write(f"large.{ending}", 50 if ending == "parquet" else 20)
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(model), f"small.{ending}", f"large.{ending}"],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)),
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 20_000, "kB"
