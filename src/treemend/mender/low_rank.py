"""Density of wide rows: a Student vector whose covariance is of low rank plus diagonal; nothing is d x d.

The covariance is F F' + diag(psi), F of d x r. With ``A = I + sum F_j F_j' / psi_j`` and ``b = sum F_j e_j / psi_j``,
both over the observed cells (e the row minus the centre),

- the quadratic form is ``sum e_j^2 / psi_j - b' A^-1 b``,
- half the log determinant of the precision ``-1/2 (sum log psi_j + log det A)``,
- a missing cell has mean ``centre_j + F_j' A^-1 b`` and scale ``psi_j + F_j' A^-1 F_j``.

Several components with centres of their own were tried, and fill hardly better.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from treemend.arrays import Booleans, Floats
from treemend.mender.density import RESOLUTION, TAIL, density_constants

RANKS = (2, 4, 8, 16, 32, 64)
ROWS_PER_RANK = 3
# No cell is explained by the factors beyond this share of its variance.
LEAST_NOISE = 0.002
# A rank is chosen by the likelihood of a third of this many cells: beyond, rows are left out.
CELLS_TO_CHOOSE = 2_000_000
MOST_TO_CHOOSE = 2_000
FEWEST_TO_CHOOSE = 300
# Rounds in which missing cells count as what the observed ones expect.
ROUNDS = 2
# Complete rows that are looked at together: always as many, so that a row's answer has the same bits in any company.
TOGETHER = 32


@dataclass(frozen=True)
class LowRankDensity:
    """One component over d coordinates."""

    centre: Floats  # d
    factor: Floats  # d x r
    noise: Floats  # d

    @cached_property
    def weighted(self) -> Floats:
        """The factors in units of the noise's variance (d, r)."""
        return self.factor / self.noise[:, None]

    @cached_property
    def gram(self) -> Floats:
        """``A`` of all cells (r, r)."""
        return np.asarray(np.eye(self.factor.shape[1]) + self.weighted.T @ self.factor)

    @cached_property
    def scoring(self) -> Floats:
        """What the scores of a complete row are its products with (d, r)."""
        return np.ascontiguousarray(np.linalg.solve(self.gram, self.weighted.T).T)

    def with_factor(self, factor: Floats) -> "LowRankDensity":
        """Return the density with a further factor (d,)."""
        return LowRankDensity(self.centre, np.column_stack([self.factor, factor]), self.noise)

    def of_rank(self, rank: int) -> "LowRankDensity":
        """Return the density with its leading factors; what others explained becomes noise."""
        lost = np.square(self.factor[:, rank:]).sum(axis=1)
        return LowRankDensity(self.centre, np.ascontiguousarray(self.factor[:, :rank]), self.noise + lost)


class _Given(NamedTuple):
    """The density on the observed cells of rows that have the same ones."""

    form: Floats  # n
    half: float  # half the log determinant
    root: Floats  # r x r: Cholesky factor of A
    scores: Floats  # r x n: A^-1 b


