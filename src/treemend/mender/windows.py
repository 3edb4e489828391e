"""Which stretches of a row are tried first, and how likely a set of cells is before its values are seen.

Windows are grouped in chains of nested ones, so that one triangular factor serves all windows of a chain. They are
coarse on purpose: `sets` moves the borders, and only in declared rows.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import betaln

from treemend.arrays import Booleans, Floats, Integers
from treemend.mender.layout import Layout

Chain = tuple[Integers, Integers]

BLOCKS = 16
STEPS_OF_A_GRID = 8
NARROWEST_GRID = 4
# A stretch that covers more of a row than this would better be called the clean part.
WIDEST = 0.6
# The prior of sets: Beta laws of the probabilities that a run starts, and that it goes on. With runs that go on more
# easily (LEAVE 1), clean cells between bad ones are called bad; with shorter ones, weak noise in stretches is missed:
# `python -m experiments.robustness scattered several_stretches one_stretch`.
START, CALM, STAY, LEAVE = 0.5, 2.0, 1.0, 3.0
IMPOSSIBLE = -1e9
# What each cell of noise costs, in nats; less in wide rows, where a stretch has more cells. With 0, clean cells between
# bad ones are called noise where columns are weakly correlated; with more, weak noise is missed:
# `python -m experiments.robustness scattered one_stretch several_stretches`.
CELL_PRICE, FULL_PRICE = 0.25, 64
# The same for a pixel. With less, boxes and patches are too large; with more, squares of noise are missed:
# `python -m experiments.robustness grids`.
PIXEL_PRICE = 0.5
# How many components are followed from each kind of start in narrow rows; one in others, where one costs d^3.
FOLLOWED, NARROW = 3, 128


@dataclass(frozen=True)
class Cells:
    """How the d observed cells of a row lie; a sequence is a grid of one line.

    A cell continues the run of the cell before it unless it is the first one, or across a group's border; missing cells
    do not interrupt a run. The three directions of neighbours are the line, the column and the channels of a pixel.
    """

    joined: Booleans  # (d,), whether a cell continues the run of the cell before it
    earlier: Integers  # (3, d), the neighbours of each cell before it, -1 where there is none
    line: Integers  # (d,), the place of each cell on the grid
    column: Integers
    height: int
    width: int
    edges: Integers  # places where coarse runs begin and end
    price: float  # of each cell of noise


class Windows(NamedTuple):
    """V windows in C chains; a window is the first ``size`` cells of ``order`` from ``first`` on."""

    order: Integers
    chain_start: Integers  # C + 1, into order
    window_start: Integers  # C + 1, into size
    size: Integers  # V
    first: Integers  # V, into order: where the chain of a window begins

    def cells(self, window: int) -> Integers:
        """Return the cells of a window."""
        start = self.first[window]
        return self.order[start : start + self.size[window]]

    def members(self, d: int) -> Floats:
        """Return a matrix (V, d) that is 1 where a cell is in a window, 0 elsewhere."""
        window = np.repeat(np.arange(len(self.size)), self.size)
        number = np.arange(len(window)) - np.repeat(self.size.cumsum() - self.size, self.size)
        members = np.zeros((len(self.size), d))
        members[window, self.order[self.first[window] + number]] = 1.0
        return members


class Grid(NamedTuple):
    """Where the cells of a grid are, and what a rectangle of them costs."""

    line: Integers  # d
    column: Integers  # d
    price: float


class Rules(NamedTuple):
    """How cells lie, what sets cost, and how long the search goes on."""

    joined: Booleans  # d
    earlier: Integers  # d: neighbours that continue a run, -1 where there is none
    edges: Integers
    prior: Floats  # d + 2 x d + 2: of n cells in R runs
    extra: Floats  # 5: what each kind costs beyond noise
    typical: Floats  # d + 1: quadratic form of a typical rest of so many kept cells
    grid: Grid | None  # None for sequences
    widest: int
    reach: int
    rounds: int
    steps: int
    followed: int


def lay_cells(layout: Layout, observed: Booleans | None = None) -> Cells:
    """Describe how the cells of a layout lie, or those of them that are observed (d,)."""
    place = np.arange(len(layout.order)) if observed is None else np.flatnonzero(observed)
    n = len(place)
    joined = np.arange(n) > 0
    if layout.grid is not None and min(layout.grid[:2]) >= NARROWEST_GRID:
        height, width, channels = layout.grid
        line, column = np.divmod(place // channels, width)
        joined[1:] = line[1:] == line[:-1]
        number = np.full(len(layout.order) + 1, -1)
        number[place] = np.arange(n)
        steps = ((column, channels), (line, width * channels), (place % channels, 1))
        earlier = np.array([number[np.where(at > 0, place - step, -1)] for at, step in steps])
        return Cells(joined, earlier, line, column, height, width, np.array([0, n]), PIXEL_PRICE)
    edges = np.round(np.linspace(0, n, min(BLOCKS, n) + 1)).astype(np.int64)
    if layout.groups is not None:
        group = layout.groups[place]
        joined[1:] = group[1:] == group[:-1]
        edges = np.concatenate([edges, np.flatnonzero(~joined)])
    earlier = np.full((3, n), -1)
    earlier[0] = np.where(joined, np.arange(n) - 1, -1)
    price = CELL_PRICE * min(1.0, FULL_PRICE / n)
    return Cells(joined, earlier, np.zeros(n, np.int64), np.arange(n), 1, n, np.unique(edges), price)


def lay_windows(cells: Cells) -> Windows:
    """Lay the windows over the cells of a row.

    Examples
    --------
    >>> windows = lay_windows(lay_cells(Layout(np.arange(4))))
    >>> [windows.cells(v).tolist() for v in range(len(windows.size))]
    [[0], [0, 1], [1], [1, 2], [2], [2, 3], [3]]
    """
    chains = _runs(cells) if cells.height == 1 else _squares(cells)
    nothing = np.empty(0, np.int64)
    chain_start = np.cumsum([0, *(len(order) for order, _ in chains)])
    n_windows = [len(sizes) for _, sizes in chains]
    return Windows(
        np.concatenate([nothing, *(order for order, _ in chains)]),
        chain_start,
        np.cumsum([0, *n_windows]),
        np.concatenate([nothing, *(sizes for _, sizes in chains)]),
        np.repeat(chain_start[:-1], n_windows),
    )


def lay_patterns(layout: Layout, patterns: Sequence[Booleans]) -> list[tuple[Cells, Windows, Floats]]:
    """Return cells, windows and members of windows for patterns of observed cells (d,); equal ones are laid once."""
    laid = {}
    for observed in patterns:
        if observed.tobytes() not in laid:
            cells = lay_cells(layout, observed)
            windows = lay_windows(cells)
            laid[observed.tobytes()] = cells, windows, windows.members(len(cells.joined))
    return [laid[observed.tobytes()] for observed in patterns]


def most_cells(n: int) -> int:
    """Return how many of ``n`` cells a window may have; something must be left outside."""
    return min(n - 1, max(1, int(WIDEST * n)))


def grid_step(cells: Cells) -> int:
    """Return the distance of the lattice on which squares of a grid stand."""
    return max(1, round(min(cells.height, cells.width) / STEPS_OF_A_GRID))


def _runs(cells: Cells) -> list[Chain]:
    """One chain for each edge at which a run may start."""
    n = len(cells.joined)
    borders = np.append(np.flatnonzero(~cells.joined), n)
    chains = []
    for start in cells.edges[:-1]:
        stop = min(borders[borders > start][0], start + most_cells(n))
        ends = cells.edges[(cells.edges > start) & (cells.edges <= stop)] - start
        if len(ends):
            chains.append((np.arange(start, start + ends[-1]), ends))
    return chains


def _squares(cells: Cells) -> list[Chain]:
    """Squares that grow from their top left corner, for each corner of the lattice."""
    step, most = grid_step(cells), most_cells(len(cells.joined))
    chains = []
    for top in range(0, cells.height, step):
        for left in range(0, cells.width, step):
            reach = np.maximum(cells.line - top, cells.column - left)
            inside = np.flatnonzero((cells.line >= top) & (cells.column >= left))
            inside = inside[np.argsort(reach[inside], kind="stable")]
            sides = np.arange(2 * step, min(cells.height - top, cells.width - left) + 1, step)
            ends = np.unique(np.searchsorted(reach[inside], sides))
            ends = ends[(ends > 0) & (ends <= most)]
            if len(ends):
                chains.append((inside[: ends[-1]], ends))
    return chains


def run_prior(d: int, price: float = 0.0) -> Floats:
    """Return the log prior odds (d + 2, d + 2) of n of d cells in R runs against none.

    The first run costs ``price`` beyond the chain: the misfit of the density, measured on clean rows. The R-th run
    costs a R-th of it, since a row that has one bad run may have others.

    Examples
    --------
    >>> prior = run_prior(20)
    >>> bool(prior[4, 1] > prior[4, 4])
    True
    """
    harmonic = np.append(0.0, np.cumsum(1 / np.arange(1, d + 2)))
    return np.asarray(_chain_prior(d) - price * harmonic)


def chain_prior(n: Floats | float, runs: Floats | float, d: int) -> Floats:
    """Return the log prior odds of n > 0 of d cells in so many runs, by the chain alone."""
    stay, calm = np.maximum(n - runs, 0), np.maximum(d - n - runs + 1, 0)
    prior = betaln(runs + START, calm + CALM) - betaln(START, d + 1 + CALM)
    return np.asarray(prior + (betaln(stay + STAY, runs + LEAVE) - betaln(STAY, LEAVE)))


@cache
def _chain_prior(d: int) -> Floats:
    """Return the log prior odds of the chain alone."""
    n, runs = np.mgrid[: d + 2, : d + 2].astype(np.float64)
    possible = (runs <= n) & (runs <= d - n + 1) & (n <= d) & ((runs > 0) | (n == 0))
    prior = chain_prior(n, runs, d)
    prior[~possible] = IMPOSSIBLE
    prior[0, 0] = 0.0
    return np.asarray(prior)


def priced_prior(d: int, price: float) -> Floats:
    """Return the log prior odds of sets of which the first run costs at least ``price``."""
    return run_prior(d, _misfit(d, price))


def _misfit(d: int, price: float) -> float:
    return max(0.0, price + float(_chain_prior(d)[1, 1]))


def set_rules(
    cells: Cells, price: float, extra: Floats, rounds: int, steps: int, typical: Floats | None = None
) -> Rules:
    """Return how cells lie, what sets cost (``price``: the first run), and how long the search goes on."""
    d = len(cells.joined)
    typical = np.full(d + 1, -np.inf) if typical is None else typical
    reach, followed = math.ceil(d / BLOCKS) + 1, FOLLOWED if d <= NARROW else 1
    # Along lines only: with patches as runs of a grid, clean pixels between scattered bad ones are called noise.
    lie, grid = (cells.joined, cells.earlier[0], cells.edges), None
    if cells.height > 1:
        sides = cells.height * (cells.height + 1) / 2 * cells.width * (cells.width + 1) / 2
        grid = Grid(cells.line, cells.column, _misfit(d, price) + math.log(sides))
    prior = priced_prior(d, price)
    return Rules(*lie, prior, extra, typical, grid, most_cells(d), reach, rounds, steps, followed)
