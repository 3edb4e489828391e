"""Table 1: how much of the accuracy that corruption took from a linear SVM comes back, on eleven sets.

Eleven random splits of each set: 2/3 reference (at most 1000 rows), the rest test (at most 500). One stretch of every
test row is overwritten, of the same splits once by the text's lengths and once by milder ones. Split 1 chooses
parameters, by each of the `readings`; the other ten count. `compute` leaves ``table_1_cells.csv``, the accuracy of
every method at every place of the grid that some reading or its neighbours need, and ``table_1.csv`` and
``table_1_readings.csv``, what follows from it. `draw` leaves ``table_1.png`` and ``table_1_milder.png``.
"""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

from experiments import datasets, table_1_summary
from experiments.corruptions import overwrite_share_of_rows, overwrite_stretches
from experiments.readings import (
    ALPHAS,
    C_GRID,
    DEFAULT_C,
    LITERAL,
    MAIN,
    STRETCHES,
    Choice,
    choose,
    readings_of,
)
from experiments.recording import Row, Settings, Work
from experiments.segment_baseline import SegmentBaseline
from treemend import TCS

__all__ = ["compute", "draw"]

DEPTH = 4
SPLITS = 11
_REFERENCES = ("clean", "5 %")
_QUICK_ROWS = 150
_QUICK_SETS = ("wdbc",)


def compute(settings: Settings) -> None:
    """Measure all sets that can be had, and say which cannot."""
    cases = [(dataset, name, longest) for dataset, name in _available(settings) for longest in STRETCHES]
    counting = range(2, 4 if settings.quick else SPLITS + 1)
    work = Work("table_1_cells", settings, len(cases) * (1 + len(counting)))
    first = work.do(
        {f"{name} {longest} 1": partial(_split_1, dataset, name, longest, settings) for dataset, name, longest in cases}
    )
    choices = {
        (name, longest): {
            reading.title: choose(reading, table_1_summary.accuracies_of(first[f"{name} {longest} 1"]))
            for reading in readings_of(longest)
        }
        for _, name, longest in cases
    }
    work.do(
        {
            f"{name} {longest} {number}": partial(
                _counting_split, dataset, name, number, choices[name, longest], settings
            )
            for dataset, name, longest in cases
            for number in counting
        }
    )
    work.finish()
    table_1_summary.summarise(settings)


draw = table_1_summary.draw


@dataclass(frozen=True, eq=False)
class Split:
    """One split: reference rows clean and 5 % corrupted, test rows true and corrupted."""

    reference: dict[str, NDArray[np.float64]]
    reference_labels: NDArray[np.int64]
    true: NDArray[np.float64]
    corrupted: NDArray[np.float64]
    labels: NDArray[np.int64]


def make_split(dataset: datasets.Dataset, number: int, settings: Settings, longest: float = LITERAL) -> Split:
    """Draw split ``number`` of a set; who is in which part depends on the seed, the set and the number only."""
    position = datasets.TABLE_1_SETS.index(dataset.name)
    rng = np.random.default_rng([settings.seed, position, number])
    drawn = rng.permutation(len(dataset.X))
    if settings.quick:
        drawn = drawn[:_QUICK_ROWS]
    cut = round(len(drawn) * 2 / 3)
    reference, test = drawn[:cut][:1000], drawn[cut:][:500]
    corrupted = overwrite_stretches(dataset.X[test], rng, longest)
    clean = dataset.X[reference]
    return Split(
        reference={"clean": clean, "5 %": overwrite_share_of_rows(clean, 0.05, rng, longest)},
        reference_labels=dataset.y[reference],
        true=dataset.X[test],
        corrupted=corrupted,
        labels=dataset.y[test],
    )


def _available(settings: Settings) -> Iterator[tuple[datasets.Dataset, str]]:
    for name in _QUICK_SETS if settings.quick else datasets.TABLE_1_SETS:
        try:
            dataset = datasets.load(name, settings.data)
        except datasets.MissingDataError as missing:
            print(missing, file=sys.stderr)
            continue
        yield dataset, name
        if name == "svmguide3" and not settings.quick:
            yield datasets.without_repeated_rows(dataset), "svmguide3 without repeats"


