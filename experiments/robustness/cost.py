"""What the defaults cost: fitting, and mending clean rows, rows with a stretch of noise, and rows with gaps.

Beside it the published search, which scores all nodes of all rows (depth 4, 6 for USPS; alpha .75). The best of some
interleaved rounds in one run, in processor time, so that ratios are comparable.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from experiments.markdown import table
from experiments.recording import Row, Work
from experiments.robustness.cases import draw_rows
from experiments.robustness.menders import build, mend, quietly
from experiments.robustness.one_stretch import damages_of_one_stretch
from experiments.robustness.sets import obtainable
from experiments.robustness.settings import Settings
from experiments.robustness.summaries import Figure, number, titled

__all__ = ["compute", "figures", "tables"]

_SETS = ("digits", "image", "wdbc", "spambase", "gas_drift", "g241c", "usps01", "bci")
_ROUNDS = 10
_TAU = 0.016


def compute(settings: Settings) -> None:
    """Time every set that can be had."""
    names = obtainable(_SETS[:1] if settings.quick else _SETS, settings)
    work = Work("cost", settings, 1)
    # One piece, so that nothing else of this run is on the machine meanwhile.
    work.do({"all": lambda: [_set(name, settings) for name in names]})
    work.finish()


def _set(name: str, settings: Settings) -> Row:
    drawn = draw_rows(name, 0, settings)
    (damage,) = damages_of_one_stretch(drawn, ("noise",))
    started = time.process_time()
    mender = build(settings, drawn.grid).fit(drawn.reference)
    fit = time.process_time() - started
    gaps = np.where(damage.masks, np.nan, drawn.true)
    tasks: dict[str, Callable[[], Any]] = {
        "clean": partial(mend, mender, drawn.true),
        "corrupted": partial(mend, mender, damage.corrupted),
        "gaps": partial(mend, mender, gaps),
    }
    published = _published(drawn.grid, drawn.reference)
    if published is not None:
        tasks["published"] = partial(published.score_nodes, damage.corrupted)
    best = dict.fromkeys(tasks, np.inf)
    with quietly():
        for _ in range(2 if settings.quick else _ROUNDS):
            for title, task in tasks.items():
                started = time.process_time()
                task()
                best[title] = min(best[title], time.process_time() - started)
    return {
        "set": name,
        "reference": len(drawn.reference),
        "columns": drawn.true.shape[1],
        "seconds_fit": fit,
        **{f"us_{title}": 1e6 * seconds / len(drawn.true) for title, seconds in best.items()},
    }


def _published(grid: tuple[int, int] | None, reference: np.ndarray) -> Any:
    """Return the published method, fitted; None for a package that does not have it as a class of its own."""
    method = getattr(import_module("treemend"), "TCS", None)
    depth = 6 if grid and grid[0] * grid[1] >= 256 else 4
    return None if method is None else method(tau=_TAU, depth=depth).fit(reference)


def figures(rows: Sequence[Row], earlier: Sequence[Row]) -> Iterator[Figure]:
    """Yield nothing: bounds of cost are with the benchmarks of speed."""
    del rows, earlier
    yield from ()


def tables(rows: Sequence[Row], earlier: Sequence[Row]) -> Iterator[str]:
    """Yield processor time by set, the earlier version's in brackets."""
    before = {row["set"]: row for row in earlier}
    columns = ("seconds_fit", "us_clean", "us_corrupted", "us_gaps", "us_published")

    def cell(row: Row, column: str) -> str:
        value, old = row.get(column, ""), before.get(row["set"], {}).get(column, "")
        text = "" if value == "" else number(value, 0 if column.startswith("us") else 2)
        return text + (f" ({number(old, 0 if column.startswith('us') else 2)})" if old != "" else "")

    lines = [
        (titled(row["set"]), f"{row['reference']} x {row['columns']}", *(cell(row, column) for column in columns))
        for row in rows
    ]
    head = ("set", "reference", "fit, s", "a clean row, µs", "a corrupted row, µs", "a row with gaps, µs")
    return table((*head, "published search, µs a row"), lines)
