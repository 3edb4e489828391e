"""The recommended method on one screen: `fit_model`, `judge_rows` and `mend_rows`.

::

    values --columns--> rows --density, windows--> evidence --tails--> statistic --calibration--> p-value
                                                                            declared rows --sets--> cells, kinds
                                                                   cells and missing values --density--> filled values

Values are in the user's units and in the order of the columns; rows are coordinates in layout order.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from treemend.arrays import Booleans, Floats, Integers, Labels
from treemend.mender.columns import pick_places
from treemend.mender.detection import Detection, most_prepared
from treemend.mender.drift import DriftTest, learn_drift_reference
from treemend.mender.evidence import SHIFTED
from treemend.mender.filling import USUAL, Filled, FillOptions, calibrate_spread, fill, take_back
from treemend.mender.layout import Layout
from treemend.mender.learning import CrossFit, calibrated, cross_fit_rows
from treemend.mender.model import Detector, MenderModel
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
        clean, cross_fit = cross_fit_rows(values, layout, seed, n_jobs, learnable=learnt, trust=trust)
        detector = calibrated(clean, cross_fit, seed)
    with step("learning how sure filled values are"):
        folds = [one.clean for one in cross_fit.detection.detectors]
        fillers = [(own.density, own.columns) for own in (clean.wide or clean for clean in folds)]
        judged = (cross_fit.detection.fold >= 0) & ~np.isnan(learnt).all(axis=1)
        spread = calibrate_spread(learnt[judged], cross_fit.detection.fold[judged], fillers, seed)
    return MenderModel(layout, detector, spread, learn_drift_reference(learnt)), cross_fit


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
    calibration, known, own = model.detector.calibration, [], np.zeros(n, bool)
    rest = np.arange(n)
    if cross_fit is not None:
        # What was weighed in the fit is not weighed again; rows that are in no fold are overwritten by what follows.
        known, rest = [(rest, cross_fit.detection)], np.flatnonzero(cross_fit.detection.fold < 0)
        own = cross_fit.trusted & (cross_fit.detection.fold >= 0)
    examine_above = min(calibration.examined_above, calibration.threshold(rate, own=cross_fit is not None))
    raw, statistic, sparse = np.empty(n), np.empty(n), np.zeros(n, dtype=bool)
    kinds, cell_evidence = np.full((n, d), -1, dtype=np.int8), np.zeros((n, d))
    with step(f"judging {n:,} rows", n):
        for chunk, detection in chain(known, _weighed(model.detector, values, rest, n_jobs)):
            missing = 1 - detection.n_cells / detection.rows.shape[1]
            comparable = calibration.comparable(detection.statistics(), detection.evidence.max(axis=1), missing)
            comparable[~detection.judged] = -np.inf
            raw[chunk] = statistic[chunk] = np.maximum(comparable, calibration.least)
            sparse[chunk] = calibration.is_sparse(detection.windows.log_density) & (missing == 0)
            examined = np.flatnonzero(comparable >= examine_above)
            found = detection.find_sets(examined)
            kinds[chunk[examined]], cell_evidence[chunk[examined]] = found.kinds, found.cells
            statistic[chunk[examined[found.unusual]]] = calibration.least
            advance(int((detection.fold >= 0).sum()))
    conformal = np.where(own, calibration.p_values(statistic, own=True), calibration.p_values(statistic))
    declared = statistic > np.where(own, calibration.threshold(rate, own=True), calibration.threshold(rate))
    return Judged(statistic, raw, sparse, declared, calibration.smoothed(conformal, statistic), kinds, cell_evidence)


def mend_rows(
    model: MenderModel,
    values: Floats,
    kinds: Labels,
    unusual: Booleans,
    *,
    options: FillOptions = USUAL,
    leave_if_drifted: bool = True,
    names: Sequence[str] | None = None,
) -> tuple[Labels, Filled, tuple[str, ...]]:
    """Fill the corrupted cells, those with a kind of at least 0, and what is missing.

    Returns the kinds again, all -1 if the table has drifted away from the reference and is to be left as it is; what
    fills the gaps, NaN elsewhere; and signs of drift, which name the columns.
    """
    drift = DriftTest(model.drift)
    drift.add(values, kinds >= 0, unusual)
    notes = drift.notes(names)
    if leave_if_drifted and not drift.covered:
        kinds = np.full(kinds.shape, -1, dtype=np.int8)
    gaps, filler = (kinds >= 0) | np.isnan(values), model.detector.clean.wide or model.detector.clean
    fills, spread = np.full((2, *gaps.shape), np.nan)
    filled = Filled(fills, spread, np.full((options.n_draws, *gaps.shape), np.nan))
    shifted, columns = kinds == SHIFTED, pick_places([(filler.columns, np.argsort(filler.columns.order))])
    for chunk in _chunks(np.flatnonzero(gaps.any(axis=1)), values.shape[1]):
        found = fill(filler.density, filler.columns, values[chunk], gaps[chunk], spread=model.spread, options=options)
        filled.values[chunk] = np.where(gaps[chunk], found.values, np.nan)
        filled.spread[chunk] = np.where(gaps[chunk], found.spread, np.nan)
        filled.draws[:, chunk] = np.where(gaps[chunk], found.draws, np.nan)
    for chunk in _chunks(np.flatnonzero(shifted.any(axis=1)), values.shape[1]):
        moved, believed = shifted[chunk], np.where(gaps[chunk] & ~shifted[chunk], np.nan, values[chunk])
        amounts = Detection([model.detector], believed, np.zeros(len(chunk), np.int64)).shift_amounts(moved)
        take_back(columns, values, shifted, chunk, amounts, filled, options)
    return kinds, filled, notes


def _weighed(
    detector: Detector, values: Floats, rows: Integers, n_jobs: int | None
) -> Iterator[tuple[Integers, Detection]]:
    """Weigh some rows in chunks; those of more patterns of gaps than are prepared at once apart, each prepared once."""
    d, at_once = values.shape[1], most_prepared(len(detector.clean.layout.order))
    gaps = np.isnan(values[rows]).any(axis=1)
    apart = gaps & (gaps.sum() > at_once)
    size = max(d, _CELLS_IN_A_CHUNK // at_once)
    for chunk in (*_chunks(rows[~apart], d), *_chunks(rows[apart], size)):
        detection = Detection([detector], values[chunk], np.zeros(len(chunk), np.int64), n_jobs)
        detection.weigh_windows()
        detection.weigh_singles()
        yield chunk, detection


def _chunks(rows: Integers, n_features: int) -> Iterator[Integers]:
    """Cut row numbers into chunks of a bounded number of cells."""
    size = max(1, _CELLS_IN_A_CHUNK // n_features)
    for begin in range(0, len(rows), size):
        yield rows[begin : begin + size]
