"""The detector: what is learnt from clean rows, and what it says of others.

`row_evidence` weighs every row, `Calibration` turns that into p-values, `find_sets` looks for the cells of declared
rows. Rows with missing values are judged on what they have; rows with the same missing cells share the work.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemend.mender.calibration import Calibration, Rarity, Tails, is_unusual, rest_scores
from treemend.mender.columns import Columns
from treemend.mender.density import Density
from treemend.mender.evidence import (
    FOREIGN,
    NOISE,
    SHIFTED,
    SINGLE,
    STUCK,
    Scan,
    patterns,
    prepare_scan,
    window_evidence,
)
from treemend.mender.layout import Layout
from treemend.mender.moves import Mixture, Rules
from treemend.mender.sets import Answers, Starts, find_rows, rest_forms
from treemend.mender.stuck import RepeatedValues, stuck_evidence
from treemend.mender.swept import Law
from treemend.mender.windows import BLOCKS, most_cells, run_prior
from treemend.threads import for_chunks

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Labels = NDArray[np.int8]
Booleans = NDArray[np.bool_]

# Greedy cells of a row that is not declared yet; more do not change the verdict, only cost time.
SINGLE_STEPS = 40
ROUNDS = 10
# What each cell of noise costs, in nats. With 0, clean cells between bad ones are called noise where columns are weakly
# correlated; with more, weak noise is missed: `python -m experiments.robustness scattered one_stretch`.
CELL_PRICE = 0.25
# How many components are followed from each kind of start, in rows of so many cells: one costs d^3.
FOLLOWED, NARROW = 3, 128
# A run of equal values that is so far out, in slopes beyond the edge of its tail, is stuck whatever else may be odd.
SURELY_STUCK = 3.0
NO_EVIDENCE = -1e3


@dataclass(frozen=True)
class Prices:
    """What a set costs beyond the Markov prior, since no density is right; learnt on clean rows.

    Attributes
    ----------
    single : float
        Of the first of several single cells, in a row's statistic.
    run : float
        Of the first run of a set.
    extra : (5,)
        Of each kind of start, beyond noise.
    """

    single: float
    run: float
    extra: Floats


@dataclass(frozen=True)
class Detector:
    """All that judging needs; no row of the reference is in it."""

    layout: Layout
    columns: Columns
    density: Density
    repeated: RepeatedValues
    prices: Prices
    tails: Tails
    calibration: Calibration
    rarity: Rarity

    @cached_property
    def _complete(self) -> Scan:
        return prepare_scan(self.density, self.layout)

    @cached_property
    def typical(self) -> Floats:
        """The quadratic form that half of the clean rests of 0, 1, ... d cells do not exceed."""
        return self.rarity.typical_forms(len(self.layout.order), self.density.tail)

    def scan(self, observed: Booleans) -> Scan:
        """Return what does not depend on the row, for rows of which some cells are observed."""
        return self._complete if observed.all() else prepare_scan(self.density, self.layout, observed)


@dataclass(frozen=True)
class Evidence:
    """What is known of n rows before any is declared; cells in layout order.

    Attributes
    ----------
    values : (n, 5)
        Log odds against clean: noise, foreign, shifted, stuck, single cells.
    statistic : (n,)
        The one number that is compared with the reference; higher is odder.
    stuck : (n, d) bool
        The most surprising run of equal values.
    cells : (n, d)
        Log odds of each cell by itself; 0 where missing.
    log_density : (n,)
        Of the observed cells.
    """

    values: Floats
    statistic: Floats
    stuck: Booleans
    cells: Floats
    log_density: Floats


@dataclass(frozen=True)
class Found:
    """The sets of declared rows; cells in layout order.

    Attributes
    ----------
    mask : (n, d) bool
        Cells that were overwritten.
    kinds : (n, d) int8
        Index into `KINDS` where masked, -1 elsewhere.
    unusual : (n,) bool
        Declared rows that are odd as a whole and left alone: their mask is empty.
    log_odds : (n,)
        Of the set found against clean, also of unusual rows; 0 where nothing was declared.
    """

    mask: Booleans
    kinds: Labels
    unusual: Booleans
    log_odds: Floats


def mixture_arrays(scan: Scan) -> tuple[Mixture, Law]:
    """Return the density as kernels read it."""
    density = scan.density
    information = density.precision.sum(axis=(1, 2))
    mix = Mixture(
        density.centre, density.covariance, density.precision, density.log_weight, density.log_det, information
    )
    return mix, Law(scan.constants, density.tail)


def set_rules(scan: Scan, price: float, extra: Floats, rounds: int, steps: int, typical: Floats | None = None) -> Rules:
    """Return how cells lie, what sets cost (``price``: the first run), and how long the search goes on."""
    d = len(scan.cells.joined)
    typical = np.full(d + 1, -np.inf) if typical is None else typical
    prior = run_prior(d, max(0.0, price + run_prior(d)[1, 1]))
    reach = math.ceil(d / BLOCKS) + 1
    followed = FOLLOWED if d <= NARROW else 1
    cells = scan.cells
    return Rules(cells.joined, cells.edges, prior, extra, typical, most_cells(d), reach, rounds, steps, followed)


def first_evidence(
    detector: Detector, values: Floats, rows: Floats, log_slope: Floats, n_jobs: int | None = None
) -> Evidence:
    """Weigh windows and stuck values; single cells are counted one by one, nothing is scaled."""
    n, d = rows.shape
    found = Evidence(np.full((n, 5), NO_EVIDENCE), np.zeros(n), np.zeros((n, d), bool), np.zeros((n, d)), np.zeros(n))
    laid = values[:, detector.layout.order]
    for observed, members in patterns(rows):
        if observed.sum() < 2:
            continue
        scan, block = detector.scan(observed), np.ix_(members, np.flatnonzero(observed))
        seen = np.ascontiguousarray(rows[block])
        weighed = window_evidence(scan, seen, np.ascontiguousarray(log_slope[block]), n_jobs)
        found.values[members, :3] = np.maximum(weighed.values, NO_EVIDENCE)
        found.log_density[members] = weighed.log_density
        found.cells[block] = weighed.cells
        mix, law = mixture_arrays(scan)
        odd, mask = stuck_evidence(scan, mix, law, detector.repeated, observed, laid[block], seen, n_jobs)
        found.values[members, STUCK] = odd
        found.stuck[block] = mask
    return found


def row_evidence(
    detector: Detector, values: Floats, rows: Floats, log_slope: Floats, n_jobs: int | None = None
) -> Evidence:
    """Weigh rows.

    Parameters
    ----------
    detector : Detector
    values : (n, d)
        User's units and column order; NaN where missing.
    rows, log_slope : (n, d)
        What ``detector.columns.to_rows(values)`` returns.
    n_jobs : int, optional
        Threads. Neither they nor the other rows change a row's evidence by a bit.
    """
    return scaled_evidence(detector, first_evidence(detector, values, rows, log_slope, n_jobs), rows, log_slope, n_jobs)


def scaled_evidence(
    detector: Detector, found: Evidence, rows: Floats, log_slope: Floats, n_jobs: int | None = None
) -> Evidence:
    """Add greedy single cells at the detector's prices, and the statistic on the scale of its tails."""
    evidence = found.values.copy()
    evidence[:, SINGLE] = single_evidence(detector, found, rows, log_slope, n_jobs)
    return replace(found, values=evidence, statistic=detector.tails.statistic(evidence))


