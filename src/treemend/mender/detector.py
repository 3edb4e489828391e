"""The detector: what is learnt from clean rows, and what it says of others.

`weigh_and_find` weighs every row, which `Calibration` turns into p-values, and looks for the cells of the oddest ones.
Rows with missing values are judged on what they have; rows with the same missing cells share the work.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from treemend.arrays import Booleans, Floats, Integers, Labels
from treemend.mender.calibration import NOTHING, Calibration, Rarity, Tails, is_unusual
from treemend.mender.columns import Columns
from treemend.mender.density import Density, expect_rows
from treemend.mender.evidence import (
    FOREIGN,
    KEPT,
    NARROW,
    NOISE,
    SHIFTED,
    SINGLE,
    STUCK,
    Scan,
    WindowEvidence,
    likely_components,
    prepare_scan,
    window_evidence,
)
from treemend.mender.layout import Layout
from treemend.mender.moves import Grid, Rules
from treemend.mender.sets import Answers, Starts, find_rows
from treemend.mender.shifts import name_shifted
from treemend.mender.stuck import RepeatedValues, name_constant, stuck_evidence
from treemend.mender.wide import WideRows
from treemend.mender.windows import BLOCKS, most_cells, run_prior
from treemend.threads import for_chunks

# Greedy cells of a row that is not declared yet; more do not change the verdict, only cost time.
SINGLE_STEPS = 40
ROUNDS = 10
# What each cell of noise costs, in nats; less in wide rows, where a stretch has more cells. With 0, clean cells between
# bad ones are called noise where columns are weakly correlated; with more, weak noise is missed:
# `python -m experiments.robustness scattered one_stretch several_stretches`.
CELL_PRICE, FULL_PRICE = 0.25, 64
# The same for a pixel. With less, boxes and patches are too large; with more, squares of noise are missed:
# `python -m experiments.robustness grids`.
PIXEL_PRICE = 0.5
# How many components are followed from each kind of start in narrow rows; one in others.
FOLLOWED = 3
# A run of equal values that is so far out, in slopes beyond the edge of its tail, is stuck whatever else may be odd.
SURELY_STUCK = 3.0
# So much of the largest evidence of a single cell does not speak for a window: an odd clean row is odd in one cell
# mostly, an overwritten stretch in many. With 0, long tails of clean rows hide several stretches; with 1, noise is
# missed in weakly correlated columns: `python -m experiments.robustness one_stretch several_stretches`. On grids
# nothing is lost with 1, since squares have many cells.
ONE_CELL, ONE_PIXEL = 0.5, 1.0
NO_EVIDENCE = -1e3


class Group(NamedTuple):
    """m of n rows that have the same c observed cells, and what is shared in judging them."""

    scan: Scan
    members: Integers  # m: numbers of the rows
    cells: Integers  # c: the observed cells, in layout order
    values: Floats  # m x c, in the user's units
    rows: Floats  # m x c: coordinates
    noise: Floats  # m x c: log densities of noise, in coordinates
    given: Floats  # m x columns: what they were given as

    def block(self, some: Any = slice(None)) -> Any:
        """Return what selects the cells of some of these rows from an array of all rows and cells."""
        return np.ix_(self.members[some], self.cells)


@dataclass(frozen=True)
class Prices:
    """What sets cost beyond the Markov prior, since no density is right; learnt on clean rows.

    ``single``: the first of several single cells, in a row's statistic; ``run``: the first run of a set; ``extra``
    (5,): each kind of start, beyond noise.
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
    wide: WideRows | None = None  # of rows whose cells are blocks of columns

    @cached_property
    def _complete(self) -> Scan:
        return prepare_scan(self.density, self.layout)

    def revised(self, **changes: Any) -> "Detector":
        """Return a detector with other prices, tails or thresholds, which shares what is prepared for complete rows."""
        other = replace(self, **changes)
        if "_complete" in vars(self):
            vars(other)["_complete"] = self._complete
        return other

    @cached_property
    def typical(self) -> Floats:
        """The quadratic form that half of the clean rests of 0, 1, ... d cells do not exceed."""
        return self.rarity.typical_forms(len(self.layout.order), self.density.tail)

    def cells_of(self, values: Floats) -> Floats:
        """Return the values of cells: those of columns, or of blocks of them."""
        return self.wide.blocks.reduce(values) if self.wide else values

    def groups(self, values: Floats) -> Iterator[Group]:
        """Yield rows (n, d), given in the user's units and column order, that can be judged together.

        Rows with less than two cells are not judged.
        """
        given, values = values, self.cells_of(values)
        rows, noise = self.columns.to_rows(values)
        noise += self.columns.lattice_odds(values)
        observed = ~np.isnan(rows)
        judged = observed.sum(axis=1) > 1
        complete = observed.all(axis=1) & judged

        def group(scan: Scan, members: Integers, cells: Integers) -> Group:
            place = np.ix_(members, cells)
            laid = values[np.ix_(members, self.layout.order[cells])]
            return Group(scan, members, cells, laid, rows[place], noise[place], given[members])

        if complete.any():
            yield group(self._complete, np.flatnonzero(complete), np.arange(rows.shape[1]))
        others = np.flatnonzero(~complete & judged)
        if not len(others):
            return
        likely = likely_components(self.density, rows[others])
        key = np.packbits(np.hstack([observed[others], likely]), axis=1)
        number = np.unique(key, axis=0, return_inverse=True)[1].ravel()
        in_groups = np.argsort(number, kind="stable")
        for part in np.split(in_groups, np.flatnonzero(np.diff(number[in_groups])) + 1):
            members, there = others[part], observed[others[part[0]]]
            scan = prepare_scan(self.density, self.layout, there, likely[part[0]])
            yield group(scan, members, np.flatnonzero(there))


