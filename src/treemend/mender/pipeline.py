"""The recommended method on one screen: `fit_model`, `judge_rows` and `mend_rows`.

::

    values --columns--> rows --density, windows--> evidence --tails--> statistic --calibration--> p-value
                                                                            declared rows --sets--> cells, kinds
                                                                   cells and missing values --density--> filled values

Values are in the user's units and in the order of the columns; rows are coordinates in layout order.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treemend.arrays import Booleans, Floats, Integers, Labels
from treemend.mender.columns import Columns
from treemend.mender.detector import Detector, weigh_and_find
from treemend.mender.drift import DriftTest, learn_drift_reference
from treemend.mender.evidence import SHIFTED
from treemend.mender.fill_calibration import calibrate_filling
from treemend.mender.filling import Filled, Imputation, allow_for_clean_rows, fill, take_back
from treemend.mender.layout import Layout
from treemend.mender.learning import CrossFit, learn_detector
from treemend.mender.model import MenderModel
from treemend.mender.shifts import Deviations
from treemend.progress import advance, step

# Rows are processed in chunks of about this many cells, which bounds memory and changes no result.
_CELLS_IN_A_CHUNK = 2**18


@dataclass(frozen=True, eq=False)
class Judged:
    """What is known of n rows; cells (n, d) in the order of the columns."""

    statistic: Floats  # evidence of corruption that can be repaired; higher is odder
    raw: Floats  # evidence of corruption, also of rows that no set of their cells explains
    sparse: Booleans  # complete rows that lie where hardly any reference row does
    declared: Booleans  # at the rate that was asked for
    p_values: Floats  # conformal ones of the statistic, the small ones smoothed
    kinds: Labels  # (n, d), of rows that were examined: the kind of corruption, -1 where there is none
    cell_evidence: Floats  # (n, d), log odds that a cell is wrong given the rest of its row; 0 where not examined


def fit_model(
    values: Floats,
    layout: Layout,
    *,
    learnable: Floats | None = None,
    trust: Callable[[Floats], Booleans] | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
) -> tuple[MenderModel, CrossFit]:
    """Learn from clean rows, or from what of them is learnable; the cross-fit judges these rows themselves."""
    learnt = values if learnable is None else learnable
    with step("learning what clean rows look like"):
        detector, cross_fit = learn_detector(values, layout, seed, n_jobs, learnable=learnt, trust=trust)
    with step("learning how sure filled values are"):
        fillers = [fold.wide or fold for fold in cross_fit.detectors]
        columns: list[Columns] = [fold.columns for fold in fillers]
        densities: list[Any] = [fold.density for fold in fillers]
        judged = (cross_fit.fold >= 0) & ~np.isnan(learnt).all(axis=1)
        filling = calibrate_filling(learnt[judged], cross_fit.fold[judged], columns, densities, seed)
    return MenderModel(layout, detector, filling, learn_drift_reference(learnt)), cross_fit


def judge_rows(
    model: MenderModel,
    values: Floats,
    cross_fit: CrossFit | None = None,
    *,
    rate: float = 0.0,
    n_jobs: int | None = None,
) -> Judged:
    """Judge rows (n, d), NaN where missing; a row is declared at the rate only if some set of its cells explains it.

    With a cross-fit the rows are those that the model learnt from: each is judged by a detector that has not seen it.
    """
    n, d = values.shape
    calibration = model.detector.calibration
    examine_above = min(calibration.examined_above, calibration.threshold(rate, own=cross_fit is not None))
    raw, statistic, sparse = np.empty(n), np.empty(n), np.zeros(n, dtype=bool)
    kinds, cell_evidence = np.full((n, d), -1, dtype=np.int8), np.zeros((n, d))
    fold = np.full(n, -1) if cross_fit is None else cross_fit.fold
    with step(f"judging {n:,} rows", n):
        for number in np.unique(fold):
            detector = model.detector if cross_fit is None or number < 0 else cross_fit.detectors[number]
            for chunk in _chunks(np.flatnonzero(fold == number), d):
                evidence, found = weigh_and_find(detector, values[chunk], examine_above, n_jobs)
                incomplete = np.isnan(detector.cells_of(values[chunk])).any(axis=1)
                raw[chunk] = statistic[chunk] = np.maximum(evidence.statistic, calibration.least)
                sparse[chunk] = calibration.is_sparse(evidence.log_density) & ~incomplete
                examined = evidence.statistic >= examine_above
                kinds[chunk[examined]], cell_evidence[chunk[examined]] = found.kinds[examined], found.cells[examined]
                statistic[chunk[found.unusual]] = calibration.least
                advance(len(chunk))
    own = fold >= 0 if cross_fit is None else cross_fit.trusted & (fold >= 0)
    conformal = np.where(own, calibration.p_values(statistic, own=True), calibration.p_values(statistic))
    declared = statistic > np.where(own, calibration.threshold(rate, own=True), calibration.threshold(rate))
    return Judged(statistic, raw, sparse, declared, calibration.smoothed(conformal, statistic), kinds, cell_evidence)


def mend_rows(
    model: MenderModel,
    values: Floats,
    kinds: Labels,
    corrupted: Floats,
    unusual: Booleans,
    *,
    imputation: Imputation = "mean",
    leave_if_drifted: bool = True,
    names: Sequence[str] | None = None,
    n_draws: int = 0,
    seed: int = 0,
) -> tuple[Labels, Filled, tuple[str, ...]]:
    """Fill the corrupted cells, those with a kind of at least 0, and what is missing.

    ``corrupted`` (n,) is how likely rows with such cells are corrupted; the less, the more of what was given is kept.
    Returns the kinds again, all -1 if the table has drifted away from the reference and is to be left as it is; what
    fills the gaps, NaN elsewhere; and signs of drift, which name the columns.
    """
    drift = DriftTest(model.drift)
    drift.add(values, kinds >= 0, unusual)
    if leave_if_drifted and not drift.covered:
        kinds = np.full(kinds.shape, -1, dtype=np.int8)
    gaps, filler = (kinds >= 0) | np.isnan(values), model.detector.wide or model.detector
    filled = Filled(np.full(gaps.shape, np.nan), np.full(gaps.shape, np.nan), np.full((n_draws, *gaps.shape), np.nan))
    shifted = kinds == SHIFTED
    for chunk in _chunks(np.flatnonzero(gaps.any(axis=1)), values.shape[1]):
        found = fill(
            filler.density,
            filler.columns,
            values[chunk],
            gaps[chunk],
            softened=model.softened if model.filling.softening else None,
            spread=model.filling.spread,
            imputation=imputation,
            n_draws=n_draws,
            seed=seed,
        )
        filled.values[chunk] = np.where(gaps[chunk], found.values, np.nan)
        filled.spread[chunk] = np.where(gaps[chunk], found.spread, np.nan)
        filled.draws[:, chunk] = np.where(gaps[chunk], found.draws, np.nan)
    for chunk in _chunks(np.flatnonzero(shifted.any(axis=1)), values.shape[1]):
        moved, believed = shifted[chunk], np.where(gaps[chunk] & ~shifted[chunk], np.nan, values[chunk])
        amounts = shift_amounts(model.detector, believed, moved)
        take_back(filler.columns, values, shifted, chunk, *amounts, filled, imputation=imputation, seed=seed)
    allow_for_clean_rows(filler.columns, values, kinds >= 0, corrupted, filled, imputation=imputation, seed=seed)
    return kinds, filled, drift.notes(names)


def shift_amounts(detector: Detector, values: Floats, shifted: Booleans) -> tuple[Floats, Floats]:
    """Return by how much the shifted cells (n, d) of rows were moved, and how uncertain that is, in column ranges.

    Values (n, d) are in the user's units and column order, as ``shifted`` is, NaN where missing or not to be believed.
    Both amounts (n,) are NaN in rows without a cell that is shifted or one that is not.
    """
    if detector.wide:
        return detector.wide.shift_amounts(values, shifted)
    amount, deviation = np.full(len(values), np.nan), np.full(len(values), np.nan)
    for group in detector.groups(values):
        columns, out = detector.columns.part(group.cells), shifted[:, detector.layout.order][group.block()]
        for i, own in enumerate(out):
            if own.any() and not own.all():
                row = Deviations(group.scan, columns, group.values[i], group.rows[i], group.noise[i], own)
                _, amount[group.members[i]], deviation[group.members[i]] = row.shift()
    return amount, deviation


def _chunks(rows: Integers, n_features: int) -> Iterator[Integers]:
    """Cut row numbers into chunks of a bounded number of cells."""
    size = max(1, _CELLS_IN_A_CHUNK // n_features)
    for begin in range(0, len(rows), size):
        yield rows[begin : begin + size]
