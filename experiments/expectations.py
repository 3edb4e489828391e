"""What we expect of a full run, as checks with tolerances that the page shows and that tests can ask.

Enters: the results folder. Leaves: one `Expectation` a statement, with what was measured and whether it holds. A check
whose results are not there is left out.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from experiments import table_2
from experiments.digits import CHOSEN_ALPHA
from experiments.published import (
    DETECTION_AT_RATE,
    RECOVERED_AT_LEAST,
    TABLE_1,
    TABLE_2_TOLERANCE,
    THETA_RANGE,
    WITHIN_STANDARD_ERRORS,
)
from experiments.readings import LITERAL, MILDER
from experiments.recording import Row, Settings, read_rows
from experiments.roc import found_at_rate

__all__ = ["Expectation", "expectations"]


@dataclass(frozen=True)
class Expectation:
    """A statement, what was measured, and whether it holds."""

    statement: str
    measured: str
    met: bool


def expectations(settings: Settings) -> list[Expectation]:
    """Check everything for which there are results."""
    checks: list[tuple[str, Callable[[Settings], Iterator[Expectation]]]] = [
        ("table_1.csv", _table_1),
        ("theta.csv", _theta),
        ("roc.csv", _detection),
        ("scatter.csv", _recovered),
        ("table_2.csv", _table_2),
    ]
    return [found for file, check in checks if (settings.results / file).exists() for found in check(settings)]


def _table_1(settings: Settings) -> Iterator[Expectation]:
    every = [row for row in read_rows(settings.results / "table_1.csv") if row["set"] in TABLE_1]
    for longest, title in ((LITERAL, "10 to 50 %, as the text says"), (MILDER, "10 to 30 %")):
        rows = [row for row in every if row["longest"] == longest]
        yield from _table_1_with(rows, f"Table 1, stretches of {title}")


def _table_1_with(rows: list[Row], title: str) -> Iterator[Expectation]:
    n_sets = len({row["set"] for row in rows})
    for reference, least in (("clean", 9), ("5 %", 8)):
        own = [row for row in rows if row["reference"] == reference and row["method"] == "TCS-MAP"]
        within = sum(abs(row["difference"]) <= WITHIN_STANDARD_ERRORS for row in own)
        yield Expectation(
            f"{title}, {reference} reference: TCS-MAP within 2 combined standard errors on at least {least} of 11 sets",
            f"{within} of {n_sets} †",
            within >= least,
        )
    for statement, least, mark, rule in (
        ("TCS-MAP above 4-NN on at least 9", 9, " †", lambda ours: ours["TCS-MAP"] > ours["4-NN"]),
        (
            "TCS-MAP above both 4-NN and 16-NN (8 in the published table)",
            8,
            " †",
            lambda ours: ours["TCS-MAP"] > _best_segments(ours),
        ),
        (
            "the better of TCS-MAP and TCS-NN above both (9 in the published table)",
            9,
            "",
            lambda ours: max(ours["TCS-MAP"], ours["TCS-NN"]) > _best_segments(ours),
        ),
    ):
        above = sum(rule(ours) for ours in _by_set(rows, "clean"))
        yield Expectation(f"{title}, clean reference: {statement}", f"{above} of {n_sets}{mark}", above >= least)


def _by_set(rows: list[Row], reference: str) -> list[dict[str, float]]:
    names = dict.fromkeys(row["set"] for row in rows)
    return [
        {row["method"]: row["ours"] for row in rows if row["set"] == name and row["reference"] == reference}
        for name in names
    ]


def _best_segments(ours: dict[str, float]) -> float:
    return max(ours["4-NN"], ours["16-NN"])


def _theta(settings: Settings) -> Iterator[Expectation]:
    low, high = THETA_RANGE
    rows = [row for row in read_rows(settings.results / "theta.csv") if row["order"] == "file"]
    one = next(row["theta"] for row in rows if row["alphas"] == "all")
    each = ", ".join(f"{row['theta']:.2f}" for row in rows if row["alphas"] != "all")
    yield Expectation(
        f"USPS: theta fitted to the false-alarm rates lies between {low:g} and {high:g}",
        f"{one:.2f} (by alpha: {each}) †",
        low <= one <= high,
    )


def _detection(settings: Settings) -> Iterator[Expectation]:
    rate, least = DETECTION_AT_RATE
    rows = read_rows(settings.results / "roc.csv")
    found = found_at_rate(rows, rate, order="file", of="detection", alpha=CHOSEN_ALPHA)
    yield Expectation(
        f"USPS: at a false-alarm rate of {rate:g} at least {least:g} of the corrupted digits are found, alpha = .75",
        f"{found:.3f}",
        found >= least,
    )


def _recovered(settings: Settings) -> Iterator[Expectation]:
    shares = [row["recovered"] for row in read_rows(settings.results / "scatter.csv") if row["order"] == "file"]
    yield Expectation(
        f"USPS: {RECOVERED_AT_LEAST:g} % or more of the lost accuracy come back, alpha = .75, tau = .016, five draws",
        f"{np.mean(shares):.1f} % ({', '.join(f'{share:.0f}' for share in shares)}) †",
        float(np.mean(shares)) >= RECOVERED_AT_LEAST,
    )


def _table_2(settings: Settings) -> Iterator[Expectation]:
    lines = table_2.summary(settings)
    first, more = lines[0], lines[1:]
    yield Expectation(
        f"Table 2: squared error {first['published_error']:.2f} within {TABLE_2_TOLERANCE:g} at one neighbour",
        f"{first['error']:.3f}",
        abs(first["error"] - first["published_error"]) <= TABLE_2_TOLERANCE,
    )
    yield Expectation(
        "Table 2: not worse than published with more neighbours",
        ", ".join(f"{line['error']:.2f}" for line in more),
        all(line["error"] <= line["published_error"] for line in more),
    )
