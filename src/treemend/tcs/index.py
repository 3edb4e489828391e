"""Nearest reference rows at every node of the attribute tree (docs/method.md, sections 2.3, 2.4 and 2.10).

Takes rows as they come, NaN where a value is missing. Gives K-th radii, labels and row numbers, exact in float64:
estimates in float32 of all distances come first, and only rows that these leave in doubt are measured.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from treemend.tcs.euclidean import EuclideanScan
from treemend.tcs.exact import FLOAT32_MARGIN, Counting, Sought, nearest_by_estimates
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

    def radii(self, rows: F64, n_neighbors: int, *, n_jobs: int | None = None) -> F64:
        """Return each row's distance to its K-th nearest reference row at every node, rows x nodes."""
        scaled, radii = self._scaled(rows), np.empty((len(rows), len(self.tree.start)))

        def task(part: slice) -> None:
            for at, scan in self._scans(scaled[part]):
                some = scaled[part][at]
                radii[part][at] = scan.radii(Sought(some, self._relative, self._errors(some), n_neighbors))

        for_chunks(task, len(rows), self._work(), n_jobs, largest=256)
        incomplete = np.isnan(rows).any(axis=1)
        if incomplete.any():
            radii[incomplete] *= self._stretch(rows[incomplete])
        return np.ldexp(radii, self.exponent)

    def labels(self, rows: F64, n_neighbors: int, limits: F64, *, n_jobs: int | None = None) -> Bools:
        """Return whether each row's K-th radius exceeds the node's limit, rows x nodes.

        The same as ``radii(rows, n_neighbors) > limits``, but K reference rows within the limit are enough to know.
        """
        within, incomplete = np.ldexp(limits, -self.exponent), np.isnan(rows).any(axis=1)
        labels = np.empty((len(rows), len(limits)), dtype=np.bool_)
        if incomplete.any():
            labels[incomplete] = self.radii(rows[incomplete], n_neighbors, n_jobs=n_jobs) > limits
        complete = np.flatnonzero(~incomplete)

        def task(part: slice) -> None:
            at = complete[part]
            some = self._scaled(rows[at])
            squares = self._squared_limits(within, self._float32_is_exact(some))
            counts = np.zeros(squares.shape, dtype=np.int64)
            self.scan.count_within(some, Counting(squares, n_neighbors, counts))
            n_sure, n_possible = counts
            found = n_sure < n_neighbors
            r, nodes = np.nonzero(found & (n_possible >= n_neighbors))
            if len(r) > 0:
                distances, _ = self.neighbors(
                    rows[at[r]], nodes, n_neighbors, alpha=self.alpha, left_out=None, n_jobs=1
                )
                found[r, nodes] = distances[:, -1] > limits[nodes]
            labels[at] = found

        for_chunks(task, len(complete), self._work() // 4, n_jobs, largest=256)
        return labels

    def neighbors(
        self, rows: F64, nodes: I64, n_neighbors: int, *, alpha: float, left_out: I64 | None, n_jobs: int | None
    ) -> tuple[F64, I64]:
        """Return distances over observed columns and numbers of the K nearest reference rows, rows x K, nearest first.

        Each row has a node, and in ``left_out`` the reference row that does not count as its neighbour, -1 for none.
        """
        scaled, own = self._scaled(rows), np.full(len(rows), -1) if left_out is None else left_out
        distances, numbers = np.empty((len(rows), n_neighbors)), np.empty((len(rows), n_neighbors), dtype=np.int64)

        def task(part: slice) -> None:
            some, at = scaled[part], nodes[part]
            estimates = np.empty((len(some), len(self.reference)), dtype=np.float32)
            for these, scan in self._scans(some):
                estimates[these] = scan.estimates(some[these], at[these], alpha)[:, : len(self.reference)]
            columns = (self.tree.start[at], self.tree.stop[at])
            errors = (self._relative[at], self._errors(some)[np.arange(len(at)), at])
            found = (distances[part], numbers[part])
            nearest_by_estimates(estimates, self.reference, some, own[part], columns, alpha, errors, found)

        for_chunks(task, len(rows), self._work(), n_jobs)
        return np.ldexp(distances, self.exponent), numbers

    def _scans(self, scaled: F64) -> Iterator[tuple[NDArray[np.intp], EuclideanScan | RankedScan]]:
        """Yield which rows are compared in which way: the sorting network copes with missing values."""
        incomplete = np.isnan(scaled).any(axis=1)
        if not incomplete.all():
            yield np.flatnonzero(~incomplete), self.scan
        if incomplete.any():
            yield np.flatnonzero(incomplete), self.ranked

    @cached_property
    def ranked(self) -> RankedScan:
        """What compares rows with missing values."""
        if isinstance(self.scan, RankedScan):
            return self.scan
        return RankedScan.build(self.reference, self.centre, self.tree, self.alpha)

    @cached_property
    def _relative(self) -> F64:
        """Bound the relative errors of the roots of estimates, one a node: half a rounding for each term, and some."""
        return np.asarray(0.6 * _ROUNDING * (self.tree.stop - self.tree.start + 8))

    def _errors(self, scaled: F64) -> F64:
        """Bound how far the roots of estimates are from distances beside the relative errors, rows x nodes.

        0 where all values of a row are such multiples of a power of two that float32 arithmetic is exact.
        """
        values = scaled - self.centre
        values[np.isnan(values)] = 0
        errors = self._bound(np.sqrt(values**2 @ self._members))
        return np.where(self._float32_is_exact(scaled), 0, errors)

    def _bound(self, lengths: F64) -> F64:
        """Bound the errors where a row is no farther from the centre than these lengths."""
        width = self.tree.stop - self.tree.start
        return np.asarray(1.01 * _ROUNDING * (lengths + self.spread) + _UNDERFLOW * np.sqrt(width))

    def _float32_is_exact(self, scaled: F64) -> Bools:
        """Say where all values are such multiples of a power of two that float32 arithmetic is exact, rows x nodes."""
        if self.grid == 0:
            return np.zeros((len(scaled), len(self.tree.start)), dtype=np.bool_)
        values, largest = (scaled - self.centre) / self.grid, self.spread[0] / self.grid
        on_grid = np.isnan(values) | (values == np.rint(values)) & (np.abs(values) <= largest)
        fits = (self.tree.stop - self.tree.start) * (2 * largest) ** 2 <= 1 / _ROUNDING
        return np.asarray(on_grid.all(axis=1, keepdims=True) & fits)

    def _squared_limits(self, limits: F64, exact: Bools) -> F32:
        """Return up to which estimates distances are surely within the limits, and up to which they may be.

        2 x rows x nodes; negative where none is. ``exact`` says for which float32 arithmetic is exact. A row within the
        limit is no farther from the centre than ``spread`` and the limit together, in the columns that count.
        """
        errors = self._bound(np.clip(limits, 0, 1e20) + self.spread)
        with np.errstate(over="ignore", invalid="ignore"):
            low, high = limits - errors, limits + errors
            low = low * np.abs(low) * ((1 - FLOAT32_MARGIN) / (1 + self._relative) ** 2)
            high = np.where(limits < 0, -1, high * high * ((1 + FLOAT32_MARGIN) / (1 - self._relative) ** 2))
            # The largest float32 whose root does not exceed the limit.
            largest = np.where(limits < 0, -1, limits**2).astype(np.float32)
            too_large = np.sqrt(np.abs(largest, dtype=np.float64)) > limits
            largest = np.where(too_large, np.nextafter(largest, np.float32(-1)), largest)
        return np.where(exact, largest, np.array([low, high], dtype=np.float32)[:, None])

    def _stretch(self, rows: F64) -> F64:
        """Return by how much distances over the observed columns fall short, rows x nodes."""
        width = self.tree.stop - self.tree.start
        observed = ~np.isnan(rows) @ self._members
        return np.asarray(np.sqrt(n_kept(width, self.alpha) / n_kept(observed, self.alpha)))

    @cached_property
    def _members(self) -> F64:
        """1 where a column belongs to a node, columns x nodes."""
        columns = np.arange(len(self.centre))[:, None]
        return ((columns >= self.tree.start) & (columns < self.tree.stop)).astype(np.float64)

    def _scaled(self, rows: F64) -> F64:
        half = self.exponent // 2
        with np.errstate(over="ignore", under="ignore"):
            # Twice a power of two, since one may be out of range by itself; ldexp takes longer.
            scaled = rows * 2.0**-half * 2.0 ** (half - self.exponent)
        return np.minimum(np.maximum(scaled, self.centre - _FARTHEST), self.centre + _FARTHEST)

    def _work(self) -> int:
        return len(self.reference) * int((self.tree.stop - self.tree.start).sum())


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
    half_width, exponent = float(np.max(high / 2 - low / 2)), math.frexp(max(np.max(-low), np.max(high)))[1]
    return max(math.frexp(half_width)[1] + 1, exponent - _WIDEST_EXPONENT) if half_width > 0 else exponent