def _split_1(dataset: datasets.Dataset, name: str, longest: float, settings: Settings) -> Iterator[Row]:
    split = make_split(dataset, 0, settings, longest)
    readings = readings_of(longest)
    machines = _machines(split, C_GRID if any(reading.C != "default" for reading in readings) else (DEFAULT_C,))
    here = {"set": name, "longest": longest, "split": 1}
    for C, machine in machines.items():
        folds = cross_val_score(_machine(C), split.reference["clean"], split.reference_labels, cv=5)
        yield {
            **here,
            "method": "SVM",
            "C": C,
            "true": _percent(machine, split.true, split.labels),
            "cross_validated": float(100 * folds.mean()),
        }
    for alpha in ALPHAS:
        for tau, root in sorted({(tau, reading.root) for reading in readings for tau in reading.taus}):
            mended = _mended(split, "clean", alpha, tau, root)
            for row in _rows(split, machines, mended):
                yield {**here, "reference": "clean", "method": "TCS-MAP", **_at(alpha, tau, root), **row}


def _counting_split(
    dataset: datasets.Dataset, name: str, number: int, choices: dict[str, Choice], settings: Settings
) -> Iterator[Row]:
    """Measure what the choices need, all of them made by readings with the same longest stretch."""
    longest = next(iter(choices.values())).longest
    split = make_split(dataset, number - 1, settings, longest)
    machines = _machines(split, sorted({choice.C for choice in choices.values()}))
    main = choices[MAIN[longest]]
    places = _needed_places(choices.values(), main)
    for reference in _REFERENCES:
        here = {"set": name, "longest": longest, "split": number, "reference": reference}
        for alpha, tau, root in places:
            mended = _mended(split, reference, alpha, tau, root)
            for row in _rows(split, machines, mended):
                yield {**here, "method": "TCS-MAP", **_at(alpha, tau, root), **row}
        nearest = _mended(split, reference, main.alpha, main.tau, main.root, imputation="nearest")
        for row in _rows(split, {DEFAULT_C: machines[DEFAULT_C]}, nearest):
            yield {**here, "method": "TCS-NN", **_at(main.alpha, main.tau, main.root), **row}
        for n_segments in (4, 16):
            baseline = SegmentBaseline(n_segments).fit(split.reference[reference], split.corrupted)
            for row in _rows(split, {DEFAULT_C: machines[DEFAULT_C]}, baseline.repaired(main.tau)):
                yield {**here, "method": f"{n_segments}-NN", **_at(1.0, main.tau, "none"), **row}


def _needed_places(choices: Iterable[Choice], main: Choice) -> list[tuple[float, float, str]]:
    """Return alpha, tau and root rule of the choices and of what is beside the main one in the grid."""
    needed = (*choices, *table_1_summary.neighbouring_choices(main))
    return sorted({(choice.alpha, choice.tau, choice.root) for choice in needed})


def _rows(split: Split, machines: dict[float, SVC], mended: NDArray[np.float64]) -> Iterator[Row]:
    for C, machine in machines.items():
        yield {
            "C": C,
            "true": _percent(machine, split.true, split.labels),
            "corrupted": _percent(machine, split.corrupted, split.labels),
            "mended": _percent(machine, mended, split.labels),
        }


def _at(alpha: float, tau: float, root: str) -> Row:
    return {"alpha": alpha, "tau": tau, "root": root}


def _mended(
    split: Split, reference: str, alpha: float, tau: float, root: str, imputation: str = "map"
) -> NDArray[np.float64]:
    tcs = TCS(tau=tau, alpha=alpha, depth=DEPTH, imputation=imputation, root_rule=root)
    return np.asarray(tcs.fit(split.reference[reference]).mend(split.corrupted).repaired)


def _machine(C: float) -> SVC:
    return SVC(C=C, kernel="linear", cache_size=500)


def _machines(split: Split, Cs: tuple[float, ...] | list[float]) -> dict[float, SVC]:
    """Train on the clean reference, also where the method sees a corrupted one."""
    return {C: _machine(C).fit(split.reference["clean"], split.reference_labels) for C in Cs}


def _percent(machine: SVC, rows: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    side = rows @ machine.coef_[0] + machine.intercept_[0]
    return float(100 * np.mean(np.where(side > 0, 1, -1) == labels))
