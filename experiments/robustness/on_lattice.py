"""Noise that takes values of its column only: how much of what is found is told by values off their lattice.

Uniform noise in grey values or counts lies between the values that a column can have, which gives it away. Here the
same noise is also rounded to the nearest value that the column has in the reference; cells that this leaves as they
were do not count as overwritten.
"""

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
from treemend.synthetic import corrupt, scattered_masks, square_masks, stretch_masks

__all__ = ["cases", "compute", "figures", "tables"]

_SETS = ("digits", "digits_squares", "spambase", "image")


def cases(settings: Settings) -> Cases:
    """Return sets of which columns are counts or grey values."""
    names = obtainable(("digits",) if settings.quick else _SETS, settings)
    return {f"{name} {split}": partial(_case, name, split, settings) for name in names for split in settings.splits(2)}


def compute(settings: Settings) -> None:
    """Measure every set that can be had."""
    measure_cases("on_lattice", settings, cases(settings))


def rounded(rows: NDArray[np.float64], reference: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rows of which each value is the nearest one that its column has in the reference."""
    found = np.empty_like(rows)
    for own, values, target in zip(rows.T, reference.T, found.T, strict=True):
        known = np.unique(values)
        target[:] = known[np.abs(own[:, None] - known).argmin(axis=1)]
    return found


def _case(name: str, split: int, settings: Settings) -> Case:
    drawn = draw_rows(name, split, settings, stream=9, most_test=300)
    rng, (n, d) = drawn.rng, drawn.true.shape
    if drawn.grid:
        shapes = {"one square": square_masks(n, drawn.grid, rng=rng)}
    else:
        shapes = {name: stretch_masks(n, d, rng=rng, count=count) for name, count in (("one stretch", 1), ("three", 3))}
    shapes["scattered"] = scattered_masks(n, d, 0.1, rng=rng)
    damages = []
    for shape, masks in shapes.items():
        corrupted = corrupt("noise", drawn.true, masks, rng=rng)
        damages.append(Damage({"shape": shape, "noise": "uniform"}, masks, corrupted))
        on_lattice = np.where(masks, rounded(corrupted, drawn.reference), drawn.true)
        damages.append(Damage({"shape": shape, "noise": "rounded"}, on_lattice != drawn.true, on_lattice))
    return drawn.case(damages)


def figures(rows: Sequence[Row], earlier: Sequence[Row]) -> Iterator[Figure]:
    """Yield nothing: no bound was asked."""
    del rows, earlier
    yield from ()


def tables(rows: Sequence[Row], earlier: Sequence[Row]) -> Iterator[str]:
    """Yield F1 of the cells and quality by shape, for both kinds of noise."""
    for title, value in (("F1 of the cells", "f1"), ("Quality", "quality")):
        yield from pivot(rows, earlier, "set", lambda row: f"{row['shape']}, {row['noise']}", value, title=title)
