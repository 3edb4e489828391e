"""What can be asked of reference rows (method, sections 4, 6 and 10).

Enters: nothing. Leaves: two protocols, and the `Means` by which they answer. `Rows` are the rows as they came, before
anything was learnt; `Reference` are the same rows scaled, in the order of the tree, ready to be compared with others.

Reference rows have numbers, from 0 on. ``left_out`` names for each asking row the reference row that it is, -1 for
none: that one is not among the answers. Answers are sorted by distance, then by number, and are the same bits wherever
the rows are kept and however many are asked at a time.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from treemend.reference.unit import UnitLayout
from treemend.tables import Scaling
from treemend.tree import AttributeTree

__all__ = ["Means", "Reference", "Rows"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Means:
    """What may be used to answer; no answer depends on it.

    Attributes
    ----------
    n_jobs : int or None
        Threads.
    memory_limit : int, str or None
        As `treemend.memory.memory_budget` takes it.
    """

    n_jobs: int | None = None
    memory_limit: int | str | None = None


class Reference(Protocol):
    """Reference rows, scaled, in the order of the tree."""

    @property
    def n_rows(self) -> int:
        """Number of reference rows."""

    @property
    def values(self) -> Floats:
        """All rows as they came, in the order of the columns; an `InputError` where they are not in one place."""

    @property
    def low(self) -> Floats:
        """Smallest value of each attribute in the user's units, in the order of the tree."""

    @property
    def high(self) -> Floats:
        """Largest value of each attribute in the user's units, in the order of the tree."""

    @property
    def unit(self) -> UnitLayout:
        """The way to the unit range of each attribute, and to the order of the layout."""

    def radii(self, rows: Floats, n_neighbors: int, left_out: Integers | None = None) -> Floats:
        """Return the distance to the K-th nearest reference row, rows x nodes; rows may have holes."""

    def left_out_radii(self, numbers: Integers, n_neighbors: int) -> Floats:
        """Return the radii of reference rows, each left out of its own neighbours, numbers x nodes."""

    def beyond(self, rows: Floats, radii: Floats, n_neighbors: int) -> Flags:
        """Tell where the K-th radius of complete rows is larger than the node's given one, rows x nodes."""

    def nearest_at_nodes(
        self, rows: Floats, nodes: Integers, n_neighbors: int, left_out: Integers | None = None
    ) -> Integers:
        """Return the nearest reference rows over the attributes of one node for each row, rows x K."""

    def nearest_on(self, rows: Floats, observed: Flags, n_neighbors: int, left_out: Integers | None = None) -> Integers:
        """Return the nearest reference rows over each row's own choice of attributes, rows x K."""

    def nearest_outside(
        self, laid: Floats, region: Integers, n_regions: Integers, n_neighbors: int, left_out: Integers
    ) -> Integers:
        """Return the nearest reference rows outside of each region, rows x regions x K, for rows in unit layout."""

    def given(self, numbers: Integers) -> Floats:
        """Return reference rows in the user's units, in the order of the tree; ``numbers`` of any shape."""

    def scaled(self, numbers: Integers) -> tuple[Floats, Integers]:
        """Return a table of scaled reference rows, and where in it each number stands; -1 stays -1."""

    def laid(self, numbers: Integers) -> tuple[Floats, Integers]:
        """Return the same in unit layout."""


class Rows(Protocol):
    """Reference rows as they came, in the order of the columns."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def n_attributes(self) -> int:
        """Number of attributes."""

    def extremes(self) -> tuple[Floats, Floats]:
        """Return the smallest and the largest value of each attribute."""

    def some(self, numbers: Integers) -> Floats:
        """Return the rows of these numbers."""

    def prepared(
        self, scaling: Scaling, tree: AttributeTree, grid: tuple[int, int, int] | None, alpha: float, means: Means
    ) -> Reference:
        """Return the rows ready to be asked."""
