"""Evidence that something in a row was overwritten, for every row: the best window of each kind, and single cells.

Each window of a row is judged given the rest of the row, in three ways, as log odds against "clean": *noise* (uniform
over the columns' ranges), *foreign* (likely by itself, but not beside this rest), *shifted* (moved by a common amount).
Only observed cells count: rows with the same missing cells are judged together, by the density of the cells they have.

Rows are processed in blocks of one size, a row a lane, so that a row's evidence has the same bits in any company.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri

from treemend.arrays import Booleans, Floats, Integers
from treemend.mender.compiled import kernel
from treemend.mender.density import Density
from treemend.mender.layout import Layout
from treemend.mender.swept import Law, Mixture, eliminate, substitute
from treemend.mender.windows import NARROW, Cells, Windows, lay_patterns
from treemend.threads import for_parts

# Integers of NumPy: kernels are compiled for each literal of Python that others pass.
KEPT, NOISE, FOREIGN, SHIFTED, STUCK, SINGLE = cast(list[int], np.arange(-1, 5))
KINDS = ("noise", "foreign", "shifted", "stuck")
# Standard deviation of a common shift, in units of a column's range.
SHIFT = 0.3
# Rows that are weighed at once; fewer of those with missing values, of which few have the same ones.
LANES, LANES_OF_INCOMPLETE = 64, 8
# Rows with missing values are judged by this many components, half of them in rows that are not narrow: factors are
# worked out for each pattern of gaps. `python -m benchmarks.end_to_end` measures the time.
MOST_LIKELY, MOST_AGAINST = 4, 4.0


@dataclass(frozen=True)
class Factors:
    """What is factorised beforehand for complete rows.

    ``given_rest`` and ``alone`` hold, for each chain, the inverse Cholesky factors (K, L, L) of its block of the
    precision and of the covariance; ``levels`` (3, K, V) what a window adds to the log density: without it, alone, and
    with a common shift; ``growth`` (K, V) how much a shift widens the quadratic form.
    """

    chains: list[Integers | slice]
    given_rest: list[Floats]
    alone: list[Floats]
    levels: Floats
    growth: Floats


@dataclass(frozen=True)
class Scan:
    """All that does not depend on the row: the density of some observed cells, and their windows.

    ``components`` tells which ones of all the density has; ``members`` (V, d) is 1 where a cell is in a window, 0
    elsewhere; ``lanes`` rows are weighed at once. Each pattern of gaps has few rows, and no factors.
    """

    density: Density
    components: Booleans
    cells: Cells
    windows: Windows
    members: Floats
    factors: Factors | None
    lanes: int


class WindowEvidence(NamedTuple):
    """Of n rows: the most evidence for noise, foreign and shifted, where, and the evidence of each cell."""

    values: Floats  # n x 3: log odds of the best window
    window: Integers  # n x 3: its number in the `Scan`
    noise_odds: Floats  # n x K: for each component, the largest log density with a window of noise
    noise: Integers  # n x K: the number of that window
    cells: Floats  # n x d: log odds of each cell by itself being noise; 0 where missing
    log_density: Floats  # n: of the observed cells

    def part(self, rows: Any) -> "WindowEvidence":
        """Return the evidence of some rows; that of a slice may be written to."""
        return WindowEvidence(*(cast(Any, array[rows]) for array in self))


def no_evidence(n: int, d: int, n_components: int) -> WindowEvidence:
    """Return the evidence of n rows that were not weighed."""
    kinds, components = (n, 3), (n, n_components)
    odds, noise_odds, noise = np.full(kinds, -np.inf), np.full(components, -np.inf), np.zeros(components, np.int64)
    return WindowEvidence(odds, np.full(kinds, -1), noise_odds, noise, np.zeros((n, d)), np.zeros(n))


def prepare_scans(layout: Layout, patterns: Sequence[tuple[Density, Booleans, Booleans]]) -> list[Scan]:
    """Work out what does not depend on the row where some cells (d,) are observed and some components (K,) count."""
    laid = lay_patterns(layout, [observed for _, observed, _ in patterns])
    known, scans = [], []
    for density, observed, components in patterns:
        part = density if observed.all() else density.restrict(observed, components)
        known.append((part, part.mix, part.law))
    for (part, mix, law), (_, observed, components), lying in zip(known, patterns, laid, strict=True):
        factorised = observed.all() and len(lying[1].size)
        factors, lanes = (_factorise(mix, law, *lying[1:]), LANES) if factorised else (None, LANES_OF_INCOMPLETE)
        scans.append(Scan(part, components, *lying, factors, lanes))
    return scans


def _factorise(mix: Mixture, law: Law, windows: Windows, members: Floats) -> Factors:
    n_components, d = mix.centre.shape
    constants = law.constants
    chains = [_as_slice(windows.order[start:stop]) for start, stop in pairwise(windows.chain_start)]
    lengths = np.diff(windows.chain_start)
    given_rest, alone = ([np.zeros((n_components, length, length)) for length in lengths] for _ in range(2))
    halves = np.empty((2, n_components, len(windows.size)))
    for c, chain in enumerate(chains):
        here = slice(windows.window_start[c], windows.window_start[c + 1])
        for i, (matrices, factors) in enumerate(((mix.precision, given_rest), (mix.covariance, alone))):
            pivots = np.empty((n_components, lengths[c]))
            for k, matrix in enumerate(matrices):
                factor = dpotrf(matrix[chain][:, chain], lower=1, clean=1)[0]
                pivots[k] = factor.diagonal()
                factors[c][k] = dtrtri(factor, lower=1)[0]
            halves[i, :, here] = np.log(pivots).cumsum(axis=1)[:, windows.size[here] - 1]
    information = (members @ mix.precision * members).sum(axis=2)
    level, growth = (mix.log_weight + mix.log_det)[:, None], 1.0 + SHIFT * SHIFT * information
    levels = np.array(
        [
            level - halves[0] + constants[d - windows.size],
            mix.log_weight[:, None] - halves[1] + constants[windows.size],
            level - 0.5 * np.log(growth) + constants[d],
        ]
    )
    return Factors(chains, given_rest, alone, levels, growth)


def _as_slice(cells: Integers) -> Integers | slice:
    """Return what selects the cells, without a copy if they are adjacent."""
    first, last = cells[0], cells[-1]
    return slice(first, last + 1) if np.array_equal(cells, np.arange(first, last + 1)) else cells


def likely_components(density: Density, rows: Floats) -> Booleans:
    """Tell which components (n, K) are the `MOST_LIKELY` for each row, by its observed cells one by one.

    A cell counts against a component by `MOST_AGAINST` nats at most, so that corrupted cells do not decide.
    """
    variance = np.diagonal(density.mix.covariance, axis1=1, axis2=2)
    score = np.empty((len(rows), len(density.centre)))
    for k, centre in enumerate(density.centre):
        cells = -0.5 * (rows - centre) ** 2 / variance[k] - 0.5 * np.log(variance[k])
        score[:, k] = density.log_weight[k] + np.fmax(cells, -MOST_AGAINST).sum(axis=1, where=~np.isnan(rows))
    rank = (-score).argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
    return np.asarray(rank < (MOST_LIKELY if rows.shape[1] <= NARROW else MOST_LIKELY // 2))


def window_evidence(parts: Sequence[tuple[Scan, Floats, Floats]], n_jobs: int | None) -> list[WindowEvidence]:
    """Weigh every window of rows; each part has a scan, coordinates of its cells, and log densities of noise."""
    every = [no_evidence(len(rows), rows.shape[1], len(scan.density.centre)) for scan, rows, _ in parts]
    n_blocks = [-(-len(rows) // scan.lanes) for scan, rows, _ in parts]
    sizes = [scan.lanes * len(scan.density.centre) * scan.members.size for scan, _, _ in parts]

    def task(number: int, blocks: slice) -> None:
        scan, rows, log_slope = parts[number]
        for begin in range(blocks.start * scan.lanes, min(blocks.stop * scan.lanes, len(rows)), scan.lanes):
            own = slice(begin, min(begin + scan.lanes, len(rows)))
            block = np.zeros((2, rows.shape[1], scan.lanes))
            block[:, :, : own.stop - begin] = rows[own].T, log_slope[own].T
            forms = _quadratic_forms(scan, scan.factors, block[0]) if scan.factors else _row_forms(scan, rows[own])
            _best_windows(scan, block[1], *forms, every[number].part(own))

    for_parts(task, n_blocks, 3 * max(sizes, default=1), n_jobs)
    return every


def _row_forms(scan: Scan, rows: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return what `_quadratic_forms` does, for some rows (n, c): each chain is factorised for them, not beforehand."""
    shape = 3, len(scan.density.centre), len(scan.windows.size)
    found = (
        np.zeros((shape[1], scan.lanes)),
        np.zeros((shape[1], rows.shape[1], scan.lanes)),
        np.zeros((*shape, scan.lanes)),
        np.empty(shape),
    )
    _fill_row_forms(rows, scan.density.mix, scan.density.law, scan.windows, *found)
    return found


