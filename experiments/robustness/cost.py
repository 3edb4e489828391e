"""What the defaults cost: mending against the published search on the same rows, in one run, as a ratio.

Half of the rows are clean, the others have uniform noise. `compute` leaves ``cost.csv``: the best of some interleaved
rounds of each, in seconds, and their ratios. The published search scores all nodes of all rows, as in the paper's
experiments (depth 4, 6 for USPS; alpha .75), and once more with the depth that the defaults have. Beside it stands
``TreeMender.as_published(...).mend``, which looks only where a threshold decides, and fills by MAP. Nothing is drawn.
"""

import time
from collections.abc import Iterator

import numpy as np

from experiments.recording import Row, Settings, Work
from experiments.robustness.cases import draw_case
from experiments.robustness.menders import default, published_depth
from experiments.robustness.sets import obtainable
from treemend import TreeMender

__all__ = ["compute", "draw"]

_SETS = ("digits", "image", "wdbc", "spambase", "bci", "gas_drift", "g241c", "usps01")
_ROUNDS = 15
_TAU = 0.016


def compute(settings: Settings) -> None:
    """Time every set that can be had."""
    names = obtainable(_SETS[:1] if settings.quick else _SETS, settings.data)
    work = Work("cost", settings, 1)
    # One piece, so that nothing else of this run is on the machine meanwhile.
    work.do({"all": lambda: [row for name in names for row in _set(name, settings)]})
    work.finish()


def draw(settings: Settings) -> None:
    """Draw nothing."""


def _set(name: str, settings: Settings) -> Iterator[Row]:
    case = draw_case(name, 0, settings.data, seed=settings.seed, quick=settings.quick)
    grid = case.subject.grid
    rows = np.vstack([case.clean, case.corrupted["noise"]])
    start = time.perf_counter()
    ours = default(grid).fit(case.reference)
    fitting = time.perf_counter() - start
    same_depth = int(ours.tree_.height)
    menders = {
        "default": ours,
        "published": TreeMender.as_published(_TAU, depth=published_depth(grid)).fit(case.reference),
        "published_same_depth": TreeMender.as_published(_TAU, depth=same_depth).fit(case.reference),
    }
    tasks = {
        "default": menders["default"].mend,
        "published": menders["published"].score_nodes,
        "published_same_depth": menders["published_same_depth"].score_nodes,
        "published_labels": menders["published"].mend,
    }
    seconds = dict.fromkeys(tasks, np.inf)
    for _ in range(2 if settings.quick else _ROUNDS):
        for title, task in tasks.items():
            start = time.perf_counter()
            task(rows)
            seconds[title] = min(seconds[title], time.perf_counter() - start)
    yield {
        "set": name,
        "reference": len(case.reference),
        "attributes": rows.shape[1],
        "mended": len(rows),
        "seconds_fit": fitting,
        **{f"seconds_{title}": float(value) for title, value in seconds.items()},
        "ratio": seconds["default"] / seconds["published"],
        "ratio_same_depth": seconds["default"] / seconds["published_same_depth"],
        "ratio_labels": seconds["default"] / seconds["published_labels"],
    }
