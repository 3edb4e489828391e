"""Does the reference cover the table? Tables of 300 rows that drifted, clean ones, and ones with dirt only."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.recording import Row
from experiments.robustness.cases import to_unit_scales
from experiments.robustness.menders import build, quietly
from experiments.robustness.sets import SUBJECTS, load_rows, measure_sets
from experiments.robustness.settings import Settings
from experiments.robustness.summaries import Figure, mean, number, pivot
from treemend.synthetic import corrupt, stretch_masks

__all__ = ["DRIFTS", "compute", "figures", "tables"]

Rows = NDArray[np.float64]

_SETS = ("digits", "image", "svmguide3", "wdbc", "spambase", "gas_drift", "ringnorm", "g241c", "twonorm", "digit1")
_TABLE, _TABLES = 300, 20


def _all_shifted(table: Rows, _: np.random.Generator) -> Rows:
    return np.asarray(table + 0.5 * table.std(axis=0))


def _one_shifted(table: Rows, _: np.random.Generator) -> Rows:
    """Shift the column that varies most."""
    return np.asarray(table + 0.5 * table.std(axis=0) * _most_varied(table))


def _gained(table: Rows, _: np.random.Generator) -> Rows:
    """Replace the sensor that varies most by another of gain 1.5."""
    return np.asarray(table * np.where(_most_varied(table), 1.5, 1.0))


def _most_varied(table: Rows) -> NDArray[np.bool_]:
    return np.arange(table.shape[1]) == table.std(axis=0).argmax()


def _dirtied(table: Rows, rng: np.random.Generator, share: float) -> Rows:
    dirty, hit = table.copy(), rng.random(len(table)) < share
    masks = stretch_masks(int(hit.sum()), table.shape[1], rng=rng)
    dirty[hit] = corrupt("noise", table[hit], masks, rng=rng)
    return dirty


DRIFTS: dict[str, Callable[[Rows, np.random.Generator], Rows]] = {
    "all columns by .5 deviations": _all_shifted,
    "one column by .5 deviations": _one_shifted,
    "a sensor replaced, gain 1.5": _gained,
    "clean": lambda table, _: table,
    "dirt in 10 % of the rows": partial(_dirtied, share=0.1),
    "dirt in 50 % of the rows": partial(_dirtied, share=0.5),
}
_MUST_TELL = tuple(DRIFTS)[:3]


def told(mended: Any) -> bool:
    """Tell whether the result says that the reference does not cover the table."""
    return bool(getattr(mended, "notes", ()))


def compute(settings: Settings) -> None:
    """Measure every set that has rows enough."""
    measure_sets("drift", settings, _SETS, _set)


def _set(name: str, settings: Settings) -> Iterator[Row]:
    rows = to_unit_scales(load_rows(SUBJECTS[name], settings.data))
    size = min(1000, len(rows) - min(_TABLE, len(rows) // 2))
    for number_ in settings.repetitions(_TABLES):
        rng = np.random.default_rng([settings.seed, list(SUBJECTS).index(name), 12, number_])
        drawn = rows[rng.permutation(len(rows))]
        reference, table = drawn[:size], drawn[size : size + _TABLE]
        with quietly():
            mender = build(settings).fit(reference)
        for drift, change in DRIFTS.items():
            with quietly():
                mended = mender.mend(change(table, rng))
            touched = float(np.mean(mended.corrupted))
            yield {"set": name, "number": number_, "drift": drift, "told": float(told(mended)), "touched": touched}


def figures(rows: Sequence[Row], earlier: Sequence[Row]) -> Iterator[Figure]:
    """Yield how often drift is told, and how often it is told where there is none."""
    for drift in dict.fromkeys(row["drift"] for row in rows):
        now, before = ([row for row in some if row["drift"] == drift] for some in (rows, earlier))
        share, must = mean(now, "told"), drift in _MUST_TELL
        asked, met = ("≥ .90", share >= 0.9) if must else ("≤ .01", share <= 0.01)
        yield Figure(f"Drift told, {drift}", asked, number(share), met, "drift", number(mean(before, "told")))


def tables(rows: Sequence[Row], earlier: Sequence[Row]) -> Iterator[str]:
    """Yield how often drift is told, and the rows touched."""
    yield from pivot(rows, earlier, "set", "drift", "told")
    yield from pivot(rows, earlier, "set", "drift", "touched", title="Share of the rows that were replaced in part")