def single_evidence(
    detector: Detector, found: Evidence, rows: Floats, log_slope: Floats, n_jobs: int | None = None
) -> Floats:
    """Return the log odds (n,) of single cells; negative where not even one gains."""
    evidence = np.full(len(rows), NO_EVIDENCE)
    for observed, members in patterns(rows):
        if observed.sum() < 2:
            continue
        scan, place = detector.scan(observed), np.flatnonzero(observed)
        rules = set_rules(scan, detector.prices.single, detector.prices.extra, 0, SINGLE_STEPS)
        best = found.cells[np.ix_(members, place)].max(axis=1) + rules.prior[1, 1]
        evidence[members] = best
        grown = members[best > 0]
        tried = np.zeros((len(grown), 5), bool)
        tried[:, SINGLE] = True
        block = np.ix_(grown, place)
        stuck = found.stuck[block]
        evidence[grown] = search_rows(scan, rules, rows[block], log_slope[block], stuck, tried, n_jobs).odds
    return evidence


def find_sets(
    detector: Detector,
    rows: Floats,
    log_slope: Floats,
    evidence: Evidence,
    declared: Booleans,
    n_jobs: int | None = None,
) -> Found:
    """Find the overwritten cells of declared rows.

    Parameters
    ----------
    detector : Detector
    rows, log_slope : (n, d)
        What ``detector.columns.to_rows(values)`` returns.
    evidence : Evidence
        What `row_evidence` returns.
    declared : (n,) bool
        Which rows to look into.
    n_jobs : int, optional
        Threads.
    """
    n, d = rows.shape
    found = Found(np.zeros((n, d), bool), np.full((n, d), -1, np.int8), np.zeros(n, bool), np.zeros(n))
    chosen = np.flatnonzero(declared)
    leading = detector.tails.leading(evidence.values)
    surely = (evidence.values - detector.tails.edge)[:, STUCK] > SURELY_STUCK * detector.tails.slope[STUCK]
    leading[surely] = STUCK
    for observed, numbers in patterns(rows[chosen]):
        members = chosen[numbers]
        place = np.flatnonzero(observed)
        if len(place) < 2:
            found.unusual[members] = True
            continue
        scan = detector.scan(observed)
        # Runs are moved along a sequence; a grid's squares are only improved cell by cell.
        on_grid = scan.cells.height > 1
        rounds = 0 if on_grid else ROUNDS
        rules = set_rules(scan, detector.prices.run, detector.prices.extra, rounds, 3 * len(place), detector.typical)
        # The stuck run alone is tried where it is sure or the oddest thing; all else elsewhere, and where that fails.
        stuck = leading[members] == STUCK
        failed = ~stuck
        for kinds in ([STUCK], [NOISE, SINGLE, FOREIGN] + [SHIFTED] * (not on_grid)):
            some = np.flatnonzero(stuck if kinds == [STUCK] else failed)
            block = np.ix_(members[some], place)
            tried = np.zeros((len(some), 5), bool)
            tried[:, kinds] = True
            answers = search_rows(scan, rules, rows[block], log_slope[block], evidence.stuck[block], tried, n_jobs)
            unusual = is_unusual(detector.rarity, answers, detector.density.tail)
            failed[some] = unusual
            found.log_odds[members[some]] = answers.odds
            found.unusual[members[some]] = unusual
            labels = np.where(unusual[:, None], np.int8(-1), answers.labels)
            found.kinds[block] = labels
            found.mask[block] = labels >= 0
    return found