def choose_rank(rows: Floats, seed: int) -> int:
    """Choose the rank with the highest likelihood of the observed cells of a third of the rows."""
    n, d = rows.shape
    most = int(np.clip(CELLS_TO_CHOOSE // d, FEWEST_TO_CHOOSE, MOST_TO_CHOOSE))
    places = np.random.default_rng(seed).permutation(n)[:most]
    judging, learning = rows[places[::3]], rows[np.delete(places, np.s_[::3])]
    ranks = [rank for rank in RANKS if ROWS_PER_RANK * rank <= len(learning)] or [1]
    widest = learn_low_rank(learning, ranks[-1], seed)
    return max(ranks, key=lambda rank: log_density(widest.of_rank(rank), judging))


def learn_low_rank(rows: Floats, rank: int, seed: int) -> LowRankDensity:
    """Learn a density from rows with NaN where values are missing."""
    missing = np.isnan(rows)
    if not missing.any():
        return _fit(rows, np.zeros(rows.shape[1]), rank, seed)
    count = np.maximum((~missing).sum(axis=0), 1)
    mean = np.where(missing, 0.0, rows).sum(axis=0) / count
    variance = np.where(missing, 0.0, rows - mean) ** 2 / count
    filled, left_over = np.where(missing, mean, rows), np.where(missing, variance.sum(axis=0), 0.0)
    density = _fit(filled, left_over.mean(axis=0), rank, seed)
    for _ in range(ROUNDS):
        for i in np.flatnonzero(missing.any(axis=1)):
            expected, left, _ = fill_row(density, rows[i])
            filled[i] = np.where(missing[i], expected, rows[i])
            left_over[i] = left
        density = _fit(filled, left_over.mean(axis=0), rank, seed)
    return density


def fill_row(
    density: LowRankDensity, row: Floats, n_draws: int = 0, rng: np.random.Generator | None = None
) -> tuple[Floats, Floats, Floats]:
    """Return mean (d,) and variance (d,) of a row's gaps given the rest, and draws (n_draws, d); 0 outside of gaps."""
    gaps = np.isnan(row)
    given = _condition(density, ~gaps, row[None, ~gaps])
    n, form = len(row) - int(gaps.sum()), given.form[0]
    factor, noise = density.factor[gaps], density.noise[gaps]
    mean, variance, draws = np.zeros(len(row)), np.zeros(len(row)), np.zeros((n_draws, len(row)))
    mean[gaps] = density.centre[gaps] + factor @ given.scores[:, 0]
    scale = noise + np.square(solve_triangular(given.root, factor.T, lower=True)).sum(axis=0)
    variance[gaps] = scale * (TAIL + form) / (TAIL + n - 2.0)
    if rng is not None:
        scores = solve_triangular(given.root, rng.standard_normal((factor.shape[1], n_draws)), lower=True, trans="T")
        drawn = (factor @ scores).T + np.sqrt(noise) * rng.standard_normal((n_draws, len(noise)))
        draws[:, gaps] = mean[gaps] + drawn * np.sqrt((TAIL + form) / rng.chisquare(TAIL + n, (n_draws, 1)))
    return mean, variance, draws


def leftovers(density: LowRankDensity, row: Floats, kept: Booleans) -> tuple[Floats, float]:
    """Return what the factors leave of each cell (d,) when scores follow from the kept ones, and the scores' level.

    The latter is their log density, integrated over what the kept cells leave open.
    """
    given = _condition(density, kept, row[None, kept])
    scores = given.scores[:, 0]
    level = -0.5 * scores @ scores - np.log(np.diag(given.root)).sum()
    return row - density.centre - density.factor @ scores, float(level)


def leftovers_of_all(density: LowRankDensity, rows: Floats) -> tuple[Floats, Floats]:
    """Return what `leftovers` does for each of several rows (n, d), of which all observed cells are kept."""
    left, level = np.empty(rows.shape), np.empty(len(rows))
    incomplete = np.isnan(rows).any(axis=1)
    for i in np.flatnonzero(incomplete).tolist():
        left[i], level[i] = leftovers(density, rows[i], ~np.isnan(rows[i]))
    complete, half = np.flatnonzero(~incomplete), 0.5 * np.linalg.slogdet(density.gram)[1]
    for begin in range(0, len(complete), TOGETHER):
        own = complete[begin : begin + TOGETHER]
        away = np.zeros((TOGETHER, rows.shape[1]))
        away[: len(own)] = rows[own] - density.centre
        scores = away @ density.scoring
        left[own] = (away - scores @ density.factor.T)[: len(own)]
        level[own] = -0.5 * np.square(scores).sum(axis=1)[: len(own)] - half
    return left, level


def last_score(density: LowRankDensity, row: Floats) -> tuple[float, float]:
    """Return expectation and deviation of the last factor's score, given the observed cells of a row."""
    seen = ~np.isnan(row)
    given = _condition(density, seen, row[None, seen])
    widening = (TAIL + given.form[0]) / (TAIL + seen.sum())
    return float(given.scores[-1, 0]), float(np.sqrt(widening) / given.root[-1, -1])


def _fit(filled: Floats, left_over: Floats, rank: int, seed: int) -> LowRankDensity:
    """Return the leading factors of the deviations from the centre, in units of the noise that they leave."""
    from sklearn.utils.extmath import randomized_svd

    n, d = filled.shape
    centre = filled.mean(axis=0)
    away = filled - centre
    freedom = max(n - 1, 1)
    variance = np.square(away).sum(axis=0) / freedom + left_over + RESOLUTION**2
    noise = variance
    factor = np.zeros((d, 1))
    for _ in range(2):
        root = np.sqrt(noise)
        _, size, axes = randomized_svd(away / root, max(1, min(rank, n - 1, d)), n_iter=2, random_state=seed)
        factor = root[:, None] * axes.T * np.sqrt(np.maximum(np.square(size) / freedom - 1.0, 0.0))
        noise = np.maximum(variance - np.square(factor).sum(axis=1), LEAST_NOISE * variance)
    return LowRankDensity(centre, np.ascontiguousarray(factor), noise)


def _condition(density: LowRankDensity, seen: Booleans, values: Floats) -> _Given:
    """Condition on the observed cells ``seen`` (d,) of rows, whose values are (n, seen.sum())."""
    noise, lost = density.noise[seen], ~seen
    away = (values - density.centre[seen]).T
    gram = density.gram - density.weighted[lost].T @ density.factor[lost]
    root = np.asarray(np.linalg.cholesky(gram), np.float64)
    solved = solve_triangular(root, density.weighted[seen].T @ away, lower=True)
    form = np.maximum((away * away / noise[:, None]).sum(axis=0) - np.square(solved).sum(axis=0), 0.0)
    half = -0.5 * np.log(noise).sum() - np.log(np.diag(root)).sum()
    return _Given(form, half, root, solve_triangular(root, solved, lower=True, trans="T"))


def log_density(density: LowRankDensity, rows: Floats) -> float:
    """Return the log density of the observed cells of all rows together."""
    complete = ~np.isnan(rows).any(axis=1)
    constants = density_constants(rows.shape[1])
    total = 0.0
    for part in (rows[complete], *rows[~complete, None]):
        seen = ~np.isnan(part).any(axis=0)
        given = _condition(density, seen, part[:, seen])
        total += len(part) * (given.half + constants[seen.sum()])
        total -= 0.5 * (TAIL + seen.sum()) * np.log1p(given.form / TAIL).sum()
    return float(total)
