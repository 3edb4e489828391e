"""Weighing: search and context together, one statistic a row, one honest rate (method, section 10).

Enters: rows, and how unusual each of their nodes is. Leaves: for each row a statistic, minus the log of how often a
clean row has as much evidence; the rows beyond the threshold; and the stretches that explain them.

Five explanations compete: the published search, and the four of `treemend.refinement`. Each one's evidence is measured
by its own tail on clean rows, so that they can be compared; the largest surprise is the row's statistic. The threshold
is the conformal quantile of the reference rows' own statistics, each taken from models that have not seen the row.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemend.calibration import Calibration
from treemend.imputation import Filled, Filler, fill
from treemend.reference import Reference
from treemend.refinement import (
    EXPLANATIONS,
    Context,
    Tails,
    conformal_threshold,
    find_stretches,
    learn_context,
    learn_tails,
    row_densities,
    weigh,
)
from treemend.separation import attribute_mask, declare, turning_levels
from treemend.tree import AttributeTree

__all__ = [
    "ALL_EXPLANATIONS",
    "SEARCH",
    "Bench",
    "Draft",
    "Scales",
    "Surprise",
    "join_surprises",
    "learn_scales",
    "level_evidence",
    "refine_declared",
    "weigh_rows",
]

SEARCH = len(EXPLANATIONS)
ALL_EXPLANATIONS = (*EXPLANATIONS, "search")
_FURTHER = math.log(10)
_MOST_STRETCHES = 3
_WIDEST = 0.7
_ODD = 0.25


@dataclass(frozen=True, eq=False)
class Scales:
    """What weighing has learnt.

    Attributes
    ----------
    context : Context
        What the reference says of how the parts of a row go together.
    tails : Tails
        How much evidence clean rows have, for each explanation.
    rows : ndarray of int
        The reference rows whose statistics are known.
    evidence : ndarray, those rows x explanations
        By models that have not seen them.
    usual_density : float
        Log density that three quarters of those rows reach.
    n_lost : float
        How many clean rows are missing among them because they were taken for corrupted.
    """

    context: Context
    tails: Tails
    rows: NDArray[np.int64]
    evidence: NDArray[np.float64]
    usual_density: float
    n_lost: float = 0.0

    @property
    def statistics(self) -> NDArray[np.float64]:
        """The statistics of those rows."""
        return np.asarray(self.tails.surprise(self.evidence).max(axis=1))

    def threshold(self, rate: float) -> float:
        """Return the statistic that at most a share ``rate`` of clean rows exceeds, lost ones included."""
        n_rows = len(self.evidence)
        left = (rate * (n_rows + self.n_lost) - self.n_lost) / n_rows
        if self.n_lost > 0:
            left = max(left, 1 / (n_rows + 1))
        return conformal_threshold(np.sort(self.statistics), left)


@dataclass(frozen=True, eq=False)
class Surprise:
    """How surprising each row is, and what explains it.

    Attributes
    ----------
    density, statistic : ndarray, one a row
    evidence : ndarray, rows x explanations
    explanation : ndarray of int, one a row
        The one that speaks loudest, a place in `ALL_EXPLANATIONS`.
    explained : ndarray of bool, rows x attributes
        The stretch that it draws in rows beyond the threshold, in the order of the tree.
    mask : ndarray of bool, rows x attributes
        The same, and what was found after that had been repaired.
    draft : Draft or None
        The repairs that were made meanwhile.
    """

    density: NDArray[np.float64]
    evidence: NDArray[np.float64]
    statistic: NDArray[np.float64]
    explanation: NDArray[np.int64]
    explained: NDArray[np.bool_]
    mask: NDArray[np.bool_]
    draft: "Draft | None" = None


@dataclass(frozen=True, eq=False)
class Draft:
    """Repairs made while rows were weighed: which gaps were filled, with what, and its spread, in the tree's order.

    Where the verdict came to be just these gaps, they need not be filled again.
    """

    gaps: NDArray[np.bool_]
    values: NDArray[np.float64]
    spread: NDArray[np.float64]

    def note(self, rows: NDArray[np.intp], gaps: NDArray[np.bool_], filled: Filled) -> None:
        """Keep the repairs of some rows; earlier ones are forgotten."""
        self.gaps[rows], self.values[rows], self.spread[rows] = gaps, filled.values, filled.spread


def join_surprises(parts: Sequence[Surprise | None]) -> Surprise | None:
    """Return what was said of rows in parts as of all rows; None where nothing was weighed."""
    weighed = [part for part in parts if part is not None]
    if not weighed:
        return None
    names = [field.name for field in fields(Surprise) if field.name != "draft"]
    joined: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in weighed]) for name in names}
    return Surprise(**joined)


@dataclass(frozen=True, eq=False)
class Bench:
    """What weighing needs beside the scales: the reference, what is usual, the layout, the search's threshold."""

    reference: Reference
    calibration: Calibration
    filler: Filler
    tree: AttributeTree
    grid: tuple[int, int, int] | None
    tau: float
    stop_at_root: bool
    n_jobs: int | None


