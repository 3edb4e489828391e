"""One table, a fifth of its rows dirty, nobody knows which: `treemend.mend` against a mender with a clean reference.

`compute` leaves ``one_table.csv``: one row for each set, split and kind (uniform noise, zero), with the distance
quality on the dirty rows that the one table gives and that its clean rows give as a reference, and the share of clean
rows touched. There is nothing to draw.
"""

import sys
from collections.abc import Iterator
from functools import partial

import numpy as np

import treemend
from experiments.recording import Row, Settings, Work
from experiments.robustness.cases import draw_case
from experiments.robustness.measures import distance_quality
from experiments.robustness.menders import default
from experiments.robustness.sets import SUBJECTS, obtainable

__all__ = ["compute", "draw", "possible"]

DIRTY_SHARE = 0.2
_KINDS = ("noise", "zero")
_QUICK = ("digits",)


def possible() -> bool:
    """Tell whether this version mends one table by itself."""
    return "mend" in treemend.__all__


def compute(settings: Settings) -> None:
    """Measure every set that can be had."""
    if not possible():
        print("one_table: not run, this version of treemend has no mend(table).", file=sys.stderr)
        return
    names = obtainable(_QUICK if settings.quick else SUBJECTS, settings.data)
    work = Work("one_table", settings, len(names))
    work.do({name: partial(_set, name, settings) for name in names})
    work.finish()


def draw(settings: Settings) -> None:
    """Draw nothing: two columns of a table say it all."""


def _set(name: str, settings: Settings) -> Iterator[Row]:
    case = draw_case(name, 0, settings.data, seed=settings.seed, quick=settings.quick)
    grid = case.subject.grid
    n_clean = min(len(case.reference), int(len(case.true) * (1 - DIRTY_SHARE) / DIRTY_SHARE))
    n_dirty = int(n_clean * DIRTY_SHARE / (1 - DIRTY_SHARE))
    reference, true = case.reference[:n_clean], case.true[:n_dirty]
    order = np.random.default_rng([settings.seed, 1]).permutation(n_clean + n_dirty)
    back = np.argsort(order)
    by_clean = default(grid).fit(reference)
    for kind in _KINDS:
        dirty = case.corrupted[kind][:n_dirty]
        changed = np.any(dirty != true, axis=1)
        table = np.vstack([reference, dirty])[order]
        mended = treemend.mend(table, layout=grid or "sequence")
        repaired, touched = np.asarray(mended.repaired)[back], np.asarray(mended.corrupted)[back]
        with_clean = by_clean.mend(dirty)

        def quality(rows: np.ndarray, dirty: np.ndarray = dirty, changed: np.ndarray = changed) -> float:
            return float(np.mean(distance_quality(true[changed], dirty[changed], rows[changed])))

        yield {
            "set": name,
            "kind": kind,
            "rows": len(table),
            "quality": quality(repaired[n_clean:]),
            "quality_clean_reference": quality(np.asarray(with_clean.repaired)),
            "detection": float(np.mean(touched[n_clean:][changed])),
            "detection_clean_reference": float(np.mean(with_clean.corrupted[changed])),
            "false_alarms": float(np.mean(touched[:n_clean])),
        }
