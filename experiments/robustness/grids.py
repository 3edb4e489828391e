"""Shapes on images: one square, a rectangle, a blob, two squares, scattered pixels."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from experiments.recording import Row
from experiments.robustness.cases import Case, Cases, Damage, draw_rows
from experiments.robustness.menders import measure_cases
from experiments.robustness.sets import obtainable
from experiments.robustness.settings import Settings
from experiments.robustness.summaries import Figure, at_least, mean, pivot, titled
from treemend.synthetic import blob_masks, corrupt, rectangle_masks, scattered_masks, square_masks

__all__ = ["cases", "compute", "figures", "tables"]

Draw = Callable[[int, tuple[int, int], np.random.Generator], NDArray[np.bool_]]
SHAPES: dict[str, Draw] = {
    "square": lambda n, grid, rng: square_masks(n, grid, rng=rng),
    "rectangle": lambda n, grid, rng: rectangle_masks(n, grid, rng=rng),
    "blob": lambda n, grid, rng: blob_masks(n, grid, rng=rng),
    "two squares": lambda n, grid, rng: square_masks(n, grid, rng=rng, count=2),
    "scattered": lambda n, grid, rng: scattered_masks(n, grid[0] * grid[1], 0.1, rng=rng),
}
KINDS = ("noise", "zero", "additive", "offset")
_SETS = ("digits_squares", "usps01")
_ASKED = {"two squares": 0.6, "scattered": 0.4}


def cases(settings: Settings) -> Cases:
    """Return digits and USPS."""
    names = obtainable(_SETS[:1] if settings.quick else _SETS, settings)
    return {f"{name} {split}": partial(_case, name, split, settings) for name in names for split in settings.splits(2)}


def compute(settings: Settings) -> None:
    """Measure both sets of images."""
    measure_cases("grids", settings, cases(settings))


def _case(name: str, split: int, settings: Settings) -> Case:
    drawn = draw_rows(name, split, settings, stream=4, most_test=200)
    assert drawn.grid is not None
    damages = []
    for shape, draw in SHAPES.items():
        masks = draw(len(drawn.true), drawn.grid, drawn.rng)
        for kind in KINDS[:1] if settings.quick else KINDS:
            corrupted = corrupt(kind, drawn.true, masks, rng=drawn.rng)
            damages.append(Damage({"shape": shape, "kind": kind}, masks, corrupted))
    return drawn.case(damages)


def figures(rows: Sequence[Row], earlier: Sequence[Row]) -> Iterator[Figure]:
    """Yield the judged figures: the ratio of mean quality to mean limit."""
    for name in dict.fromkeys(row["set"] for row in rows):
        for shape in SHAPES:
            now, before = (
                [row for row in some if row["set"] == name and row["shape"] == shape] for some in (rows, earlier)
            )
            statement = f"{titled(name).split(',')[0]}, {shape}: "
            if shape in _ASKED:
                now, before = ([_overall(some)] if some else [] for some in (now, before))
                statement += "quality as a share of the limit's, means over four kinds"
                yield from at_least(_ASKED[shape], statement, "grids", now, before, "share")
            elif before:
                bound = mean(before, "quality") - 0.01
                statement += "quality, at most .01 below the earlier figure"
                yield from at_least(bound, statement, "grids", now, before, "quality")


def _overall(rows: Sequence[Row]) -> Row:
    return {"share": mean(rows, "quality") / mean(rows, "limit")}


def tables(rows: Sequence[Row], earlier: Sequence[Row]) -> Iterator[str]:
    """Yield quality, precision and recall by shape, means over the kinds."""
    for value in ("quality", "mask_known", "limit", "precision", "recall", "harm_inside"):
        yield f"{value.replace('_', ' ').capitalize()}, means over four kinds:"
        yield ""
        yield from pivot(rows, earlier, "set", "shape", value)
        yield ""
