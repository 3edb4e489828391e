"""Values that do not move: stuck at one value, or dropped to a constant.

Equal neighbours alone prove nothing: a spectrum may be saturated, an image has a background. So the reference says, for
each cell and each value that is frequent there, how often rows of each component of the density have that very value,
and how often a cell otherwise equals the one before it. A run of equal values is judged by these shares, the components
weighted by how well they explain the cells outside the run; no reference row is needed. Shares take cells of one
component for independent, which a background is not: where the value is frequent, the density has half of the say.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import logsumexp

from treemend.arrays import Booleans, Floats, Integers, Labels
from treemend.mender.density import expect_rows
from treemend.mender.evidence import STUCK, Scan
from treemend.mender.moves import MOST_OUT
from treemend.threads import for_chunks

# Values of a column that at least this share of the rows have are looked up one by one, at most so many of them.
LEAST_SHARE = 0.01
MOST_VALUES = 16
REGIONS = 3
FEWEST_CELLS, FEWEST_PIXELS = 3, 9
# The density is asked of runs with at least this evidence; below it hardly matters.
LEAST_ASKED = 3.0
# A set of which more than this share is one run of equal values is stuck, however it was found.
MOST_CONSTANT = 0.9
# Shares of a component count as much as this many rows of all components together.
SHRINKAGE = 2.0


@dataclass(frozen=True)
class RepeatedValues:
    """What the reference says of repeated values; d cells in layout order, K components."""

    value: Floats  # (d, values), frequent values of each cell, in the user's units; infinite where there are fewer
    share: Floats  # (d, values, K), the share of each component's rows that have that value
    tie: Floats  # (d,), the share of rows in which a cell equals the cell before it at a value that is not frequent
    tolerance: float  # differences up to this share of the larger value count as none

    def frequent(self, laid: Floats) -> Booleans:
        """Tell which values (n, d), in the user's units and layout order, are frequent in their cells."""
        return np.asarray(_frequent_values(self, np.arange(laid.shape[1]), laid) < self.value.shape[1])


def learn_repeated_values(laid: Floats, component: Integers, n_components: int) -> RepeatedValues:
    """Count repeated values of clean rows, in the user's units and layout order, by their likeliest components."""
    n, d = laid.shape
    tolerance = 1e-9
    value, share = np.full((d, MOST_VALUES), np.inf), np.zeros((d, MOST_VALUES, n_components))
    equal = np.zeros((n, d), bool)
    equal[:, 1:] = np.abs(np.diff(laid, axis=1)) <= tolerance * np.abs(laid[:, 1:])
    there = ~np.isnan(laid)
    fewest = np.maximum(2, np.ceil(LEAST_SHARE * there.sum(axis=0))).astype(np.int64)
    ordered = np.sort(laid.T, axis=1)
    some = [(column[m - 1 :] == column[: n - m + 1]).any() for column, m in zip(ordered, fewest, strict=True)]
    for j in np.flatnonzero(some):
        column, own = laid[there[:, j], j], component[there[:, j]]
        rows_of = np.bincount(own, minlength=n_components)
        found, counts = np.unique(column, return_counts=True)
        frequent = np.argsort(-counts, kind="stable")[:MOST_VALUES]
        frequent = frequent[counts[frequent] >= fewest[j]]
        for a, v in enumerate(found[frequent]):
            having = np.bincount(own[np.abs(column - v) <= tolerance * abs(v)], minlength=n_components)
            overall = (having.sum() + 0.5) / (len(column) + 1)
            value[j, a], share[j, a] = v, (having + SHRINKAGE * overall) / (rows_of + SHRINKAGE)
        equal[:, j] &= ~np.isin(laid[:, j], found[frequent])
    tie = (equal.sum(axis=0) + 0.5) / (n + 1)
    used = max(1, int((np.isfinite(value)).sum(axis=1).max(initial=0)))
    return RepeatedValues(value[:, :used].copy(), share[:, :used].copy(), tie, tolerance)


def fewest_equal(scan: Scan) -> int:
    """Return how many equal cells make a region."""
    return FEWEST_PIXELS if scan.cells.height > 1 else FEWEST_CELLS


def stuck_evidence(
    scan: Scan,
    repeated: RepeatedValues,
    place: Integers,
    laid: Floats,
    rows: Floats,
    noise: Floats,
    log_density: Floats,
    n_jobs: int | None,
) -> tuple[Floats, Booleans]:
    """Return the evidence (n,) that a region of equal values does not belong there, and its surprising cells (n, d).

    The scan is that of the observed cells, at ``place`` of all; ``laid`` (in the user's units) and ``rows`` (in
    coordinates) are their values in layout order, ``noise`` (n, d) the log densities of noise there, ``log_density``
    (n,) those of the rows.
    """
    n, d = rows.shape
    evidence, mask = np.zeros(n), np.zeros((n, d), bool)
    equal = _equal_neighbours(laid, scan.cells.earlier, repeated.tolerance)
    some = np.flatnonzero(equal.sum(axis=(0, 2)) >= fewest_equal(scan) - 1)
    if not len(some):
        return evidence, mask
    table = _log_shares(repeated, scan.components, place)

    def task(part: slice) -> None:
        own = some[part]
        region = _regions(equal[:, own], scan.cells.earlier)
        which = _frequent_values(repeated, place, laid[own])
        evidence[own], mask[own] = _oddest_region(scan, region, table, which, rows[own], noise[own], log_density[own])

    for_chunks(task, len(some), d * d, n_jobs)
    return evidence, mask