@dataclass(frozen=True)
class Evidence:
    """What is known of n rows before any is declared; cells in layout order.

    ``values`` are log odds against clean: noise, foreign, shifted (less a share of the largest of ``cells``), stuck,
    single cells.
    """

    values: Floats  # n x 5
    statistic: Floats  # n: the one number that is compared with the reference; higher is odder
    stuck: Booleans  # n x d: the most surprising run of equal values
    cells: Floats  # n x d: log odds of each cell by itself; 0 where missing
    log_density: Floats  # n: of the observed cells

    @classmethod
    def none(cls, n: int, d: int) -> "Evidence":
        """Return the evidence of n rows that were not judged."""
        stuck = np.zeros((n, d), bool)
        return cls(np.full((n, 5), NO_EVIDENCE), np.full(n, -np.inf), stuck, np.zeros((n, d)), np.zeros(n))

    def of(self, rows: Any) -> "Evidence":
        """Return the evidence of some rows."""
        return Evidence(*(getattr(self, field.name)[rows] for field in fields(self)))

    def put(self, rows: Any, found: "Evidence") -> None:
        """Write the evidence of some rows."""
        for field in fields(self):
            getattr(self, field.name)[rows] = getattr(found, field.name)


class Sets(NamedTuple):
    """Of n rows: kind of each cell (n, d), -1 where kept; whether no set explains the row (n,); log odds of cells."""

    kinds: Labels
    unusual: Booleans
    cells: Floats

    @classmethod
    def none(cls, n: int, d: int) -> "Sets":
        """Return what is said of n rows that were not looked into."""
        return cls(np.full((n, d), -1, np.int8), np.zeros(n, bool), np.zeros((n, d)))


def set_rules(scan: Scan, price: float, extra: Floats, rounds: int, steps: int, typical: Floats | None = None) -> Rules:
    """Return how cells lie, what sets cost (``price``: the first run), and how long the search goes on."""
    cells, d = scan.cells, len(scan.cells.joined)
    typical = np.full(d + 1, -np.inf) if typical is None else typical
    misfit = max(0.0, price + run_prior(d)[1, 1])
    prior = run_prior(d, misfit)
    reach, followed = math.ceil(d / BLOCKS) + 1, FOLLOWED if d <= NARROW else 1
    # Along lines only: with patches as runs of a grid, clean pixels between scattered bad ones are called noise.
    lie, grid = (cells.joined, cells.earlier[0], cells.edges), None
    if cells.height > 1:
        sides = cells.height * (cells.height + 1) / 2 * cells.width * (cells.width + 1) / 2
        grid = Grid(cells.line, cells.column, misfit + math.log(sides))
    return Rules(*lie, prior, extra, typical, grid, most_cells(d), reach, rounds, steps, followed)


