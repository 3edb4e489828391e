"""The recommended method on one screen: `fit_model`, `judge_rows` and `mend_rows`.

::

    values --columns--> rows --density, windows--> evidence --tails--> statistic --calibration--> p-value
                                                                            declared rows --sets--> cells, kinds
                                                                   cells and missing values --density--> filled values

Values are in the user's units and in the order of the columns; rows are coordinates in layout order.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemend.mender.columns import Columns
from treemend.mender.detector import find_sets, row_evidence
from treemend.mender.drift import DriftTest, learn_drift_reference
from treemend.mender.fill_calibration import calibrate_filling
from treemend.mender.filling import Imputation, fill
from treemend.mender.layout import Layout
from treemend.mender.learning import CrossFit, learn_detector
from treemend.mender.model import MenderModel
from treemend.mender.wide import MOST_COLUMNS, lay_blocks, learn_wide
from treemend.progress import advance, step

__all__ = ["Judged", "Mended", "fit_model", "judge_rows", "mend_rows"]

Floats = NDArray[np.float64]
# Rows are processed in chunks of about this many cells, which bounds memory and changes no result.
_CELLS_IN_A_CHUNK = 2**18


@dataclass(frozen=True, eq=False)
class Judged:
    """What is known of n rows before a rate is asked for; m of them were examined. Cells in the order of the columns.

    Attributes
    ----------
    statistic : ndarray of shape (n,)
        Evidence of corruption that can be repaired; higher is odder.
    raw : ndarray of shape (n,)
        Evidence of corruption, also of rows that no set of their cells explains.
    sparse : ndarray of bool of shape (n,)
        Complete rows that lie where hardly any reference row does.
    p_values : ndarray of shape (n,)
        Of the statistic.
    examined : ndarray of int of shape (m,)
        Numbers of the rows that were examined.
    mask, kinds, cell_evidence : ndarray of shape (m, d)
        Of these, the cells that are wrong, why, and the log odds of each cell given the rest of its row.
    """

    statistic: Floats
    raw: Floats
    sparse: NDArray[np.bool_]
    p_values: Floats
    examined: NDArray[np.int64]
    mask: NDArray[np.bool_]
    kinds: NDArray[np.int8]
    cell_evidence: Floats


@dataclass(frozen=True, eq=False)
class Mended:
    """What was found in rows, and what fills the gaps; arrays in the order of the columns.

    Attributes
    ----------
    mask : ndarray of bool of shape (n, d)
        Cells that were found corrupted.
    kinds : ndarray of int8 of shape (n, d)
        Kind of corruption of each cell of the mask, -1 elsewhere.
    unusual : ndarray of bool of shape (n,)
        Rows that are odd as a whole, and are left as they are.
    cell_evidence : ndarray of shape (n, d)
        Log odds that a cell is wrong given the rest of its row; 0 in rows that were not examined.
    values, spread : ndarray of shape (n, d)
        Filled values and the standard deviations of their errors; NaN outside gaps.
    draws : ndarray of shape (n_draws, n, d)
        Random completions; NaN outside gaps.
    notes : tuple of str
        Signs of drift.
    """

    mask: NDArray[np.bool_]
    kinds: NDArray[np.int8]
    unusual: NDArray[np.bool_]
    cell_evidence: Floats
    values: Floats
    spread: Floats
    draws: Floats
    notes: tuple[str, ...]


def fit_model(
    values: Floats,
    layout: Layout,
    *,
    learnable: Floats | None = None,
    trusted: NDArray[np.bool_] | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
) -> tuple[MenderModel, CrossFit]:
    """Learn from clean rows, or from what of them is trusted; the cross-fit judges these rows themselves."""
    learnt = values if learnable is None else learnable
    blocks, cell_layout = lay_blocks(learnt, layout) if values.shape[1] > MOST_COLUMNS else (None, layout)
    cells, learnt_cells = (blocks.reduce(values), blocks.reduce(learnt)) if blocks else (values, learnt)
    with step("Learning what clean rows look like"):
        detector, cross_fit = learn_detector(cells, cell_layout, seed, n_jobs, learnable=learnt_cells, trusted=trusted)
    with step("Learning how sure filled values are"):
        wide = None
        columns: list[Columns] = [fold.columns for fold in cross_fit.detectors]
        densities: list[Any] = [fold.density for fold in cross_fit.detectors]
        if blocks:
            wide, columns, densities = learn_wide(learnt, layout, blocks, cross_fit, seed)
        judged = np.flatnonzero((cross_fit.fold >= 0) & ~np.isnan(learnt).all(axis=1))
        filling = calibrate_filling(learnt[judged], cross_fit.fold[judged], columns, densities, seed)
    return MenderModel(layout, detector, wide, filling, learn_drift_reference(learnt)), cross_fit


def judge_rows(
    model: MenderModel,
    values: Floats,
    cross_fit: CrossFit | None = None,
    *,
    rate: float = 0.0,
    n_jobs: int | None = None,
) -> Judged:
    """Judge rows.

    Parameters
    ----------
    model : MenderModel
    values : ndarray of shape (n, d)
        NaN where missing.
    cross_fit : CrossFit, optional
        If the rows are those that the model learnt from: each is judged by a detector that has not seen it.
    rate : float
        Rows that would be declared at this rate are examined in any case.
    n_jobs : int, optional
        Threads.
    """
    n, d = values.shape
    calibration = model.calibration
    examine_above = min(calibration.examined_above, calibration.threshold(rate))
    raw, statistic, parts, sparse = np.empty(n), np.empty(n), [], np.zeros(n, dtype=bool)
    fold = np.full(n, -1) if cross_fit is None else cross_fit.fold
    with step(f"Judging {n:,} rows", n):
        for number in np.unique(fold):
            detector = model.detector if cross_fit is None or number < 0 else cross_fit.detectors[number]
            for chunk in _chunks(np.flatnonzero(fold == number), d):
                cells = model.to_cells(values[chunk])
                rows, log_slope = detector.columns.to_rows(cells)
                evidence = row_evidence(detector, cells, rows, log_slope, n_jobs)
                examined = evidence.statistic >= examine_above
                found = find_sets(detector, rows, log_slope, evidence, examined, n_jobs)
                # The fewer cells a row has, the less can speak for it: below 0 that says nothing against it.
                incomplete = np.isnan(cells).any(axis=1)
                weak = incomplete & (evidence.values.max(axis=1) <= 0)
                raw[chunk] = np.where(weak, calibration.least, evidence.statistic)
                sparse[chunk] = calibration.is_sparse(evidence.log_density) & ~incomplete
                left_alone = found.unusual & (evidence.statistic >= calibration.examined_above)
                statistic[chunk] = np.where(left_alone, calibration.least, raw[chunk])
                known = (found.mask, found.kinds, evidence.cells)
                parts.append((chunk[examined], *(model.to_columns(cell[examined]) for cell in known)))
                advance(len(chunk))
    p_values = calibration.p_values(statistic)
    if cross_fit is not None:
        own = cross_fit.trusted & (fold >= 0)
        p_values[own] = calibration.p_values(statistic[own], own=True)
    return Judged(statistic, raw, sparse, p_values, *(np.concatenate(part) for part in zip(*parts, strict=True)))


def mend_rows(
    model: MenderModel,
    values: Floats,
    judged: Judged,
    corrupted: NDArray[np.bool_],
    unusual: NDArray[np.bool_],
    *,
    imputation: Imputation = "mean",
    leave_if_drifted: bool = True,
    names: Sequence[str] | None = None,
    n_draws: int = 0,
    seed: int = 0,
) -> Mended:
    """Fill the corrupted cells of some rows, and what is missing in all.

    Parameters
    ----------
    model : MenderModel
    values : ndarray of shape (n, d)
        NaN where missing.
    judged : Judged
    corrupted, unusual : ndarray of bool of shape (n,)
        Rows to repair, and rows to leave as they are.
    imputation : {"mean", "mode", "draw"}
    leave_if_drifted : bool
        Whether nothing is replaced, beside missing values, where the table has drifted away from the reference.
    names : sequence of str, optional
        Names of the columns, for the notes.
    n_draws, seed : int
        Number of random completions, and their seed.
    """
    n, d = values.shape
    mask, kinds = np.zeros((n, d), dtype=bool), np.full((n, d), -1, dtype=np.int8)
    cell_evidence = np.zeros((n, d))
    chosen = corrupted[judged.examined]
    rows = judged.examined[chosen]
    mask[rows], kinds[rows] = judged.mask[chosen], judged.kinds[chosen]
    cell_evidence[judged.examined] = judged.cell_evidence
    drift = DriftTest(model.drift)
    drift.add(values, mask, unusual)
    if leave_if_drifted and not drift.covered:
        mask[:], kinds[:] = False, -1
    gaps = mask | np.isnan(values)
    filled, spread = np.full((n, d), np.nan), np.full((n, d), np.nan)
    draws = np.full((n_draws, n, d), np.nan)
    for chunk in _chunks(np.flatnonzero(gaps.any(axis=1)), d):
        found = fill(
            model.fill_density,
            model.fill_columns,
            values[chunk],
            gaps[chunk],
            softened=model.softened,
            spread=model.filling.spread,
            imputation=imputation,
            n_draws=n_draws,
            seed=seed,
        )
        filled[chunk] = np.where(gaps[chunk], found.values, np.nan)
        spread[chunk] = np.where(gaps[chunk], found.spread, np.nan)
        if found.draws is not None:
            draws[:, chunk] = np.where(gaps[chunk], found.draws, np.nan)
    return Mended(mask, kinds, unusual, cell_evidence, filled, spread, draws, drift.notes(names))


def _chunks(rows: NDArray[np.int64], n_features: int) -> Iterator[NDArray[np.int64]]:
    """Cut row numbers into chunks of a bounded number of cells."""
    size = max(1, _CELLS_IN_A_CHUNK // n_features)
    for begin in range(0, len(rows), size):
        yield rows[begin : begin + size]
