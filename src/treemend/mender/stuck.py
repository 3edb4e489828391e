"""Values that do not move: stuck at one value, or dropped to a constant.

Equal neighbours alone prove nothing: a spectrum may be saturated, an image has a background. So the reference says, for
each cell and each value that is frequent there, how often rows of each component of the density have that very value,
and how often a cell otherwise equals the one before it. A run of equal values is judged by these shares, the components
weighted by how well they explain the cells outside the run; no reference row is needed.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemend.mender.compiled import inner_kernel, kernel
from treemend.mender.evidence import Scan
from treemend.mender.moves import Mixture
from treemend.mender.sets import row_state
from treemend.mender.swept import Law, log_sum, new_space, prefix_forms, student
from treemend.threads import for_chunks

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

# Values of a column that at least this share of the rows have are looked up one by one, at most so many of them.
LEAST_SHARE = 0.01
MOST_VALUES = 16
REGIONS = 3
FEWEST_CELLS, FEWEST_CELLS_OF_A_SHORT_ROW, SHORT_ROW = 3, 2, 8
FEWEST_PIXELS = 9
# Shares of a component count as much as this many rows of all components together.
SHRINKAGE = 2.0


@dataclass(frozen=True)
class RepeatedValues:
    """What the reference says of repeated values; d cells in layout order, K components.

    Attributes
    ----------
    value : (d, values)
        Frequent values of each cell, in the user's units; infinite where there are fewer.
    share : (d, values, K)
        Share of each component's rows that have that value.
    tie : (d,)
        Share of rows in which a cell equals the cell before it at a value that is not frequent.
    tolerance : float
        Differences up to this share of the larger value count as none.
    """

    value: Floats
    share: Floats
    tie: Floats
    tolerance: float


def learn_repeated_values(laid: Floats, component: Integers, n_components: int) -> RepeatedValues:
    """Count repeated values.

    Parameters
    ----------
    laid : (n, d)
        Clean rows in the user's units and layout order; NaN where missing.
    component : (n,) int
        The likeliest component of each row.
    n_components : int
    """
    n, d = laid.shape
    tolerance = 1e-9
    value, share = np.full((d, MOST_VALUES), np.inf), np.zeros((d, MOST_VALUES, n_components))
    tie = np.full(d, 0.5 / (n + 1))
    for j in range(d):
        there = ~np.isnan(laid[:, j])
        column, own = laid[there, j], component[there]
        rows_of = np.bincount(own, minlength=n_components)
        found, counts = np.unique(column, return_counts=True)
        frequent = np.argsort(-counts, kind="stable")[:MOST_VALUES]
        frequent = frequent[counts[frequent] >= max(2.0, LEAST_SHARE * len(column))]
        for a, v in enumerate(found[frequent]):
            having = np.bincount(own[np.abs(column - v) <= tolerance * abs(v)], minlength=n_components)
            overall = (having.sum() + 0.5) / (len(column) + 1)
            value[j, a], share[j, a] = v, (having + SHRINKAGE * overall) / (rows_of + SHRINKAGE)
        if j > 0:
            equal = np.abs(laid[:, j] - laid[:, j - 1]) <= tolerance * np.abs(laid[:, j])
            equal &= ~np.isin(laid[:, j], found[frequent])
            tie[j] = (equal.sum() + 0.5) / (n + 1)
    used = max(1, int((np.isfinite(value)).sum(axis=1).max(initial=0)))
    return RepeatedValues(value[:, :used].copy(), share[:, :used].copy(), tie, tolerance)


def fewest_equal(scan: Scan) -> int:
    """Return how many equal cells make a region."""
    if scan.cells.height > 1:
        return FEWEST_PIXELS
    return FEWEST_CELLS if len(scan.cells.joined) > SHORT_ROW else FEWEST_CELLS_OF_A_SHORT_ROW


def stuck_evidence(
    scan: Scan,
    mix: Mixture,
    law: Law,
    repeated: RepeatedValues,
    place: Integers,
    laid: Floats,
    rows: Floats,
    n_jobs: int | None,
) -> tuple[Floats, Booleans]:
    """Return the evidence (n,) that a region of equal values does not belong there, and its surprising cells (n, d).

    Parameters
    ----------
    scan, mix, law
        Of the observed cells.
    repeated : RepeatedValues
        Of all cells.
    place : (number observed,) int
        Which cells ``laid`` and ``rows`` have.
    laid, rows : (n, number observed)
        Values in the user's units and coordinates, in layout order.
    n_jobs : int, optional
        Threads.
    """
    n, d = rows.shape
    evidence, mask = np.zeros(n), np.zeros((n, d), bool)
    cells = scan.cells
    table = (
        repeated.value[place],
        np.ascontiguousarray(repeated.share[place][:, :, scan.components]),
        repeated.tie[place],
        repeated.tolerance,
    )
    laid = np.ascontiguousarray(laid)

    def task(part: slice) -> None:
        _stuck_rows(
            mix,
            law,
            laid[part],
            rows[part],
            *table,
            cells.earlier,
            cells.later,
            fewest_equal(scan),
            evidence[part],
            mask[part],
        )

    for_chunks(task, n, d * d, n_jobs)
    return evidence, mask


@inner_kernel
def _regions_of_equals(laid: Floats, earlier: Integers, later: Integers, tolerance: float, region: Integers) -> int:
    """Give numbers to the connected regions of equal cells; return how many."""
    d = len(laid)
    stack = np.empty(d, np.int64)
    for j in range(d):
        region[j] = -1
    count = 0
    for seed in range(d):
        if region[seed] >= 0:
            continue
        region[seed] = count
        stack[0] = seed
        depth = 1
        while depth > 0:
            depth -= 1
            own = stack[depth]
            for direction in range(2 * len(earlier)):
                other = earlier[direction // 2, own] if direction % 2 else later[direction // 2, own]
                if other >= 0 and region[other] < 0 and abs(laid[other] - laid[seed]) <= tolerance * abs(laid[seed]):
                    region[other] = count
                    stack[depth] = other
                    depth += 1
        count += 1
    return count


@inner_kernel
def _log_shares(
    laid: Floats,
    cells: Integers,
    m: int,
    value: Floats,
    share: Floats,
    tie: Floats,
    tolerance: float,
    log_share: Floats,
) -> None:
    """Fill ``log_share`` (m, K) with the log share of rows that have the value of each cell of a region.

    At a value that is not frequent the first cell says nothing: only that others repeat it is odd.
    """
    for i in range(m):
        j = cells[i]
        at = -1
        for a in range(value.shape[1]):
            if abs(value[j, a] - laid[j]) <= tolerance * abs(laid[j]):
                at = a
        for k in range(share.shape[2]):
            if at >= 0:
                log_share[i, k] = math.log(share[j, at, k])
            else:
                log_share[i, k] = 0.0 if i == 0 else math.log(tie[j])


@kernel
def _stuck_rows(
    mix: Mixture,
    law: Law,
    laid: Floats,
    rows: Floats,
    value: Floats,
    share: Floats,
    tie: Floats,
    tolerance: float,
    earlier: Integers,
    later: Integers,
    fewest: int,
    evidence: Floats,
    mask: Booleans,
) -> None:
    n, d = rows.shape
    n_components = len(mix.log_weight)
    space = new_space(d)
    region, size, cells = np.empty(d, np.int64), np.empty(d, np.int64), np.empty(d, np.int64)
    away, r, q = np.empty((n_components, d)), np.empty((n_components, d)), np.empty(n_components)
    outside, terms = np.empty(n_components), np.empty(n_components)
    log_share = np.empty((d, n_components))
    for i in range(n):
        count = _regions_of_equals(laid[i], earlier, later, tolerance, region)
        for j in range(d):
            size[j] = 0
        for j in range(d):
            size[region[j]] += 1
        ready = False
        for _ in range(REGIONS):
            largest = 0
            for c in range(1, count):
                if size[c] > size[largest]:
                    largest = c
            m = size[largest]
            size[largest] = 0
            if m < fewest or m == d:
                break
            at = 0
            for j in range(d):
                if region[j] == largest:
                    cells[at] = j
                    at += 1
            _log_shares(laid[i], cells, m, value, share, tie, tolerance, log_share)
            if not ready:
                row_state(mix, law, rows[i], away, r, q, terms)
                ready = True
            for k in range(n_components):
                prefix_forms(mix.precision[k], 1.0, r[k], cells, m, space.upper, space.forms)
                level = mix.log_weight[k] + law.constants[d - m] + mix.log_det[k] - space.forms[1, m - 1]
                outside[k] = student(level, d - m, q[k] - space.forms[0, m - 1], law.tail)
            total = log_sum(outside)
            for k in range(n_components):
                outside[k] -= total
                terms[k] = outside[k]
                for a in range(m):
                    terms[k] += log_share[a, k]
            value_here = -log_sum(terms)
            if value_here <= evidence[i]:
                continue
            evidence[i] = value_here
            for j in range(d):
                mask[i, j] = False
            some = False
            for a in range(m):
                usual = 0.0
                for k in range(n_components):
                    usual += math.exp(outside[k] + log_share[a, k])
                # The first cell of a run at an infrequent value is as stuck as the others.
                if usual < 0.5 or (log_share[a, 0] == 0.0 and a == 0):
                    mask[i, cells[a]] = True
                    some = True
            if not some:
                for a in range(m):
                    mask[i, cells[a]] = True
