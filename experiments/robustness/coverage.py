"""Honest spread: how often the 80 % interval of a filled value holds the truth, for any amount of context.

From one missing cell to all but one, half of the patterns as stretches and half scattered, and rows with nothing known.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from experiments.recording import Row
from experiments.robustness.cases import draw_rows
from experiments.robustness.menders import build, mend, quietly
from experiments.robustness.sets import measure_sets
from experiments.robustness.settings import Settings
from experiments.robustness.summaries import Figure, means_by, number, pivot

__all__ = ["compute", "figures", "tables"]

_SETS = (
    "digits", "image", "svmguide3", "wdbc", "spambase", "sonar", "g241c", "tecator", "gas_drift", "ringnorm", "usps01",
    "bci", "twonorm", "digit1", "g241n", "glass", "nab_nyc_taxi",
)  # fmt: skip
SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
"""Shares of the cells that are missing; 0 is one cell, 1 all but one."""
_SPLITS = 4
_QUANTILE = 1.2815515655446004


def compute(settings: Settings) -> None:
    """Measure every set that can be had."""
    measure_sets("coverage", settings, _SETS, _set, splits=_SPLITS)


def _masks(scattered: bool, share: float, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.bool_]:
    d = shape[1]
    n_missing = min(max(1, round(share * d)), d - 1)
    masks = np.zeros(shape, dtype=bool)
    for mask in masks:
        start = int(rng.integers(0, d - n_missing + 1))
        mask[rng.permutation(d)[:n_missing] if scattered else slice(start, start + n_missing)] = True
    return masks


def _set(name: str, split: int, settings: Settings) -> Iterator[Row]:
    drawn = draw_rows(name, split, settings, stream=14, most_test=200)
    with quietly():
        mender = build(settings).fit(drawn.reference)
    varied = drawn.reference.std(axis=0) > 0
    for scattered in (False, True):
        for share in SHARES[1:4:2] if settings.quick else SHARES:
            masks = _masks(scattered, share, drawn.true.shape, drawn.rng)
            mended = mend(mender, np.where(masks, np.nan, drawn.true))
            told = masks & varied & np.asarray(mended.missing)
            error = np.abs(np.asarray(mended.repaired) - drawn.true)
            inside = error <= _QUANTILE * np.asarray(mended.spread)
            shape = "scattered" if scattered else "stretch"
            yield {
                "set": name,
                "split": split,
                "shape": shape,
                "missing": share,
                "coverage": float(np.mean(inside[told])),
            }
    yield {
        "set": name,
        "split": split,
        "shape": "empty row",
        "missing": 1.0,
        "spread_ratio": _empty_ratio(mender, drawn.reference, varied),
    }


def _empty_ratio(mender: object, reference: NDArray[np.float64], varied: NDArray[np.bool_]) -> float:
    """Return the median over columns of an empty row's spread to the column's standard deviation."""
    empty = np.full((1, reference.shape[1]), np.nan)
    try:
        spread = np.asarray(mend(mender, empty).spread)[0]
    except ValueError:
        return float("nan")
    return float(np.median((spread / np.where(varied, reference.std(axis=0), 1.0))[varied]))


def figures(rows: Sequence[Row], earlier: Sequence[Row]) -> Iterator[Figure]:
    """Yield how many cases are covered as promised, the worst, and the spread of an empty row."""
    covered, before = (_cases(some) for some in (rows, earlier))
    if covered:
        share, was = (_within(some) if some else float("nan") for some in (covered, before))
        statement = f"80 % intervals: coverage within .75 to .85, share of {len(covered)} cases"
        yield Figure(statement, "≥ .95", number(share), share >= 0.95, "coverage", number(was))
        worst, old = min(covered), number(min(before, default=float("nan")))
        yield Figure("The same, worst case", "≥ .70", number(worst), worst >= 0.7, "coverage", old)
    ratios = [row["spread_ratio"] for row in rows if row.get("spread_ratio", "") != ""]
    if ratios:
        met = all(0.8 <= ratio <= 1.25 for ratio in ratios)
        reached = f"{number(min(ratios))} to {number(max(ratios))}"
        yield Figure("Spread of an empty row to the column's deviation", ".8 to 1.25", reached, met, "coverage")


def _cases(rows: Sequence[Row]) -> list[float]:
    """Return the coverage of each case, the mean over its splits: one has as few as 70 values to cover."""
    told = [row for row in rows if row.get("coverage", "") != ""]
    return list(means_by(told, lambda row: (row["set"], row["shape"], row["missing"]), "coverage").values())


def _within(values: Sequence[float]) -> float:
    return float(np.mean([0.75 <= value <= 0.85 for value in values]))


def tables(rows: Sequence[Row], earlier: Sequence[Row]) -> Iterator[str]:
    """Yield the coverage by amount of context."""

    def column(row: Row) -> str:
        amount = {0.0: "one cell", 1.0: "all but one"}.get(row["missing"], f"{row['missing']:.0%}")
        return f"{row['shape']}, {amount}"

    yield from pivot(
        *([row for row in some if row["shape"] != "empty row"] for some in (rows, earlier)), "set", column, "coverage"
    )
