"""Table 1's tables on the page: both halves beside the published ones, accuracies, and the readings compared.

Words of the template that stand for stretches are *literal*, 10 to 50 % of the attributes, and *milder*, 10 to 30 %.
"""

from collections.abc import Iterator

import numpy as np

from experiments.datasets import TITLES
from experiments.markdown import signed, table
from experiments.published import METHODS, TABLE_1, WITHIN_STANDARD_ERRORS
from experiments.readings import LITERAL, MAIN, MILDER, READINGS
from experiments.recording import Row, Settings, read_rows

__all__ = [
    "accuracies",
    "agreement",
    "before_repair",
    "clean_half",
    "counts",
    "five_percent_half",
    "methods",
    "readings",
    "repeats",
    "verdict",
]

_LONGEST = {"literal": LITERAL, "milder": MILDER}
_READINGS = "table_1_readings.csv"
_TITLES = {LITERAL: "10 to 50 %", MILDER: "10 to 30 %"}
_HALVES = {"clean": "clean_difference", "5 %": "five_percent_difference"}


def clean_half(settings: Settings, stretches: str) -> Iterator[str]:
    """Yield the half of the table with a clean reference."""
    return _half(settings, _LONGEST[stretches], "clean")


def five_percent_half(settings: Settings, stretches: str) -> Iterator[str]:
    """Yield the half of the table with 5 % of the reference rows corrupted."""
    return _half(settings, _LONGEST[stretches], "5 %")


def verdict(settings: Settings, name: str) -> Iterator[str]:
    """Yield for one set whether both halves agree, by the text's stretches and by milder ones, with the differences."""
    words = []
    for longest, title in _TITLES.items():
        own = [row for row in _main(settings, longest) if row["set"] == name and row["method"] == METHODS[0]]
        halves = (f"{row['reference']} {_agrees(row['difference'])}" for row in own)
        words.append(f"{title}: {', '.join(halves) or 'not run'}")
    yield "; ".join(words)


def agreement(settings: Settings, stretches: str) -> Iterator[str]:
    """Yield on how many sets either half agrees."""
    own = [row for row in _read_readings(settings) if row["reading"] == MAIN[_LONGEST[stretches]]]
    clean, corrupted = (_count(own, key) for key in _HALVES.values())
    yield f"{clean} of {len(own)} sets with a clean reference and {corrupted} of {len(own)} with a corrupted one"


def methods(settings: Settings) -> Iterator[str]:
    """Yield on how many sets each method agrees, and the root mean square of its differences."""
    halves = [(longest, reference) for longest in _TITLES for reference in _HALVES]

    def cell(method: str, longest: float, reference: str) -> str:
        rows = [row for row in _main(settings, longest) if row["reference"] == reference and row["method"] == method]
        return f"{_count(rows, 'difference')} of {len(rows)} ({_root_mean_square(rows, 'difference')})"

    return table(
        ("within 2 s.e. (root mean square)", *(f"{_TITLES[longest]}: {reference}" for longest, reference in halves)),
        ((method, *(cell(method, *half) for half in halves)) for method in METHODS),
    )


def counts(settings: Settings, stretches: str) -> Iterator[str]:
    """Yield how the numbers of sets that agree range over the readings with these stretches, if they were run."""
    if not (settings.results / _READINGS).exists():
        yield "not run"
        return
    rows = [row for row in _read_readings(settings) if row["longest"] == _LONGEST[stretches]]
    titles = dict.fromkeys(row["reading"] for row in rows)
    ranges = []
    for reference, key in _HALVES.items():
        found = [_count([row for row in rows if row["reading"] == title], key) for title in titles]
        ranges.append(f"{reference} {min(found)} to {max(found)}")
    yield f"{' and '.join(ranges)} under {len(titles)} readings"


def accuracies(settings: Settings) -> Iterator[str]:
    """Yield accuracies before repair."""
    literal, milder = (_by_set(settings, longest) for longest in (LITERAL, MILDER))
    return table(
        (
            "set",
            "true rows, %: published",
            "ours",
            "corrupted rows, %: published",
            "ours, 10 to 50 %",
            "ours, 10 to 30 %",
        ),
        (
            (
                TITLES[name],
                f"{TABLE_1[name].accuracy_true:.1f}",
                f"{row['accuracy_true']:.1f}",
                f"{TABLE_1[name].accuracy_corrupted:.1f}",
                f"{row['accuracy_corrupted']:.1f}",
                f"{milder[name]['accuracy_corrupted']:.1f}",
            )
            for name, row in literal.items()
        ),
    )