def weigh_and_find(
    detector: Detector, values: Floats, examine_above: float, n_jobs: int | None = None
) -> tuple[Evidence, Sets]:
    """Weigh rows (n, d) given in the user's units and column order, NaN where missing; find the sets of the oddest.

    Those are the rows whose statistic is at least ``examine_above``; others have no set and are not unusual. Neither
    threads nor the other rows change what is said of a row by a bit.
    """
    shape = len(values), detector.layout.n_features
    evidence, sets = Evidence.none(*shape), Sets.none(*shape)
    for group in detector.groups(values):
        weighed = _weigh_windows(detector, group, evidence, n_jobs)
        _weigh_singles(detector, group, evidence, n_jobs, weighed)
        log_odds, missing = evidence.values[group.members], 1 - len(group.cells) / shape[1]
        statistic = detector.tails.statistic(log_odds)
        if missing:
            statistic = detector.calibration.comparable(statistic, log_odds.max(axis=1), missing)
        evidence.statistic[group.members] = statistic
        _find_sets(detector, group, statistic >= examine_above, evidence, sets, n_jobs, weighed)
    return evidence, _of_columns(detector, values, evidence, sets, evidence.statistic >= examine_above, n_jobs)


def weigh_windows(detector: Detector, values: Floats, n_jobs: int | None = None) -> Evidence:
    """Weigh windows, stuck values and each cell by itself; there is no statistic yet."""
    found = Evidence.none(len(values), detector.layout.n_features)
    for group in detector.groups(values):
        _weigh_windows(detector, group, found, n_jobs)
    return found


def weigh_singles(detector: Detector, values: Floats, found: Evidence, n_jobs: int | None = None) -> None:
    """Add the log odds of single cells to what `weigh_windows` returned; negative where not even one gains."""
    for group in detector.groups(values):
        _weigh_singles(detector, group, found, n_jobs)


def find_sets(detector: Detector, values: Floats, evidence: Evidence, n_jobs: int | None = None) -> Sets:
    """Find the overwritten cells of declared rows, of which the evidence is known."""
    found, every = Sets.none(*evidence.cells.shape), np.ones(len(values), bool)
    for group in detector.groups(values):
        _find_sets(detector, group, every[group.members], evidence, found, n_jobs)
    return _of_columns(detector, values, evidence, found, every, n_jobs)


def _of_columns(
    detector: Detector, values: Floats, evidence: Evidence, found: Sets, chosen: Booleans, n_jobs: int | None
) -> Sets:
    """Return what is said of columns, by what was found in the cells of chosen rows: those of blocks are refined."""
    wide, some, explained = detector.wide, np.flatnonzero(chosen), np.where(found.unusual[:, None], KEPT, found.kinds)
    if wide is None:
        return Sets(detector.layout.to_columns(explained), found.unusual, detector.layout.to_columns(evidence.cells))
    sets = Sets.none(*values.shape)
    kinds, odds, sets.cells[some], rest = wide.find(values[some], found.kinds[some], n_jobs)
    rest = detector.columns.to_rows(rest)[0]
    level, form = expect_rows(detector.density, rest)
    likeliest = form[np.arange(len(form)), level.argmax(axis=1)]
    move, lattice = wide.move_odds(values[some])
    answers = Answers(kinds, odds, odds, likeliest, move)
    odd = is_unusual(detector.rarity, answers, detector.density.tail, lattice, (~np.isnan(rest)).sum(axis=1))
    kinds[odd] = wide.blocks.expand(explained[some[odd]])
    # Moves of all columns are told by the columns, all else that is odd only if blocks say so too.
    sets.kinds[some], sets.unusual[some] = kinds, odd & (found.unusual[some] | (odds < move))
    return sets


def _weigh_windows(detector: Detector, group: Group, found: Evidence, n_jobs: int | None) -> WindowEvidence:
    weighed = window_evidence(group.scan, group.rows, group.noise, n_jobs)
    share = ONE_PIXEL if group.scan.cells.height > 1 else ONE_CELL
    one_cell = share * np.maximum(weighed.cells.max(axis=1), 0.0)
    found.values[group.members, :STUCK] = np.maximum(weighed.values - one_cell[:, None], NO_EVIDENCE)
    found.log_density[group.members] = weighed.log_density
    block = group.block()
    found.cells[block] = weighed.cells
    found.values[group.members, STUCK], found.stuck[block] = stuck_evidence(
        group.scan,
        detector.repeated,
        group.cells,
        group.values,
        group.rows,
        group.noise - cell_price(group.scan),
        weighed.log_density,
        n_jobs,
    )
    return weighed


