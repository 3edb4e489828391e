"""Evidence that something in a row was overwritten, for every row: the best window of each kind, and single cells.

Each window of a row is judged given the rest of the row, in three ways, as log odds against "clean": *noise* (uniform
over the columns' ranges), *foreign* (likely by itself, but not beside this rest), *shifted* (moved by a common amount).
Only observed cells count: rows with the same missing cells are judged together, by the density of the cells they have.

Rows are processed in blocks of one size, a row a lane, so that a row's evidence has the same bits in any company.
"""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dtrtri

from treemend.mender.compiled import kernel
from treemend.mender.density import Density, density_constants
from treemend.mender.layout import Layout
from treemend.mender.swept import Law, log_sum, prefix_forms, student
from treemend.mender.windows import Cells, Windows, lay_cells, lay_windows
from treemend.threads import for_chunks

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

# Integers of NumPy: kernels are compiled for each literal of Python that others pass.
KEPT, NOISE, FOREIGN, SHIFTED, STUCK, SINGLE = cast(list[int], np.arange(-1, 5))
KINDS = ("noise", "foreign", "shifted", "stuck")
# Standard deviation of a common shift, in units of a column's range.
SHIFT = 0.3
LANES = 32
# Rows of more cells are followed under fewer components, since one costs d^3.
NARROW = 128
# Rows with missing values are judged by this many components, half of them in rows that are not narrow: factors are
# worked out for each pattern of gaps. `python -m benchmarks.end_to_end` measures the time.
MOST_LIKELY, MOST_AGAINST = 4, 4.0


@dataclass(frozen=True)
class Scan:
    """All that does not depend on the row: the density of some observed cells, their windows, and factors.

    ``components`` tells which ones of all the density has. ``given_rest`` and ``alone`` hold, for each chain, the
    inverse Cholesky factors (K, L, L) of its block of the precision and of the covariance; ``levels`` (3, K, V) what a
    window adds to the log density: without it, alone, and with a common shift; ``growth`` (K, V) how much a shift
    widens the quadratic form.
    """

    density: Density
    components: Booleans
    cells: Cells
    windows: Windows
    constants: Floats
    chains: list[Integers]
    given_rest: list[Floats]
    alone: list[Floats]
    levels: Floats
    growth: Floats


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

    def part(self, rows: slice) -> "WindowEvidence":
        """Return the evidence of some rows, to be written to."""
        return WindowEvidence(*(cast(Any, array[rows]) for array in self))


def prepare_scan(
    density: Density, layout: Layout, observed: Booleans | None = None, components: Booleans | None = None
) -> Scan:
    """Work out what does not depend on the row, for complete rows or those in which only some cells are observed.

    Only some ``components`` of the density count; all by default. There are no factors for incomplete rows.
    """
    if components is None:
        components = np.ones(len(density.centre), bool)
    cells = lay_cells(layout, observed)
    windows = lay_windows(cells)
    constants = density_constants(len(cells.joined), density.tail)
    if observed is not None:
        nothing = np.empty((0, 0, 0))
        density = density.restrict(observed, components)
        return Scan(density, components, cells, windows, constants, [], [], [], nothing, nothing)
    n_components, d = density.centre.shape
    chains = [windows.order[start:stop] for start, stop in pairwise(windows.chain_start)]
    given_rest, alone = ([np.zeros((n_components, len(chain), len(chain))) for chain in chains] for _ in range(2))
    facts = np.empty((3, n_components, len(windows.size)))
    for c, chain in enumerate(chains):
        here = slice(windows.window_start[c], windows.window_start[c + 1])
        last, block = windows.size[here] - 1, np.ix_(chain, chain)
        for k in range(n_components):
            inner = density.precision[k][block]
            for i, (matrix, factors) in enumerate(((inner, given_rest), (density.covariance[k][block], alone))):
                factor = dpotrf(matrix, lower=1, clean=1)[0]
                factors[c][k] = dtrtri(factor, lower=1)[0]
                facts[i, k, here] = np.log(np.diag(factor)).cumsum()[last]
            facts[2, k, here] = (2 * np.tril(inner).sum(axis=1) - np.diag(inner)).cumsum()[last]
    level, growth = (density.log_weight + density.log_det)[:, None], 1.0 + SHIFT * SHIFT * facts[2]
    levels = np.array(
        [
            level - facts[0] + constants[d - windows.size],
            density.log_weight[:, None] - facts[1] + constants[windows.size],
            level - 0.5 * np.log(growth) + constants[d],
        ]
    )
    return Scan(density, components, cells, windows, constants, chains, given_rest, alone, levels, growth)


