"""Filling with the gaps known: the conditional density against imputers, and the coverage of its intervals.

    python -m experiments.filling [--quick] [--data FOLDER] [--sets NAME ...]

Three tables. "Quality": the share of the distance to the truth that filling takes away where one stretch of a row was
overwritten in five ways, mask known; beside it the mean of the 8 nearest reference rows. "Missing": the error relative
to that of column means, for a complete reference and for one table in which every row may have gaps; peers in the same
run. "Coverage": of 80 % intervals, from one missing cell to all but one.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.datasets import data_folder
from experiments.robustness.cases import Case, draw_case
from experiments.robustness.kinds import stretch_masks
from experiments.robustness.measures import distance_quality, limit_repair
from treemend.mender.columns import Columns, column_widths, learn_columns
from treemend.mender.density import Density, Shape, choose_shape, learn_assigned, learn_fold
from treemend.mender.fill_calibration import FillCalibration, calibrate_filling
from treemend.mender.filling import Filled, fill, soften
from treemend.mender.spread import NORMAL_QUANTILE

Rows = NDArray[np.float64]
Masks = NDArray[np.bool_]

SETS = ("digits", "wdbc", "image", "gas_drift", "ringnorm", "spambase", "sonar", "tecator", "g241c", "svmguide3")
QUICK_SETS = ("digits", "wdbc", "image", "sonar")
KINDS = ("noise", "stuck", "swap", "additive", "offset")
PATTERNS = ("10 %", "30 %", "50 %", "blocks")
CONTEXTS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
FOLDS = 5
MOST_ROWS_OF_A_TABLE = 1_200
_LEAST_CHANGE = 1e-6


@dataclass(frozen=True)
class Filler:
    """A density with all that filling needs, learnt from rows with NaN where values are missing."""

    columns: Columns
    shape: Shape
    density: Density
    softened: Density | None
    learnt: FillCalibration

    @classmethod
    def fit(cls, values: Rows) -> "Filler":
        """Learn as a fit of the recommended method does, columns in their own order."""
        n, d = values.shape
        order, widths = np.arange(d), column_widths(values)
        columns = learn_columns(values, order)
        rows = columns.to_rows(values)[0]
        shape = choose_shape(rows, 0)
        density, assignment = learn_assigned(rows, shape, 0)
        fold = np.random.default_rng(0).permutation(n) % FOLDS
        own_columns, densities = [], []
        for number in range(FOLDS):
            kept = fold != number
            own = learn_columns(values[kept], order, widths)
            own_columns.append(own)
            densities.append(learn_fold(density, shape, assignment, rows, kept, own.to_rows(values[kept])[0]))
        learnt = calibrate_filling(values, fold, own_columns, densities, 0)
        return cls(columns, shape, density, soften(density, learnt.softening) if learnt.softening else None, learnt)

    def fill(self, values: Rows, gaps: Masks | None = None) -> Filled:
        """Fill missing values and gaps."""
        return fill(self.density, self.columns, values, gaps, softened=self.softened, spread=self.learnt.spread)


def main() -> None:
    """Print the three tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="four sets of at most 400 rows, without one table")
    parser.add_argument("--data", type=Path, default=None, help="folder of the sets")
    parser.add_argument("--sets", nargs="+", default=None, choices=SETS)
    given = parser.parse_args()
    names = given.sets or (QUICK_SETS if given.quick else SETS)
    folder = data_folder(given.data)
    cases = {name: draw_case(name, 0, folder, quick=given.quick) for name in names}
    fillers = {}
    for name, case in cases.items():
        start = time.process_time()
        fillers[name] = Filler.fit(case.reference)
        print(f"{name}: {case.reference.shape} {fillers[name].shape} {time.process_time() - start:.2f} s", flush=True)
    _print("Quality, mask known", ("density", "mean of 8"), {n: quality(c, fillers[n]) for n, c in cases.items()})
    for what, measure in (("complete reference", from_reference), ("one table", from_one_table)):
        if given.quick and what == "one table":
            continue
        found = {name: measure(case, fillers[name]) for name, case in cases.items()}
        for pattern in PATTERNS:
            _print(
                f"Error / error of column means, {what}, {pattern} missing",
                ("density", "KNN", "Iterative"),
                {name: errors[pattern] for name, errors in found.items()},
            )
    coverages = {name: coverage(case, fillers[name]) for name, case in cases.items()}
    _print("Coverage of 80 % intervals, stretches then scattered", tuple(f"{c:g}" for c in CONTEXTS) * 2, coverages)
    flat = np.concatenate(list(coverages.values()))
    print(f"within .75 - .85: {np.mean((flat >= 0.75) & (flat <= 0.85)):.2f}, least {flat.min():.2f}")