def search_evidence(bench: Bench, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return minus the log of the smallest ``tau`` at which the search declares something in a row."""
    n_rows = bench.calibration.n_rows
    first = turning_levels(counts, bench.tree, -1, n_rows, stop_at_root=bench.stop_at_root)
    return level_evidence(first, n_rows)


def level_evidence(level: NDArray[np.int64], n_rows: int) -> NDArray[np.float64]:
    """Return the evidence of a search that first declares something at a level, of ``n_rows`` calibration rows."""
    return -np.log((level + 1) / (n_rows + 1))


def learn_scales(bench: Bench, *, seed: int) -> Scales:
    """Learn from the reference, and weigh its calibration rows honestly."""
    calibration = bench.calibration
    context, clean = learn_context(
        bench.reference, bench.grid, weighable=calibration.numbers, seed=seed, n_jobs=bench.n_jobs
    )
    by_search = search_evidence(bench, calibration.left_out_counts()[calibration.places(clean.rows)])
    evidence = np.column_stack([clean.evidence, by_search])
    usual_density = float(np.quantile(clean.log_density, _ODD))
    return Scales(context, learn_tails(evidence), clean.rows, evidence, usual_density)


def weigh_rows(
    bench: Bench,
    scales: Scales,
    rows: NDArray[np.float64],
    counts: NDArray[np.int64],
    threshold: float,
    left_out: NDArray[np.int64] | None = None,
) -> Surprise:
    """Weigh rows, and draw the stretches of those beyond the threshold.

    Parameters
    ----------
    bench, scales
    rows : ndarray, rows x attributes
        Scaled, in the order of the tree, NaN where missing.
    counts : ndarray of int, rows x nodes
        From the search.
    threshold : float
        Rows with a larger statistic are corrupted.
    left_out : ndarray of int, one a row, optional
        The reference rows that these rows are, -1 for none.
    """
    missing = np.isnan(rows)
    draft = Draft(np.zeros(rows.shape, dtype=bool), np.full(rows.shape, np.nan), np.full(rows.shape, np.nan))
    everything = np.arange(len(rows))
    complete = _repaired(bench, draft, everything, rows, missing, left_out) if missing.any() else rows
    found = _weigh_once(bench, scales, complete, counts, threshold, left_out)
    mask = found.mask & ~missing
    live = np.flatnonzero(mask.any(axis=1))
    for _ in range(_MOST_STRETCHES - 1):
        if len(live) == 0:
            break
        repaired = _repaired(bench, draft, live, rows, mask | missing, left_out)
        laid = bench.reference.unit.to_layout(repaired)
        odd = row_densities(scales.context, laid, n_jobs=bench.n_jobs) < scales.usual_density
        live = live[odd]
        # Further stretches must be ten times as surprising: what was filled in looks a little foreign itself.
        again = _weigh_once(bench, scales, repaired[odd], None, threshold + _FURTHER, None)
        more = again.mask & ~missing[live]
        union = mask[live] | more
        grown = np.any(more & ~mask[live], axis=1) & (union.mean(axis=1) <= _WIDEST)
        live, union = live[grown], union[grown]
        mask[live] = union
    return replace(found, mask=mask, draft=draft)


def refine_declared(
    bench: Bench, scales: Scales, rows: NDArray[np.float64], declared: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return what the search declared, attributes of rows, with the stretches of the context where it has any.

    Parameters
    ----------
    bench, scales
    rows : ndarray, rows x attributes
        Scaled, in the order of the tree, NaN where missing.
    declared : ndarray of bool, rows x attributes
        Rows without any are left alone.
    """
    missing = np.isnan(rows)
    refined = declared & ~missing
    live = np.flatnonzero(refined.any(axis=1))
    if len(live):
        complete = _in_scale(bench, rows[live], missing[live], _filled(bench, rows[live], missing[live], None))
        found = _weigh_once(bench, scales, complete, None, 0.0, None).mask & ~missing[live]
        refined[live] = np.where(found.any(axis=1, keepdims=True), found, refined[live])
    return refined


def _weigh_once(
    bench: Bench,
    scales: Scales,
    rows: NDArray[np.float64],
    counts: NDArray[np.int64] | None,
    threshold: float,
    left_out: NDArray[np.int64] | None,
) -> Surprise:
    """Weigh complete rows; reference rows have the statistics of models that have not seen them."""
    laid = bench.reference.unit.to_layout(rows)
    weighed = weigh(scales.context, laid, bench.reference, left_out=left_out, n_jobs=bench.n_jobs)
    by_search = np.full(len(rows), -np.inf)
    if counts is not None:
        by_search = search_evidence(bench, counts)
    evidence = np.column_stack([weighed.evidence, by_search])
    surprise = scales.tails.surprise(evidence)
    statistic, explanation = surprise.max(axis=1), surprise.argmax(axis=1)
    if left_out is not None:
        statistic = _honest(scales, statistic, left_out)
    beyond = statistic > threshold
    stretches = find_stretches(scales.context, laid, weighed, beyond, explanation, n_jobs=bench.n_jobs)
    mask = bench.reference.unit.to_tree(stretches)
    searched = np.flatnonzero(beyond & (explanation == SEARCH))
    if counts is not None and len(searched):
        mask[searched] = _declared(bench, counts[searched])
    return Surprise(weighed.log_density, evidence, statistic, explanation, mask, mask)


def _declared(bench: Bench, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return what the search declares: at its own threshold, or at the first level at which it declares anything."""
    n_rows = bench.calibration.n_rows
    first = turning_levels(counts, bench.tree, -1, n_rows, stop_at_root=bench.stop_at_root)
    level = np.maximum(first, math.floor(bench.tau * n_rows + 1e-9))
    at_threshold = declare(counts, bench.tree, level[:, None], stop_at_root=bench.stop_at_root)
    at_first = declare(counts, bench.tree, first[:, None], stop_at_root=bench.stop_at_root)
    lost = ~at_threshold.any(axis=1)
    at_threshold[lost] = at_first[lost]
    return attribute_mask(at_threshold, bench.tree)


def _repaired(
    bench: Bench,
    draft: Draft,
    some: NDArray[np.intp],
    rows: NDArray[np.float64],
    gaps: NDArray[np.bool_],
    left_out: NDArray[np.int64] | None,
) -> NDArray[np.float64]:
    """Return some rows with their gaps filled, scaled, and keep what was filled in."""
    filled = _filled(bench, rows[some], gaps[some], None if left_out is None else left_out[some])
    draft.note(some, gaps[some], filled)
    return _in_scale(bench, rows[some], gaps[some], filled)


def _filled(
    bench: Bench, rows: NDArray[np.float64], gaps: NDArray[np.bool_], left_out: NDArray[np.int64] | None
) -> Filled:
    nothing_declared = np.zeros((len(rows), bench.tree.n_nodes), dtype=bool)
    return fill(bench.filler, rows, gaps, nothing_declared, left_out=left_out, n_jobs=bench.n_jobs)


def _in_scale(bench: Bench, rows: NDArray[np.float64], gaps: NDArray[np.bool_], filled: Filled) -> NDArray[np.float64]:
    return np.where(gaps, (filled.values - bench.filler.offset) / bench.filler.width, rows)


def _honest(scales: Scales, statistic: NDArray[np.float64], left_out: NDArray[np.int64]) -> NDArray[np.float64]:
    """Put in the statistics of reference rows by models that have not seen them, where they are known."""
    known = np.full(max(int(left_out.max(initial=-1)), int(scales.rows.max(initial=-1))) + 2, np.nan)
    known[scales.rows] = scales.statistics
    honest = known[left_out]
    return np.where(np.isnan(honest), statistic, honest)
