"""The recommended method on one screen: `fit_model` and `mend_rows`.

::

    values --columns--> rows --density, windows--> evidence --tails--> statistic --calibration--> p-value
                                                                            declared rows --sets--> cells, kinds
                                                                   cells and missing values --density--> filled values

Values are in the user's units and in the order of the columns; rows are coordinates in layout order.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemend.mender.detector import Detector, find_sets, row_evidence
from treemend.mender.drift import DriftTest, learn_drift_reference
from treemend.mender.fill_calibration import FillCalibration, calibrate_filling
from treemend.mender.filling import Imputation, fill
from treemend.mender.layout import Layout
from treemend.mender.learning import CrossFit, learn_detector
from treemend.mender.model import MenderModel
from treemend.progress import advance, step

__all__ = ["Mended", "fit_model", "mend_rows", "score_rows"]

Floats = NDArray[np.float64]
# Rows are processed in chunks of about this many cells, which bounds memory and changes no result.
_CELLS_IN_A_CHUNK = 2**18


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
        Declared rows that are left as they are.
    cell_evidence : ndarray of shape (n, d)
        Log odds that a cell is wrong given the rest of its row; 0 in rows that were not declared.
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
    with step("Learning what clean rows look like"):
        detector, cross_fit = learn_detector(values, layout, seed, n_jobs, learnable=learnable, trusted=trusted)
    learnt = values if learnable is None else learnable
    with step("Learning how sure filled values are"):
        filling = learn_filling(learnt, cross_fit, seed)
    drift = learn_drift_reference(learnt)
    model = MenderModel(detector, filling, drift, drift.quantiles[0].copy(), drift.quantiles[-1].copy())
    return model, cross_fit


def learn_filling(values: Floats, cross_fit: CrossFit, seed: int) -> FillCalibration:
    """Learn how far off filled values are, from gaps cut out of rows that a fold has not seen."""
    judged = np.flatnonzero((cross_fit.fold >= 0) & ~np.isnan(values).all(axis=1))
    folds = cross_fit.detectors
    columns, densities = [fold.columns for fold in folds], [fold.density for fold in folds]
    return calibrate_filling(values[judged], cross_fit.fold[judged], columns, densities, seed)


def score_rows(model: MenderModel, values: Floats, *, n_jobs: int | None) -> Floats:
    """Return the statistic of each row; higher is odder."""
    statistic = np.empty(len(values))
    with step(f"Judging {len(values):,} rows", len(values)):
        for chunk in _chunks(np.arange(len(values)), values.shape[1]):
            rows, log_slope = model.detector.columns.to_rows(values[chunk])
            statistic[chunk] = row_evidence(model.detector, values[chunk], rows, log_slope, n_jobs).statistic
            advance(len(chunk))
    return statistic


def mend_rows(
    model: MenderModel,
    values: Floats,
    declared: NDArray[np.bool_],
    *,
    cross_fit: CrossFit | None = None,
    imputation: Imputation = "mean",
    leave_if_drifted: bool = True,
    n_draws: int = 0,
    seed: int = 0,
    n_jobs: int | None = None,
) -> Mended:
    """Find the corrupted cells of declared rows, and fill them and what is missing.

    Parameters
    ----------
    model : MenderModel
    values : ndarray of shape (n, d)
        NaN where missing.
    declared : ndarray of bool of shape (n,)
        Rows to look into.
    cross_fit : CrossFit, optional
        If the rows are those that the model learnt from: each is judged by a detector that has not seen it.
    imputation : {"mean", "mode", "draw"}
    leave_if_drifted : bool
        Whether nothing is replaced, beside missing values, where the table has drifted away from the reference.
    n_draws, seed : int
        Number of random completions, and their seed.
    n_jobs : int, optional
        Threads.
    """
    mended = _nothing_found(values.shape, n_draws)
    fold = np.full(len(values), -1) if cross_fit is None else cross_fit.fold
    with step(f"Looking into {np.count_nonzero(declared):,} rows", int(np.count_nonzero(declared))):
        for number in np.unique(fold[declared]):
            detector = model.detector if cross_fit is None or number < 0 else cross_fit.detectors[number]
            for chunk in _chunks(np.flatnonzero(declared & (fold == number)), values.shape[1]):
                _find(mended, detector, values, chunk, n_jobs)
                advance(len(chunk))
    drift = DriftTest(model.drift)
    drift.add(values, mended.mask, mended.unusual)
    notes = drift.notes()
    if notes and leave_if_drifted:
        mended.mask[:], mended.kinds[:] = False, -1
    gaps = mended.mask | np.isnan(values)
    for chunk in _chunks(np.flatnonzero(gaps.any(axis=1)), values.shape[1]):
        filled = fill(
            model.detector.density,
            model.detector.columns,
            values[chunk],
            gaps[chunk],
            softened=model.softened,
            spread=model.filling.spread,
            imputation=imputation,
            n_draws=n_draws,
            seed=seed,
        )
        inside = gaps[chunk]
        mended.values[chunk] = np.where(inside, filled.values, np.nan)
        mended.spread[chunk] = np.where(inside, filled.spread, np.nan)
        if filled.draws is not None:
            mended.draws[:, chunk] = np.where(inside, filled.draws, np.nan)
    return Mended(**{**vars(mended), "notes": notes})


def _find(mended: Mended, detector: Detector, values: Floats, chunk: NDArray[np.int64], n_jobs: int | None) -> None:
    """Write the corrupted cells of some declared rows into ``mended``."""
    rows, log_slope = detector.columns.to_rows(values[chunk])
    evidence = row_evidence(detector, values[chunk], rows, log_slope, n_jobs)
    found = find_sets(detector, rows, log_slope, evidence, np.ones(len(chunk), dtype=bool), n_jobs)
    to_columns = detector.layout.to_columns
    mended.mask[chunk] = to_columns(found.mask)
    mended.kinds[chunk] = to_columns(found.kinds)
    mended.cell_evidence[chunk] = to_columns(evidence.cells)
    mended.unusual[chunk] = found.unusual


def _nothing_found(shape: tuple[int, ...], n_draws: int) -> Mended:
    return Mended(
        mask=np.zeros(shape, dtype=bool),
        kinds=np.full(shape, -1, dtype=np.int8),
        unusual=np.zeros(shape[0], dtype=bool),
        cell_evidence=np.zeros(shape),
        values=np.full(shape, np.nan),
        spread=np.full(shape, np.nan),
        draws=np.full((n_draws, *shape), np.nan),
        notes=(),
    )


def _chunks(rows: NDArray[np.int64], n_features: int) -> Iterator[NDArray[np.int64]]:
    """Cut row numbers into chunks of a bounded number of cells."""
    size = max(1, _CELLS_IN_A_CHUNK // n_features)
    for begin in range(0, len(rows), size):
        yield rows[begin : begin + size]