def likely_components(density: Density, rows: Floats) -> Booleans:
    """Tell which components (n, K) are the `MOST_LIKELY` for each row, by its observed cells one by one.

    A cell counts against a component by `MOST_AGAINST` nats at most, so that corrupted cells do not decide.
    """
    variance = np.diagonal(density.covariance, axis1=1, axis2=2)
    score = np.empty((len(rows), len(density.centre)))
    for k, centre in enumerate(density.centre):
        cells = -0.5 * (rows - centre) ** 2 / variance[k] - 0.5 * np.log(variance[k])
        score[:, k] = density.log_weight[k] + np.fmax(cells, -MOST_AGAINST).sum(axis=1, where=~np.isnan(rows))
    rank = (-score).argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
    return np.asarray(rank < (MOST_LIKELY if rows.shape[1] <= NARROW else MOST_LIKELY // 2))


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
    level, law = density.log_weight + density.log_det, Law(scan.constants, density.tail)
    density_arrays = density.centre, density.covariance, density.precision, density.log_weight, density.log_det
    chains = windows.order, windows.chain_start, windows.window_start, windows.size
    lanes = LANES if scan.chains else 1
    shape = n, len(density.centre)
    found = WindowEvidence(
        np.full((n, 3), -np.inf),
        np.full((n, 3), -1),
        np.full(shape, -np.inf),
        np.zeros(shape, np.int64),
        np.full(shape, -np.inf),
        np.zeros(shape, np.int64),
        np.zeros((n, d)),
        np.zeros(n),
    )

    def task(part: slice) -> None:
        for begin in range(part.start * lanes, min(part.stop * lanes, n), lanes):
            own = slice(begin, min(begin + lanes, n))
            if scan.chains:
                block = np.zeros((d, lanes))
                block[:, : own.stop - begin] = rows[own].T
                weighed = (*_quadratic_forms(scan, block), scan.levels)
            else:
                weighed = _empty_forms(len(level), d, len(windows.size))
                _row_forms(rows[begin], *density_arrays, law, *chains, *weighed)
            whole, force, forms, levels = weighed
            _best_windows(
                log_slope[own],
                whole,
                force,
                forms,
                levels,
                density.precision,
                level,
                law,
                windows.order,
                windows.first,
                windows.size,
                found.part(own),
            )

    for_chunks(task, -(-n // lanes), lanes * 3 * level.size * len(windows.size) * d, n_jobs)
    return found


def _empty_forms(n_components: int, d: int, n_windows: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Return memory for the form, forces, window forms and levels of one row."""
    shape = 3, n_components, n_windows
    return np.zeros((n_components, 1)), np.empty((n_components, d, 1)), np.empty((*shape, 1)), np.empty(shape)


@kernel
def _row_forms(
    row: Floats,
    centre: Floats,
    covariance: Floats,
    precision: Floats,
    log_weight: Floats,
    log_det: Floats,
    law: Law,
    order: Integers,
    chain_start: Integers,
    window_start: Integers,
    size: Integers,
    whole: Floats,
    force: Floats,
    forms: Floats,
    levels: Floats,
) -> None:
    """Fill what `_quadratic_forms` returns, and the levels, for one row: each chain is factorised for it alone."""
    d = len(row)
    away, r = np.empty(d), np.empty(d)
    upper, given_rest, alone = np.empty((d, d)), np.empty((2, d)), np.empty((2, d))
    for k in range(len(log_weight)):
        for j in range(d):
            away[j] = row[j] - centre[k, j]
            r[j] = 0.0
        for b in range(d):
            for a in range(d):
                r[a] += precision[k, b, a] * away[b]
        for j in range(d):
            whole[k, 0] += r[j] * away[j]
            force[k, j, 0] = r[j]
        for c in range(len(window_start) - 1):
            chain = order[chain_start[c] : chain_start[c + 1]]
            prefix_forms(precision[k], 1.0, r, chain, len(chain), upper, given_rest)
            prefix_forms(covariance[k], 1.0, away, chain, len(chain), upper, alone)
            information, total, at = 0.0, 0.0, 0
            for v in range(window_start[c], window_start[c + 1]):
                m = size[v]
                while at < m:
                    for b in range(at):
                        information += 2.0 * precision[k, chain[at], chain[b]]
                    information += precision[k, chain[at], chain[at]]
                    total += r[chain[at]]
                    at += 1
                growth = 1.0 + SHIFT * SHIFT * information
                forms[0, k, v, 0], forms[1, k, v, 0] = given_rest[0, m - 1], alone[0, m - 1]
                forms[2, k, v, 0] = SHIFT * SHIFT * total * total / growth
                level = log_weight[k] + log_det[k]
                levels[0, k, v] = level - given_rest[1, m - 1] + law.constants[d - m]
                levels[1, k, v] = log_weight[k] - alone[1, m - 1] + law.constants[m]
                levels[2, k, v] = level - 0.5 * math.log(growth) + law.constants[d]


@kernel
def _add_up(terms: Floats, sizes: Integers, first: int, sums: Floats) -> None:
    """Fill the sums (K, V, LANES) over the leading cells of terms (K, cells, LANES), for windows from ``first`` on."""
    for k in range(len(terms)):
        at = 0
        for v in range(len(sizes)):
            total = sums[k, first + v]
            for lane in range(terms.shape[2]):
                total[lane] = sums[k, first + v - 1, lane] if v > 0 else 0.0
            while at < sizes[v]:
                for lane in range(terms.shape[2]):
                    total[lane] += terms[k, at, lane]
                at += 1


def _quadratic_forms(scan: Scan, block: Floats) -> tuple[Floats, Floats, Floats]:
    """Return of a block of rows (d, LANES), for each component: form (K, LANES), force (K, d, LANES), window forms.

    The latter (3, K, V, LANES) are what the form loses without a window, the window's own form, and what it loses with
    a common shift.
    """
    density, windows = scan.density, scan.windows
    away = block - density.centre[:, :, None]
    force = density.precision @ away
    forms = np.empty((3, *scan.growth.shape, LANES))
    for c, chain in enumerate(scan.chains):
        first, sizes = windows.window_start[c], windows.size[windows.window_start[c] : windows.window_start[c + 1]]
        inside = force[:, chain]
        for i, product in enumerate((scan.given_rest[c] @ inside, scan.alone[c] @ away[:, chain])):
            _add_up(product * product, sizes, first, forms[i])
        _add_up(inside, sizes, first, forms[2])
    forms[2] *= forms[2] * (SHIFT * SHIFT / scan.growth)[:, :, None]
    return (force * away).sum(axis=1), force, forms


@kernel
def _best_windows(
    log_slope: Floats,
    whole: Floats,
    force: Floats,
    forms: Floats,
    levels: Floats,
    precision: Floats,
    level: Floats,
    law: Law,
    order: Integers,
    first: Integers,
    size: Integers,
    found: WindowEvidence,
) -> None:
    """Fill the evidence of a block of rows."""
    n, d = log_slope.shape
    constants, tail = law.constants, law.tail
    log_density, cells = found.log_density, found.cells
    n_components = len(level)
    terms = np.empty((3, n_components))
    for i in range(n):
        slopes = 0.0
        for j in range(d):
            slopes += log_slope[i, j]
        for k in range(n_components):
            terms[0, k] = student(level[k] + constants[d], d, whole[k, i], tail)
        log_density[i] = log_sum(terms[0])
        for j in range(d):
            for k in range(n_components):
                w = precision[k, j, j]
                at = level[k] - 0.5 * math.log(w) + constants[d - 1]
                terms[0, k] = student(at, d - 1, whole[k, i] - force[k, j, i] ** 2 / w, tail)
            cells[i, j] = log_sum(terms[0]) - log_density[i] + log_slope[i, j]
        for v in range(len(size)):
            noise = 0.0
            for a in range(size[v]):
                noise += log_slope[i, order[first[v] + a]]
            for k in range(n_components):
                terms[0, k] = student(levels[0, k, v], d - size[v], whole[k, i] - forms[0, k, v, i], tail)
                terms[1, k] = student(levels[1, k, v], size[v], forms[1, k, v, i], tail)
                terms[2, k] = student(levels[2, k, v], d, whole[k, i] - forms[2, k, v, i], tail)
                if terms[0, k] + noise > found.noise_odds[i, k]:
                    found.noise_odds[i, k], found.noise[i, k] = terms[0, k] + noise, v
                if terms[1, k] + slopes - noise > found.core_odds[i, k]:
                    found.core_odds[i, k], found.core[i, k] = terms[1, k] + slopes - noise, v
            rest = log_sum(terms[0]) - log_density[i]
            for kind in range(3):
                if kind == NOISE:
                    value = rest + noise
                elif kind == FOREIGN:
                    value = rest + log_sum(terms[1])
                else:
                    value = log_sum(terms[2]) - log_density[i]
                if value > found.values[i, kind]:
                    found.values[i, kind], found.window[i, kind] = value, v
