"""Which stretches of a row are weighed (method, section 10).

Enters: how the cells of a row lie. Leaves: windows, grouped in chains of nested ones, so that what is computed for the
largest window of a chain serves all of them. Windows of a sequence are runs of sixteenths; windows of a grid are
squares on a lattice of an eighth of its shorter side. They are coarse on purpose: borders are refined afterwards, and
only where something was found.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemend.refinement.coordinates import Cells

Integers = NDArray[np.int64]
Chain = tuple[Integers, Integers]

BLOCKS = 16
STEPS_OF_A_GRID = 8
WIDEST = 0.6


@dataclass(frozen=True)
class Windows:
    """V windows in C chains; a window is the first ``size`` cells of its chain's part of ``order``."""

    order: Integers
    chain_start: Integers  # C + 1, into order
    window_start: Integers  # C + 1, into size
    size: Integers  # V

    def cells(self, window: int) -> Integers:
        """Return the cells of a window."""
        chain = int(np.searchsorted(self.window_start, window, side="right")) - 1
        start = self.chain_start[chain]
        return self.order[start : start + self.size[window]]


def lay_windows(cells: Cells) -> Windows:
    """Lay the windows over the cells of a row.

    Examples
    --------
    >>> windows = lay_windows(Cells(np.arange(4), 4, None, True))
    >>> [windows.cells(v).tolist() for v in range(len(windows.size))]
    [[0], [0, 1], [1], [1, 2], [2], [2, 3], [3]]
    """
    chains = _sequence_chains(cells.n_cells) if cells.grid is None else _grid_chains(*cells.grid)
    nothing = np.empty(0, np.int64)
    return Windows(
        order=np.concatenate([nothing, *(order for order, _ in chains)]),
        chain_start=np.cumsum([0, *(len(order) for order, _ in chains)]),
        window_start=np.cumsum([0, *(len(ends) for _, ends in chains)]),
        size=np.concatenate([nothing, *(ends for _, ends in chains)]),
    )


def _sequence_chains(n_cells: int) -> list[Chain]:
    """One chain for each block at which a window may start; something must be left outside a window."""
    edges = np.unique(np.round(np.linspace(0, n_cells, min(BLOCKS, n_cells) + 1)).astype(np.int64))
    widest = min(n_cells - 1, max(1, int(WIDEST * n_cells)))
    chains = []
    for start in edges[:-1]:
        ends = edges[(edges > start) & (edges - start <= widest)] - start
        if len(ends):
            chains.append((np.arange(start, start + ends[-1]), ends))
    return chains


def _grid_chains(height: int, width: int) -> list[Chain]:
    """Squares that grow from their top left corner, for each corner of the lattice."""
    step = max(1, round(min(height, width) / STEPS_OF_A_GRID))
    number = np.arange(height * width).reshape(height, width)
    chains = []
    for top in range(0, height, step):
        for left in range(0, width, step):
            chain = _growing_squares(number[top:, left:], step, int(WIDEST * height * width))
            if len(chain[1]):
                chains.append(chain)
    return chains


def _growing_squares(number: Integers, step: int, most_cells: int) -> Chain:
    parts, ends, inner = [np.empty(0, np.int64)], [], 0
    for side in range(2 * step, min(number.shape) + 1, step):
        if side * side > most_cells:
            break
        new = np.ones((side, side), dtype=bool)
        new[:inner, :inner] = False
        parts.append(number[:side, :side][new])
        ends.append(side * side)
        inner = side
    return np.concatenate(parts), np.array(ends, dtype=np.int64)