def search_rows(
    scan: Scan,
    rules: Rules,
    rows: Floats,
    log_slope: Floats,
    stuck: Booleans,
    tried: Booleans,
    n_jobs: int | None,
) -> Answers:
    """Find the best set of each row; ``tried`` (n, 5) says from which kinds of starts."""
    n, d = rows.shape
    answers = Answers(np.full((n, d), -1, np.int8), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n))
    mix, law = mixture_arrays(scan)
    rows, log_slope, stuck = np.ascontiguousarray(rows), np.ascontiguousarray(log_slope), np.ascontiguousarray(stuck)
    best = window_evidence(scan, rows, log_slope, n_jobs)
    windows = scan.windows.order, scan.windows.first, scan.windows.size

    def task(part: slice) -> None:
        starts = Starts(tried[part], stuck[part], best.part(part), *windows)
        own: list[Any] = [array[part] for array in answers]
        find_rows(mix, law, rules, rows[part], log_slope[part] - CELL_PRICE, starts, Answers(*own))

    for_chunks(task, n, 10 * d**3, n_jobs)
    return answers


def clean_rests(detector: Detector, rows: Floats, out: Booleans) -> Floats:
    """Return the rest scores (n,) of rows when the cells ``out`` (n, d) are left out."""
    scores = np.zeros(len(rows))
    for observed, members in patterns(rows):
        place = np.flatnonzero(observed)
        if len(place) < 2:
            continue
        block, forms = np.ix_(members, place), np.empty(len(members))
        rest_forms(*mixture_arrays(detector.scan(observed)), rows[block], out[block], forms)
        scores[members] = rest_scores(forms, (~out[block]).sum(axis=1), detector.density.tail)
    return scores
