"""Reference rows held in memory.

Enters: rows as they came. Leaves: `HeldRows`, and from it `HeldReference`, which answers by the kernels.
"""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemend import kernels
from treemend.kernels import PackedReference
from treemend.memory import memory_budget
from treemend.reference.missing import observed_distances
from treemend.reference.questions import Means
from treemend.reference.unit import UnitLayout
from treemend.tables import Scaling
from treemend.tree import AttributeTree

__all__ = ["HeldReference", "HeldRows", "hold", "unit_layout"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class HeldRows:
    """Reference rows as they came, rows x columns; a `treemend.reference.Rows`."""

    values: Floats

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.values)

    @property
    def n_attributes(self) -> int:
        """Number of attributes."""
        return int(self.values.shape[1])

    def extremes(self) -> tuple[Floats, Floats]:
        """Return the smallest and the largest value of each attribute."""
        return self.values.min(axis=0), self.values.max(axis=0)

    def some(self, numbers: Integers) -> Floats:
        """Return the rows of these numbers."""
        return self.values[numbers]

    def prepared(
        self, scaling: Scaling, tree: AttributeTree, grid: tuple[int, int, int] | None, alpha: float, means: Means
    ) -> "HeldReference":
        """Return the rows ready to be asked."""
        return hold(self.values, self.extremes(), scaling, tree, grid, alpha, means)


def hold(
    values: Floats,
    extremes: tuple[Floats, Floats],
    scaling: Scaling,
    tree: AttributeTree,
    grid: tuple[int, int, int] | None,
    alpha: float,
    means: Means,
) -> "HeldReference":
    """Prepare rows that are the whole reference, or a part of one with the given extremes of its columns."""
    low, high = extremes
    scaled = np.ascontiguousarray(scaling.apply(values)[:, tree.order])
    unit = unit_layout(low, high, scaling, tree, grid)
    packed = kernels.pack(scaled, tree, alpha, extremes=unit.extremes)
    return HeldReference(values, scaled, packed, tree, low[tree.order], high[tree.order], unit, means)


def unit_layout(
    low: Floats, high: Floats, scaling: Scaling, tree: AttributeTree, grid: tuple[int, int, int] | None
) -> UnitLayout:
    """Return the way to unit layout, from the extremes of the columns."""
    lowest, highest = (scaling.apply(extreme)[tree.order] for extreme in (low, high))
    order = None if grid is None else tree.order
    return UnitLayout(lowest, highest, order, scaling.offset[tree.order], scaling.width[tree.order])


@dataclass(frozen=True, eq=False)
class HeldReference:
    """Reference rows in memory; a `treemend.reference.Reference`.

    Attributes
    ----------
    values : ndarray, reference rows x columns
        As they came.
    table : ndarray, reference rows x attributes
        Scaled, in the order of the tree.
    packed : PackedReference
        The same, as kernels want it.
    tree : AttributeTree
    low, high : ndarray, one an attribute
        Extremes in the user's units, in the order of the tree.
    unit : UnitLayout
    means : Means
    """

    values: Floats
    table: Floats
    packed: PackedReference
    tree: AttributeTree
    low: Floats
    high: Floats
    unit: UnitLayout
    means: Means

    def __getstate__(self) -> dict[str, Any]:
        """Travel without what can be made again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def n_rows(self) -> int:
        """Number of reference rows."""
        return len(self.table)

    @property
    def n_jobs(self) -> int | None:
        """Threads."""
        return self.means.n_jobs

    def radii(self, rows: Floats, n_neighbors: int, left_out: Integers | None = None) -> Floats:
        """Return the distance to the K-th nearest reference row, rows x nodes; rows may have holes."""

        def measure(packed: PackedReference, complete: Floats, places: NDArray[np.intp]) -> Floats:
            own = None if left_out is None else left_out[places]
            return kernels.node_radii(packed, complete, n_neighbors, exclude=own, n_jobs=self.n_jobs)

        return observed_distances(rows, self.tree, self.packed, self.table, self.unit.extremes, measure)

    def left_out_radii(self, numbers: Integers, n_neighbors: int) -> Floats:
        """Return the radii of reference rows, each left out of its own neighbours, numbers x nodes."""
        everything = len(numbers) == self.n_rows and bool((np.diff(numbers) == 1).all())
        some = None if everything else numbers
        memory = memory_budget(self.means.memory_limit) // 2
        return kernels.left_out_radii(self.packed, n_neighbors, rows=some, n_jobs=self.n_jobs, memory=memory)

    def beyond(self, rows: Floats, radii: Floats, n_neighbors: int) -> Flags:
        """Tell where the K-th radius of complete rows is larger than the node's given one, rows x nodes."""
        return kernels.node_labels(self.packed, rows, radii, n_neighbors, n_jobs=self.n_jobs)

    def nearest_at_nodes(
        self, rows: Floats, nodes: Integers, n_neighbors: int, left_out: Integers | None = None
    ) -> Integers:
        """Return the nearest reference rows over the attributes of one node for each row, rows x K."""
        return kernels.node_neighbors(self.packed, rows, nodes, n_neighbors, exclude=left_out, n_jobs=self.n_jobs)[0]

    def nearest_on(self, rows: Floats, observed: Flags, n_neighbors: int, left_out: Integers | None = None) -> Integers:
        """Return the nearest reference rows over each row's own choice of attributes, rows x K."""
        return kernels.masked_neighbors(self.packed, rows, observed, n_neighbors, exclude=left_out, n_jobs=self.n_jobs)[
            0
        ]

    def nearest_outside(
        self, laid: Floats, region: Integers, n_regions: Integers, n_neighbors: int, left_out: Integers
    ) -> Integers:
        """Return the nearest reference rows outside of each region, rows x regions x K, for rows in unit layout."""
        return kernels.neighbors_outside(
            self.columns, laid, region, n_regions, n_neighbors, exclude=left_out, n_jobs=self.n_jobs
        )[0]

    def given(self, numbers: Integers) -> Floats:
        """Return reference rows in the user's units, in the order of the tree; ``numbers`` of any shape."""
        return np.ascontiguousarray(self.values[numbers][..., self.tree.order])

    def scaled(self, numbers: Integers) -> tuple[Floats, Integers]:
        """Return a table of scaled reference rows, and where in it each number stands; -1 stays -1."""
        return self.table, numbers

    def laid(self, numbers: Integers) -> tuple[Floats, Integers]:
        """Return the same in unit layout."""
        return self._laid, numbers

    @cached_property
    def columns(self) -> NDArray[np.float32]:
        """The rows in unit layout, transposed."""
        return np.ascontiguousarray(self._laid.T, np.float32)

    @cached_property
    def _laid(self) -> Floats:
        return np.ascontiguousarray(self.unit.to_layout(self.table))