def name_constant(labels: Labels, run: Booleans) -> None:
    """Call sets (n, d) stuck that hardly reach beyond the run of equal values (n, d) of their row."""
    out = labels >= 0
    constant = (out & run).sum(axis=1) > MOST_CONSTANT * out.sum(axis=1)
    labels[out & constant[:, None]] = STUCK


def _equal_neighbours(laid: Floats, earlier: Integers, tolerance: float) -> Booleans:
    """Tell in which rows a cell equals its earlier neighbour, for each direction (directions, n, d)."""
    limit, equal = tolerance * np.abs(laid), np.zeros((len(earlier), *laid.shape), bool)
    for found, neighbour in zip(equal, earlier, strict=True):
        there = np.flatnonzero(neighbour >= 0)
        other = neighbour[there]
        found[:, there] = np.abs(laid[:, there] - laid[:, other]) <= np.maximum(limit[:, there], limit[:, other])
    return equal


def _regions(equal: Booleans, earlier: Integers) -> Integers:
    """Return the number (n, d) of the connected region of equal cells that each cell is in."""
    n, d = equal.shape[1:]
    direction, row, cell = np.nonzero(equal)
    links = (row * d + cell, row * d + earlier[direction, cell])
    graph = coo_array((np.ones(len(row), np.int8), links), shape=(n * d, n * d))
    return np.asarray(connected_components(graph, directed=False)[1].reshape(n, d))


def _log_shares(repeated: RepeatedValues, components: Booleans, place: Integers) -> Floats:
    """Return the log share (d, values + 1, K) of rows that have each frequent value; last, of those with a tie."""
    share, tie = repeated.share[place][:, :, components], repeated.tie[place]
    ties = np.tile(tie[:, None, None], share.shape[2])
    return np.asarray(np.log(np.concatenate([np.where(share > 0, share, 1.0), ties], axis=1)))


def _frequent_values(repeated: RepeatedValues, place: Integers, laid: Floats) -> Integers:
    """Return the number (n, d) of the frequent value that each cell has; one more than there are if it has none."""
    which = np.full(laid.shape, repeated.value.shape[1])
    limit = repeated.tolerance * np.abs(laid)
    for a, value in enumerate(repeated.value[place].T):
        which[np.abs(value - laid) <= limit] = a
    return which


def _oddest_region(
    scan: Scan,
    region: Integers,
    log_shares: Floats,
    which: Integers,
    rows: Floats,
    noise: Floats,
    log_density: Floats,
) -> tuple[Floats, Booleans]:
    """Return what `stuck_evidence` does of rows whose regions of equal cells are numbered."""
    n, d = rows.shape
    evidence, mask = np.zeros(n), np.zeros((n, d), bool)
    size = np.bincount(region.ravel())
    for _ in range(REGIONS):
        number = region[np.arange(n), size[region].argmax(axis=1)]
        some = np.flatnonzero((size[number] >= fewest_equal(scan)) & (size[number] < d))
        if not len(some):
            break
        size[number] = 0
        inside = region[some] == number[some, None]
        outside = expect_rows(scan.density, np.where(inside, np.nan, rows[some]))[0]
        outside -= logsumexp(outside, axis=1, keepdims=True)
        row, cell = np.nonzero(inside)
        first, value = np.flatnonzero(np.diff(row, prepend=-1)), which[some[row], cell]
        share = log_shares[cell, value]
        # At a value that is not frequent the first cell says nothing: only that others repeat it is odd.
        silent = first[value[first] == len(log_shares[0]) - 1]
        share[silent] = 0.0
        found = -logsumexp(outside + np.add.reduceat(share, first, axis=0), axis=1)
        odd = np.exp(outside[row] + share).sum(axis=1) < 0.5
        odd[silent] = True
        odd |= ~np.logical_or.reduceat(odd, first)[row]
        # A row most of which repeats a value that is not frequent is odd as a whole.
        found[(inside.mean(axis=1) > MOST_OUT) & (value[first] == len(log_shares[0]) - 1)] = 0.0
        frequent = np.logical_or.reduceat(odd & (value < len(log_shares[0]) - 1), first)
        inside[row, cell] = odd
        at = np.flatnonzero(frequent & (found > np.maximum(evidence[some], LEAST_ASKED)))
        if len(at):
            own, out = some[at], inside[at]
            rest = logsumexp(expect_rows(scan.density, np.where(out, np.nan, rows[own]))[0], axis=1)
            odds = rest - log_density[own] + np.where(out, noise[own], 0.0).sum(axis=1)
            found[at] = np.minimum(found[at], (found[at] + odds) / 2)
        more = found > evidence[some]
        evidence[some[more]], mask[some[more]] = found[more], inside[more]
    return evidence, mask
