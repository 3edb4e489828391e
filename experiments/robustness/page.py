"""The page ``docs/accuracy.md``: judged figures first, then every question's table and picture.

Enters: the results folder, and ``page_template.md``, which holds the words. Leaves: one Markdown file. A place
``{{name}}`` of the template is filled by the table of that name; a section whose line ``<!-- needs: file -->`` names a
file that is not there says so instead.
"""

import json
import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from experiments.datasets import TITLES
from experiments.markdown import table
from experiments.published import TABLE_1
from experiments.recording import Settings, read_rows
from experiments.robustness import improvement, judged, sweep
from experiments.robustness.kinds import KINDS
from experiments.robustness.sets import SUBJECTS

__all__ = ["write"]

_TEMPLATE = Path(__file__).with_name("page_template.md")
_PLACE = re.compile(r"\{\{(\w+)(?: (\w+))?\}\}")
_NEEDS = re.compile(r"<!-- needs: (\S+) -->\n*")


def write(settings: Settings, target: Path) -> None:
    """Write the page; pictures are linked from where they are."""
    target.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(os.path.relpath(settings.results, target.parent)).as_posix()
    sections = re.split(r"(?m)^(?=## )", _TEMPLATE.read_text())
    target.write_text("".join(_filled(section, settings, folder) for section in sections))


def _filled(section: str, settings: Settings, folder: str) -> str:
    needed = _NEEDS.findall(section)
    if any(not (settings.results / name).exists() for name in needed):
        return f"{section.splitlines()[0]}\n\nNot run.\n\n"

    def fill(place: re.Match[str]) -> str:
        name, argument = place.groups()
        if name == "picture":
            return f"{folder}/{argument}.png"
        return "\n".join(_TABLES[name](settings))

    return _PLACE.sub(fill, _NEEDS.sub("", section))


def _judged(settings: Settings) -> Iterator[str]:
    rows = [
        (one.statement, one.asked, one.reached, "yes" if one.met else "**no**", f"`{one.command}`")
        for one in judged.figures(settings)
    ]
    return table(("figure", "asked", "reached", "met", "command"), rows)


def _runs(settings: Settings) -> Iterator[str]:
    path = settings.results / "runs.json"
    runs = json.loads(path.read_text()) if path.exists() else {}
    rows = [
        (
            f"`{name}`",
            run["seconds"],
            f"{run['processor']}, {run['cores']} cores",
            run.get("load", ""),
            f"Python {run['python']}, NumPy {run['numpy']}, Numba {run['numba']}, scikit-learn {run['scikit-learn']}",
        )
        for name, run in runs.items()
    ]
    return table(("question", "seconds", "machine", "load at the end", "versions"), rows)


def _sets(settings: Settings) -> Iterator[str]:
    """One line a set: false alarms, and means over the kinds."""
    rows = read_rows(settings.results / "sweep.csv")
    lines = []
    for name in dict.fromkeys(row["set"] for row in rows):
        ours = [cell for cell in sweep.cells(rows) if cell["set"] == name]
        theirs = [cell for cell in sweep.cells(rows, "published") if cell["set"] == name]
        possible = sweep.judged(ours)
        lines.append(
            (
                SUBJECTS[name].title,
                f"{ours[0]['false_alarms']:.3f} / {theirs[0]['false_alarms']:.3f}",
                f"{_mean(ours, 'detection')} / {_mean(theirs, 'detection')}",
                f"{_mean(ours, 'precision')} / {_mean(ours, 'recall')}",
                f"{_mean(ours, 'quality')} / {_mean(theirs, 'quality')}",
                _mean(ours, "limit"),
                _mean(possible, "share"),
            )
        )
    head = ("set", "false alarms: defaults / published", "rows found: defaults / published")
    return table(
        (
            *head,
            "attributes: precision / recall",
            "quality: defaults / published",
            "limit",
            "share of the limit (where it exceeds .3)",
        ),
        lines,
    )


def _kinds(settings: Settings) -> Iterator[str]:
    """One line a kind: means over the sets."""
    rows = read_rows(settings.results / "sweep.csv")
    lines = []
    for kind in KINDS:
        ours = [cell for cell in sweep.cells(rows) if cell["kind"] == kind]
        theirs = [cell for cell in sweep.cells(rows, "published") if cell["kind"] == kind]
        lines.append(
            (
                kind,
                f"{_mean(ours, 'detection')} / {_mean(theirs, 'detection')}",
                f"{_mean(ours, 'quality')} / {_mean(theirs, 'quality')}",
                _mean(ours, "limit"),
            )
        )
    head = ("kind", "rows found: defaults / published", "quality: defaults / published", "limit")
    return table(head, lines)


