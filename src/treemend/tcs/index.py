"""Nearest reference rows at every node of the attribute tree (docs/method.md, sections 2.3, 2.4 and 2.10).

Takes rows as they come, NaN where a value is missing. Gives K-th radii, labels and row numbers, exact in float64:
estimates in float32 of all distances come first, and only rows that these leave in doubt are measured.
"""

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numba import njit
from numpy.typing import NDArray

from treemend.tcs.euclidean import EuclideanScan
from treemend.tcs.exact import MARGIN, nearest_by_estimates
from treemend.tcs.ranked import RankedScan, n_kept
from treemend.tcs.tree import F32, F64, I64, AttributeTree, Bools
from treemend.threads import for_chunks

__all__ = ["NodeIndex"]

_FARTHEST = 1e15
"""Rows are drawn in to this many widths of the reference, so that no square overflows, not even in float32."""

_WIDEST_EXPONENT = 96
"""Values may exceed the width of the reference by this power of two before they, not the width, set the scale."""

_ROUNDING = 2.0**-24
_UNDERFLOW = 2.0**-62
"""What a float32 loses by rounding, and what a difference may lose when its square is too small for a float32."""


@dataclass(frozen=True, eq=False)
class NodeIndex:
    """Reference rows, laid out for finding the nearest of them at every node.

    ``reference`` is multiplied by ``2 ** -exponent``, which is exact and keeps squares within range; ``centre`` is the
    middle of each of its columns, and no row is farther from it than ``spread`` over a node's columns. All of
    ``reference - centre`` are multiples of ``grid``, a power of two, and small ones, unless it is 0.
    """

    reference: F64
    exponent: int
    alpha: float
    centre: F64
    tree: AttributeTree
    spread: F64
    grid: float
    scan: EuclideanScan | RankedScan

    @classmethod
    def build(cls, rows: F64, tree: AttributeTree, alpha: float) -> Self:
        """Lay out complete reference rows, columns in the order of the tree."""
        low, high = rows.min(axis=0), rows.max(axis=0)
        exponent = _scale_exponent(low, high)
        reference = np.ldexp(np.ascontiguousarray(rows, dtype=np.float64), -exponent)
        low, high = np.ldexp(low, -exponent), np.ldexp(high, -exponent)
        centre = low / 2 + high / 2
        spread = np.sqrt(_node_sums(np.maximum(high - centre, centre - low)[None] ** 2, tree)[0])
        grid = _grid(reference - centre)
        euclidean = EuclideanScan.build(reference, centre, tree) if alpha == 1 else None
        scan = euclidean or RankedScan.build(reference, centre, tree, alpha)
        return cls(reference, exponent, alpha, centre, tree, spread, grid, scan)

    def radii(self, rows: F64, n_neighbors: int, *, left_out: I64 | None = None, n_jobs: int | None = None) -> F64:
        """Return each row's distance to its K-th nearest reference row at every node, rows x nodes.

        ``left_out`` names for each row the reference row that does not count as its neighbour, -1 for none.
        """
        scaled, own = self._scaled(rows), np.full(len(rows), -1) if left_out is None else left_out
        radii, incomplete = np.empty((len(rows), len(self.tree.start))), np.isnan(rows).any(axis=1)
        complete = np.flatnonzero(~incomplete)

        def task(part: slice) -> None:
            at = complete[part]
            errors = (self._relative, self._errors(scaled[at]))
            radii[at] = self.scan.radii(scaled[at], own[at], n_neighbors, errors)

        for_chunks(task, len(complete), self._work(), n_jobs, largest=256)
        if incomplete.any():
            n_nodes, some = radii.shape[1], scaled[incomplete]
            pairs = (np.repeat(some, n_nodes, axis=0), np.repeat(own[incomplete], n_nodes))
            nodes = np.tile(np.arange(n_nodes), len(some))
            distances, _ = self._nearest(*pairs, nodes, n_neighbors, self.alpha, n_jobs)
            radii[incomplete] = distances[:, -1].reshape(-1, n_nodes) * self._stretch(some)
        return np.ldexp(radii, self.exponent)

    def labels(self, rows: F64, n_neighbors: int, limits: F64, *, n_jobs: int | None = None) -> Bools:
        """Return whether each row's K-th radius exceeds the node's limit, rows x nodes.

        The same as ``radii(rows, n_neighbors) > limits``, but K reference rows within the limit are enough to know.
        """
        scaled, within = self._scaled(rows), np.ldexp(limits, -self.exponent)
        labels = np.empty((len(rows), len(self.tree.start)), dtype=np.bool_)

        def task(part: slice) -> None:
            some, stretch = scaled[part], self._stretch(scaled[part])
            squares = _squared_limits(within, stretch, self._relative, self._errors(some))
            n_sure, n_possible = self.scan.count_within(some, n_neighbors, squares)
            labels[part] = found = n_sure < n_neighbors
            r, nodes = np.nonzero(found & (n_possible >= n_neighbors))
            if len(r) > 0:
                distances, _ = self._nearest(some[r], np.full(len(r), -1), nodes, n_neighbors, self.alpha, 1)
                stretched = distances[:, -1] * np.broadcast_to(stretch, found.shape)[r, nodes]
                labels[part.start + r, nodes] = stretched > within[nodes]

        for_chunks(task, len(rows), self._work() // 4, n_jobs, largest=256)
        return labels

    def neighbors(
        self, rows: F64, nodes: I64, n_neighbors: int, *, alpha: float, left_out: I64 | None, n_jobs: int | None
    ) -> I64:
        """Return the numbers of the K nearest reference rows, at one node for each row, rows x K, nearest first."""
        own = np.full(len(rows), -1) if left_out is None else left_out
        return self._nearest(self._scaled(rows), own, nodes, n_neighbors, alpha, n_jobs)[1]

    def _nearest(
        self, scaled: F64, own: I64, nodes: I64, n_neighbors: int, alpha: float, n_jobs: int | None
    ) -> tuple[F64, I64]:
        distances, numbers = np.empty((len(scaled), n_neighbors)), np.empty((len(scaled), n_neighbors), dtype=np.int64)

        def task(part: slice) -> None:
            some, at = scaled[part], nodes[part]
            columns, estimates = (self.tree.start[at], self.tree.stop[at]), self.scan.estimates(some, at, alpha)
            errors = (self._relative[at], self._errors(some)[np.arange(len(at)), at])
            found = (distances[part], numbers[part])
            nearest_by_estimates(estimates, self.reference, some, own[part], columns, alpha, errors, found)

        for_chunks(task, len(scaled), self._work(), n_jobs)
        return distances, numbers

    @property
    def _relative(self) -> F64:
        """Bound the relative errors of the roots of estimates, one a node: half a rounding for each term, and some."""
        return np.asarray(0.6 * _ROUNDING * (self.tree.stop - self.tree.start + 8))

    def _errors(self, scaled: F64) -> F64:
        """Bound how far the roots of estimates are from distances beside the relative errors, rows x nodes.

        0 where all values are such multiples of a power of two that float32 arithmetic is exact.
        """
        tree, of_reference = self.tree, (self.centre, self.spread, self.grid)
        errors: F64 = _absolute_errors(scaled, *of_reference, tree.start, tree.stop, tree.left, tree.right)
        return errors

    def _stretch(self, rows: F64) -> F64:
        """Return by how much distances over the observed columns fall short, rows x nodes, or one for all rows."""
        missing = np.isnan(rows)
        if not missing.any():
            return np.ones((1, len(self.tree.start)))
        observed = _node_sums(~missing, self.tree)
        width = self.tree.stop - self.tree.start
        return np.asarray(np.sqrt(n_kept(width, self.alpha) / n_kept(observed, self.alpha)))

    def _scaled(self, rows: F64) -> F64:
        half = self.exponent // 2
        with np.errstate(over="ignore", under="ignore"):
            # Twice a power of two, since one may be out of range by itself.
            scaled = rows * 2.0**-half * 2.0 ** (half - self.exponent)
        return np.clip(scaled, self.centre - _FARTHEST, self.centre + _FARTHEST)

    def _work(self) -> int:
        return len(self.reference) * int((self.tree.stop - self.tree.start).sum())


def _node_sums(values: NDArray[Any], tree: AttributeTree) -> NDArray[Any]:
    """Sum over the columns of every node, rows x nodes."""
    return np.stack([values[:, a:b].sum(axis=1) for a, b in zip(tree.start, tree.stop, strict=True)], axis=1)


@njit(cache=True, nogil=True)
def _absolute_errors(
    rows: F64, centre: F64, spread: F64, grid: float, start: I64, stop: I64, left: I64, right: I64
) -> F64:
    errors, squares, off_grid = np.empty((len(rows), len(start))), np.zeros(len(start)), np.zeros(len(start))
    largest = abs(spread[0] / grid) if grid > 0 else 0.0
    for r in range(len(rows)):
        for node in range(len(start) - 1, -1, -1):
            width = stop[node] - start[node]
            if left[node] >= 0:
                squares[node] = squares[left[node]] + squares[right[node]]
                off_grid[node] = off_grid[left[node]] + off_grid[right[node]]
            else:
                squares[node] = off_grid[node] = 0
                for column in range(start[node], stop[node]):
                    value = rows[r, column] - centre[column]
                    if not math.isnan(value):
                        squares[node] += value * value
                        if grid > 0:
                            off_grid[node] += value % grid != 0 or abs(value / grid) > largest
            errors[r, node] = 1.01 * _ROUNDING * (math.sqrt(squares[node]) + spread[node])
            errors[r, node] += _UNDERFLOW * math.sqrt(width)
            if grid > 0 and off_grid[node] == 0 and width * (2 * largest) ** 2 <= 1 / _ROUNDING:
                errors[r, node] = 0
    return errors


@njit(cache=True, nogil=True)
def _squared_limits(limits: F64, stretch: F64, relative: F64, errors: F64) -> F32:
    """Return up to which estimates distances are surely within the limits, and up to which they may be.

    2 x rows x nodes; -1 where none is. Rounded down to float32, of which one is below a number exactly if it is below
    that number rounded down.
    """
    squares = np.empty((2, len(errors), len(limits)), dtype=np.float32)
    for r in range(len(errors)):
        for node in range(len(limits)):
            factor, error = stretch[min(r, len(stretch) - 1), node], errors[r, node]
            limit = limits[node] / factor
            sure = possible = -1.0
            if limit >= 0 and error == 0:
                # The largest number whose root, stretched, does not exceed the limit.
                sure = limit**2
                while math.sqrt(sure) * factor > limits[node]:
                    sure = np.nextafter(sure, -np.inf)
                while sure < np.inf and math.sqrt(np.nextafter(sure, np.inf)) * factor <= limits[node]:
                    sure = np.nextafter(sure, np.inf)
                possible = sure
            elif limit >= 0:
                possible = ((limit + error) / (1 - relative[node])) ** 2 * (1 + MARGIN)
                if limit > error:
                    sure = ((limit - error) / (1 + relative[node])) ** 2 * (1 - MARGIN)
            squares[0, r, node], squares[1, r, node] = _rounded_down(sure), _rounded_down(possible)
    return squares


@njit(cache=True, nogil=True)
def _rounded_down(value: float) -> np.float32:
    rounded = np.float32(value)
    return np.nextafter(rounded, np.float32(-np.inf)) if rounded > value else rounded


def _grid(centred: F64) -> float:
    """Return the largest power of two of which all values are multiples, or 0 if that takes more than 11 bits."""
    largest = float(np.abs(centred).max())
    unit = 2.0 ** math.frexp(largest)[1]
    for _ in range(11):
        if np.all(centred % unit == 0):
            return unit
        unit /= 2
    return 0.0


def _scale_exponent(low: F64, high: F64) -> int:
    """Return the exponent of the widest column's width, or more where the values themselves are enormous."""
    half_width = float(np.max(high / 2 - low / 2))
    largest = float(max(np.max(np.abs(low)), np.max(np.abs(high))))
    if largest == 0:
        return 0
    largest_exponent = math.frexp(largest)[1]
    if half_width == 0:
        return largest_exponent
    return max(math.frexp(half_width)[1] + 1, largest_exponent - _WIDEST_EXPONENT)
