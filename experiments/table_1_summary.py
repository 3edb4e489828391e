"""What follows from the cells of Table 1: choices, improvements, differences in standard errors, the picture.

Enters: ``table_1_cells.csv``. Leaves: ``table_1.csv`` (one line a set, reference and method, by the main reading of
either stretches), ``table_1_readings.csv`` (one line a reading and set), ``table_1.png`` and ``table_1_milder.png``.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from experiments.datasets import TABLE_1_SETS, TITLES
from experiments.drawing import BLUE, GREY, ORANGE, new_figure, open_frame, save
from experiments.published import METHODS, TABLE_1, WITHIN_STANDARD_ERRORS, Value
from experiments.readings import ALPHAS, LITERAL, MAIN, MILDER, READINGS, TAUS, Accuracies, Cell, Choice, choose
from experiments.recording import Row, Settings, read_rows, write_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["accuracies_of", "difference", "draw", "improvement", "neighbouring_choices", "neighbours", "summarise"]

REFERENCES = ("clean", "5 %")
PICTURES = {LITERAL: "table_1", MILDER: "table_1_milder"}
_PALE = "#BBD7EA"


def summarise(settings: Settings) -> None:
    """Write both tables."""
    cells = read_rows(settings.results / "table_1_cells.csv")
    names = list(dict.fromkeys(row["set"] for row in cells))
    choices = {
        name: {reading.title: choose(reading, accuracies_of(_of(cells, set=name, split=1))) for reading in READINGS}
        for name in names
    }
    write_rows(
        settings.results / "table_1.csv",
        [line for title in MAIN.values() for name in names for line in _lines(cells, name, choices[name][title])],
    )
    write_rows(
        settings.results / "table_1_readings.csv",
        [_reading_line(cells, name, title, choice) for name in names for title, choice in choices[name].items()],
    )


def accuracies_of(rows: Sequence[Row]) -> Accuracies:
    """Gather what split 1 tells a reading."""
    machines = [row for row in rows if row["method"] == "SVM"]
    return Accuracies(
        mended={
            Cell(row["alpha"], row["tau"], row["root"], row["C"], row["longest"]): row["mended"]
            for row in rows
            if row["method"] == "TCS-MAP"
        },
        on_test_part={row["C"]: row["true"] for row in machines},
        cross_validated={row["C"]: row["cross_validated"] for row in machines},
    )


def neighbouring_choices(choice: Choice) -> list[Choice]:
    """Return a choice with those one step away from it in alpha or in tau."""
    alphas = (choice._replace(alpha=alpha) for alpha in neighbours(choice.alpha, ALPHAS))
    taus = (choice._replace(tau=tau) for tau in neighbours(choice.tau, TAUS))
    return list(dict.fromkeys((*alphas, *taus)))


def neighbours(value: float, grid: Sequence[float]) -> Sequence[float]:
    """Return a value of a grid with those beside it."""
    place = grid.index(value)
    return grid[max(0, place - 1) : place + 2]


def improvement(rows: Sequence[Row]) -> Value:
    """Return mean and standard error of the share of lost accuracy that came back, in per cent.

    A split in which corruption cost nothing has no such share and does not count.
    """
    shares = [
        100 * (r["mended"] - r["corrupted"]) / (r["true"] - r["corrupted"]) for r in rows if r["true"] != r["corrupted"]
    ]
    if len(shares) < 2:
        return Value(float(np.mean(shares)) if shares else float("nan"), float("nan"))
    return Value(float(np.mean(shares)), float(np.std(shares, ddof=1) / np.sqrt(len(shares))))


def difference(ours: Value, published: Value) -> float:
    """Return ours minus published, in combined standard errors."""
    return (ours.mean - published.mean) / float(np.hypot(ours.error, published.error))


def draw(settings: Settings) -> None:
    """Draw TCS-MAP's improvement, published and ours: one picture a length of the stretches, one panel a reference."""
    rows = [row for row in read_rows(settings.results / "table_1.csv") if row["set"] in TABLE_1]
    for longest, name in PICTURES.items():
        _draw(_of(rows, longest=longest, method="TCS-MAP"), settings.results / f"{name}.png")


