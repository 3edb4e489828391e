"""The page ``docs/accuracy.md``: judged figures first, then every question's tables.

The words are in ``page_template.md``. A place ``{{tables question}}`` is filled by that question's tables,
``{{held_out}}`` by the held-out sets' figures; a section whose question was not run says so instead.
"""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

from experiments.markdown import table, write_sections
from experiments.recording import Row
from experiments.robustness import (
    classifier,
    clean_rate,
    cost,
    coverage,
    drift,
    fdr,
    grids,
    improvement,
    missing,
    moved,
    on_lattice,
    one_stretch,
    one_table,
    peers,
    real,
    scattered,
    several_stretches,
    shuffled,
    told_kinds,
    typos,
    wide,
)
from experiments.robustness.settings import Settings, earlier_rows, held_out_rows, rows_of
from experiments.robustness.summaries import Figure

__all__ = ["QUESTIONS", "write"]

QUESTIONS: dict[str, ModuleType] = {
    module.__name__.rpartition(".")[2]: module
    for module in (
        one_stretch,
        several_stretches,
        scattered,
        grids,
        shuffled,
        on_lattice,
        typos,
        wide,
        missing,
        classifier,
        improvement,
        one_table,
        clean_rate,
        fdr,
        moved,
        drift,
        coverage,
        told_kinds,
        cost,
        real,
    )
}
_TEMPLATE = Path(__file__).with_name("page_template.md")
_PLACE = re.compile(r"\{\{(\w+)(?: (\w+))?\}\}")


def write(settings: Settings, target: Path) -> None:
    """Write the page; pictures are linked from where they are."""
    write_sections(_TEMPLATE, target, settings.results, lambda section, folder: _filled(section, settings, folder))


def _filled(section: str, settings: Settings, folder: str) -> str:
    needed = [argument for name, argument in _PLACE.findall(section) if name == "tables"]
    if any(not rows_of(name, settings.results) for name in needed):
        return f"{section.splitlines()[0]}\n\nNot run.\n\n"

    def fill(place: re.Match[str]) -> str:
        name, argument = place.groups()
        if name == "picture":
            return f"{folder}/{argument}.png"
        return "\n".join(_PARTS[name](settings, argument)).rstrip()

    return _PLACE.sub(fill, section)


def _tables(settings: Settings, question: str) -> Iterator[str]:
    now, before = rows_of(question, settings.results), earlier_rows(question, settings.results)
    return _ask(QUESTIONS[question].tables, question, now, before, settings)


def _figures(rows: Sequence[Row], before: Sequence[Row], question: str, settings: Settings) -> list[Figure]:
    return list(_ask(QUESTIONS[question].figures, question, rows, before, settings)) if rows else []


def _ask(function: object, question: str, now: Sequence[Row], before: Sequence[Row], settings: Settings) -> Iterator:
    """Call a question's function, with the peers' results if it compares with them itself.

    Of the earlier results only sets count that have results now, so that means are over the same sets.
    """
    sets = {row.get("set") for row in now}
    before = [row for row in before if row.get("set") in sets]
    more = {"peers": rows_of("peers_missing", settings.results)} if question == "missing" else {}
    return function(now, before, **more)  # type: ignore[operator]


def _judged(settings: Settings, _: str) -> Iterator[str]:
    found = []
    for name in QUESTIONS:
        rows, before = rows_of(name, settings.results), earlier_rows(name, settings.results)
        found += _figures(rows, before, name, settings)
    found += peers.figures(settings.results)
    return _listed(found)


def _held_out(settings: Settings, _: str) -> Iterator[str]:
    found = [
        figure
        for name in QUESTIONS
        if name != "missing"
        for figure in _figures(held_out_rows(name, settings.results), [], name, settings)
    ]
    if not found:
        return iter(["Not looked at yet."])
    return _listed(found)


def _listed(found: Sequence[Figure]) -> Iterator[str]:
    head = ("figure", "asked", "reached", "met", "earlier", "`make robustness ONLY=`")
    rows = [
        (one.statement, one.asked, one.reached, "yes" if one.met else "**no**", one.earlier, f"`{one.question}`")
        for one in found
    ]
    return table(head, rows)


def _runs(settings: Settings, _: str) -> Iterator[str]:
    path = settings.results / "runs.json"
    runs = json.loads(path.read_text()) if path.exists() else {}
    rows = [
        (
            f"`{name}`",
            *_extent(rows_of(name, settings.results)),
            run["seconds"],
            f"{run['processor']}, {run['cores']} cores",
            run.get("load", ""),
            f"Python {run['python']}, NumPy {run['numpy']}, Numba {run['numba']}, scikit-learn {run['scikit-learn']}",
        )
        for name, run in runs.items()
        if name in QUESTIONS
    ]
    return table(("question", "sets", "repetitions", "seconds", "machine", "load at the end", "versions"), rows)


def _extent(rows: Sequence[Row]) -> tuple[int, int]:
    """Return the numbers of sets, or kinds of data, and of splits or repetitions that a question was run on."""
    sets = {row.get("set", row.get("kind")) for row in rows}
    return len(sets), len({row.get("split", row.get("number", 0)) for row in rows})


_PARTS = {
    "judged": _judged,
    "tables": _tables,
    "held_out": _held_out,
    "peers": lambda settings, _: peers.tables(settings.results),
    "runs": _runs,
}
