"""Nearest reference rows at every node of the attribute tree (method, sections 3, 4 and 8).

Takes rows as they come, NaN where a value is missing. Gives K-th radii, labels and row numbers, exact in float64.
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from treemend.tcs.euclidean import EuclideanScan
from treemend.tcs.exact import nearest_at_node
from treemend.tcs.observed import nearest_observed
from treemend.tcs.ranked import RankedScan, n_kept
from treemend.tcs.tree import AttributeTree
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

    Float32 estimates of all distances come first; the rows that may be among the nearest by them are measured exactly.

    Attributes
    ----------
    reference : ndarray, reference rows x columns
        Multiplied by ``2 ** -exponent``, which is exact and keeps squares within range.
    exponent : int
    alpha : float
        Share of a node's squared differences that count.
    centre : ndarray, one a column
        The middle of each column of ``reference``.
    tree : AttributeTree
    kept : ndarray of int64, one a node
        How many of the node's squared differences count.
    spread : ndarray, one a node
        No row of ``reference`` is farther from ``centre`` over the node's columns.
    grid : float
        All of ``reference - centre`` are multiples of this power of two, and small ones; 0 if there is none.
    scan : EuclideanScan or RankedScan
        The rows in the form in which they are compared.
    """

    reference: NDArray[np.float64]
    exponent: int
    alpha: float
    centre: NDArray[np.float64]
    tree: AttributeTree
    kept: NDArray[np.int64]
    spread: NDArray[np.float64]
    grid: float
    scan: EuclideanScan | RankedScan

    @classmethod
    def build(cls, rows: NDArray[np.float64], tree: AttributeTree, alpha: float) -> Self:
        """Lay out reference rows.

        Parameters
        ----------
        rows : ndarray, reference rows x columns
            Without missing values, columns in the order of the tree.
        tree : AttributeTree
        alpha : float
            Share of a node's squared differences that count, above 0 and at most 1.
        """
        low, high = rows.min(axis=0), rows.max(axis=0)
        exponent = _scale_exponent(low, high)
        reference = np.ldexp(np.ascontiguousarray(rows, dtype=np.float64), -exponent)
        low, high = np.ldexp(low, -exponent), np.ldexp(high, -exponent)
        centre = low / 2 + high / 2
        kept = np.array([n_kept(width, alpha) for width in (tree.stop - tree.start).tolist()])
        spread = np.sqrt(_node_sums(np.maximum(high - centre, centre - low)[None] ** 2, tree)[0])
        scan = RankedScan if np.any(kept < tree.stop - tree.start) else EuclideanScan
        return cls(
            reference=reference,
            exponent=exponent,
            alpha=alpha,
            centre=centre,
            tree=tree,
            kept=kept,
            spread=spread,
            grid=_grid(reference - centre),
            scan=scan.build(reference, centre, tree, kept),
        )

    def radii(
        self,
        rows: NDArray[np.float64],
        n_neighbors: int,
        *,
        left_out: NDArray[np.int64] | None = None,
        n_jobs: int | None = None,
    ) -> NDArray[np.float64]:
        """Return each row's distance to its K-th nearest reference row at every node, rows x nodes.

        Parameters
        ----------
        rows : ndarray, rows x columns
            NaN where a value is missing.
        n_neighbors : int
            K.
        left_out : ndarray of int64, one a row, optional
            The reference row that does not count as a neighbour of this row, -1 for none.
        n_jobs : int, optional
            Number of threads.
        """
        scaled, own = self._scaled(rows), _own_numbers(rows, left_out)
        radii, relative = np.empty((len(rows), self.tree.n_nodes)), self._relative_errors()
        complete = np.flatnonzero(~np.isnan(rows).any(axis=1))

        def task(part: slice) -> None:
            at = complete[part]
            radii[at] = self.scan.radii(scaled[at], own[at], n_neighbors, relative, self._errors(scaled[at]))

        for_chunks(task, len(complete), self._work(), n_jobs)
        for row in np.flatnonzero(np.isnan(rows).any(axis=1)):
            for node in range(self.tree.n_nodes):
                radii[row, node] = self._nearest(scaled[[row]], own[[row]], node, n_neighbors)[0][0, -1]
        return np.ldexp(radii, self.exponent)

    def _relative_errors(self) -> NDArray[np.float64]:
        """Bound the relative errors of the roots of estimates, one a node: half a rounding for each term, and some."""
        return np.asarray(0.6 * _ROUNDING * (self.tree.stop - self.tree.start + 8))

    def _errors(self, scaled: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bound how far the roots of estimates are from distances beside the relative errors, rows x nodes.

        0 where all values are such multiples of a power of two that float32 arithmetic is exact.
        """
        centred, width = scaled - self.centre, self.tree.stop - self.tree.start
        norms = np.sqrt(_node_sums(centred**2, self.tree))
        errors: NDArray[np.float64] = 1.01 * _ROUNDING * (norms + self.spread) + _UNDERFLOW * np.sqrt(width)
        if self.grid > 0:
            largest = np.abs(self.spread[0] / self.grid)
            units = centred / self.grid
            on_grid = (units == np.rint(units)) & (np.abs(units) <= largest)
            exact = (_node_sums(~on_grid, self.tree) == 0) & (self.kept * (2 * largest) ** 2 <= 1 / _ROUNDING)
            errors[exact] = 0
        return errors

    def left_out_radii(self, n_neighbors: int, *, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Return every reference row's K-th radius among the others, reference rows x nodes."""
        rows = np.ldexp(self.reference, self.exponent)
        return self.radii(rows, n_neighbors, left_out=np.arange(len(rows)), n_jobs=n_jobs)

    def labels(
        self, rows: NDArray[np.float64], n_neighbors: int, limits: NDArray[np.float64], *, n_jobs: int | None = None
    ) -> NDArray[np.bool_]:
        """Return whether each row's K-th radius exceeds the node's limit, rows x nodes.

        The same as ``radii(rows, n_neighbors) > limits``, but K reference rows within the limit are enough to know.

        Parameters
        ----------
        rows : ndarray, rows x columns
            NaN where a value is missing.
        n_neighbors : int
            K.
        limits : ndarray, one a node
        n_jobs : int, optional
            Number of threads.
        """
        labels = np.empty((len(rows), self.tree.n_nodes), dtype=np.bool_)
        scaled, within = self._scaled(rows), np.ldexp(limits, -self.exponent)
        squares = _largest_squares(within)
        missing = np.isnan(rows).any(axis=1)
        complete = np.flatnonzero(~missing)
        relative = self._relative_errors()

        def task(part: slice) -> None:
            at = complete[part]
            errors = self._errors(scaled[at])
            sure = np.where(within > errors, (within - errors) ** 2 / (1 + relative) ** 2 * (1 - 1e-12), -1)
            possible = np.where(within >= 0, (within + errors) ** 2 / (1 - relative) ** 2 * (1 + 1e-12), -1)
            inner, outer = (_rounded_down(np.where(errors == 0, squares, bound)) for bound in (sure, possible))
            labels[at] = self.scan.labels(scaled[at], n_neighbors, inner, outer, squares)

        for_chunks(task, len(complete), self._work() // 4, n_jobs, largest=256)
        labels[missing] = self.radii(rows[missing], n_neighbors, n_jobs=n_jobs) > limits
        return labels

    def neighbors(
        self,
        rows: NDArray[np.float64],
        node: int,
        n_neighbors: int,
        *,
        left_out: NDArray[np.int64] | None = None,
        n_jobs: int | None = None,
    ) -> NDArray[np.int64]:
        """Return the numbers of the K nearest reference rows at one node, rows x K, nearest first.

        Parameters
        ----------
        rows : ndarray, rows x columns
            NaN where a value is missing.
        node : int
        n_neighbors : int
            K.
        left_out : ndarray of int64, one a row, optional
            The reference row that does not count as a neighbour of this row, -1 for none.
        n_jobs : int, optional
            Number of threads.
        """
        scaled, own = self._scaled(rows), _own_numbers(rows, left_out)
        numbers = np.empty((len(rows), n_neighbors), dtype=np.int64)

        def task(part: slice) -> None:
            numbers[part] = self._nearest(scaled[part], own[part], node, n_neighbors)[1]

        for_chunks(task, len(rows), self._work(), n_jobs)
        return numbers

    def _nearest(
        self, scaled: NDArray[np.float64], own: NDArray[np.int64], node: int, n_neighbors: int
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        start, stop, kept = int(self.tree.start[node]), int(self.tree.stop[node]), self.kept[node]
        distances = np.empty((len(scaled), n_neighbors))
        numbers = np.empty((len(scaled), n_neighbors), dtype=np.int64)
        missing = np.isnan(scaled[:, start:stop]).any(axis=1)
        for row in np.flatnonzero(missing):
            distances[row], numbers[row] = nearest_observed(
                self.reference, scaled[row], own[row], start, stop, self.alpha, n_neighbors
            )
        complete = np.flatnonzero(~missing)
        if isinstance(self.scan, EuclideanScan):
            found = distances[complete], numbers[complete]
            nearest_at_node(self.reference, scaled[complete], own[complete], start, stop, kept, *found)
            distances[complete], numbers[complete] = found
            return distances, numbers
        # Columns outside of the node do not matter, and may be missing.
        rows = np.tile(self.centre, (len(complete), 1))
        rows[:, start:stop] = scaled[complete, start:stop]
        errors, relative = self._errors(rows)[:, node], self._relative_errors()[node]
        candidates = self.scan.candidates(rows, own[complete], node, n_neighbors, relative, errors)
        for row, among in zip(complete, candidates, strict=True):
            found, part = (distances[[row]], numbers[[row]]), self.reference[among, start:stop]
            own_place = np.append(np.flatnonzero(among == own[row]), -1)
            nearest_at_node(part, scaled[[row], start:stop], own_place, 0, stop - start, kept, *found)
            distances[row], numbers[row] = found[0][0], among[found[1][0]]
        return distances, numbers

    def _scaled(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        half = self.exponent // 2
        with np.errstate(over="ignore", under="ignore"):
            # Twice a power of two, since one may be out of range by itself.
            scaled = rows * 2.0**-half * 2.0 ** (half - self.exponent)
        return np.clip(scaled, self.centre - _FARTHEST, self.centre + _FARTHEST)

    def _work(self) -> int:
        return len(self.reference) * int((self.tree.stop - self.tree.start).sum())


def _node_sums(squares: NDArray[np.float64], tree: AttributeTree) -> NDArray[np.float64]:
    """Sum over the columns of every node, rows x nodes."""
    bounds = np.stack([tree.start, tree.stop], axis=1).ravel()
    return np.asarray(np.add.reduceat(np.pad(squares, ((0, 0), (0, 1))), bounds, axis=1)[:, ::2])


def _grid(centred: NDArray[np.float64]) -> float:
    """Return the largest power of two of which all values are multiples, or 0 if that takes more than 11 bits."""
    largest = float(np.abs(centred).max())
    unit = 2.0 ** math.frexp(largest)[1]
    for _ in range(11):
        if np.all(centred % unit == 0):
            return unit
        unit /= 2
    return 0.0


def _rounded_down(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the largest float32 not above each value: a float32 is below one exactly if it is below the other."""
    with np.errstate(over="ignore"):
        rounded = values.astype(np.float32)
    return np.where(rounded > values, np.nextafter(rounded, np.float32(-np.inf)), rounded)


def _largest_squares(limits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest numbers whose roots do not exceed the limits; -1 where there is none."""
    with np.errstate(over="ignore"):
        squares = np.where(limits >= 0, limits * limits, -1.0)
    for _ in range(4):
        above = np.nextafter(squares, np.inf)
        squares = np.where((limits >= 0) & (np.sqrt(np.abs(above)) <= limits), above, squares)
        too_large = (limits >= 0) & (np.sqrt(np.abs(squares)) > limits)
        squares = np.where(too_large, np.nextafter(squares, -np.inf), squares)
    return squares


def _own_numbers(rows: NDArray[np.float64], left_out: NDArray[np.int64] | None) -> NDArray[np.int64]:
    return np.full(len(rows), -1) if left_out is None else np.ascontiguousarray(left_out, dtype=np.int64)


def _scale_exponent(low: NDArray[np.float64], high: NDArray[np.float64]) -> int:
    """Return the exponent of the widest column's width, or more where the values themselves are enormous."""
    half_width = float(np.max(high / 2 - low / 2))
    largest = float(max(np.max(np.abs(low)), np.max(np.abs(high))))
    if largest == 0:
        return 0
    largest_exponent = math.frexp(largest)[1]
    if half_width == 0:
        return largest_exponent
    return max(math.frexp(half_width)[1] + 1, largest_exponent - _WIDEST_EXPONENT)