def _mean(cells: list[dict[str, float]], key: str) -> str:
    values = [cell[key] for cell in cells if not np.isnan(cell[key])]
    return f"{np.mean(values):.2f}".replace("-", "−") if values else ""


def _improvement(settings: Settings) -> Iterator[str]:
    rows = []
    for name, one in improvement.summaries(settings).items():
        dirty = (
            f"{max(one.by_method.get(f'{kind} {rate:g}', np.nan) for rate in improvement.RATES):.0f}" for kind in _DIRT
        )
        rows.append(
            (
                TITLES[name],
                f"{TABLE_1[name].clean[0].mean:.0f}",
                *(f"{one.by_method[f'clean {rate:g}']:.0f}" for rate in improvement.RATES),
                f"{one.error:.0f}",
                f"{one.limit:.0f}",
                f"{one.share_of_limit:.2f}",
                *dirty,
            )
        )
    head = ("set", "published TCS-MAP", "defaults, 5 %", "defaults, 20 %", "s.e. of the better", "limit")
    return table((*head, "share of the limit", "5 % dirty, as it is", "5 % dirty, `clean_reference=True`"), rows)


_DIRT = ("dirty", "cleaned")


def _one_table(settings: Settings) -> Iterator[str]:
    rows = read_rows(settings.results / "one_table.csv")
    lines = [
        (
            SUBJECTS[row["set"]].title,
            row["kind"],
            row["rows"],
            f"{row['quality']:.2f} / {row['quality_clean_reference']:.2f}",
            f"{row['detection']:.2f} / {row['detection_clean_reference']:.2f}",
            f"{row['false_alarms']:.3f}",
        )
        for row in rows
    ]
    head = (
        "set",
        "kind",
        "rows",
        "quality: one table / clean reference",
        "dirty rows found: one table / clean reference",
    )
    return table((*head, "clean rows touched"), lines)


def _cost(settings: Settings) -> Iterator[str]:
    rows = read_rows(settings.results / "cost.csv")
    lines = [
        (
            SUBJECTS[row["set"]].title,
            f"{row['mended']} x {row['attributes']}, {row['reference']} reference",
            f"{1e6 * row['seconds_default'] / row['mended']:.0f}",
            f"{1e6 * row['seconds_published'] / row['mended']:.0f}",
            f"{row['ratio']:.2f}",
            f"{row['ratio_same_depth']:.2f}",
            f"{row['ratio_labels']:.2f}",
            f"{row['seconds_fit']:.1f}",
        )
        for row in rows
    ]
    head = ("set", "rows", "defaults, µs a row", "published, µs a row", "ratio", "ratio at the same depth")
    return table((*head, "ratio to `as_published(...).mend`", "fit, s"), lines)


def _peers(settings: Settings, *, all_kinds: bool = False) -> Iterator[str]:
    means = judged.peer_means(settings, all_kinds=all_kinds)
    methods = list(dict.fromkeys(method for by in means.values() for method in by))
    lines = []
    for name, by in means.items():
        best = max(by.values())
        cells = (
            f"**{value:.2f}**" if value == best else f"{value:.2f}" for value in (by.get(m, np.nan) for m in methods)
        )
        lines.append((SUBJECTS[name].title, *(cell.replace("-", "−").replace("nan", "") for cell in cells)))
    return table(("set", *methods), lines)


def _real(settings: Settings) -> Iterator[str]:
    rows = read_rows(settings.results / "real.csv")
    return table(("set", "count", "value"), ((row["set"], row["count"], f"{row['value']:.3g}") for row in rows))


_TABLES: dict[str, Callable[[Settings], Iterator[str]]] = {
    "judged": _judged,
    "runs": _runs,
    "sets": _sets,
    "kinds": _kinds,
    "improvement": _improvement,
    "one_table": _one_table,
    "cost": _cost,
    "peers": _peers,
    "peers_all": partial(_peers, all_kinds=True),
    "real": _real,
}