@kernel
def _fill_row_forms(
    rows: Floats, mix: Mixture, law: Law, windows: Windows, whole: Floats, force: Floats, forms: Floats, levels: Floats
) -> None:
    """Fill what `_row_forms` returns."""
    n, d = rows.shape
    centre, covariance, precision, log_weight, log_det = mix
    order, size, constants = windows.order, windows.size, law.constants
    chain_start, window_start = windows.chain_start, windows.window_start
    away, r, half = np.empty((n, d)), np.empty((n, d)), np.empty((2, d))
    works, given_rest, alone = np.empty((2, d + 1, d)), np.empty((n, d)), np.empty((n, d))
    for k in range(len(log_weight)):
        for i in range(n):
            for j in range(d):
                away[i, j] = rows[i, j] - centre[k, j]
                r[i, j] = 0.0
            for b in range(d):
                for a in range(d):
                    r[i, a] += precision[k, b, a] * away[i, b]
            for j in range(d):
                whole[k, i] += r[i, j] * away[i, j]
                force[k, j, i] = r[i, j]
        for c in range(len(window_start) - 1):
            chain = order[chain_start[c] : chain_start[c + 1]]
            eliminate(precision[k], 1.0, chain, len(chain), works[0], half[0])
            eliminate(covariance[k], 1.0, chain, len(chain), works[1], half[1])
            for i in range(n):
                substitute(r[i], chain, len(chain), works[0], given_rest[i])
                substitute(away[i], chain, len(chain), works[1], alone[i])
            information, at = 0.0, 0
            for v in range(window_start[c], window_start[c + 1]):
                m = size[v]
                while at < m:
                    for b in range(at):
                        information += 2.0 * precision[k, chain[at], chain[b]]
                    information += precision[k, chain[at], chain[at]]
                    at += 1
                growth = 1.0 + SHIFT * SHIFT * information
                level = log_weight[k] + log_det[k]
                levels[0, k, v] = level - half[0, m - 1] + constants[d - m]
                levels[1, k, v] = log_weight[k] - half[1, m - 1] + constants[m]
                levels[2, k, v] = level - 0.5 * math.log(growth) + constants[d]
                for i in range(n):
                    total = 0.0
                    for a in range(m):
                        total += r[i, chain[a]]
                    forms[0, k, v, i], forms[1, k, v, i] = given_rest[i, m - 1], alone[i, m - 1]
                    forms[2, k, v, i] = SHIFT * SHIFT * total * total / growth


