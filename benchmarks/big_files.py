"""Seconds and memory of the command line on files larger than its memory should be.

    python benchmarks/big_files.py [--gigabytes 2] [--kinds csv parquet] [--outputs report json mask findings]
        [--folder FOLDER]

For each kind: a file of that size is written, with one row of twenty overwritten in part; a model is fitted to 1,500
clean rows; ``treemend mend`` runs as a process of its own. Printed are the size, the seconds elapsed and of processor,
and the most memory that the process held. The exit code is 1 if that was a gigabyte or more. The files are deleted.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

_BLOCK = 16_384
_BLOCKS_IN_ROW_GROUP = 64
_LIMIT = 2**30
_ENDING = {"report": "html", "json": "json", "mask": "npy", "findings": "csv"}


def smooth_rows(rng, n_rows, width):
    """Make rows whose neighbouring attributes go together."""
    steps = rng.normal(size=(n_rows, width + 15))
    return np.lib.stride_tricks.sliding_window_view(steps, 16, axis=1).mean(axis=2) * 4


def suspect_rows(rng, n_rows, width):
    """Make such rows, a quarter of one in twenty overwritten."""
    rows = smooth_rows(rng, n_rows, width)
    for row in rows[::20]:
        begin = rng.integers(0, width - width // 4)
        row[begin : begin + width // 4] = rng.uniform(-3, 3, width // 4)
    return rows


def write_csv(path, rows, size):
    """Write the rows again and again, until the file has its size; return how many."""
    block = "\n".join(",".join(map(repr, row)) for row in rows.tolist()) + "\n"
    n_blocks = -(-size // len(block))
    with open(path, "w") as file:
        file.write(",".join(f"s{column}" for column in range(rows.shape[1])) + "\n")
        file.writelines(block for _ in range(n_blocks))
    return n_blocks * len(rows)


def write_parquet(path, rows, size):
    """Write the rows again and again, in row groups of a million rows, as pyarrow does; return how many."""
    names = [f"s{column}" for column in range(rows.shape[1])]
    block = pa.table(dict(zip(names, np.ascontiguousarray(rows.T), strict=True)))
    n_blocks = left = -(-size // rows.nbytes)
    with pq.ParquetWriter(path, block.schema, use_dictionary=False, compression="none") as file:
        while left > 0:
            group = pa.concat_tables([block] * min(left, _BLOCKS_IN_ROW_GROUP))
            file.write_table(group, row_group_size=len(group))
            left -= _BLOCKS_IN_ROW_GROUP
    return n_blocks * len(rows)


WRITERS = {"csv": write_csv, "parquet": write_parquet}


def run(arguments):
    """Run a command; return its seconds, elapsed and of processor, and the most memory it held, in bytes."""
    begun = time.monotonic()
    process = subprocess.Popen([sys.executable, "-m", "treemend", *map(str, arguments)])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(process.returncode)
    elapsed, processor = time.monotonic() - begun, usage.ru_utime + usage.ru_stime
    return elapsed, processor, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--kinds", nargs="+", choices=WRITERS, default=list(WRITERS))
    parser.add_argument("--outputs", nargs="*", choices=_ENDING, default=[])
    parser.add_argument("--attributes", type=int, default=48)
    parser.add_argument("--reference", type=int, default=1_500)
    parser.add_argument("--folder", help="where there is room for two such files")
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    clean = smooth_rows(rng, given.reference, given.attributes)
    suspects = suspect_rows(rng, _BLOCK, given.attributes)
    most = 0
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        model = folder / "model.safetensors"
        write_csv(folder / "clean.csv", clean, 1)
        run(["fit", folder / "clean.csv", "-o", model])
        for kind in given.kinds:
            big, out = folder / f"big.{kind}", folder / f"out.{kind}"
            n_rows = WRITERS[kind](big, suspects, int(given.gigabytes * 1e9))
            more = [text for output in given.outputs for text in (f"--{output}", folder / f"{kind}.{_ENDING[output]}")]
            seconds, processor, peak = run(["mend", big, "-m", model, "-o", out, *more])
            n_bytes = big.stat().st_size
            print(
                f"{kind}: {n_bytes / 1e9:.2f} GB, {n_rows:,} rows x {given.attributes}, mended in {seconds:,.0f} s "
                f"({processor:,.0f} s of processor, {n_rows / processor:,.0f} rows in each), "
                f"at most {peak / 2**20:,.0f} MiB of memory",
                flush=True,
            )
            most = max(most, peak)
            big.unlink()
            out.unlink()
    sys.exit(most >= _LIMIT)


if __name__ == "__main__":
    main()
