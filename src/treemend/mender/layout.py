"""How the columns of a row lie: their order, a grid, groups."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Layout:
    """Where each column stands.

    Attributes
    ----------
    order : (d,) int
        Column number of each place of the layout.
    grid : tuple of int, optional
        Height, width and channels; places run row by row, channels last. None: a sequence.
    groups : (d,) int, optional
        Group of each place; places of a group stand together, and no run of cells crosses a border between groups.
    """

    order: Integers
    grid: tuple[int, int, int] | None = None
    groups: Integers | None = None
