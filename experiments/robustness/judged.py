"""The judged figures: what was asked, what was reached, and which command printed it.

Enters: the results folder. Leaves: one `Figure` a statement; those whose results are not there are left out.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from experiments.recording import Row, Settings, read_rows
from experiments.robustness import improvement, sweep
from experiments.robustness.kinds import KINDS
from experiments.robustness.sets import SUBJECTS

__all__ = ["Figure", "figures", "peer_means"]


@dataclass(frozen=True)
class Figure:
    """A statement, what was asked and reached, whether it is met, and the command."""

    statement: str
    asked: str
    reached: str
    met: bool
    command: str


def figures(settings: Settings) -> list[Figure]:
    """Return all figures for which there are results."""
    makers: tuple[tuple[tuple[str, ...], Callable[[Settings], Iterator[Figure]]], ...] = (
        (("sweep",), _false_alarms),
        (("improvement",), _improvement),
        (("sweep",), _sweep),
        (("sweep", "peers"), _peers),
        (("improvement",), _dirty_reference),
        (("one_table",), _one_table),
        (("cost",), _cost),
    )
    return [
        figure
        for needed, make in makers
        if all((settings.results / f"{name}.csv").exists() for name in needed)
        for figure in make(settings)
    ]


def _false_alarms(settings: Settings) -> Iterator[Figure]:
    rates = sweep.false_alarms(read_rows(settings.results / "sweep.csv"))
    worst = max(rates, key=lambda name: rates[name])
    mean = float(np.mean(list(rates.values())))
    command = "make robustness ONLY=sweep"
    yield Figure("Row false alarms at 5 % asked, mean over sets", "≤ .06", f"{mean:.3f}", mean <= 0.06, command)
    reached = f"{rates[worst]:.3f} ({SUBJECTS[worst].title})"
    yield Figure("The same, on any set", "≤ .10", reached, rates[worst] <= 0.10, command)


def _improvement(settings: Settings) -> Iterator[Figure]:
    found = {name: one for name, one in improvement.summaries(settings).items() if name in improvement.JUDGED_SETS}
    shares = {name: one.share_of_limit for name, one in found.items()}
    worst = min(shares, key=lambda name: shares[name])
    mean = float(np.mean(list(shares.values())))
    command = "make robustness ONLY=improvement"
    yield Figure(
        "Table 1's improvement, better of 5 and 20 %, share of the limit's, mean over the eight sets",
        "≥ .90",
        f"{mean:.2f}",
        mean >= 0.9,
        command,
    )
    yield Figure("The same, on each", "≥ .75", f"{shares[worst]:.2f} ({worst})", shares[worst] >= 0.75, command)


def _sweep(settings: Settings) -> Iterator[Figure]:
    rows = read_rows(settings.results / "sweep.csv")
    found = sweep.judged(sweep.cells(rows))
    command = "make robustness ONLY=sweep"
    share = float(np.mean([cell["share"] for cell in found]))
    detection = float(np.mean([cell["detection"] for cell in found]))
    where = f"{len(found)} of {len(sweep.cells(rows))} cells where the limit exceeds .3"
    yield Figure(
        f"Six kinds x sets, distance quality as a share of the limit's ({where})",
        "≥ .80",
        f"{share:.2f}",
        share >= 0.8,
        command,
    )
    yield Figure("Row detection, the same cells", "≥ .80", f"{detection:.2f}", detection >= 0.8, command)
    squares = [cell for cell in sweep.cells(rows) if cell["set"] == "usps01" and cell["kind"] == "noise"]
    for cell in squares:
        yield Figure(
            "USPS, squares of uniform noise, grid layout: distance quality at 5 % asked",
            "≥ .60",
            f"{cell['quality']:.2f} (limit {cell['limit']:.2f})",
            cell["quality"] >= 0.6,
            command,
        )


def peer_means(settings: Settings, *, all_kinds: bool = False) -> dict[str, dict[str, float]]:
    """Return each set's mean quality over its splits, by method; "treemend" beside the peers.

    Over the kinds in which the limit's quality exceeds .3, or over all six. Only splits that both were run on count,
    told by their rows.
    """
    ours = read_rows(settings.results / "sweep.csv")
    peers = read_rows(settings.results / "peers.csv")
    means: dict[str, dict[str, float]] = {}
    for name in dict.fromkeys(row["set"] for row in peers):
        shared = {row["rows"] for row in ours} & {row["rows"] for row in peers if row["set"] == name}
        if not shared:
            continue
        own = [row for row in ours if row["set"] == name and row["rows"] in shared]
        theirs = [row for row in peers if row["set"] == name and row["rows"] in shared]
        limit = [row for row in own if row["method"] == "limit"]
        kinds = [kind for kind in KINDS if all_kinds or _mean_quality(limit, [kind]) > sweep.LEAST_LIMIT]
        means[name] = {"treemend": _mean_quality([row for row in own if row["method"] == "default"], kinds)}
        for method in dict.fromkeys(row["method"] for row in theirs):
            means[name][method] = _mean_quality([row for row in theirs if row["method"] == method], kinds)
    return means


def _mean_quality(rows: Sequence[Row], kinds: Sequence[str]) -> float:
    return float(np.mean([row["quality"] for row in rows if row["kind"] in kinds]))


def _peers(settings: Settings) -> Iterator[Figure]:
    for all_kinds, where in ((True, "all six kinds"), (False, "kinds in which the limit exceeds .3")):
        means = peer_means(settings, all_kinds=all_kinds)
        if not means:
            return
        ahead = {name: max(value for key, value in by.items() if key != "treemend") for name, by in means.items()}
        lost = [SUBJECTS[name].title for name, by in means.items() if by["treemend"] <= ahead[name]]
        most = max(len(by) for by in means.values())
        partly = [SUBJECTS[name].title for name, by in means.items() if len(by) < most]
        reached = f"on {len(means) - len(lost)} of {len(means)}" + (f"; not on {', '.join(lost)}" if lost else "")
        reached += f"; a peer not yet run on {', '.join(partly)}" if partly else ""
        statement = f"A set's mean quality better than every peer's, {where}"
        yield Figure(statement, "on each set", reached, not lost, "make robustness ONLY=sweep, make peers")


def _dirty_reference(settings: Settings) -> Iterator[Figure]:
    found = [one for name, one in improvement.summaries(settings).items() if name in improvement.JUDGED_SETS]
    share = float(np.mean([one.share_of_clean("cleaned") for one in found]))
    if not np.isnan(share):
        yield Figure(
            "5 % of the reference dirty, `clean_reference=True`: share of the clean reference's improvement, mean",
            "≥ .95",
            f"{share:.2f}",
            share >= 0.95,
            "make robustness ONLY=improvement",
        )


def _one_table(settings: Settings) -> Iterator[Figure]:
    rows = [row for row in read_rows(settings.results / "one_table.csv") if row["quality_clean_reference"] > 0.1]
    share = float(np.mean([row["quality"] / row["quality_clean_reference"] for row in rows]))
    rate = float(np.mean([row["false_alarms"] for row in rows]))
    yield Figure(
        "One table, 20 % of its rows dirty (uniform noise, zero): share of the quality that a clean reference gives, "
        "mean over sets and kinds (where that is above .1)",
        "≥ .85",
        f"{share:.2f} (clean rows touched: {rate:.3f})",
        share >= 0.85,
        "make robustness ONLY=one_table",
    )


def _cost(settings: Settings) -> Iterator[Figure]:
    rows = read_rows(settings.results / "cost.csv")
    ratios = [row["ratio"] for row in rows]
    worst = max(rows, key=lambda row: row["ratio"])
    yield Figure(
        "Cost of mending, times the published search's on the same rows: median over sets (largest)",
        "≤ 3",
        f"{np.median(ratios):.1f} ({worst['ratio']:.1f}, {SUBJECTS[worst['set']].title})",
        max(ratios) <= 3,
        "make robustness ONLY=cost",
    )