def _weigh_singles(
    detector: Detector, group: Group, found: Evidence, n_jobs: int | None, weighed: WindowEvidence | None = None
) -> None:
    if detector.wide:
        found.values[group.members, SINGLE] = detector.wide.weigh(group.given, n_jobs)
        return
    rules = set_rules(group.scan, detector.prices.single, detector.prices.extra, 0, SINGLE_STEPS)
    evidence = found.cells[group.block()].max(axis=1) + rules.prior[1, 1]
    grown = evidence > 0
    rows, noise, stuck = group.rows[grown], group.noise[grown], found.stuck[group.block(grown)]
    best = weighed.part(grown) if weighed else None
    evidence[grown] = search_rows(group.scan, rules, rows, noise, stuck, (SINGLE,), n_jobs, best).odds
    found.values[group.members, SINGLE] = evidence


def _find_sets(
    detector: Detector,
    group: Group,
    chosen: Booleans,
    evidence: Evidence,
    found: Sets,
    n_jobs: int | None,
    weighed: WindowEvidence | None = None,
) -> None:
    if not chosen.any():
        return
    # Runs are moved along a sequence; a grid's squares are only improved cell by cell.
    rounds = 0 if group.scan.cells.height > 1 else ROUNDS
    prices, d = detector.prices, len(group.cells)
    rules = set_rules(group.scan, prices.run, prices.extra, rounds, 3 * d, detector.typical)
    of_kinds, tails = evidence.values[group.members], detector.tails
    surely = (of_kinds - tails.edge)[:, STUCK] > SURELY_STUCK * tails.slope[STUCK]
    # Where nothing can be said against a row, no set explains it.
    unusual, unexplained = chosen.copy(), chosen & (of_kinds > NOTHING).any(axis=1)
    stuck = unexplained & (surely | (tails.leading(of_kinds) == STUCK))
    # The stuck run alone is tried where it is sure or the oddest thing; all else elsewhere, and where that is weaker.
    for tried in ((STUCK,), (NOISE, SINGLE, FOREIGN, SHIFTED)):
        some = np.flatnonzero(stuck if tried == (STUCK,) else unexplained)
        rows, noise, run = group.rows[some], group.noise[some], evidence.stuck[group.block(some)]
        best = weighed.part(some) if weighed else None
        answers = search_rows(group.scan, rules, rows, noise, run, tried, n_jobs, best)
        columns = detector.columns.part(group.cells)
        lattice = columns.lattice_odds(group.values[some])
        if tried != (STUCK,):
            # A rest that is odd stays so, whatever its cells are called.
            certain = answers._replace(odds=np.full(len(rows), np.inf))
            sought = ~is_unusual(detector.rarity, certain, detector.density.tail, lattice)
            name_shifted(group.scan, columns, group.values[some], rows, noise, sought, rules.extra, answers)
            name_constant(answers.labels, run)
        explained = ~is_unusual(detector.rarity, answers, detector.density.tail, lattice)
        believed = explained | unusual[some]
        unusual[some[explained]] = False
        found.kinds[group.block(some[believed])] = answers.labels[believed]
        if tried == (STUCK,):
            frequent = 2 * (run & detector.repeated.frequent(group.cells, group.values[some])).sum(1) > run.sum(1)
            # A background may be shifted as a whole, or be part of a window of noise: all of the evidence is compared.
            odds = of_kinds[some, STUCK] + np.where(frequent, answers.odds - answers.prior, 0.0)
            unexplained[some] = ~explained | (odds < of_kinds[some, :STUCK].max(axis=1))
    found.unusual[group.members] = unusual


def cell_price(scan: Scan) -> float:
    """Return what each cell of noise costs."""
    return PIXEL_PRICE if scan.cells.height > 1 else CELL_PRICE * min(1.0, FULL_PRICE / len(scan.cells.joined))


def search_rows(
    scan: Scan,
    rules: Rules,
    rows: Floats,
    noise: Floats,
    stuck: Booleans,
    tried: tuple[int, ...],
    n_jobs: int | None,
    best: WindowEvidence | None = None,
) -> Answers:
    """Find the best set of each row, from some kinds of starts; their windows are weighed unless that is given."""
    n, d = rows.shape
    answers = Answers(np.full((n, d), -1, np.int8), *(np.zeros(n) for _ in range(4)))
    weighed = best or window_evidence(scan, rows, noise, n_jobs)
    kinds = np.isin(np.arange(5), tried)
    slopes = noise - cell_price(scan)

    def task(part: slice) -> None:
        starts = Starts(kinds, stuck[part], weighed.part(part), scan.windows)
        own: list[Any] = [array[part] for array in answers]
        find_rows(scan.mix, scan.law, rules, rules.grid, rows[part], slopes[part], starts, Answers(*own))

    for_chunks(task, n, 10 * d**3, n_jobs)
    return answers
