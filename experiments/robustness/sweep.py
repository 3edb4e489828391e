"""Six kinds of corruption x fifteen sets: what is found, what is touched for nothing, how near repair comes.

`compute` leaves ``sweep.csv``: one row for each set, split, kind and method ("default", "published", and "limit", which
knows the true masks). `draw` leaves ``sweep.png``.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from experiments.drawing import new_figure, save
from experiments.recording import Row, Settings, Work, read_rows
from experiments.robustness.cases import Case, draw_case
from experiments.robustness.kinds import KINDS
from experiments.robustness.measures import limit_repair, measure, measure_case
from experiments.robustness.menders import default, judge_and_repair, published
from experiments.robustness.sets import SUBJECTS, obtainable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["LEAST_LIMIT", "cells", "compute", "draw", "false_alarms", "judged"]

LEAST_LIMIT = 0.3
"""Where even the limit's quality is at most this, repair is hardly possible, and the cell is not judged."""
_QUICK = ("digits", "digits_squares")


def compute(settings: Settings) -> None:
    """Measure every set that can be had, and say which cannot."""
    names = obtainable(_QUICK if settings.quick else SUBJECTS, settings.data)
    pieces = {
        f"{name} {split}": partial(_split, name, split, settings)
        for name in names
        for split in range(1 if settings.quick else SUBJECTS[name].splits)
    }
    work = Work("sweep", settings, len(pieces))
    work.do(pieces)
    work.finish()


def _split(name: str, split: int, settings: Settings) -> Iterator[Row]:
    case = draw_case(name, split, settings.data, seed=settings.seed, quick=settings.quick)
    grid = case.subject.grid
    menders = {"default": default(grid), "published": published(grid)}
    here = {"set": name, "split": split, "rows": case.fingerprint}
    for method, mender in menders.items():
        mender.fit(case.reference)
        for row in measure_case(case, method, partial(judge_and_repair, mender)):
            yield here | row
    for row in _limit(case):
        yield here | row


def _limit(case: Case) -> Iterator[Row]:
    untouched = np.zeros(len(case.fresh), dtype=bool)
    for kind, rows in case.corrupted.items():
        repaired = limit_repair(case.reference, rows, case.masks)
        yield {"kind": kind, "method": "limit", **measure(case, kind, untouched, case.masks, repaired)}


def cells(rows: Sequence[Row], method: str = "default") -> list[Row]:
    """Return one row for each set and kind: the splits' means of a method, with the limit's quality beside."""
    found = []
    for name in dict.fromkeys(row["set"] for row in rows):
        for kind in KINDS:
            own = [row for row in rows if row["set"] == name and row["kind"] == kind]
            figures = _means([row for row in own if row["method"] == method])
            limit = _means([row for row in own if row["method"] == "limit"])["quality"]
            found.append({"set": name, "kind": kind, **figures, "limit": limit, "share": figures["quality"] / limit})
    return found


def false_alarms(rows: Sequence[Row], method: str = "default") -> dict[str, float]:
    """Return each set's share of clean rows that were touched; all kinds have the same clean rows."""
    own = [cell for cell in cells(rows, method) if cell["kind"] == KINDS[0]]
    return {cell["set"]: cell["false_alarms"] for cell in own}


def judged(found: Sequence[Row]) -> list[Row]:
    """Return the cells in which repair is possible at all."""
    return [cell for cell in found if cell["limit"] > LEAST_LIMIT]


def draw(settings: Settings) -> None:
    """Draw the share of the limit and the detection, sets x kinds, for the defaults and the published search."""
    rows = read_rows(settings.results / "sweep.csv")
    names = list(dict.fromkeys(row["set"] for row in rows))
    figure, axes = new_figure(11, 0.36 * len(names) + 1.6, columns=3)
    panels = (
        ("repair: share of the limit, defaults", "default", "share"),
        ("rows found, defaults", "default", "detection"),
        ("rows found, published search", "published", "detection"),
    )
    for ax, (title, method, key) in zip(axes, panels, strict=True):
        _heat_map(ax, cells(rows, method), names, key)
        ax.set_title(title, fontsize=10)
    for ax in axes[1:]:
        ax.set_yticklabels([])
    save(figure, settings.results / "sweep.png")


def _heat_map(ax: "Axes", found: Sequence[Row], names: Sequence[str], key: str) -> None:
    values = np.array([[_cell(found, name, kind)[key] for kind in KINDS] for name in names])
    ax.imshow(np.clip(values, 0, 1), cmap="cividis", vmin=0, vmax=1, aspect="auto")
    for line, name in enumerate(names):
        for column, kind in enumerate(KINDS):
            open_to_judge = _cell(found, name, kind)["limit"] > LEAST_LIMIT
            shade = "black" if values[line, column] > 0.55 else "white"
            text = f"{values[line, column]:.2f}" if open_to_judge or key != "share" else "\u2013"
            ax.text(column, line, text, ha="center", va="center", color=shade, fontsize=7)
    ax.set_xticks(range(len(KINDS)), KINDS, fontsize=8)
    ax.set_yticks(range(len(names)), [SUBJECTS[name].title for name in names], fontsize=8)


def _cell(found: Sequence[Row], name: str, kind: str) -> Row:
    return next(cell for cell in found if cell["set"] == name and cell["kind"] == kind)


def _means(rows: Sequence[Row]) -> Row:
    """Return means over splits; precision counts only where something was found."""
    means = {}
    for key in ("false_alarms", "detection", "precision", "recall", "quality"):
        known = [row[key] for row in rows if not np.isnan(row[key])]
        means[key] = float(np.mean(known)) if known else float("nan")
    return means
