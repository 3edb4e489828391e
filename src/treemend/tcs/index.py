"""Nearest reference rows at every node of the attribute tree (docs/method.md, sections 2.3, 2.4 and 2.10).

Takes rows as they come, NaN where a value is missing. Gives K-th radii, labels and row numbers, exact in float64:
estimates in float32 of all distances come first, and only rows that these leave in doubt are measured.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from treemend.tcs.euclidean import EuclideanScan
from treemend.tcs.exact import FLOAT32_MARGIN, PADDING, Counting, Sought, nearest_by_estimates
from treemend.tcs.near import FEWEST_ROWS, WIDEST, NearRows
from treemend.tcs.network import LANES
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
        widths = np.maximum(high - centre, centre - low)
        spread = np.sqrt([np.sum(widths[a:b] ** 2) for a, b in zip(tree.start, tree.stop, strict=True)])
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
            sought = Sought(scaled[at], own[at], self._relative, self._errors(scaled[at]), n_neighbors)
            radii[at] = self.scan.radii(sought)

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
        scaled, within, near = self._scaled(rows), np.ldexp(limits, -self.exponent), self._near
        labels = np.empty((len(rows), len(self.tree.start)), dtype=np.bool_)

        def task(part: slice) -> None:
            some, stretch = scaled[part], self._stretch(scaled[part])
            squares = self._squared_limits(within, stretch, self._errors(some))
            counts = np.zeros(squares.shape, dtype=np.int64)
            self.scan.count_within(some, near, Counting(squares, n_neighbors, counts))
            n_sure, n_possible = counts
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

    @cached_property
    def _near(self) -> NearRows:
        tree, alpha, n_rows = self.tree, self.alpha, len(self.reference)
        width, n_blocks = tree.stop - tree.start, -(-n_rows // LANES)
        narrow = (width <= WIDEST) & (alpha < 1 or n_rows >= FEWEST_ROWS)
        nodes, n_splits = np.flatnonzero(narrow), 1 << (n_blocks - 1).bit_length()
        column, cut = (np.zeros((len(nodes), n_splits), dtype=dtype) for dtype in (np.int64, np.float32))
        blocks = np.empty((len(nodes), n_blocks, 8, LANES), dtype=np.float32)
        for i, node in enumerate(nodes):
            rows = np.full((n_splits * LANES, 8), float(PADDING))
            rows[:n_rows, : width[node]] = (self.reference - self.centre)[:, tree.start[node] : tree.stop[node]]
            order, column[i], cut[i] = _halved_again(rows, width[node], n_splits)
            blocks[i] = rows[order[:n_blocks]].transpose(0, 2, 1)
        in_lanes = blocks.reshape(len(nodes), n_blocks, 8 * LANES)
        return NearRows(nodes, np.flatnonzero(~narrow), column, cut, in_lanes)

    @cached_property
    def _relative(self) -> F64:
        """Bound the relative errors of the roots of estimates, one a node: half a rounding for each term, and some."""
        return np.asarray(0.6 * _ROUNDING * (self.tree.stop - self.tree.start + 8))

    def _errors(self, scaled: F64) -> F64:
        """Bound how far the roots of estimates are from distances beside the relative errors, rows x nodes.

        0 where all values of a row are such multiples of a power of two that float32 arithmetic is exact.
        """
        values, width = scaled - self.centre, self.tree.stop - self.tree.start
        values[np.isnan(values)] = 0
        errors = np.sqrt(values**2 @ self._members)
        errors += self.spread
        errors *= 1.01 * _ROUNDING
        errors += _UNDERFLOW * np.sqrt(width)
        if self.grid > 0:
            values, largest = values / self.grid, self.spread[0] / self.grid
            on_grid = ((values == np.rint(values)) & (np.abs(values) <= largest)).all(axis=1, keepdims=True)
            errors[on_grid & (width * (2 * largest) ** 2 <= 1 / _ROUNDING)] = 0
        return np.asarray(errors)

    def _squared_limits(self, limits: F64, stretch: F64, errors: F64) -> F32:
        """Return up to which estimates distances are surely within the limits, and up to which they may be.

        2 x rows x nodes; negative where none is.
        """
        squares, exact = np.empty((2, *errors.shape), dtype=np.float32), errors == 0
        with np.errstate(over="ignore", invalid="ignore"):
            limit = limits / stretch
            if not exact.all():
                low, high = limit - errors, limit + errors
                squares[0] = low * np.abs(low) * ((1 - FLOAT32_MARGIN) / (1 + self._relative) ** 2)
                squares[1] = np.where(limit < 0, -1, high * high * ((1 + FLOAT32_MARGIN) / (1 - self._relative) ** 2))
            if exact.any():
                # The largest float32 whose root, stretched, does not exceed the limit.
                largest = np.where(limit < 0, -1, limit**2).astype(np.float32)
                too_large = np.sqrt(np.abs(largest, dtype=np.float64)) * stretch > limits
                np.copyto(squares, np.where(too_large, np.nextafter(largest, np.float32(-1)), largest), where=exact)
        return squares

    def _stretch(self, rows: F64) -> F64:
        """Return by how much distances over the observed columns fall short, rows x nodes, or one row for all."""
        missing = np.isnan(rows)
        if not missing.any():
            return np.ones((1, len(self.tree.start)))
        width = self.tree.stop - self.tree.start
        observed = (~missing @ self._members).astype(np.int64)
        return np.asarray(np.sqrt(n_kept(width, self.alpha) / n_kept(observed, self.alpha)))

    @cached_property
    def _members(self) -> F64:
        """1 where a column belongs to a node, columns x nodes."""
        columns = np.arange(len(self.centre))[:, None]
        return ((columns >= self.tree.start) & (columns < self.tree.stop)).astype(np.float64)

    def _scaled(self, rows: F64) -> F64:
        half = self.exponent // 2
        with np.errstate(over="ignore", under="ignore"):
            # Twice a power of two, since one may be out of range by itself.
            scaled = rows * 2.0**-half * 2.0 ** (half - self.exponent)
        return np.minimum(np.maximum(scaled, self.centre - _FARTHEST), self.centre + _FARTHEST)

    def _work(self) -> int:
        return len(self.reference) * int((self.tree.stop - self.tree.start).sum())


def _halved_again(rows: F64, width: int, n_splits: int) -> tuple[I64, I64, F64]:
    """Order rows into blocks by medians of the widest columns, see `NearRows`; padding is to the right of all rows."""
    order, column, cut = np.arange(len(rows)), np.zeros(n_splits, dtype=np.int64), np.zeros(n_splits)
    for level in range(n_splits.bit_length() - 1):
        parts, at = order.reshape(1 << level, -1), slice(1 << level, 2 << level)
        n_left = parts.shape[1] // 2
        column[at] = np.argmax(np.std(rows[parts, :width], axis=1), axis=1)
        values = rows[parts, column[at, None]]
        turn = np.argpartition(values, n_left, axis=1)
        order, cut[at] = np.take_along_axis(parts, turn, 1), np.take_along_axis(values, turn, 1)[:, n_left]
    return order.reshape(n_splits, -1), column, cut


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
