"""How a row is described before it is weighed (method, section 10).

Enters: reference rows in layout order. Leaves: coordinates. Up to `MOST_COORDINATES` attributes, every attribute is a
coordinate, warped so that long tails do not rule; a wider row is described by a few numbers for each of about 64 cells
(runs of attributes, or tiles of an image), which bounds memory and time whatever the width.

Cells are what windows are made of: an attribute of a sequence, a pixel with all its channels, or a wide row's run or
tile. Every cell has the same number of coordinates, ``per_cell``, one cell after the other.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Grid = tuple[int, int, int]

MOST_COORDINATES = 256
CELLS = 64
CELL_AXES = 3
NARROWEST_GRID = 4
LEAST_SCALE = 0.02


@dataclass(frozen=True)
class Cells:
    """The cells of a row: which attribute is in which, and how they lie (a grid, or ``None``: a sequence)."""

    of_attribute: Integers
    n_cells: int
    grid: tuple[int, int] | None
    direct: bool

    @property
    def per_cell(self) -> int:
        """Coordinates of a cell."""
        return len(self.of_attribute) // self.n_cells if self.direct else CELL_AXES + 1


@dataclass(frozen=True)
class Coordinates:
    """Centre and scale of each attribute, and the leading axes of cells (d x 0 if every attribute counts)."""

    centre: Floats
    scale: Floats
    axes: Floats


def lay_cells(d: int, grid: Grid | None) -> Cells:
    """Lay the cells of rows with ``d`` attributes, in layout order (channels last on a grid).

    Examples
    --------
    >>> lay_cells(32, (4, 4, 2)).of_attribute[:8]
    array([0, 0, 1, 1, 2, 2, 3, 3])
    >>> lay_cells(20, (4, 5, 1)).grid, lay_cells(1000, (25, 40, 1)).grid, lay_cells(12, (1, 12, 1)).grid
    ((4, 5), (8, 8), None)
    """
    if grid is None or min(grid[:2]) < NARROWEST_GRID:
        return _sequence_cells(d)
    height, width, channels = grid
    pixel = np.arange(d) // channels
    if d <= MOST_COORDINATES:
        return Cells(pixel, height * width, (height, width), True)
    side = math.isqrt(CELLS)
    down, across = min(side, height), min(side, width)
    row, column = np.divmod(pixel, width)
    return Cells(row * down // height * across + column * across // width, down * across, (down, across), False)


def _sequence_cells(d: int) -> Cells:
    if d <= MOST_COORDINATES:
        return Cells(np.arange(d), d, None, True)
    return Cells(np.arange(d) * CELLS // d, CELLS, None, False)


def learn_coordinates(reference: Floats, cells: Cells) -> Coordinates:
    """Learn the warp of each attribute, or the leading axes of each cell."""
    d = reference.shape[1]
    if cells.direct:
        centre = np.median(reference, axis=0)
        usual = np.quantile(np.abs(reference - centre), 0.75, axis=0)
        scale = 1.5 * np.maximum(np.maximum(usual, reference.std(axis=0)), LEAST_SCALE)
        return Coordinates(centre, scale, np.empty((d, 0)))
    centre = reference.mean(axis=0)
    axes = np.zeros((d, CELL_AXES))
    for cell in range(cells.n_cells):
        inside = np.flatnonzero(cells.of_attribute == cell)
        leading = np.linalg.svd(reference[:, inside] - centre[inside], full_matrices=False)[2][:CELL_AXES]
        axes[inside, : len(leading)] = leading.T
    return Coordinates(centre, np.ones(d), axes)


def describe(coordinates: Coordinates, cells: Cells, rows: Floats) -> tuple[Floats, Floats]:
    """Return the coordinates of rows, and for each the log of how much the warp compresses there."""
    from treemend.kernels.coordinates import summarise_cells, warp_rows

    rows = np.ascontiguousarray(rows)
    described = np.empty((len(rows), cells.n_cells * cells.per_cell))
    stretch = np.zeros_like(described)
    if cells.direct:
        warp_rows(rows, coordinates.centre, coordinates.scale, described, stretch)
    else:
        summarise_cells(rows, coordinates.centre, cells.of_attribute, coordinates.axes, described)
    return described, stretch
