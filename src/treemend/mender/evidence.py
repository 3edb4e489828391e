"""Evidence that something in a row was overwritten, for every row: the best window of each kind, and single cells.

Each window of a row is judged given the rest of the row, in three ways, as log odds against "clean": *noise* (uniform
over the columns' ranges), *foreign* (likely by itself, but not beside this rest), *shifted* (moved by a common amount).
Only observed cells count: rows with the same missing cells are judged together, by the density of the cells they have.

Rows are processed in blocks, a row a lane; every lane does the same operations in the same order, so that a row's
evidence has the same bits in any company.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky
from scipy.linalg.lapack import dtrtri

from treemend.mender.compiled import kernel
from treemend.mender.density import Density, density_constants
from treemend.mender.layout import Layout
from treemend.mender.swept import log_sum, student
from treemend.mender.windows import Cells, Windows, lay_cells, lay_windows
from treemend.threads import for_chunks

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

NOISE, FOREIGN, SHIFTED, STUCK, SINGLE = range(5)
KINDS = ("noise", "foreign", "shifted", "stuck")
# Standard deviation of a common shift, in units of a column's range.
SHIFT = 0.3
LANES = 32


@dataclass(frozen=True)
class Scan:
    """All that does not depend on the row: the density of some observed cells, their windows, and factors.

    ``given_rest`` and ``alone`` (K, .) hold the inverse Cholesky factors of every chain's block of the precision and of
    the covariance, lower triangles row by row; ``information`` (K, V) the sums of the precision over windows.
    """

    density: Density
    cells: Cells
    windows: Windows
    constants: Floats
    given_rest: Floats
    alone: Floats
    factor_start: Integers
    log_det_given_rest: Floats
    log_det_alone: Floats
    information: Floats


class WindowEvidence(NamedTuple):
    """Of n rows: the most evidence for noise, foreign and shifted, where, and the evidence of each cell.

    Attributes
    ----------
    values, window : (n, 3)
        Log odds of the best window, and its number in the `Scan`.
    noise_odds, noise, core_odds, core : (n, K)
        For each component, the largest log density of a row with a window of noise, and with a window that is kept and
        noise elsewhere; and the numbers of these windows.
    cells : (n, d)
        Log odds of each cell by itself being noise; 0 where missing.
    log_density : (n,)
        Of the observed cells.
    """

    values: Floats
    window: Integers
    noise_odds: Floats
    noise: Integers
    core_odds: Floats
    core: Integers
    cells: Floats
    log_density: Floats


def restrict(density: Density, observed: Booleans) -> Density:
    """Return the density of some cells."""
    if observed.all():
        return density
    covariance = np.ascontiguousarray(density.covariance[:, observed][:, :, observed])
    n = covariance.shape[1]
    factors = [cholesky(block, lower=True, check_finite=False) for block in covariance]
    precision = np.array([cho_solve((factor, True), np.eye(n), check_finite=False) for factor in factors])
    log_det = np.array([-np.log(np.diag(factor)).sum() for factor in factors])
    centre = np.ascontiguousarray(density.centre[:, observed])
    precision = np.ascontiguousarray(0.5 * (precision + precision.transpose(0, 2, 1)))
    return Density(centre, covariance, precision, density.log_weight, log_det, density.tail)


def prepare_scan(density: Density, layout: Layout, observed: Booleans | None = None) -> Scan:
    """Work out what does not depend on the row, for rows in which the ``observed`` cells are there."""
    if observed is not None:
        density = restrict(density, observed)
    cells = lay_cells(layout, observed)
    windows = lay_windows(cells)
    chains = [windows.order[start:stop] for start, stop in pairwise(windows.chain_start)]
    last = [windows.size[start:stop] - 1 for start, stop in pairwise(windows.window_start)]
    factor_start = np.cumsum([0, *(len(chain) * (len(chain) + 1) // 2 for chain in chains)])
    n_components, d = density.centre.shape
    given_rest, alone = np.empty((n_components, factor_start[-1])), np.empty((n_components, factor_start[-1]))
    facts = np.empty((3, n_components, len(windows.size)))
    for c, chain in enumerate(chains):
        triangle = np.tril_indices(len(chain))
        block = np.ix_(chain, chain)
        here = slice(factor_start[c], factor_start[c + 1])
        there = slice(windows.window_start[c], windows.window_start[c + 1])
        for k in range(n_components):
            inner = density.precision[k][block]
            for i, (matrix, factors) in enumerate(((inner, given_rest), (density.covariance[k][block], alone))):
                factor = cholesky(matrix, lower=True, check_finite=False)
                factors[k, here] = dtrtri(factor, lower=1)[0][triangle]
                facts[i, k, there] = np.log(np.diag(factor)).cumsum()[last[c]]
            facts[2, k, there] = (2 * np.tril(inner).sum(axis=1) - np.diag(inner)).cumsum()[last[c]]
    return Scan(density, cells, windows, density_constants(d), given_rest, alone, factor_start[:-1], *facts)


def patterns(rows: Floats) -> Iterator[tuple[Booleans, Integers]]:
    """Yield each pattern of observed cells that occurs, and the numbers of its rows."""
    observed = ~np.isnan(rows)
    complete = observed.all(axis=1)
    if complete.any():
        yield np.ones(rows.shape[1], bool), np.flatnonzero(complete)
    others = np.flatnonzero(~complete)
    if len(others):
        found, inverse = np.unique(np.packbits(observed[others], axis=1), axis=0, return_inverse=True)
        for i in range(len(found)):
            members = others[inverse.ravel() == i]
            yield observed[members[0]], members


def window_evidence(scan: Scan, rows: Floats, log_slope: Floats, n_jobs: int | None) -> WindowEvidence:
    """Weigh every window of rows of which the scan's cells are given.

    Parameters
    ----------
    scan : Scan
    rows, log_slope : (n, d)
        The observed cells only, from `Columns.to_rows`.
    n_jobs : int, optional
        Threads.
    """
    n, d = rows.shape
    density, windows = scan.density, scan.windows
    shape = n, len(density.centre)
    found = WindowEvidence(
        np.full((n, 3), -np.inf),
        np.full((n, 3), -1),
        *(part for _ in range(2) for part in (np.full(shape, -np.inf), np.zeros(shape, np.int64))),
        np.zeros((n, d)),
        np.zeros(n),
    )
    blocks = -(-n // LANES)

    def task(part: slice) -> None:
        own = slice(part.start * LANES, min(part.stop * LANES, n))
        _scan_rows(
            rows[own],
            log_slope[own],
            density.centre,
            density.precision,
            density.log_weight,
            density.log_det,
            scan.constants,
            density.tail,
            scan.given_rest,
            scan.alone,
            scan.factor_start,
            windows.order,
            windows.chain_start,
            windows.window_start,
            windows.size,
            scan.log_det_given_rest,
            scan.log_det_alone,
            scan.information,
            *(part[own] for part in found),
        )

    if d:
        for_chunks(task, blocks, LANES * (scan.given_rest.size + 1), n_jobs)
    return found


@kernel
def _scan_rows(
    rows: Floats,
    log_slope: Floats,
    centre: Floats,
    precision: Floats,
    log_weight: Floats,
    log_det: Floats,
    constants: Floats,
    tail: float,
    given_rest: Floats,
    alone: Floats,
    factor_start: Integers,
    order: Integers,
    chain_start: Integers,
    window_start: Integers,
    size: Integers,
    log_det_given_rest: Floats,
    log_det_alone: Floats,
    information: Floats,
    values: Floats,
    window: Integers,
    noise_odds: Floats,
    noise_window: Integers,
    core_odds: Floats,
    core_window: Integers,
    cells: Floats,
    log_density: Floats,
) -> None:
    """Fill the evidence of rows, block by block of lanes."""
    n, d = rows.shape
    n_components = len(centre)
    away = np.empty((n_components, d, LANES))
    force = np.empty((n_components, d, LANES))
    whole = np.empty((n_components, LANES))
    longest = 1
    for c in range(len(window_start) - 1):
        longest = max(longest, window_start[c + 1] - window_start[c])
    terms = np.empty((3, longest, LANES, n_components))
    forms = np.empty((3, longest, LANES))
    noise = np.empty(longest)
    for begin in range(0, n, LANES):
        here = min(LANES, n - begin)
        for k in range(n_components):
            _deviations(rows, begin, here, centre[k], precision[k], away[k], force[k], whole[k])
        for lane in range(here):
            i = begin + lane
            row_terms = terms[0, 0, lane]
            for k in range(n_components):
                row_terms[k] = student(log_weight[k] + log_det[k] + constants[d], d, whole[k, lane], tail)
            log_density[i] = log_sum(row_terms)
            for j in range(d):
                for k in range(n_components):
                    w = precision[k, j, j]
                    level = log_weight[k] + log_det[k] - 0.5 * math.log(w) + constants[d - 1]
                    row_terms[k] = student(level, d - 1, whole[k, lane] - force[k, j, lane] ** 2 / w, tail)
                cells[i, j] = log_sum(row_terms) - log_density[i] + log_slope[i, j]
        for c in range(len(factor_start)):
            first, n_windows = window_start[c], window_start[c + 1] - window_start[c]
            chain = order[chain_start[c] : chain_start[c + 1]]
            ends = size[first : first + n_windows]
            for k in range(n_components):
                _squares_along(given_rest[k], factor_start[c], force[k], chain, ends, forms[0])
                _squares_along(alone[k], factor_start[c], away[k], chain, ends, forms[1])
                _sums_along(force[k], chain, ends, forms[2])
                for v in range(n_windows):
                    m = ends[v]
                    level = log_weight[k] + log_det[k]
                    rest = level - log_det_given_rest[k, first + v] + constants[d - m]
                    by_itself = log_weight[k] - log_det_alone[k, first + v] + constants[m]
                    growth = 1.0 + SHIFT * SHIFT * information[k, first + v]
                    moved = level + constants[d] - 0.5 * math.log(growth)
                    for lane in range(here):
                        q = whole[k, lane]
                        terms[0, v, lane, k] = student(rest, d - m, q - forms[0, v, lane], tail)
                        terms[1, v, lane, k] = student(by_itself, m, forms[1, v, lane], tail)
                        pull = SHIFT * SHIFT * forms[2, v, lane] ** 2 / growth
                        terms[2, v, lane, k] = student(moved, d, q - pull, tail)
            for lane in range(here):
                i = begin + lane
                all_slopes = 0.0
                for j in range(d):
                    all_slopes += log_slope[i, j]
                total = 0.0
                at = 0
                for v in range(n_windows):
                    while at < ends[v]:
                        total += log_slope[i, chain[at]]
                        at += 1
                    noise[v] = total
                for v in range(n_windows):
                    rest = log_sum(terms[0, v, lane]) - log_density[i]
                    for e in range(3):
                        if e == 0:
                            value = rest + noise[v]
                        elif e == 1:
                            value = rest + log_sum(terms[1, v, lane])
                        else:
                            value = log_sum(terms[2, v, lane]) - log_density[i]
                        if value > values[i, e]:
                            values[i, e] = value
                            window[i, e] = first + v
                    for k in range(n_components):
                        value = terms[0, v, lane, k] + noise[v]
                        if value > noise_odds[i, k]:
                            noise_odds[i, k] = value
                            noise_window[i, k] = first + v
                        value = terms[1, v, lane, k] + all_slopes - noise[v]
                        if value > core_odds[i, k]:
                            core_odds[i, k] = value
                            core_window[i, k] = first + v


@kernel
def _deviations(
    rows: Floats,
    begin: int,
    here: int,
    centre: Floats,
    precision: Floats,
    away: Floats,
    force: Floats,
    whole: Floats,
) -> None:
    """Fill deviations of a block of rows from a centre, the precision times them, and their quadratic forms."""
    d = len(centre)
    for j in range(d):
        for lane in range(here):
            away[j, lane] = rows[begin + lane, j] - centre[j]
        for lane in range(here, LANES):
            away[j, lane] = 0.0
    for lane in range(LANES):
        whole[lane] = 0.0
    for a in range(d):
        out = force[a]
        for lane in range(LANES):
            out[lane] = 0.0
        for b in range(d):
            p = precision[a, b]
            line = away[b]
            for lane in range(LANES):
                out[lane] += p * line[lane]
        line = away[a]
        for lane in range(LANES):
            whole[lane] += out[lane] * line[lane]


@kernel
def _squares_along(
    factors: Floats, start: int, vectors: Floats, chain: Integers, ends: Integers, forms: Floats
) -> None:
    """Fill running sums of squares, at each end, of an inverse factor times the vectors in the order of a chain."""
    total = np.zeros(LANES)
    product = np.empty(LANES)
    at = start
    v = 0
    for a in range(len(chain)):
        for lane in range(LANES):
            product[lane] = 0.0
        for b in range(a + 1):
            f = factors[at]
            at += 1
            line = vectors[chain[b]]
            for lane in range(LANES):
                product[lane] += f * line[lane]
        for lane in range(LANES):
            total[lane] += product[lane] * product[lane]
        if a + 1 == ends[v]:
            for lane in range(LANES):
                forms[v, lane] = total[lane]
            v += 1


@kernel
def _sums_along(vectors: Floats, chain: Integers, ends: Integers, forms: Floats) -> None:
    """Fill running sums, at each end, of the vectors in the order of a chain."""
    total = np.zeros(LANES)
    v = 0
    for a in range(len(chain)):
        line = vectors[chain[a]]
        for lane in range(LANES):
            total[lane] += line[lane]
        if a + 1 == ends[v]:
            for lane in range(LANES):
                forms[v, lane] = total[lane]
            v += 1
