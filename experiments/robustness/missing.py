"""Missing values: error of the filled cells as a share of the error of column means.

Nine sets; 10, 30 or 50 % of the cells missing at random, or one block of 10 to 50 % of the columns in each row. Either
the reference is complete and the suspect rows are not, or there is one table with gaps in every row.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from experiments.recording import Row, do_all
from experiments.robustness.cases import draw_rows
from experiments.robustness.menders import build, mend, mend_table, quietly
from experiments.robustness.sets import obtainable
from experiments.robustness.settings import Settings
from experiments.robustness.summaries import Figure, mean, number, pivot
from treemend.synthetic import scattered_masks, stretch_masks

__all__ = ["Gaps", "compute", "figures", "gaps", "relative_error", "tables"]

Rows = NDArray[np.float64]

SETS = ("digits", "image", "svmguide3", "wdbc", "spambase", "sonar", "tecator", "gas_drift", "ringnorm")
_HELD_OUT = ("bci", "twonorm", "nab_nyc_taxi", "digit1")
PATTERNS = ("10 %", "30 %", "50 %", "blocks")
_MOST_REFERENCE, _MOST_TEST = 400, 200


@dataclass(frozen=True, eq=False)
class Gaps:
    """Rows with gaps, their truth, and complete reference rows; no reference for one table."""

    labels: Mapping[str, object]
    reference: Rows | None
    true: Rows
    masks: NDArray[np.bool_]

    @property
    def rows(self) -> Rows:
        """The rows with NaN in their gaps."""
        return np.where(self.masks, np.nan, self.true)


def gaps(settings: Settings) -> dict[str, Callable[[], list[Gaps]]]:
    """Return, by set and split, all patterns with a complete reference and as one table."""
    names = obtainable(("digits",) if settings.quick else SETS + _HELD_OUT, settings)
    return {f"{name} {split}": partial(_gaps, name, split, settings) for name in names for split in settings.splits(2)}


def _gaps(name: str, split: int, settings: Settings) -> list[Gaps]:
    drawn = draw_rows(name, split, settings, stream=8, most_test=_MOST_TEST, most_reference=_MOST_REFERENCE)
    test = np.vstack([drawn.clean, drawn.true])
    found = []
    for pattern in PATTERNS[:2] if settings.quick else PATTERNS:
        for table, reference, rows in (
            ("complete reference", drawn.reference, test),
            ("one table", None, drawn.reference),
        ):
            labels = {"set": name, "split": split, "pattern": pattern, "table": table}
            found.append(Gaps(labels, reference, rows, _masks(pattern, rows.shape, drawn.rng)))
    return found


def _masks(pattern: str, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.bool_]:
    n_rows, n_features = shape
    if pattern == "blocks":
        return stretch_masks(n_rows, n_features, rng=rng)
    masks = scattered_masks(n_rows, n_features, float(pattern.split(maxsplit=1)[0]) / 100, rng=rng)
    masks[masks.all(axis=1), 0] = False
    return masks


def relative_error(case: Gaps, filled: Rows) -> float:
    """Return the root mean squared error in the gaps, divided by that of the means of the known cells."""
    known = case.rows if case.reference is None else case.reference
    means = np.broadcast_to(np.nanmean(known, axis=0), case.true.shape)
    errors = [np.sqrt(np.mean(np.square(some - case.true)[case.masks])) for some in (filled, means)]
    return float(errors[0] / errors[1])


def compute(settings: Settings) -> None:
    """Measure every set that can be had."""
    found = gaps(settings)
    do_all(
        "missing",
        settings,
        {name: lambda make=make: [_measured(case, settings) for case in make()] for name, make in found.items()},
    )


def _measured(case: Gaps, settings: Settings) -> Row:
    try:
        filled = _filled(case, settings)
    except ValueError:
        # What cannot be filled is told as a gap in the results.
        return {**case.labels, "method": "treemend", "error": float("nan")}
    return {**case.labels, "method": "treemend", "error": relative_error(case, filled)}


def _filled(case: Gaps, settings: Settings) -> Rows:
    if case.reference is None:
        return np.asarray(mend_table(settings, case.rows).repaired)
    with quietly():
        mender = build(settings).fit(case.reference)
    return np.asarray(mend(mender, case.rows).repaired)


def figures(rows: Sequence[Row], earlier: Sequence[Row], peers: Sequence[Row] = ()) -> Iterator[Figure]:
    """Yield for each pattern whether the mean error is below every peer's on the sets that both were run on."""
    both = {row["set"] for row in rows} & {row["set"] for row in peers}
    rows, earlier, peers = ([row for row in some if row["set"] in both] for some in (rows, earlier, peers))
    for table in dict.fromkeys(row["table"] for row in rows):
        for pattern in PATTERNS:
            own, before, other = (
                [row for row in some if row["table"] == table and row["pattern"] == pattern]
                for some in (rows, earlier, peers)
            )
            if own and other:
                methods = dict.fromkeys(row["method"] for row in other)
                best = min(methods, key=lambda one: mean([row for row in other if row["method"] == one], "error"))
                bound = mean([row for row in other if row["method"] == best], "error")
                reached, was = mean(own, "error"), number(mean(before, "error"), 3)
                statement = f"Missing values, {table}, {pattern}: mean relative error below every peer's"
                asked = f"< {number(bound, 3)} ({best})"
                yield Figure(statement, asked, number(reached, 3), reached < bound, "missing, make peers", was)


def tables(rows: Sequence[Row], earlier: Sequence[Row], peers: Sequence[Row] = ()) -> Iterator[str]:
    """Yield relative errors by set and pattern, and the peers' means beside."""
    for table in dict.fromkeys(row["table"] for row in rows):
        now, before = ([row for row in some if row["table"] == table] for some in (rows, earlier))
        yield from pivot(now, before, "set", "pattern", "error", title=f"{table.capitalize()}")
        both = {row["set"] for row in now} & {row["set"] for row in peers}
        if both:
            own, before, other = ([row for row in some if row["set"] in both] for some in (now, before, peers))
            yield f"Means over the {len(both)} sets that peers were run on:"
            yield ""
            beside = [row for row in other if row["table"] == table]
            yield from pivot([*own, *beside], before, "method", "pattern", "error")
