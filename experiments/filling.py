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
from experiments.robustness.sets import SUBJECTS, load_rows
from treemend.mender.columns import Columns, column_widths, learn_columns
from treemend.mender.density import Density, Shape, learn_densities
from treemend.mender.filling import Filled, calibrate_spread, fill
from treemend.mender.learning import choose_shape
from treemend.mender.spread import NORMAL_QUANTILE, Spread

Rows = NDArray[np.float64]
Masks = NDArray[np.bool_]

SETS = ("digits", "wdbc", "image", "gas_drift", "ringnorm", "spambase", "sonar", "tecator", "g241c", "svmguide3")
QUICK_SETS = ("digits", "wdbc", "image", "sonar")
PATTERNS = ("10 %", "30 %", "50 %", "blocks")
CONTEXTS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
FOLDS = 5
MOST_REFERENCE = 1_000
MOST_FRESH = 250
MOST_ROWS_OF_A_TABLE = 1_200
QUICK_ROWS = 400
NEAREST = 8
_LEAST_CHANGE = 1e-6


@dataclass(frozen=True)
class Case:
    """Reference rows, fresh rows, and where one stretch of each fresh row is overwritten; columns scaled to [0, 1]."""

    reference: Rows
    true: Rows
    masks: Masks

    @classmethod
    def draw(cls, name: str, folder: Path, quick: bool) -> "Case":
        """Draw a set's rows: two thirds up to a limit are the reference, others are fresh."""
        rows = load_rows(SUBJECTS[name], folder)
        width = np.ptp(rows, axis=0)
        rows = (rows - rows.min(axis=0)) / np.where(width > 0, width, 1.0)
        rng = np.random.default_rng([0, SETS.index(name)])
        rows = rows[rng.permutation(len(rows))[: QUICK_ROWS if quick else None]]
        cut = len(rows) * 2 // 3
        fresh = rows[cut:][:MOST_FRESH]
        return cls(rows[:cut][:MOST_REFERENCE], fresh, stretch_masks(*fresh.shape, rng))

    def corrupted(self) -> dict[str, Rows]:
        """Return the fresh rows overwritten in five ways."""
        rng = np.random.default_rng(1)
        shape = self.true.shape
        first = self.true[np.arange(len(self.true)), self.masks.argmax(axis=1)]
        values = {
            "noise": rng.random(shape),
            "stuck": np.broadcast_to(first[:, None], shape),
            "swap": self.reference[rng.integers(0, len(self.reference), len(self.true))],
            "additive": self.true + rng.normal(0, 0.25, shape),
            "offset": self.true + 0.3 * rng.choice([-1.0, 1.0], (len(self.true), 1)),
        }
        return {kind: np.where(self.masks, found, self.true) for kind, found in values.items()}


def stretch_masks(n_rows: int, d: int, rng: np.random.Generator) -> Masks:
    """Return one stretch of 10 to 50 % of the columns for each row."""
    masks = np.zeros((n_rows, d), dtype=bool)
    for mask in masks:
        width = rng.integers(-(-d // 10), max(1, d // 2) + 1)
        start = rng.integers(0, d - width + 1)
        mask[start : start + width] = True
    return masks


@dataclass(frozen=True)
class Filler:
    """A density with all that filling needs, learnt from rows with NaN where values are missing."""

    columns: Columns
    shape: Shape
    density: Density
    spread: Spread

    @classmethod
    def fit(cls, values: Rows) -> "Filler":
        """Learn as a fit of the recommended method does, columns in their own order."""
        n, d = values.shape
        order, widths = np.arange(d), column_widths(values)
        fold = np.random.default_rng(0).permutation(n) % FOLDS
        parts = [values, *(values[fold != number] for number in range(FOLDS))]
        columns = [learn_columns(part, order, widths) for part in parts]
        rows = [own.to_rows(part)[0] for own, part in zip(columns, parts, strict=True)]
        shape = choose_shape(rows[0], 0)
        densities = [density for density, _ in learn_densities(rows, shape, 0)]
        spread = calibrate_spread(values, fold, list(zip(densities[1:], columns[1:], strict=True)), 0)
        return cls(columns[0], shape, densities[0], spread)

    def fill(self, values: Rows, gaps: Masks | None = None) -> Filled:
        """Fill missing values and gaps."""
        return fill(self.density, self.columns, values, gaps, spread=self.spread)


def main() -> None:
    """Print the three tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="four sets of at most 400 rows, without one table")
    parser.add_argument("--data", type=Path, default=None, help="folder of the sets")
    parser.add_argument("--sets", nargs="+", default=None, choices=SETS)
    given = parser.parse_args()
    names = given.sets or (QUICK_SETS if given.quick else SETS)
    folder = data_folder(given.data)
    cases = {name: Case.draw(name, folder, given.quick) for name in names}
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
    nearest = case.true.copy()
    for row, mask in zip(nearest, case.masks, strict=True):
        distance = np.square(case.reference[:, ~mask] - row[~mask]).sum(axis=1)
        row[mask] = case.reference[np.argsort(distance, kind="stable")[:NEAREST]].mean(axis=0)[mask]
    return [_quality(case, filler.fill(case.true, case.masks).values), _quality(case, nearest)]


def _quality(case: Case, repaired: Rows) -> float:
    after = np.linalg.norm(repaired - case.true, axis=1)
    found = []
    for corrupted in case.corrupted().values():
        before = np.linalg.norm(corrupted - case.true, axis=1)
        changed = before > _LEAST_CHANGE
        found.append(np.mean(1 - after[changed] / before[changed]))
    return float(np.mean(found))


def from_reference(case: Case, filler: Filler) -> dict[str, list[float]]:
    """Errors where the reference is complete and fresh rows have gaps."""
    found = {}
    for pattern in PATTERNS:
        gaps = _gaps(pattern, case.true.shape)
        holed = np.where(gaps, np.nan, case.true)
        filled = [filler.fill(holed).values]
        together = np.vstack([case.reference, holed])
        filled += [_transform(peer, together)[len(case.reference) :] for peer in _peers()]
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
        filled = [learnt.fill(holed).values, *(_transform(peer, holed) for peer in _peers())]
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


def _transform(peer: Callable[[], object], holed: Rows) -> Rows:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        imputer = peer()
        return np.asarray(imputer.fit_transform(holed))  # type: ignore[attr-defined]


def _relative_errors(true: Rows, gaps: Masks, means: Rows, filled: list[Rows]) -> list[float]:
    base = np.square((means - true)[gaps]).mean()
    return [float(np.sqrt(np.square((rows - true)[gaps]).mean() / base)) for rows in filled]


if __name__ == "__main__":
    main()