def _print(title: str, header: tuple[str, ...], rows: dict[str, list[float]]) -> None:
    print(f"\n{title}\n| set | {' | '.join(header)} |\n|{'---|' * (len(header) + 1)}")
    for name, figures in rows.items():
        print(f"| {name} | {' | '.join(f'{figure:.3f}' for figure in figures)} |")
    means = np.mean(list(rows.values()), axis=0)
    print(f"| mean | {' | '.join(f'{mean:.3f}' for mean in means)} |", flush=True)


def quality(case: Case, filler: Filler) -> list[float]:
    """Return the mean distance quality of the density and of the mean of 8 nearest rows."""
    repaired = (filler.fill(case.true, case.masks).values, limit_repair(case.reference, case.true, case.masks))
    found = []
    for rows in repaired:
        by_kind = []
        for kind in KINDS:
            corrupted = case.corrupted[kind]
            changed = np.linalg.norm(corrupted - case.true, axis=1) > _LEAST_CHANGE
            by_kind.append(distance_quality(case.true[changed], corrupted[changed], rows[changed]).mean())
        found.append(float(np.mean(by_kind)))
    return found


def from_reference(case: Case, filler: Filler) -> dict[str, list[float]]:
    """Errors where the reference is complete and fresh rows have gaps."""
    found = {}
    for pattern in PATTERNS:
        gaps = _gaps(pattern, case.true.shape)
        holed = np.where(gaps, np.nan, case.true)
        filled = [filler.fill(holed).values]
        filled += [_transform(peer, case.reference, holed) for peer in _peers()]
        found[pattern] = _relative_errors(case.true, gaps, case.reference.mean(axis=0), filled)
    return found


def from_one_table(case: Case, filler: Filler) -> dict[str, list[float]]:
    """Errors where every row may have gaps and there is no other reference."""
    table = np.vstack([case.true, case.reference])[:MOST_ROWS_OF_A_TABLE]
    found = {}
    for pattern in PATTERNS:
        gaps = _gaps(pattern, table.shape)
        holed = np.where(gaps, np.nan, table)
        learnt = type(filler).fit(holed)
        filled = [learnt.fill(holed).values, *(_transform(peer, holed, holed) for peer in _peers())]
        found[pattern] = _relative_errors(table, gaps, np.nanmean(holed, axis=0), filled)
    return found


def coverage(case: Case, filler: Filler) -> list[float]:
    """Share of filled values within their 80 % interval, for each amount of context."""
    d = case.true.shape[1]
    rng = np.random.default_rng(1)
    found = []
    for scattered in (False, True):
        for share in CONTEXTS:
            size = int(np.clip(round(share * d), 1, d - 1))
            gaps = np.zeros(case.true.shape, bool)
            for gap in gaps:
                start = rng.integers(0, d - size + 1)
                gap[rng.permutation(d)[:size] if scattered else slice(start, start + size)] = True
            filled = filler.fill(case.true, gaps)
            error = np.abs(filled.values - case.true)[gaps]
            found.append(float(np.mean(error <= NORMAL_QUANTILE * filled.spread[gaps])))
    return found


def _gaps(pattern: str, shape: tuple[int, ...]) -> Masks:
    rng = np.random.default_rng(PATTERNS.index(pattern))
    if pattern == "blocks":
        return stretch_masks(*shape, rng)
    return np.asarray(rng.random(shape) < float(pattern.split(maxsplit=1)[0]) / 100)


def _peers() -> list[Callable[[], object]]:
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer, KNNImputer

    return [KNNImputer, lambda: IterativeImputer(max_iter=5, random_state=0)]


def _transform(peer: Callable[[], object], learning: Rows, holed: Rows) -> Rows:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        imputer = peer()
        return np.asarray(imputer.fit(learning).transform(holed))  # type: ignore[attr-defined]


def _relative_errors(true: Rows, gaps: Masks, means: Rows, filled: list[Rows]) -> list[float]:
    base = np.square((means - true)[gaps]).mean()
    return [float(np.sqrt(np.square((rows - true)[gaps]).mean() / base)) for rows in filled]


if __name__ == "__main__":
    main()