def _draw(rows: Sequence[Row], path: Path) -> None:
    figure, panels = new_figure(9.2, 4.6, columns=2)
    for ax, reference in zip(panels, REFERENCES, strict=True):
        own = [row for row in rows if row["reference"] == reference]
        places = np.arange(len(own))[::-1]
        ax.hlines(
            places - 0.14,
            [r["lowest_beside"] for r in own],
            [r["highest_beside"] for r in own],
            color=_PALE,
            linewidth=7,
        )
        for shift, key, error, colour, label in (
            (0.14, "published", "published_se", GREY, "published"),
            (-0.14, "ours", "se", BLUE, "ours"),
        ):
            far = [abs(r["difference"]) > WITHIN_STANDARD_ERRORS and key == "ours" for r in own]
            ax.errorbar(
                [r[key] for r in own],
                places + shift,
                xerr=[2 * r[error] for r in own],
                fmt="none",
                ecolor=colour,
                elinewidth=1.4,
            )
            ax.scatter(
                [r[key] for r in own],
                places + shift,
                color=[ORANGE if f else colour for f in far],
                s=26,
                zorder=3,
                label=label,
            )
        ax.set_yticks(places, [TITLES[r["set"]] for r in own])
        ax.set(xlim=(-30, 110), xlabel="improvement, % (bars: two standard errors)")
        ax.set_title(
            "Clean reference" if reference == "clean" else "5 % of the reference corrupted", fontsize=10, loc="left"
        )
        ax.axvline(0, color="#222222", linewidth=0.8)
        open_frame(ax)
    panels[1].set_yticklabels([])
    _explain(figure)
    save(figure, path)


def _explain(figure: "Figure") -> None:
    from matplotlib.lines import Line2D

    marks = [Line2D([], [], marker="o", linestyle="", color=colour) for colour in (GREY, BLUE, ORANGE)]
    marks.append(Line2D([], [], color=_PALE, linewidth=6))
    meanings = ("published", "ours", "ours, more than 2 s.e. away", "ours, one step away in the grid")
    figure.legend(marks, meanings, frameon=False, fontsize=8, loc="outside lower center", ncols=4)


def _lines(cells: Sequence[Row], name: str, choice: Choice) -> Iterator[Row]:
    for reference in REFERENCES:
        fixed = {"set": name, "reference": reference, "C": choice.C, "longest": choice.longest}
        own = [row for row in _of(cells, **fixed) if row["split"] != 1]
        beside = [
            improvement(_of(own, method="TCS-MAP", **near._asdict())).mean for near in neighbouring_choices(choice)
        ]
        for place, method in enumerate(METHODS):
            place_in_grid = {"alpha": choice.alpha, "root": choice.root} if method.startswith("TCS") else {}
            rows = _of(own, method=method, tau=choice.tau, **place_in_grid)
            ours = improvement(rows)
            line: Row = {
                "longest": choice.longest,
                "set": name,
                "reference": reference,
                "method": method,
                "alpha": choice.alpha if place_in_grid else 1.0,
                "tau": choice.tau,
                "C": choice.C,
                "ours": ours.mean,
                "se": ours.error,
                "accuracy_true": float(np.mean([row["true"] for row in rows])),
                "accuracy_corrupted": float(np.mean([row["corrupted"] for row in rows])),
            }
            published = _published(name, reference)
            if published:
                line |= {
                    "published": published[place].mean,
                    "published_se": published[place].error,
                    "difference": difference(ours, published[place]),
                }
            if method == "TCS-MAP":
                line |= {"lowest_beside": min(beside), "highest_beside": max(beside)}
            yield line


def _reading_line(cells: Sequence[Row], name: str, title: str, choice: Choice) -> Row:
    line: Row = {"reading": title, "set": name, **choice._asdict()}
    for reference in REFERENCES:
        rows = _of(cells, set=name, reference=reference, method="TCS-MAP", **choice._asdict())
        ours = improvement([row for row in rows if row["split"] != 1])
        key = "clean" if reference == "clean" else "five_percent"
        line |= {key: ours.mean, f"{key}_se": ours.error}
        published = _published(name, reference)
        line[f"{key}_difference"] = difference(ours, published[0]) if published else float("nan")
    return line


def _published(name: str, reference: str) -> tuple[Value, ...] | None:
    known = TABLE_1.get("svmguide3" if name not in TABLE_1_SETS else name)
    return (known.clean if reference == "clean" else known.corrupted) if known else None


def _of(rows: Sequence[Row], **fixed: object) -> list[Row]:
    return [row for row in rows if all(row.get(key) == value for key, value in fixed.items())]
