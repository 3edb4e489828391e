"""Table 1's tables on the page: both halves beside the published ones, accuracies, and the readings compared."""

from collections.abc import Iterator

import numpy as np

from experiments.datasets import TITLES
from experiments.markdown import signed, table
from experiments.published import METHODS, TABLE_1, WITHIN_STANDARD_ERRORS
from experiments.readings import MAIN, READINGS
from experiments.recording import Row, Settings, read_rows

__all__ = ["accuracies", "clean_half", "five_percent_half", "readings", "repeats", "verdict"]


def clean_half(settings: Settings) -> Iterator[str]:
    """Yield the half of the table with a clean reference."""
    return _half(settings, "clean")


def five_percent_half(settings: Settings) -> Iterator[str]:
    """Yield the half of the table with 5 % of the reference rows corrupted."""
    return _half(settings, "5 %")


def verdict(settings: Settings, name: str) -> str:
    """Return for one set whether both halves agree, with the differences."""
    pair = {
        row["reference"]: row["difference"]
        for row in _main(settings)
        if row["set"] == name and row["method"] == METHODS[0]
    }
    if not pair:
        return "not run"
    words = []
    for reference, difference in pair.items():
        agrees = abs(difference) <= WITHIN_STANDARD_ERRORS
        words.append(f"{reference} {'agrees' if agrees else '**differs**'} ({signed(difference)})")
    return ", ".join(words)


def accuracies(settings: Settings) -> Iterator[str]:
    """Yield accuracies before repair."""
    own = [row for row in _main(settings) if row["reference"] == "clean" and row["method"] == METHODS[0]]
    return table(
        ("set", "true rows, %: published", "ours", "corrupted rows, %: published", "ours"),
        (
            (
                TITLES[row["set"]],
                f"{TABLE_1[row['set']].accuracy_true:.1f}",
                f"{row['accuracy_true']:.1f}",
                f"{TABLE_1[row['set']].accuracy_corrupted:.1f}",
                f"{row['accuracy_corrupted']:.1f}",
            )
            for row in own
        ),
    )


def readings(settings: Settings) -> Iterator[str]:
    """Yield how many sets agree under each reading."""
    rows = [row for row in read_rows(settings.results / "table_1_readings.csv") if row["set"] in TABLE_1]
    lines = []
    for reading in READINGS:
        own = [row for row in rows if row["reading"] == reading.title]
        halves = []
        for key in ("clean_difference", "five_percent_difference"):
            differences = np.array([row[key] for row in own], dtype=float)
            within = int(np.sum(np.abs(differences) <= WITHIN_STANDARD_ERRORS))
            halves += [f"{within} of {len(own)}", f"{np.sqrt(np.mean(differences**2)):.1f}"]
        lines.append((reading.title, *halves))
    half = ("within 2 s.e.", "root mean square")
    return table(("reading", *(f"clean: {word}" for word in half), *(f"5 %: {word}" for word in half)), lines)


def repeats(settings: Settings) -> Iterator[str]:
    """Yield what Svmguide3 gives with and without its repeated rows."""
    rows = [row for row in read_rows(settings.results / "table_1_readings.csv") if row["reading"] == MAIN]
    own = [row for row in rows if str(row["set"]).startswith("svmguide3")]
    lines = [
        (
            row["set"],
            f"{row['clean']:.1f} ± {row['clean_se']:.1f}",
            f"{row['five_percent']:.1f} ± {row['five_percent_se']:.1f}",
        )
        for row in own
    ]
    return table(("", "clean", "5 %"), lines)


def _main(settings: Settings) -> list[Row]:
    return [row for row in read_rows(settings.results / "table_1.csv") if row["set"] in TABLE_1]


def _half(settings: Settings, reference: str) -> Iterator[str]:
    rows = [row for row in _main(settings) if row["reference"] == reference]
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
            _minus(f"{best['lowest_beside']:.0f} to {best['highest_beside']:.0f}"),
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
