"""Rows judged stage by stage: windows and stuck values, single cells, one statistic a row, the sets of declared rows.

A stage is run for all rows before the next one, whichever detector they are judged by: that of their fold, if they are
reference rows. Rows with missing values are judged on what they have; rows with the same missing cells share the work.
Neither threads nor the other rows change what is said of a row by a bit.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from treemend.arrays import Booleans, Floats, Integers, Labels
from treemend.mender.calibration import NOTHING, is_unusual
from treemend.mender.density import expect_rows
from treemend.mender.evidence import (
    FOREIGN,
    KEPT,
    NOISE,
    SHIFTED,
    SINGLE,
    STUCK,
    Scan,
    likely_components,
    no_evidence,
    prepare_scans,
    window_evidence,
)
from treemend.mender.model import CleanRows, Detector
from treemend.mender.sets import Answers, Starts, search_rows
from treemend.mender.shifts import common_shifts
from treemend.mender.stuck import name_constant, stuck_evidence
from treemend.mender.windows import priced_prior, set_rules

# Greedy cells of a row that is not declared yet; more do not change the verdict, only cost time.
SINGLE_STEPS = 40
ROUNDS = 10
# So much of the largest evidence of a single cell does not speak for a window: an odd clean row is odd in one cell
# mostly, an overwritten stretch in many. With 0, long tails of clean rows hide several stretches; with 1, noise is
# missed in weakly correlated columns: `python -m experiments.robustness one_stretch several_stretches`. On grids
# nothing is lost with 1, since squares have many cells.
ONE_CELL, ONE_PIXEL = 0.5, 1.0
NO_EVIDENCE = -1e3
# What is prepared for patterns of missing cells is kept from stage to stage unless it has more numbers than this, for
# each component: with more, tables of many patterns take much memory; with fewer, time.
MOST_PREPARED = 1 << 21


def most_prepared(d: int) -> int:
    """Return for how many patterns of gaps in d cells all is prepared at once."""
    return max(1, MOST_PREPARED // d**2)


class Sets(NamedTuple):
    """Of n rows: kind of each cell (n, d), -1 where kept; whether no set explains the row (n,); log odds of cells."""

    kinds: Labels
    unusual: Booleans
    cells: Floats


class Part(NamedTuple):
    """Rows that one detector judges and that have the same c observed cells."""

    detector: Detector
    members: Integers  # numbers of the rows
    cells: Integers  # c: the observed cells, in layout order
    block: Any  # selects the cells of these rows from an array of all rows and cells
    scan: Scan


@dataclass(frozen=True, eq=False)
class Group:
    """Rows that share what does not depend on the row: they have the same cells, and the same components count."""

    fold: int
    clean: CleanRows
    members: Integers
    observed: Booleans
    components: Booleans


# What is prepared for complete rows lasts as long as what they are judged by; for rows with gaps, as long as these.
_SCANS: WeakKeyDictionary[CleanRows | Group, Scan] = WeakKeyDictionary()


class Detection:
    """What is known of n rows; a cell is a column, or a block of columns of wide rows, in layout order.

    Parameters
    ----------
    detectors : sequence of Detector
        They differ in what they have learnt from, not in their layout and `Rarity`.
    given : ndarray of shape (n, n_features)
        In the user's units and column order, NaN where missing.
    fold : ndarray of shape (n,)
        Number of the detector that judges a row; -1 for rows that are not judged, as are those of less than two cells.
    n_jobs : int, optional
        Number of threads.
    """

    def __init__(self, detectors: Sequence[Detector], given: Floats, fold: Integers, n_jobs: int | None = None) -> None:
        self.detectors, self.given, self.fold, self.n_jobs = list(detectors), given, fold, n_jobs
        self.layout = detectors[0].clean.layout
        shape = n, d = len(given), len(self.layout.order)
        # In the user's units, in coordinates, log densities of noise, and these less what noise costs.
        self.values, self.rows, self.noise = np.full((3, *shape), np.nan)
        self.lattice = np.zeros(shape)  # what lattices say of cells
        folds = self._folds(fold >= 0)
        cells = [one.clean.wide.cells(given[own]) if one.clean.wide else given[own] for one, own in folds]
        for (one, own), values in zip(folds, cells, strict=True):
            self.values[own] = values[:, self.layout.order]
            self.rows[own], self.noise[own] = one.clean.columns.to_rows(values)
            self.lattice[own] = one.clean.columns.lattice_odds(values)
        self.noise += self.lattice
        self.slopes = np.full(shape, np.nan)
        observed = ~np.isnan(self.rows)
        self.n_cells = observed.sum(axis=1)
        self.judged = self.n_cells > 1
        # Log odds against clean: noise, foreign, shifted (less a share of the largest of a cell), stuck, single cells.
        self.evidence = np.full((n, 5), NO_EVIDENCE)
        self.stuck = np.zeros(shape, bool)  # the most surprising run of equal values
        folds = self._folds(self.judged & (self.n_cells < d))
        n_components = max(len(one.clean.density.centre) for one in detectors)
        likely = np.repeat(self.n_cells[:, None] == d, n_components, axis=1)
        self.windows = no_evidence(n, d, n_components)
        for one, own in folds:
            likely[own, : len(one.clean.density.centre)] = likely_components(one.clean.density, self.rows[own])
        key = np.column_stack([fold, np.packbits(np.hstack([observed, likely]), axis=1)])
        number = np.unique(key, axis=0, return_inverse=True)[1].ravel()
        rows = np.argsort(number, kind="stable")
        self._groups = []
        for own in np.split(rows, np.flatnonzero(np.diff(number[rows])) + 1):
            if self.judged[own].any():
                clean = detectors[fold[own[0]]].clean
                components = likely[own[0], : len(clean.density.centre)]
                self._groups.append(Group(int(fold[own[0]]), clean, own, observed[own[0]], components))

    def _folds(self, wanted: Booleans) -> list[tuple[Detector, Integers]]:
        """Return the detectors and the wanted rows of each, where there are any."""
        folds = [(one, np.flatnonzero(wanted & (self.fold == f))) for f, one in enumerate(self.detectors)]
        return [(one, own) for one, own in folds if len(own)]

    def _parts(self, wanted: Booleans) -> Iterator[list[Part]]:
        """Yield the wanted rows in parts, as many together as may be prepared at once."""
        at_once = most_prepared(self.rows.shape[1])
        for begin in range(0, len(self._groups), at_once):
            groups = [one for one in self._groups[begin : begin + at_once] if wanted[one.members].any()]
            if not groups:
                continue
            for one in self._groups if len(self._groups) > at_once else ():
                _SCANS.pop(one, None)
            keys = [one.clean if one.observed.all() else one for one in groups]
            new = {key: one for key, one in zip(keys, groups, strict=True) if key not in _SCANS}
            if new:
                patterns = [(one.clean.density, one.observed, one.components) for one in new.values()]
                _SCANS.update(zip(new, prepare_scans(self.layout, patterns), strict=True))
            parts = []
            for key, one in zip(keys, groups, strict=True):
                members, cells = one.members[wanted[one.members]], np.flatnonzero(one.observed)
                parts.append(Part(self.detectors[one.fold], members, cells, np.ix_(members, cells), _SCANS[key]))
            yield parts

    def weigh_windows(self) -> None:
        """Weigh windows, stuck values and each cell by itself."""
        for parts in self._parts(self.judged):
            given = [(one.scan, self.rows[one.block], self.noise[one.block]) for one in parts]
            for one, found in zip(parts, window_evidence(given, self.n_jobs), strict=True):
                share = ONE_PIXEL if one.scan.cells.height > 1 else ONE_CELL
                one_cell = share * np.maximum(found.cells.max(axis=1), 0.0)
                self.evidence[one.members, :STUCK] = np.maximum(found.values - one_cell[:, None], NO_EVIDENCE)
                self.windows.cells[one.block], self.windows.log_density[one.members] = found.cells, found.log_density
                for whole, own in zip(self.windows[:4], found[:4], strict=True):
                    whole[one.members, : own.shape[1]] = own
            for one in parts:
                self.slopes[one.block] = self.noise[one.block] - one.scan.cells.price
                self.evidence[one.members, STUCK], self.stuck[one.block] = stuck_evidence(
                    one.scan,
                    one.detector.clean.repeated,
                    one.cells,
                    self.values[one.block],
                    self.rows[one.block],
                    self.slopes[one.block],
                    self.windows.log_density[one.members],
                    self.n_jobs,
                )

    def weigh_singles(self) -> None:
        """Weigh the best set of single cells, after `weigh_windows`; negative where not even one gains."""
        grown = self.judged.copy()
        for one, own in self._folds(self.judged):
            if one.clean.wide:
                self.evidence[own, SINGLE], grown[own] = one.clean.wide.weigh(self.given[own], self.n_jobs), False
        for parts in self._parts(grown):
            for part in parts:
                prior = priced_prior(len(part.cells), part.detector.prices.single)[1, 1]
                self.evidence[part.members, SINGLE] = self.windows.cells[part.block].max(axis=1) + prior
        grown &= self.evidence[:, SINGLE] > 0
        self.evidence[grown, SINGLE] = self._best_sets(grown, (SINGLE,)).odds[grown]

    def statistics(self) -> Floats:
        """Return the one number a row (n,) that is compared with the reference; higher is odder."""
        found = np.full(len(self.given), -np.inf)
        for one, own in self._folds(self.fold >= 0):
            found[own] = one.tails.statistic(self.evidence[own])
        return found

    def find_sets(self, some: Integers) -> Sets:
        """Find the overwritten cells of some rows (m,), which should be declared ones, after all has been weighed."""
        kinds, chosen = np.full(self.rows.shape, KEPT, np.int8), np.zeros(len(self.rows), bool)
        chosen[some] = True
        unusual = chosen & self.judged
        # Where nothing can be said against a row, no set explains it.
        unexplained = unusual & (self.evidence > NOTHING).any(axis=1)
        stuck, frequent = np.zeros(len(kinds), bool), np.zeros(kinds.shape, bool)
        for one, own in self._folds(unexplained):
            stuck[own] = one.tails.is_stuck(self.evidence[own])
        # The stuck run alone is tried where it is sure or the oddest thing; all else elsewhere and where it is weaker.
        answers = self._best_sets(stuck, (STUCK,))
        explained = stuck & ~self._is_unusual(answers, stuck)
        kinds[stuck], unusual[explained] = answers.labels[stuck], False
        for one, own in self._folds(stuck):
            frequent[own] = one.clean.repeated.frequent(self.values[own])
        frequent_run = 2 * (self.stuck & frequent).sum(axis=1) > self.stuck.sum(axis=1)
        # A background may be shifted as a whole, or be part of a window of noise: all of the evidence is compared.
        odds = self.evidence[:, STUCK] + np.where(frequent_run, answers.odds - answers.prior, 0.0)
        unexplained &= ~explained | (odds < self.evidence[:, :STUCK].max(axis=1))
        answers = self._best_sets(unexplained, (NOISE, SINGLE, FOREIGN, SHIFTED))
        self._name_shifted(answers, unexplained)
        name_constant(answers.labels, self.stuck)
        explained = unexplained & ~self._is_unusual(answers, unexplained)
        # What a stuck run explains stays so where nothing else does.
        believed = explained | (unexplained & unusual)
        kinds[believed], unusual[explained] = answers.labels[believed], False
        return self._of_columns(some, kinds, unusual)

    def _best_sets(self, wanted: Booleans, tried: tuple[int, ...]) -> Answers:
        """Return the best set of each wanted row, from some kinds of starts."""
        n, d = self.rows.shape
        answers, final = Answers(np.full((n, d), KEPT, np.int8), *np.zeros((4, n))), tried != (SINGLE,)
        kinds = np.isin(np.arange(5), tried)
        rarity, tail = self.detectors[0].rarity, self.detectors[0].clean.density.tail
        for parts in self._parts(wanted):
            rules, typical = [], rarity.typical_forms(d, tail) if final else None
            for one in parts:
                prices = one.detector.prices
                # Runs are moved along a sequence; a grid's squares are only improved cell by cell.
                rounds = ROUNDS if final and one.scan.cells.height == 1 else 0
                price, steps = (prices.run, 3 * len(one.cells)) if final else (prices.single, SINGLE_STEPS)
                rules.append(set_rules(one.scan.cells, price, prices.extra, rounds, steps, typical))
            windows = [self.windows.part(one.members) for one in parts]
            searches = []
            for one, own, best in zip(parts, rules, windows, strict=True):
                starts = Starts(kinds, self.stuck[one.block], best, one.scan.windows)
                searches.append((one.scan.density, own, self.rows[one.block], self.slopes[one.block], starts))
            for one, found in zip(parts, search_rows(searches, self.n_jobs), strict=True):
                answers.labels[one.block] = found.labels
                for whole, its in zip(answers[1:], found[1:], strict=True):
                    whole[one.members] = its
        return answers

    def _is_unusual(self, answers: Answers, some: Booleans) -> Booleans:
        """Tell which of some rows no set of their cells explains."""
        unusual, one = np.zeros(len(some), bool), self.detectors[0]
        own = Answers(answers.labels[some], *(array[some] for array in answers[1:]))
        unusual[some] = is_unusual(one.rarity, own, one.clean.density.tail, self.lattice[some], self.n_cells[some])
        return unusual

    def _name_shifted(self, answers: Answers, some: Booleans) -> None:
        """Call sets shifted whose cells are likelier to be moved by a common amount than to be noise or foreign."""
        # A rest that is odd stays so, whatever its cells are called.
        believed = answers._replace(odds=np.full(len(some), np.inf))
        sought = some & ~self._is_unusual(believed, some)
        extra = np.array([one.prices.extra for one in self.detectors])[self.fold]
        # What a foreign set costs beyond noise is not held against it here.
        before = answers.odds - answers.prior + extra[:, FOREIGN] * (answers.labels == FOREIGN).any(axis=1)
        odds = self._shifts((answers.labels > KEPT) & sought[:, None], before)[0] - extra[:, SHIFTED]
        better = odds > before
        answers.labels[(answers.labels > KEPT) & better[:, None]] = SHIFTED
        answers.odds[better] += (odds - before)[better]

    def _shifts(self, out: Booleans, least: Floats) -> Floats:
        """Return log odds, amount and deviation (3, n) of a common shift of cells (n, d), NaN where there are none."""
        found = np.full((3, len(out)), np.nan)
        for parts in self._parts(np.asarray(out.any(axis=1))):
            given: list[tuple[Any, ...]] = []
            for one in parts:
                known = one.detector.clean.columns, one.cells, one.scan.density
                cells = (array[one.block] for array in (self.values, self.rows, self.noise, out))
                given += [(*known, *own) for own in zip(*cells, strict=True)]
            members = np.concatenate([one.members for one in parts])
            # Each row holds the precisions of its cells.
            at_once = max(1, MOST_PREPARED // max(one.scan.density.mix.precision.size for one in parts))
            for begin in range(0, len(given), at_once):
                own = members[begin : begin + at_once]
                found[:, own] = common_shifts(given[begin : begin + at_once], least[own])
        return found

    def shift_amounts(self, shifted: Booleans) -> Floats:
        """Return by how much the shifted cells (n, n_features) were moved, and how uncertain that is, in ranges.

        What is not to be believed should be missing in the rows, beside what is. Both amounts (2, n) are NaN in rows
        without a cell that is shifted or one that is not.
        """
        wide = self.detectors[0].clean.wide
        if wide:
            return np.array(wide.shift_amounts(self.given, shifted))
        some = shifted.any(axis=1) & (shifted.sum(axis=1) < self.n_cells)
        return self._shifts(shifted[:, self.layout.order] & some[:, None], np.full(len(some), -np.inf))[1:]

    def _of_columns(self, some: Integers, kinds: Labels, unusual: Booleans) -> Sets:
        """Return what is said of columns, by what was found in the cells of some rows: those of blocks are refined."""
        explained = np.where(unusual[some, None], KEPT, kinds[some])
        if self.detectors[0].clean.wide is None:
            cells = self.layout.to_columns(self.windows.cells[some])
            return Sets(self.layout.to_columns(explained), unusual[some], cells)
        shape = len(some), self.given.shape[1]
        found = Sets(np.full(shape, KEPT, np.int8), unusual[some], np.zeros(shape))
        for number, one in enumerate(self.detectors):
            clean, own = one.clean, np.flatnonzero(self.fold[some] == number)
            if clean.wide is None or not len(own):
                continue
            fine, odds, found.cells[own], left = clean.wide.find(self.given[some[own]], kinds[some[own]], self.n_jobs)
            rest = clean.columns.to_rows(clean.wide.cells(left, fine))[0]
            level, form = expect_rows(clean.density, rest)
            likeliest = form[np.arange(len(form)), level.argmax(axis=1)]
            move, lattice = clean.wide.move_odds(self.given[some[own]])
            answers, kept = Answers(fine, odds, odds, likeliest, move), (~np.isnan(rest)).sum(axis=1)
            there = ~np.isnan(self.given[some[own]])
            odd = is_unusual(one.rarity, answers, clean.density.tail, lattice, there.sum(axis=1), kept)
            fine[odd] = np.where(there[odd], clean.wide.blocks.expand(explained[own[odd]]), KEPT)
            # Moves of all columns are told by the columns, all else that is odd only if blocks say so too.
            found.kinds[own], found.unusual[own] = fine, odd & (found.unusual[own] | (odds < move))
        return found
