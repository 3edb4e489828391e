"""One table, no clean rows known: all-clean tables, and dirt in 5, 20 and 30 % of the rows.

`treemend.mend` against an estimator fitted to the truly clean rows of the same table.
"""

import time
from collections.abc import Iterator, Sequence

import numpy as np

from experiments.recording import Row
from experiments.robustness.cases import to_unit_scales
from experiments.robustness.measures import distance_quality, f1_score
from experiments.robustness.menders import build, mend, mend_table, quietly
from experiments.robustness.sets import SUBJECTS, load_rows, measure_sets
from experiments.robustness.settings import Settings
from experiments.robustness.summaries import Figure, at_least, at_most, means_by, number, pivot, titled
from treemend.synthetic import corrupt, square_masks, stretch_masks

__all__ = ["compute", "figures", "tables"]

DIRTY = (0.0, 0.05, 0.2, 0.3)
KINDS = ("noise", "zero", "offset")
_MOST_ROWS = 600


def compute(settings: Settings) -> None:
    """Measure every set that can be had."""
    measure_sets("one_table", settings, SUBJECTS, _set, splits=2)


def _set(name: str, split: int, settings: Settings) -> Iterator[Row]:
    subject = SUBJECTS[name]
    rows = to_unit_scales(load_rows(subject, settings.data))
    rng = np.random.default_rng([settings.seed, list(SUBJECTS).index(name), split, 15])
    true = rows[rng.permutation(len(rows))[: 200 if settings.quick else _MOST_ROWS]]
    for share in DIRTY[::2] if settings.quick else DIRTY:
        for kind in KINDS[:1] if share == 0 or settings.quick else KINDS:
            yield {
                "set": name,
                "split": split,
                "dirty": share,
                "kind": kind if share else "clean",
                **_table(true, kind, share, subject.grid, rng, settings),
            }


def _table(
    true: np.ndarray,
    kind: str,
    share: float,
    grid: tuple[int, int] | None,
    rng: np.random.Generator,
    settings: Settings,
) -> Row:
    dirty = rng.permutation(len(true)) < round(share * len(true))
    masks = square_masks(len(true), grid, rng=rng) if grid else stretch_masks(*true.shape, rng=rng)
    masks &= dirty[:, None]
    table = corrupt(kind, true, masks, rng=rng)
    started = time.process_time()
    mended = mend_table(settings, table, grid)
    seconds = time.process_time() - started
    mask, repaired = np.asarray(mended.mask), np.asarray(mended.repaired)
    clean = ~np.any(table != true, axis=1)
    row = {
        "touched": float(np.mean(np.asarray(mended.corrupted)[clean])),
        "harm": float(np.mean(np.square(repaired - table)[clean])),
        "seconds": seconds,
    }
    if share:
        started = time.process_time()
        with quietly():
            other = build(settings, grid).fit(table[clean])
        row["seconds_fit"] = time.process_time() - started
        by_clean = mend(other, table[~clean])
        for suffix, found, values in (
            ("", mask[~clean], repaired[~clean]),
            ("_clean_reference", np.asarray(by_clean.mask), np.asarray(by_clean.repaired)),
        ):
            row[f"f1{suffix}"] = f1_score(masks[~clean], found)
            row[f"quality{suffix}"] = float(np.mean(distance_quality(true[~clean], table[~clean], values)))
    return row


def share(row: Row) -> float:
    """Return the cell F1 as a share of a clean reference's; NaN where that finds next to nothing."""
    reached = row.get("f1_clean_reference", "")
    return float(row["f1"] / reached) if reached != "" and reached > 0.1 else float("nan")


def figures(rows: Sequence[Row], earlier: Sequence[Row]) -> Iterator[Figure]:
    """Yield the judged figures."""
    all_clean = [row for row in rows if row["dirty"] == 0]
    if all_clean:
        touched = means_by(all_clean, lambda row: row["set"], "touched")
        worst = max(touched, key=lambda name: touched[name])
        old = means_by([row for row in earlier if row["dirty"] == 0], lambda row: row["set"], "touched")
        reached = f"{number(touched[worst])} ({titled(str(worst))})"
        statement = f"One table, all clean: rows touched, worst of {len(touched)} sets"
        before = number(max(old.values(), default=float("nan")))
        yield Figure(statement, "≤ .06", reached, touched[worst] <= 0.06, "one_table", before)
    now, before_rows = ([row for row in some if row["dirty"] > 0] for some in (rows, earlier))
    statement = "One table, dirt in 5, 20, 30 % of the rows: cell F1 as a share of a clean reference's"
    yield from at_least(0.85, statement, "one_table", now, before_rows, share)
    for name in ("digits", "image", "gas_drift"):
        mine, was = ([row for row in some if row["set"] == name] for some in (now, before_rows))
        if mine and was:
            statement = f"One table, {titled(name)}: cell F1 above the earlier"
            yield from at_least(float(np.mean([row["f1"] for row in was])), statement, "one_table", mine, was, "f1")
    statement = "One table, cost in fits"
    yield from at_most(4, statement, "one_table", now, before_rows, lambda row: row["seconds"] / row["seconds_fit"])


def tables(rows: Sequence[Row], earlier: Sequence[Row]) -> Iterator[str]:
    """Yield clean rows touched, and F1 with and without clean rows known."""

    def column(row: Row) -> str:
        return f"{row['dirty']:.0%} dirty"

    for title, value in (
        ("Clean rows touched", "touched"),
        ("Cell F1", "f1"),
        ("Cell F1 with the clean rows known", "f1_clean_reference"),
        ("Quality", "quality"),
        ("Quality with the clean rows known", "quality_clean_reference"),
    ):
        yield from pivot(rows, earlier, "set", column, value, title=title)
