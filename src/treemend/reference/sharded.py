"""A reference in shards: its rows lie in several places, and stay there.

Enters: a `Crew`, which keeps the shards and puts questions to all of them. Leaves: `ShardedRows` and
`ShardedReference`, which answer as `HeldRows` and `HeldReference` do, bit for bit, ties included. Only questions, the
nearest rows' distances and numbers, and the rows that are wanted travel.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from treemend.exceptions import InputError
from treemend.reference import shard as shards
from treemend.reference.held import hold, unit_layout
from treemend.reference.questions import Means
from treemend.reference.shard import RawShard, Shard
from treemend.reference.unit import UnitLayout
from treemend.tables import Scaling
from treemend.tree import AttributeTree

__all__ = ["Crew", "ShardedReference", "ShardedRows"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

ROWS_IN_A_QUESTION = 1024
NUMBERS_IN_A_QUESTION = 2**18


class Crew(Protocol):
    """Who keeps shards: a `RawShard` of rows each at first, and then what was made of them."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of rows of each shard, all at least 1."""

    def made(self, make: Callable[..., Any], *arguments: Any) -> "Crew":
        """Return a crew that keeps ``make(shard, *arguments)``, each where its shard is."""

    def ask(self, question: Callable[..., Any], merge: Callable[[Any, Any], Any], *arguments: Any) -> Any:
        """Put ``question(shard, *arguments)`` to all shards, and merge the answers two by two, in a tree."""


@dataclass(frozen=True, eq=False)
class ShardedRows:
    """Reference rows in shards, as they came; a `treemend.reference.Rows`."""

    crew: Crew
    n_attributes: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(self.crew.sizes)

    def extremes(self) -> tuple[Floats, Floats]:
        """Return the smallest and the largest value of each attribute."""
        return self._extremes

    @cached_property
    def _extremes(self) -> tuple[Floats, Floats]:
        low, high = self.crew.ask(_extremes, _wider)
        return low, high

    def some(self, numbers: Integers) -> Floats:
        """Return the rows of these numbers."""
        return _fetched(self.crew, numbers, self.n_attributes)

    def prepared(
        self, scaling: Scaling, tree: AttributeTree, grid: tuple[int, int, int] | None, alpha: float, means: Means
    ) -> "ShardedReference":
        """Return the rows ready to be asked."""
        low, high = self.extremes()
        crew = self.crew.made(_shard, (low, high), scaling, tree, grid, alpha, Means(means.n_jobs))
        unit = unit_layout(low, high, scaling, tree, grid)
        return ShardedReference(crew, scaling, tree, low[tree.order], high[tree.order], unit)


