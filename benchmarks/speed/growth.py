"""How the time grows with reference rows, attributes, rows, depth and threads; and what computing pairs once saves.

    python benchmarks/speed/growth.py

Writes ``benchmarks/speed/results/growth.csv`` and ``docs/pictures/growth.png``. One quantity at a time is varied from a
middle setting; the shortest of interleaved rounds counts. Processor time, summed over threads, is what other work on
the machine disturbs least; for the number of threads the elapsed time is what matters.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import os
import time
from collections.abc import Callable
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402

from treemend import kernels  # noqa: E402
from treemend.tree import build_tree, lay_out  # noqa: E402

ROOT = Path(__file__).parents[2]
MIDDLE = {"reference rows": 2000, "attributes": 128, "rows": 256, "depth": 5, "threads": 2}
VARIED = {
    "reference rows": (250, 500, 1000, 2000, 4000, 8000),
    "attributes": (32, 64, 128, 256, 512),
    "rows": (16, 64, 256, 1024),
    "depth": (2, 3, 4, 5, 6, 7),
    "threads": (1, 2),
}
PAIR_ROWS = (500, 1000, 2000, 4000)
N_NEIGHBORS = 8
ALPHAS = (1.0, 0.75)
FIELDS = ("task", "varied", *MIDDLE, "seconds elapsed", "seconds of processor")


def smooth_rows(generator: np.random.Generator, n_rows: int, width: int) -> np.ndarray:
    """Rows whose neighbouring attributes go together, every attribute in about the same range."""
    steps = generator.normal(size=(n_rows, width + 15))
    return np.lib.stride_tricks.sliding_window_view(steps, 16, axis=1).mean(axis=2) * 4


def packed_reference(setting: dict[str, int], alpha: float) -> kernels.PackedReference:
    tree = build_tree(lay_out("sequence", setting["attributes"]), setting["depth"])
    generator = np.random.default_rng(0)
    return kernels.pack(smooth_rows(generator, setting["reference rows"], setting["attributes"]), tree, alpha)


def scanning(setting: dict[str, int], alpha: float) -> Callable[[], object]:
    packed = packed_reference(setting, alpha)
    rows = smooth_rows(np.random.default_rng(1), setting["rows"], setting["attributes"])
    return lambda: kernels.node_radii(packed, rows, N_NEIGHBORS, n_jobs=setting["threads"])


def leaving_out(setting: dict[str, int], bytes_of_lists: int) -> Callable[[], object]:
    packed = packed_reference(setting, 0.75)
    return lambda: kernels.left_out_radii(packed, N_NEIGHBORS, n_jobs=setting["threads"], memory=bytes_of_lists)


def tasks() -> dict[tuple[str, str, tuple[int, ...]], Callable[[], object]]:
    found = {}
    for (varied, sizes), alpha in itertools.product(VARIED.items(), ALPHAS):
        for size in sizes:
            setting = {**MIDDLE, varied: size}
            found[f"alpha {alpha:g}", varied, tuple(setting.values())] = scanning(setting, alpha)
    for n_rows, (name, room) in itertools.product(PAIR_ROWS, {"once": 2**30, "twice": 0}.items()):
        setting = {**MIDDLE, "reference rows": n_rows, "rows": n_rows}
        key = f"left out, alpha 0.75, pairs {name}", "reference rows", tuple(setting.values())
        found[key] = leaving_out(setting, room)
    return found


def measured(rounds: int) -> list[tuple[object, ...]]:
    every = tasks()
    best = dict.fromkeys(every, (np.inf, np.inf))
    for task in every.values():
        task()
    for _, (key, task) in itertools.product(range(rounds), every.items()):
        elapsed, processor = time.perf_counter(), time.process_time()
        task()
        elapsed, processor = time.perf_counter() - elapsed, time.process_time() - processor
        best[key] = min(best[key][0], elapsed), min(best[key][1], processor)
    return [(task, varied, *setting, *times) for (task, varied, setting), times in best.items()]


def draw(lines: list[tuple[object, ...]], path: Path) -> None:
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator

    figure = Figure(figsize=(13, 6.5), layout="constrained")
    axes = figure.subplots(2, 3).ravel()
    for axis, varied in zip(axes, VARIED, strict=False):
        column, seconds = FIELDS.index(varied), -2 if varied == "threads" else -1
        for name in (f"alpha {alpha:g}" for alpha in ALPHAS):
            points = [(line[column], line[seconds]) for line in lines if line[:2] == (name, varied)]
            axis.plot(*zip(*points, strict=True), marker="o", label=name)
        axis.set(xlabel=varied, ylabel=FIELDS[seconds])
        if varied in ("depth", "threads"):
            axis.set(ylim=(0, None), xticks=VARIED[varied])
        else:
            axis.set(xscale="log", yscale="log", xticks=VARIED[varied])
            axis.set_xticklabels([str(size) for size in VARIED[varied]])
            axis.minorticks_off()
            axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.yaxis.set_major_formatter("{x:g}")
    axes[0].legend()
    for name in ("once", "twice"):
        task = f"left out, alpha 0.75, pairs {name}"
        points = [(line[2], line[-1]) for line in lines if line[0] == task]
        axes[-1].plot(*zip(*points, strict=True), marker="o", label=f"each pair {name}")
    axes[-1].set(xlabel="reference rows, all left out once (alpha 0.75)", ylabel=FIELDS[-1], ylim=(0, None))
    axes[-1].legend()
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    lines = measured(parser.parse_args().rounds)
    results = Path(__file__).parent / "results" / "growth.csv"
    results.parent.mkdir(exist_ok=True)
    with results.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FIELDS)
        for *setting, elapsed, processor in lines:
            writer.writerow([*setting, f"{elapsed:.4f}", f"{processor:.4f}"])
            print(", ".join(str(each) for each in setting), f"{elapsed:.4f} {processor:.4f}")
    draw(lines, ROOT / "docs" / "pictures" / "growth.png")


if __name__ == "__main__":
    main()
