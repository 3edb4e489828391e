"""Rows that are rare but consistent: all values moved by the same share of their range, nothing overwritten."""

from collections.abc import Iterator, Sequence

import numpy as np

from experiments.recording import Row
from experiments.robustness.cases import draw_rows
from experiments.robustness.menders import build, mend, quietly
from experiments.robustness.sets import measure_sets
from experiments.robustness.settings import Settings
from experiments.robustness.summaries import Figure, mean, number, pivot

__all__ = ["compute", "figures", "tables"]

AMOUNTS = (0.1, 0.2, 0.5, 1.0, 3.0)
_SETS = ("digits", "image", "wdbc", "tecator", "gas_drift", "ringnorm", "sonar", "twonorm", "nab_nyc_taxi", "glass")


def compute(settings: Settings) -> None:
    """Measure every set that can be had."""
    measure_sets("moved", settings, _SETS, _set)


def _set(name: str, settings: Settings) -> Iterator[Row]:
    drawn = draw_rows(name, 0, settings, stream=13, most_test=200)
    with quietly():
        mender = build(settings, drawn.grid).fit(drawn.reference)
    for amount in AMOUNTS:
        rows = drawn.true + amount * drawn.rng.choice([-1.0, 1.0], (len(drawn.true), 1))
        mended = mend(mender, rows)
        yield {
            "set": name,
            "amount": amount,
            "replaced": float(np.mean(mended.corrupted)),
            "unusual": float(np.mean(getattr(mended, "unusual", np.zeros(len(rows))))),
        }


def figures(rows: Sequence[Row], earlier: Sequence[Row]) -> Iterator[Figure]:
    """Yield the share of moved rows in which something was replaced."""
    for title, bound, chosen in (
        ("by .5 to 3 ranges", 0.0, lambda row: row["amount"] >= 0.5),
        ("by .1 to .2 ranges", 0.05, lambda row: row["amount"] < 0.5),
    ):
        now, before = ([row for row in some if chosen(row)] for some in (rows, earlier))
        if now:
            reached, was = mean(now, "replaced"), number(mean(before, "replaced"))
            asked = "none" if bound == 0 else f"≤ {bound}"
            yield Figure(
                f"Rows moved as a whole {title}: replaced", asked, number(reached), reached <= bound, "moved", was
            )


def tables(rows: Sequence[Row], earlier: Sequence[Row]) -> Iterator[str]:
    """Yield the shares replaced and told as unusual."""
    yield from pivot(rows, earlier, "set", "amount", "replaced", title="Replaced in part")
    yield from pivot(rows, [], "set", "amount", "unusual", title="Told as unusual and left as they are")
