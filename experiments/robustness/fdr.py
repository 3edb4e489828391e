"""False discoveries in large tables: ``mend(table, fdr=0.1)`` with 1 and 10 % of the rows dirty.

Realised share of clean rows among those declared, and the power relative to the best threshold in hindsight: the most
dirty rows that a threshold on the same scores finds while at most a tenth of what it declares is clean.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from experiments.recording import Row, do_all
from experiments.robustness.cases import to_unit_scales
from experiments.robustness.menders import build, mend, quietly, row_scores
from experiments.robustness.sets import SUBJECTS, load_rows, obtainable
from experiments.robustness.settings import Settings
from experiments.robustness.summaries import Figure, at_least, means_by, number, pivot, titled
from treemend.synthetic import KINDS, corrupt, stretch_masks

__all__ = ["best_power", "compute", "figures", "tables"]

ASKED = 0.1
DIRTY = (0.01, 0.1)
SIZES = (300, 2000)
_SETS = ("digits", "image", "svmguide3", "spambase", "g241c", "gas_drift", "ringnorm", "usps01", "twonorm", "digit1")
_TABLE, _TABLES = 600, 40


def compute(settings: Settings) -> None:
    """Measure every set that can be had, at both sizes of the reference that it has rows for."""
    names = obtainable(("digits",) if settings.quick else _SETS, settings)
    pieces = {
        f"{name} {size}": partial(_set, name, size, settings)
        for name in names
        for size in (SIZES[:1] if settings.quick else SIZES)
        if len(load_rows(SUBJECTS[name], settings.data)) >= size + _TABLE
    }
    do_all("fdr", settings, pieces)


def _set(name: str, size: int, settings: Settings) -> Iterator[Row]:
    rows = to_unit_scales(load_rows(SUBJECTS[name], settings.data))
    for number_ in settings.repetitions(_TABLES):
        rng = np.random.default_rng([settings.seed, list(SUBJECTS).index(name), 11, size, number_])
        reference, table = np.split(rows[rng.permutation(len(rows))[: size + _TABLE]], [size])
        with quietly():
            mender = build(settings).fit(reference)
        for share in DIRTY:
            dirty = np.arange(len(table)) < round(share * len(table))
            suspect = table.copy()
            suspect[dirty] = _damaged(table[dirty], rng)
            scores = row_scores(mender, suspect)
            for rule, options in (("fdr .1", {"fdr": ASKED}), ("rate .05", {})):
                try:
                    found = np.asarray(mend(mender, suspect, **options).corrupted)
                except NotImplementedError:
                    continue
                yield {
                    "set": name,
                    "reference": size,
                    "number": number_,
                    "dirty": share,
                    "rule": rule,
                    "realised": float(np.sum(found & ~dirty) / max(found.sum(), 1)),
                    "power": float(np.mean(found[dirty])),
                    "best_power": best_power(scores, dirty, ASKED),
                }


def _damaged(rows: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    masks = stretch_masks(*rows.shape, rng=rng)
    kinds = rng.integers(0, len(KINDS), len(rows))
    return np.array(
        [corrupt(KINDS[kind], rows, masks, rng=rng)[place] for place, kind in enumerate(kinds)], dtype=np.float64
    )


def best_power(scores: NDArray[np.float64], dirty: NDArray[np.bool_], asked: float) -> float:
    """Return the largest share of dirty rows that a threshold finds with at most a share ``asked`` of clean ones."""
    order = np.argsort(-scores, kind="stable")
    right = np.cumsum(dirty[order])
    declared = np.arange(1, len(order) + 1)
    ends = np.append(np.diff(scores[order]) != 0, True)
    allowed = ends & ((declared - right) <= asked * declared)
    return float(right[allowed].max() / max(dirty.sum(), 1)) if allowed.any() else 0.0


def figures(rows: Sequence[Row], earlier: Sequence[Row]) -> Iterator[Figure]:
    """Yield the worst set's realised rate and the mean power."""
    ours = [row for row in rows if row["rule"] == "fdr .1"]
    if not ours:
        return
    realised = means_by(ours, lambda row: (row["set"], row["reference"], row["dirty"]), "realised")
    worst = max(realised, key=lambda key: realised[key])
    name, size, dirty = worst  # type: ignore[misc]
    reached = f"{number(realised[worst])} ({titled(name)}, N = {size}, {dirty:.0%} dirty)"
    yield Figure("FDR .1 asked: realised, worst set", "≤ .12", reached, realised[worst] <= 0.12, "fdr")
    many = [row for row in ours if row["dirty"] == 0.1 and row["best_power"] > 0]
    statement = "FDR .1, 10 % dirty: power as a share of the best threshold's in hindsight, mean"
    yield from at_least(0.8, statement, "fdr", many, [], lambda row: row["power"] / row["best_power"])
    del earlier


def tables(rows: Sequence[Row], earlier: Sequence[Row]) -> Iterator[str]:
    """Yield realised false discoveries, power and the best power in hindsight."""

    def column(row: Row) -> str:
        return f"{row['rule']}, N = {row['reference']}, {row['dirty']:.0%} dirty"

    for title, value in (
        ("Realised share of clean rows", "realised"),
        ("Power", "power"),
        ("Best power", "best_power"),
    ):
        yield from pivot(rows, earlier, "set", column, value, title=title)
