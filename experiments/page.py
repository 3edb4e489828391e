"""The page ``docs/paper.md``: every figure as a picture, every table beside the published one, every difference told.

Enters: the results folder, and ``page_template.md``, which holds the words. Leaves: one Markdown file. A place
``{{name}}`` or ``{{name argument}}`` of the template is filled by the table or the words of that name; a section whose
line ``<!-- needs: file -->`` names a file that is not there says so instead.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from experiments import page_table_1, table_2
from experiments.digits import ALPHAS, ORDERS
from experiments.expectations import expectations
from experiments.markdown import signed, table, write_sections
from experiments.published import SCATTER
from experiments.recording import Settings, read_rows
from experiments.roc import found_at_rate
from experiments.scatter import recovered

__all__ = ["write"]

_TEMPLATE = Path(__file__).with_name("page_template.md")
_PLACE = re.compile(r"\{\{(\w+)(?: (\w+))?\}\}")
_NEEDS = re.compile(r"<!-- needs: (\S+) -->\n")
_ORDER_NAMES = {"file": "file's order", "columns": "by columns"}


def write(settings: Settings, target: Path) -> None:
    """Write the page; pictures are linked from where they are."""
    write_sections(_TEMPLATE, target, settings.results, lambda section, folder: _filled(section, settings, folder))


def _filled(section: str, settings: Settings, folder: str) -> str:
    needed = _NEEDS.search(section)
    if needed and not (settings.results / needed[1]).exists():
        return f"{section.splitlines()[0]}\n\nNot run: its data were not there.\n\n"

    def fill(place: re.Match[str]) -> str:
        name, argument = place.groups()
        if name == "picture":
            return f"{folder}/{argument}.png"
        lines = _TABLES_OF[name](settings, argument) if argument else _TABLES[name](settings)
        return "\n".join(lines)

    return _PLACE.sub(fill, _NEEDS.sub("", section))


def _expected(settings: Settings) -> Iterator[str]:
    rows = [(check.statement, check.measured, "yes" if check.met else "**no**") for check in expectations(settings)]
    return table(("expected", "measured", "met"), rows)


def _runs(settings: Settings) -> Iterator[str]:
    path = settings.results / "runs.json"
    runs = json.loads(path.read_text()) if path.exists() else {}
    rows = [
        (
            f"`{name}`",
            run["seconds"],
            run["seed"],
            f"{run['processor']}, {run['cores']} cores{run.get('note', '')}",
            run["load"],
            f"Python {run['python']}, NumPy {run['numpy']}, Numba {run['numba']}, scikit-learn {run['scikit-learn']}",
        )
        for name, run in runs.items()
    ]
    return table(("experiment", "seconds", "seed", "machine", "load", "versions"), rows)


def _theta(settings: Settings) -> Iterator[str]:
    rows = read_rows(settings.results / "theta.csv")
    head = (
        "pixels",
        "alpha",
        "theta of the curve",
        "the same, by rates",
        "theta of the labels",
        "the same by depth, root first",
    )
    return table(
        head,
        (
            (
                _ORDER_NAMES[row["order"]],
                row["alphas"],
                f"{row['theta']:.2f}",
                f"{row['theta_least_squares_of_rates']:.2f}",
                f"{row['theta_of_labels']:.2f}",
                ", ".join(f"{row[f'labels_depth_{depth}']:.2f}".replace("nan", "-") for depth in range(6)),
            )
            for row in rows
        ),
    )


def _roc(settings: Settings) -> Iterator[str]:
    rows = read_rows(settings.results / "roc.csv")

    def found(order: str, kind: str, alpha: float) -> str:
        at = (found_at_rate(rows, rate, order=order, of=kind, alpha=alpha) for rate in (0.1, 0.15, 0.2))
        return " / ".join(f"{value:.2f}" for value in at)

    return table(
        ("pixels", "alpha", "digits found at a rate of .1 / .15 / .2", "pixels found at a rate of .1 / .15 / .2"),
        [(_ORDER_NAMES[o], a, found(o, "detection", a), found(o, "localisation", a)) for o in ORDERS for a in ALPHAS],
    )


def _quality(settings: Settings) -> Iterator[str]:
    rows = read_rows(settings.results / "imputation_quality.csv")

    def best(order: str, alpha: float) -> str:
        own = (row for row in rows if row["order"] == order and row["alpha"] == alpha)
        top = max(own, key=lambda row: row["quality"])
        return f"{top['quality']:.3f} ({top['tau']:g})".replace("-", "−")

    return table(
        ("pixels", *(f"best at alpha = {alpha:g} (tau)" for alpha in ALPHAS)),
        [(_ORDER_NAMES[order], *(best(order, alpha) for alpha in ALPHAS)) for order in ORDERS],
    )


def _scatter(settings: Settings) -> Iterator[str]:
    rows = read_rows(settings.results / "scatter.csv")

    def means(order: str, key: str) -> list[float]:
        own = [row for row in rows if row["order"] == order]
        return [float(np.mean([row[f"{key}_{kind}"] for row in own])) for kind in ("true", "corrupted", "imputed")]

    def line(name: str, accuracy: Sequence[float], share: str, separation: Sequence[float]) -> tuple[str, ...]:
        distance = recovered(separation[1], separation[2], separation[0])
        three = (" / ".join(f"{value:.2f}" for value in values) for values in (accuracy, separation))
        return name, next(three), share, next(three), f"{distance:.0f} %"

    true, corrupted, imputed = SCATTER["accuracy"]
    share = f"{recovered(corrupted, imputed, true):.0f} %"
    lines = [line("published", SCATTER["accuracy"], share, SCATTER["separation"])]
    for order in ORDERS:
        shares = np.array([row["recovered"] for row in rows if row["order"] == order])
        error = np.std(shares, ddof=1) / np.sqrt(len(shares)) if len(shares) > 1 else np.nan
        name = f"ours, {_ORDER_NAMES[order]}"
        lines.append(
            line(name, means(order, "accuracy"), f"{shares.mean():.0f} ± {error:.0f} %", means(order, "separation"))
        )
    return table(
        (
            "",
            "accuracy, %: true / corrupted / imputed",
            "recovered ± s.e.",
            "distance of the means: true / corrupted / imputed",
            "recovered",
        ),
        lines,
    )


def _table_2(settings: Settings) -> Iterator[str]:
    head = ("K", "squared error: published", "ours ± s.e.", "difference in s.e.", "accuracy, %: published")
    return table(
        (*head, "ours ± s.e.", "difference in s.e."),
        (
            (
                row["n_neighbors"],
                f"{row['published_error']:.2f}",
                f"{row['error']:.3f} ± {row['error_se']:.3f}",
                signed((row["error"] - row["published_error"]) / row["error_se"]),
                f"{row['published_accuracy']:.2f}",
                f"{row['accuracy']:.2f} ± {row['accuracy_se']:.2f}",
                signed((row["accuracy"] - row["published_accuracy"]) / row["accuracy_se"]),
            )
            for row in table_2.summary(settings)
        ),
    )


_TABLES: dict[str, Callable[[Settings], Iterator[str]]] = {
    "expected": _expected,
    "runs": _runs,
    "theta": _theta,
    "roc": _roc,
    "quality": _quality,
    "scatter": _scatter,
    "table_2": _table_2,
    "accuracies": page_table_1.accuracies,
    "methods": page_table_1.methods,
    "readings": page_table_1.readings,
    "repeats": page_table_1.repeats,
}
_TABLES_OF: dict[str, Callable[[Settings, str], Iterator[str]]] = {
    "agreement": page_table_1.agreement,
    "before_repair": page_table_1.before_repair,
    "clean": page_table_1.clean_half,
    "counts": page_table_1.counts,
    "five_percent": page_table_1.five_percent_half,
    "verdict": page_table_1.verdict,
}
