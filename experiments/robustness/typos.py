"""Single typos: one cell a row times or divided by 10, with the wrong sign, or exchanged with the next column's."""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from experiments.recording import Row
from experiments.robustness.cases import Case, Cases, Damage, draw_rows
from experiments.robustness.menders import measure_cases
from experiments.robustness.sets import obtainable
from experiments.robustness.settings import Settings
from experiments.robustness.summaries import Figure, pivot
from treemend.synthetic import TYPOS, corrupt

__all__ = ["cases", "compute", "figures", "tables"]

_LEAST_CHANGE = 0.25
"""In standard deviations: rows that a typo changes less (zero times ten) count as not changed."""
_SETS = ("wdbc", "image", "svmguide3", "tecator", "gas_drift", "spambase", "glass", "nab_nyc_taxi")


def cases(settings: Settings) -> Cases:
    """Return sets of measurements."""
    names = obtainable(("wdbc",) if settings.quick else _SETS, settings)
    return {f"{name} {split}": partial(_case, name, split, settings) for name in names for split in settings.splits(2)}


def compute(settings: Settings) -> None:
    """Measure every set that can be had."""
    measure_cases("typos", settings, cases(settings))


def in_deviations(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide each column by its standard deviation and leave its zero where it is: signs and factors keep a meaning."""
    deviation = rows.std(axis=0)
    return np.asarray(rows / np.where(deviation > 0, deviation, 1.0))


def _case(name: str, split: int, settings: Settings) -> Case:
    drawn = draw_rows(name, split, settings, stream=6, most_test=300, scale=in_deviations)
    cells = np.zeros(drawn.true.shape, dtype=bool)
    cells[np.arange(len(cells)), drawn.rng.integers(0, cells.shape[1], len(cells))] = True
    damages = []
    for kind in TYPOS:
        corrupted = corrupt(kind, drawn.true, cells, rng=drawn.rng)
        small = np.abs(corrupted - drawn.true).max(axis=1) < _LEAST_CHANGE
        corrupted[small] = drawn.true[small]
        damages.append(Damage({"kind": kind}, corrupted != drawn.true, corrupted))
    return drawn.case(damages)


def figures(rows: Sequence[Row], earlier: Sequence[Row]) -> Iterator[Figure]:
    """Yield nothing: no bound was asked."""
    del rows, earlier
    yield from ()


def tables(rows: Sequence[Row], earlier: Sequence[Row]) -> Iterator[str]:
    """Yield rows found, F1 of the cells and quality by typo."""
    for title, value in (("Rows found", "detection"), ("F1 of the cells", "f1"), ("Quality", "quality")):
        yield from pivot(rows, earlier, "set", "kind", value, title=title)