def before_repair(settings: Settings, stretches: str) -> Iterator[str]:
    """Yield how far accuracies on corrupted rows are from the published ones."""
    own = _by_set(settings, _LONGEST[stretches])
    gaps = np.array([TABLE_1[name].accuracy_corrupted - row["accuracy_corrupted"] for name, row in own.items()])
    yield (
        f"higher in the paper than here on {int(np.sum(gaps >= 0.1))} of {len(gaps)} sets, "
        f"by {_minus(f'{gaps.mean():.1f}')} in the mean (mean absolute difference {np.abs(gaps).mean():.1f})"
    )


def readings(settings: Settings) -> Iterator[str]:
    """Yield how many sets agree under each reading."""
    rows = _read_readings(settings)
    lines = []
    for reading in READINGS:
        own = [row for row in rows if row["reading"] == reading.title]
        halves = ((f"{_count(own, key)} of {len(own)}", _root_mean_square(own, key)) for key in _HALVES.values())
        lines.append((reading.title, *(cell for half in halves for cell in half)))
    half = ("within 2 s.e.", "root mean square")
    return table(("reading", *(f"clean: {word}" for word in half), *(f"5 %: {word}" for word in half)), lines)


def repeats(settings: Settings) -> Iterator[str]:
    """Yield what Svmguide3 gives with and without its repeated rows."""
    rows = read_rows(settings.results / _READINGS)
    lines = [
        (
            f"{row['set']}, {stretches}",
            f"{row['clean']:.1f} ± {row['clean_se']:.1f}",
            f"{row['five_percent']:.1f} ± {row['five_percent_se']:.1f}",
        )
        for longest, stretches in _TITLES.items()
        for row in rows
        if row["reading"] == MAIN[longest] and str(row["set"]).startswith("svmguide3")
    ]
    return table(("", "clean", "5 %"), lines)


def _read_readings(settings: Settings) -> list[Row]:
    return [row for row in read_rows(settings.results / _READINGS) if row["set"] in TABLE_1]


def _count(rows: list[Row], key: str) -> int:
    return sum(abs(row[key]) <= WITHIN_STANDARD_ERRORS for row in rows)


def _root_mean_square(rows: list[Row], key: str) -> str:
    return f"{np.sqrt(np.mean([row[key] ** 2 for row in rows])):.1f}"


def _main(settings: Settings, longest: float) -> list[Row]:
    rows = read_rows(settings.results / "table_1.csv")
    return [row for row in rows if row["set"] in TABLE_1 and row["longest"] == longest]


def _by_set(settings: Settings, longest: float) -> dict[str, Row]:
    rows = _main(settings, longest)
    return {row["set"]: row for row in rows if row["reference"] == "clean" and row["method"] == METHODS[0]}


def _half(settings: Settings, longest: float, reference: str) -> Iterator[str]:
    rows = [row for row in _main(settings, longest) if row["reference"] == reference]
    by_place = {(row["set"], row["method"]): row for row in rows}

    def line(name: str) -> tuple[str, ...]:
        best = by_place[name, METHODS[0]]
        agrees = abs(best["difference"]) <= WITHIN_STANDARD_ERRORS
        return (
            TITLES[name],
            f"{best['alpha']:g}",
            f"{best['published']:.1f} ± {best['published_se']:.1f}",
            _minus(f"{best['ours']:.1f} ± {best['se']:.1f}"),
            signed(best["difference"]) if agrees else f"**{signed(best['difference'])}**",
            _minus(f"{best['lowest_beside']:z.0f} to {best['highest_beside']:z.0f}"),
            *(_beside(by_place[name, method]) for method in METHODS[1:]),
        )

    others = (f"{method}: published / ours / difference" for method in METHODS[1:])
    head = (
        "set",
        "alpha",
        "TCS-MAP: published ± s.e.",
        "ours ± s.e.",
        "difference in s.e.",
        "ours, neighbours in the grid",
    )
    return table((*head, *others), (line(name) for name in dict.fromkeys(row["set"] for row in rows)))


def _beside(row: Row) -> str:
    return _minus(f"{row['published']:.1f} / {row['ours']:.1f} / ") + signed(row["difference"])


def _minus(text: str) -> str:
    return text.replace("-", "−")


def _agrees(difference: float) -> str:
    word = "agrees" if abs(difference) <= WITHIN_STANDARD_ERRORS else "**differs**"
    return f"{word} ({signed(difference)})"