@dataclass(frozen=True, eq=False)
class ShardedReference:
    """Reference rows in shards, ready to be asked; a `treemend.reference.Reference`."""

    crew: Crew
    scaling: Scaling
    tree: AttributeTree
    low: Floats
    high: Floats
    unit: UnitLayout

    @property
    def n_rows(self) -> int:
        """Number of reference rows."""
        return sum(self.crew.sizes)

    @property
    def values(self) -> Floats:
        """Refuse: the rows are not in one place."""
        raise InputError(
            f"The {self.n_rows:,} reference rows are spread over several machines and cannot be put into one array or "
            "one model file. Fit a mender to a sample of them to have a model that can be saved."
        )

    def radii(self, rows: Floats, n_neighbors: int, left_out: Integers | None = None) -> Floats:
        """Return the distance to the K-th nearest reference row, rows x nodes; rows may have holes."""
        radii = np.empty((len(rows), self.tree.n_nodes))
        for part, own in _parts(rows, left_out):
            nearest = self.crew.ask(shards.distances_to, shards.merge_distances, rows[part], n_neighbors, own)
            radii[part] = nearest[:, :, -1]
        return radii

    def left_out_radii(self, numbers: Integers, n_neighbors: int) -> Floats:
        """Return the radii of reference rows, each left out of its own neighbours, numbers x nodes."""
        table, places = self.scaled(numbers)
        return self.radii(table[places], n_neighbors, numbers)

    def beyond(self, rows: Floats, radii: Floats, n_neighbors: int) -> Flags:
        """Tell where the K-th radius of complete rows is larger than the node's given one, rows x nodes."""
        return self.radii(rows, n_neighbors) > radii

    def nearest_at_nodes(
        self, rows: Floats, nodes: Integers, n_neighbors: int, left_out: Integers | None = None
    ) -> Integers:
        """Return the nearest reference rows over the attributes of one node for each row, rows x K."""
        found = np.empty((len(rows), n_neighbors), dtype=np.int64)
        for part, own in _parts(rows, left_out):
            found[part] = self._nearest(shards.nearest_at_nodes, rows[part], nodes[part], n_neighbors, own)
        return found

    def nearest_on(self, rows: Floats, observed: Flags, n_neighbors: int, left_out: Integers | None = None) -> Integers:
        """Return the nearest reference rows over each row's own choice of attributes, rows x K."""
        found = np.empty((len(rows), n_neighbors), dtype=np.int64)
        for part, own in _parts(rows, left_out):
            found[part] = self._nearest(shards.nearest_on, rows[part], observed[part], n_neighbors, own)
        return found

    def nearest_outside(
        self, laid: Floats, region: Integers, n_regions: Integers, n_neighbors: int, left_out: Integers
    ) -> Integers:
        """Return the nearest reference rows outside of each region, rows x regions x K, for rows in unit layout."""
        found = [
            self._nearest(shards.nearest_outside, laid[part], region[part], n_regions[part], n_neighbors, own)
            for part, own in _parts(laid, left_out)
        ]
        return np.concatenate(found)

    def given(self, numbers: Integers) -> Floats:
        """Return reference rows in the user's units, in the order of the tree; ``numbers`` of any shape."""
        wanted, places = np.unique(numbers, return_inverse=True)
        rows = self._as_they_came(wanted)[:, self.tree.order]
        return np.ascontiguousarray(rows[places.reshape(numbers.shape)])

    def scaled(self, numbers: Integers) -> tuple[Floats, Integers]:
        """Return a table of scaled reference rows, and where in it each number stands; -1 stays -1."""
        wanted = np.unique(numbers[numbers >= 0])
        rows = self._as_they_came(wanted)
        table = np.ascontiguousarray(self.scaling.apply(rows)[:, self.tree.order])
        return table, np.where(numbers >= 0, np.searchsorted(wanted, numbers), -1)

    def laid(self, numbers: Integers) -> tuple[Floats, Integers]:
        """Return the same in unit layout."""
        table, places = self.scaled(numbers)
        return np.ascontiguousarray(self.unit.to_layout(table)), places

    def _nearest(self, question: Callable[..., shards.Nearest], *arguments: Any) -> Integers:
        nearest: shards.Nearest = self.crew.ask(question, shards.merge_nearest, *arguments)
        return nearest[0]

    def _as_they_came(self, numbers: Integers) -> Floats:
        return _fetched(self.crew, numbers, len(self.low))


def _parts(rows: Floats, left_out: Integers | None) -> Iterator[tuple[slice, Integers]]:
    """Cut rows into questions of a size that travels well."""
    n_rows, width = rows.shape
    own = np.full(n_rows, -1) if left_out is None else left_out
    size = max(1, min(ROWS_IN_A_QUESTION, NUMBERS_IN_A_QUESTION // width))
    for begin in range(0, n_rows, size):
        part = slice(begin, min(begin + size, n_rows))
        yield part, own[part]


def _fetched(crew: Crew, numbers: Integers, n_attributes: int) -> Floats:
    """Return rows by number, as they came."""
    rows = np.empty((len(numbers), n_attributes))
    if len(numbers):
        here, found = crew.ask(_rows_of, _joined, numbers)
        rows[here] = found
    return rows


def _rows_of(shard: RawShard | Shard, numbers: Integers) -> tuple[Integers, Floats]:
    """Return which of the numbers are in a shard, and those rows as they came."""
    here = np.flatnonzero((numbers >= shard.first) & (numbers < shard.first + len(shard.values)))
    return here, shard.values[numbers[here] - shard.first]


def _shard(
    raw: RawShard,
    extremes: tuple[Floats, Floats],
    scaling: Scaling,
    tree: AttributeTree,
    grid: tuple[int, int, int] | None,
    alpha: float,
    means: Means,
) -> Shard:
    return Shard(hold(raw.values, extremes, scaling, tree, grid, alpha, means), raw.first)


def _joined(first: tuple[Integers, Floats], second: tuple[Integers, Floats]) -> tuple[Integers, Floats]:
    return np.concatenate([first[0], second[0]]), np.concatenate([first[1], second[1]])


def _extremes(raw: RawShard) -> tuple[Floats, Floats]:
    return raw.values.min(axis=0), raw.values.max(axis=0)


def _wider(first: tuple[Floats, Floats], second: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    return np.minimum(first[0], second[0]), np.maximum(first[1], second[1])
