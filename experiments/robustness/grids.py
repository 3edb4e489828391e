"""Shapes on images: one square, a rectangle, a blob, two squares, scattered pixels."""

import math
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
from treemend.synthetic import corrupt, scattered_masks, square_masks

__all__ = ["cases", "compute", "figures", "tables"]


def _rectangle_masks(n_rows: int, grid: tuple[int, int], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return masks of one rectangle a row, with 10 to 50 % of the cells."""
    masks = np.zeros((n_rows, *grid), dtype=bool)
    for mask in masks:
        tall, wide = 0, 0
        while not 0.1 <= tall * wide / mask.size <= 0.5:
            tall, wide = (int(rng.integers(1, side + 1)) for side in grid)
        top, left = int(rng.integers(0, grid[0] - tall + 1)), int(rng.integers(0, grid[1] - wide + 1))
        mask[top : top + tall, left : left + wide] = True
    return masks.reshape(n_rows, -1)


def _blob_masks(n_rows: int, grid: tuple[int, int], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return masks of one region a row, with 10 to 50 % of the cells, grown by random cells beside it."""
    height, width = grid
    masks = np.zeros((n_rows, height, width), dtype=bool)
    for mask in masks:
        size = rng.integers(math.ceil(0.1 * mask.size), math.floor(0.5 * mask.size) + 1)
        beside = [(int(rng.integers(height)), int(rng.integers(width)))]
        while mask.sum() < size:
            row, column = beside.pop(int(rng.integers(len(beside))))
            if mask[row, column]:
                continue
            mask[row, column] = True
            around = ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1))
            beside += [(r, c) for r, c in around if 0 <= r < height and 0 <= c < width and not mask[r, c]]
    return masks.reshape(n_rows, -1)


Draw = Callable[[int, tuple[int, int], np.random.Generator], NDArray[np.bool_]]
SHAPES: dict[str, Draw] = {
    "square": lambda n, grid, rng: square_masks(n, grid, rng=rng),
    "rectangle": _rectangle_masks,
    "blob": _blob_masks,
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
        yield from pivot(
            rows, earlier, "set", "shape", value, title=f"{value.replace('_', ' ').capitalize()}, means over four kinds"
        )
