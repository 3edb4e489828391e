"""One shard of a reference: a stretch of its rows, and the answers that it can give alone.

Enters: a `Shard` and a question. Leaves: the shard's own nearest rows, with their distances, so that the answers of all
shards can be merged to the one that the whole reference would give. Numbers of rows are those of the whole reference.
Where a shard has fewer rows than were asked for, -1 and infinity fill up.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemend import kernels
from treemend.kernels import PackedReference
from treemend.reference.held import HeldReference
from treemend.reference.missing import observed_distances

__all__ = [
    "Nearest",
    "RawShard",
    "Shard",
    "distances_to",
    "merge_distances",
    "merge_nearest",
    "nearest_at_nodes",
    "nearest_on",
    "nearest_outside",
]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Nearest = tuple[Integers, NDArray[np.floating]]


@dataclass(frozen=True, eq=False)
class RawShard:
    """Rows of the reference as they came, the first of which has the number ``first``."""

    values: Floats
    first: int


@dataclass(frozen=True, eq=False)
class Shard:
    """Rows of the reference ready to be asked, the first of which has the number ``first``."""

    rows: HeldReference
    first: int

    @property
    def values(self) -> Floats:
        """The rows as they came."""
        return self.rows.values

    def own(self, left_out: Integers) -> Integers:
        """Return which of this shard's rows are left out, -1 for none."""
        inside = (left_out >= self.first) & (left_out < self.first + self.rows.n_rows)
        return np.where(inside, left_out - self.first, -1)


def distances_to(shard: Shard, rows: Floats, n_neighbors: int, left_out: Integers) -> Floats:
    """Return the distances to the K nearest rows of the shard at every node, rows x nodes x K."""
    held, own = shard.rows, shard.own(left_out)

    def measure(packed: PackedReference, complete: Floats, places: NDArray[np.intp]) -> Floats:
        found = np.full((len(complete), packed.n_nodes, n_neighbors), np.inf)
        for some, skipped, count in _by_room(shard, own[places], n_neighbors):
            found[some, :, :count] = kernels.node_distances(
                packed, complete[some], count, exclude=skipped, n_jobs=held.n_jobs
            )
        return found

    return observed_distances(rows, held.tree, held.packed, held.table, held.unit.extremes, measure, (n_neighbors,))


def nearest_at_nodes(shard: Shard, rows: Floats, nodes: Integers, n_neighbors: int, left_out: Integers) -> Nearest:
    """Return the nearest rows of the shard over the attributes of one node for each row."""

    def find(some: Integers, skipped: Integers, count: int) -> Nearest:
        held = shard.rows
        return kernels.node_neighbors(held.packed, rows[some], nodes[some], count, exclude=skipped, n_jobs=held.n_jobs)

    return _found(shard, len(rows), (), n_neighbors, left_out, find)


def nearest_on(shard: Shard, rows: Floats, observed: Flags, n_neighbors: int, left_out: Integers) -> Nearest:
    """Return the nearest rows of the shard over each row's own choice of attributes."""

    def find(some: Integers, skipped: Integers, count: int) -> Nearest:
        held = shard.rows
        return kernels.masked_neighbors(
            held.packed, rows[some], observed[some], count, exclude=skipped, n_jobs=held.n_jobs
        )

    return _found(shard, len(rows), (), n_neighbors, left_out, find)


def nearest_outside(
    shard: Shard, laid: Floats, region: Integers, n_regions: Integers, n_neighbors: int, left_out: Integers
) -> Nearest:
    """Return the nearest rows of the shard outside of each region."""
    from treemend.kernels.frozen import REGIONS

    def find(some: Integers, skipped: Integers, count: int) -> Nearest:
        held = shard.rows
        return kernels.neighbors_outside(
            held.columns, laid[some], region[some], n_regions[some], count, exclude=skipped, n_jobs=held.n_jobs
        )

    return _found(shard, len(laid), (REGIONS,), n_neighbors, left_out, find)


def merge_distances(first: Floats, second: Floats) -> Floats:
    """Return the smallest of two shards' distances, as many as each has."""
    both = np.concatenate([first, second], axis=-1)
    both.sort(axis=-1)
    return both[..., : first.shape[-1]]


def merge_nearest(first: Nearest, second: Nearest) -> Nearest:
    """Return the nearest of two shards' rows, as many as each has, by distance and then by number."""
    numbers = np.concatenate([first[0], second[0]], axis=-1)
    distances = np.concatenate([first[1], second[1]], axis=-1)
    order = np.lexsort((numbers, distances), axis=-1)[..., : first[0].shape[-1]]
    return np.take_along_axis(numbers, order, axis=-1), np.take_along_axis(distances, order, axis=-1)


def _by_room(shard: Shard, own: Integers, n_neighbors: int) -> list[tuple[Integers, Integers, int]]:
    """Return rows that may ask for the same number of neighbours: those that leave one out, and the others."""
    parts = []
    for some, available in (
        (np.flatnonzero(own < 0), shard.rows.n_rows),
        (np.flatnonzero(own >= 0), shard.rows.n_rows - 1),
    ):
        if len(some) and available > 0:
            parts.append((some, own[some], min(n_neighbors, available)))
    return parts


def _found(
    shard: Shard,
    n_rows: int,
    middle: tuple[int, ...],
    n_neighbors: int,
    left_out: Integers,
    find: Callable[[Integers, Integers, int], Nearest],
) -> Nearest:
    """Gather the answers of all rows, with numbers of the whole reference."""
    shape = (n_rows, *middle, n_neighbors)
    numbers, distances = np.full(shape, -1, dtype=np.int64), np.full(shape, np.inf)
    for some, skipped, count in _by_room(shard, shard.own(left_out), n_neighbors):
        found, far = find(some, skipped, count)
        numbers[some, ..., :count] = np.where(found >= 0, found + shard.first, -1)
        distances[some, ..., :count] = far
    return numbers, distances
