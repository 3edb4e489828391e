"""Two, three and five stretches of uniform noise a row, as a share of the quality with the mask known."""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from experiments.recording import Row
from experiments.robustness.cases import Case, Cases, Damage, draw_rows
from experiments.robustness.menders import measure_cases
from experiments.robustness.sets import STRETCHES, obtainable
from experiments.robustness.settings import Settings
from experiments.robustness.summaries import Figure, at_least, mean, pivot
from treemend.synthetic import corrupt, stretch_masks

__all__ = ["cases", "compute", "figures", "tables"]

COUNTS = (2, 3, 5)
_ASKED = {2: (0.93, 0.85), 3: (0.90, 0.80), 5: (0.88, 0.75)}
"""Share of the mask-known quality on average, and on digits."""


def cases(settings: Settings) -> Cases:
    """Return every split of every set whose rows are sequences."""
    names = obtainable(("digits",) if settings.quick else STRETCHES, settings)
    return {f"{name} {split}": partial(_case, name, split, settings) for name in names for split in settings.splits(2)}


def compute(settings: Settings) -> None:
    """Measure every set that can be had."""
    measure_cases("several_stretches", settings, cases(settings))


def _case(name: str, split: int, settings: Settings) -> Case:
    drawn = draw_rows(name, split, settings, stream=2, most_test=300)
    damages = []
    for count in COUNTS:
        masks = stretch_masks(*drawn.true.shape, rng=drawn.rng, count=count)
        damages.append(Damage({"stretches": count}, masks, corrupt("noise", drawn.true, masks, rng=drawn.rng)))
    return drawn.case(damages)


def share(row: Row) -> float:
    """Return the share of the quality with the mask known; NaN where even that repairs next to nothing."""
    return float(row["quality"] / row["mask_known"]) if row["mask_known"] > 0.1 else float("nan")


def figures(rows: Sequence[Row], earlier: Sequence[Row]) -> Iterator[Figure]:
    """Yield the judged figures."""
    for count, (on_average, on_digits) in _ASKED.items():
        now, before = ([row for row in some if row["stretches"] == count] for some in (rows, earlier))
        statement = f"{count} stretches: share of the mask-known quality"
        n_sets = len({row["set"] for row in now})
        yield from at_least(
            on_average, f"{statement}, mean over {n_sets} sets", "several_stretches", now, before, share
        )
        now, before = ([row for row in some if row["set"] == "digits"] for some in (now, before))
        yield from at_least(on_digits, f"{statement}, digits", "several_stretches", now, before, share)
    unseen = [row for row in rows if row["stretches"] == 3 and row["set"] == "glass"]
    yield from at_least(
        0.8, "3 stretches in unseen spectra (glass), the same share", "several_stretches", unseen, [], share
    )


def tables(rows: Sequence[Row], earlier: Sequence[Row]) -> Iterator[str]:
    """Yield the share of the mask-known quality and the F1 by set and number of stretches."""

    def column(row: Row) -> str:
        return f"{row['stretches']} stretches"

    yield from pivot(rows, earlier, "set", column, share)
    yield from pivot(rows, earlier, "set", column, "f1", title="F1 of the cells")
    if not np.isnan(mean(rows, "harm_inside")):
        harm = "Harm, mean squared change of the undamaged cells of these rows"
        yield from pivot(rows, earlier, "set", column, "harm_inside", title=harm)