def _quadratic_forms(scan: Scan, factors: Factors, block: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return of a block of rows (d, LANES), for each component: form (K, LANES), force (K, d, LANES), window forms.

    The latter (3, K, V, LANES) are what the form loses without a window, the window's own form, and what it loses with
    a common shift. Last, the levels.
    """
    density, windows = scan.density, scan.windows
    away = block - density.centre[:, :, None]
    force = density.mix.precision @ away
    forms = np.empty((3, *factors.growth.shape, LANES))
    for c, chain in enumerate(factors.chains):
        here = slice(windows.window_start[c], windows.window_start[c + 1])
        inside = scan.members[here][:, chain]
        for i, (factor, part) in enumerate(
            ((factors.given_rest[c], force[:, chain]), (factors.alone[c], away[:, chain]))
        ):
            product, half = np.empty(part.shape), part.shape[1] // 2
            # The factor is a lower triangle: its upper half has nothing to say of the second half of the chain.
            np.matmul(factor[:, :half, :half], part[:, :half], out=product[:, :half])
            np.matmul(factor[:, half:], part, out=product[:, half:])
            product *= product
            forms[i, :, here] = inside @ product
    forms[2] = np.square(scan.members @ force) * (SHIFT * SHIFT / factors.growth)[:, :, None]
    return (force * away).sum(axis=1), force, forms, factors.levels


def _best_windows(
    scan: Scan, log_slope: Floats, whole: Floats, force: Floats, forms: Floats, levels: Floats, found: WindowEvidence
) -> None:
    """Fill the evidence of a block of rows, of which log slopes (d, LANES), forms and levels are given."""
    density, (d, _), (n, _) = scan.density, log_slope.shape, found.values.shape
    level, constants, size = (
        (density.log_weight + density.mix.log_det)[:, None],
        density.law.constants,
        scan.windows.size,
    )
    log_density = log_sum(_student(level + constants[d], d, whole, density.tail))
    pivot = np.diagonal(density.mix.precision, axis1=1, axis2=2)[:, :, None]
    at = level[:, None] - 0.5 * np.log(pivot) + constants[d - 1]
    cells = log_sum(_student(at, d - 1, whole[:, None] - force * force / pivot, density.tail))
    found.log_density[:] = log_density[:n]
    found.cells[:] = (cells - log_density + log_slope)[:, :n].T
    if not len(size):
        return
    noise = scan.members @ log_slope
    without, alone, shifted = (
        _student(levels[kind, :, :, None], kept[:, None], form, density.tail)
        for kind, (kept, form) in enumerate(
            ((d - size, whole[:, None] - forms[0]), (size, forms[1]), (np.full(1, d), whole[:, None] - forms[2]))
        )
    )
    rest = log_sum(without) - log_density
    kinds = np.array([rest + noise, rest + log_sum(alone), log_sum(shifted) - log_density])
    for best, window, values in (
        (found.values, found.window, kinds),
        (found.noise_odds, found.noise, without + noise),
    ):
        best[:] = values.max(axis=1)[:, :n].T
        window[:] = values.argmax(axis=1)[:, :n].T


def _student(level: Floats, kept: Any, form: Floats, tail: float) -> Floats:
    """Return log densities of so many cells, as `swept.student` does."""
    found = np.maximum(form, 0.0)
    found /= tail
    found += 1.0
    np.log(found, out=found)
    found *= -0.5 * (tail + kept)
    found += level
    return found


def log_sum(terms: Floats) -> Floats:
    """Return the log of the sum of exponentials over the first axis."""
    top = terms.max(axis=0)
    return np.asarray(top + np.log(np.exp(terms - top).sum(axis=0)))
