"""Density of wide rows: Student vectors with one covariance of low rank plus diagonal; nothing is d x d.

The covariance F F' + diag(psi), F of d x r, is shared by all components, which differ in their centres. For a set of
kept cells let ``A = I + sum F_j F_j' / psi_j`` and ``b_k = sum F_j e_kj / psi_j`` (e_k the row minus the centre of
component k), both over the kept cells. Then, with C the inverse of A,

- quadratic form: ``q_k = sum e_kj^2 / psi_j - b_k' C b_k``,
- half the log determinant of the precision: ``ld = -1/2 (sum log psi_j + log det A)``,
- a cell that is not kept: mean ``centre_kj + F_j' C b_k``, scale ``psi_j + F_j' C F_j``.

State of a row for the search of sets: C (r x r) and ``t_a = F_a' C F_a`` (all components share them), ``m_k = C b_k``,
``g_ka = F_a' m_k``, q_k and ld. Toggling cell j, with s = -1 when it goes out and +1 when it comes back::

    den = psi_j + s t_j;  v = C F_j;  f_k = (e_kj - g_kj) / den
    q_k += s (e_kj - g_kj) f_k;  ld -= log(den) / 2   (back), ld -= log(den / psi_j^2) / 2   (out)
    C -= s v v' / den;  m_k += s v f_k;  t_a -= s (F_a' v)^2 / den;  g_ka += s (F_a' v) f_k

A block of cells B goes out or comes back at once by subtracting or adding ``sum F_j F_j' / psi_j`` and
``sum F_j e_kj / psi_j`` over B to A and b and solving again: O(|B| r^2 + r^3). Sums over windows are prefix sums.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from treemend.mender.compiled import kernel
from treemend.mender.conditional import factorise
from treemend.mender.density import SCALES, TAIL, Assignment, density_constants
from treemend.mender.moments import RESOLUTION, clusters

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

COMPONENTS = (1, 3, 8, 16)
RANKS = (2, 4, 8, 16, 32, 64)
SHRINKAGES = (0.002, 0.01, 0.05, 0.2, 0.5)
# No cell is explained by the factors beyond this share of its variance.
LEAST_NOISE = 0.002
ROWS_PER_COMPONENT = 20
ROWS_PER_RANK = 3
MOST_TO_CHOOSE = 2_000
ROUNDS = 3


@dataclass(frozen=True)
class LowRankShape:
    """What the likelihood of left-out rows chooses: ``shrinkage`` is the share of the factors that becomes noise."""

    n_components: int
    rank: int
    shrinkage: float
    scale: float = 1.0


@dataclass(frozen=True)
class LowRankDensity:
    """K components over d coordinates with one covariance; ``log_det`` is half the log determinant of the precision."""

    centre: Floats  # K x d
    factor: Floats  # d x r
    noise: Floats  # d
    core: Floats  # r x r: I + F' diag(1 / noise) F
    log_weight: Floats  # K
    log_det: float
    tail: float = TAIL


_NOTHING = np.empty((0, 0)), np.empty((0, 0))


@dataclass(frozen=True)
class _Fit:
    """Centres and weights of components, leading factors of what they leave over, and the columns' variances."""

    centre: Floats
    log_weight: Floats
    factor: Floats
    variance: Floats


def choose_low_rank(rows: Floats, seed: int) -> LowRankShape:
    """Choose the shape with the highest likelihood of the observed cells of a third of the rows."""
    n = len(rows)
    best, best_value = LowRankShape(1, RANKS[0], SHRINKAGES[-1]), -math.inf
    if n < ROWS_PER_RANK * RANKS[0]:
        return best
    places = np.random.default_rng(seed).permutation(n)[:MOST_TO_CHOOSE]
    judging, learning = rows[places[::3]], rows[np.delete(places, np.s_[::3])]
    ranks = [rank for rank in RANKS if ROWS_PER_RANK * rank <= len(learning)]
    for n_components in COMPONENTS:
        if n_components > 1 and n < ROWS_PER_COMPONENT * n_components:
            break
        start = LowRankShape(n_components, ranks[-1], 0.05)
        fit = _learn(learning, start, seed)[0]
        chosen, value = _choose(fit, [replace(start, rank=rank) for rank in ranks], judging)
        chosen, value = _choose(fit, [replace(chosen, shrinkage=shrinkage) for shrinkage in SHRINKAGES], judging)
        if value > best_value:
            best, best_value = chosen, value
        else:
            break
    return best


def _choose(fit: _Fit, shapes: list[LowRankShape], judging: Floats) -> tuple[LowRankShape, float]:
    best, best_value = shapes[0], -math.inf
    for shape in shapes:
        scale, value = _judge(_density(fit, replace(shape, scale=1.0)), judging)
        if value > best_value:
            best, best_value = replace(shape, scale=scale), value
    return best, best_value


def learn_low_rank(rows: Floats, shape: LowRankShape, seed: int) -> tuple[LowRankDensity, Assignment]:
    """Learn a density from rows with NaN where values are missing; also return which rows made which component."""
    fit, assignment = _learn(rows, shape, seed)
    return _density(fit, shape), assignment


def learn_low_rank_fold(
    shape: LowRankShape, assignment: Assignment, kept: Booleans, fold_rows: Floats, seed: int
) -> LowRankDensity:
    """Learn the density of a part of the rows in coordinates of its own, without clustering.

    Parameters
    ----------
    shape, assignment : LowRankShape, Assignment
        Of all rows.
    kept : (n,) bool
        Which of them make the part.
    fold_rows : (kept.sum(), d)
        The part in its own coordinates.
    seed : int
    """
    part = Assignment(assignment.share[kept], assignment.weight[kept])
    filled, extra = _with_means(fold_rows)
    fit = _moments(filled, extra, part, shape.rank, seed)
    if np.isnan(fold_rows).any():
        filled, extra = _expected(_density(fit, replace(shape, scale=1.0)), fold_rows)
        fit = _moments(filled, extra, part, shape.rank, seed)
    return _density(fit, shape)


def low_rank_log_density(density: LowRankDensity, rows: Floats) -> Floats:
    """Return the log density of the observed cells of each row; a row's bits do not depend on its company."""
    level, _ = _condition_rows(density, rows, *_NOTHING)
    top = level.max(axis=1)
    total = np.zeros(len(rows))
    for k in range(level.shape[1]):
        total += np.exp(level[:, k] - top)
    return np.asarray(top + np.log(total))


def _learn(rows: Floats, shape: LowRankShape, seed: int) -> tuple[_Fit, Assignment]:
    unscaled = replace(shape, scale=1.0)
    filled, extra = _with_means(rows)
    labels = clusters(filled, shape.n_components, seed)
    share = (labels[:, None] == np.unique(labels)).astype(np.float64)
    assignment = Assignment(share, share)
    fit = _moments(filled, extra, assignment, shape.rank, seed)
    for _ in range(ROUNDS - 1):
        density = _density(fit, unscaled)
        level, form = _expect(density, rows)
        observed = (rows.shape[1] - np.isnan(rows).sum(axis=1))[:, None]
        share = np.exp(level - logsumexp(level, axis=1, keepdims=True))
        assignment = Assignment(share, share * (density.tail + observed) / (density.tail + form))
        if np.isnan(rows).any():
            filled, extra = _expected(density, rows)
        fit = _moments(filled, extra, assignment, shape.rank, seed)
    return fit, assignment


def _with_means(rows: Floats) -> tuple[Floats, Floats]:
    """Rows with gaps at the columns' means, and the variance that adds to each column."""
    missing = np.isnan(rows)
    if not missing.any():
        return rows, np.zeros(rows.shape[1])
    count = np.maximum((~missing).sum(axis=0), 1)
    mean = np.where(missing, 0.0, rows).sum(axis=0) / count
    variance = (np.where(missing, 0.0, rows - mean) ** 2).sum(axis=0) / count
    return np.where(missing, mean, rows), variance * missing.mean(axis=0)


def _moments(filled: Floats, extra: Floats, assignment: Assignment, rank: int, seed: int) -> _Fit:
    """Weighted centres, and the leading factors of the deviations from them, in units of the noise left over."""
    from sklearn.utils.extmath import randomized_svd

    share, weight = assignment.share, assignment.weight
    centre = (weight.T @ filled) / np.maximum(weight.sum(axis=0), 1e-9)[:, None]
    # A row deviates from the mixture of the centres it belongs to: exact where rows belong to one component.
    away = filled - share @ centre
    away *= np.sqrt((share * weight).sum(axis=1) / np.maximum(np.square(share).sum(axis=1), 1e-9))[:, None]
    freedom = max(len(filled) - share.shape[1], 1)
    variance = np.square(away).sum(axis=0) / freedom + extra + RESOLUTION**2
    noise = variance
    rank = max(1, min(rank, len(filled) - 1, filled.shape[1]))
    factor = np.zeros((filled.shape[1], rank))
    for _ in range(2):
        root = np.sqrt(noise)
        _, size, axes = randomized_svd(away / root, rank, n_iter=2, random_state=seed)
        strength = np.maximum(np.square(size) / freedom - 1.0, 0.0)
        factor = root[:, None] * axes.T * np.sqrt(strength)
        noise = np.maximum(variance - np.square(factor).sum(axis=1), LEAST_NOISE * variance)
    return _Fit(centre, np.log(np.maximum(share.mean(axis=0), 1e-12)), factor, variance)


def _density(fit: _Fit, shape: LowRankShape) -> LowRankDensity:
    factor = math.sqrt(1 - shape.shrinkage) * fit.factor[:, : shape.rank]
    noise = np.maximum(fit.variance - np.square(factor).sum(axis=1), LEAST_NOISE * fit.variance)
    factor, noise = math.sqrt(shape.scale) * factor, shape.scale * noise
    core = np.eye(factor.shape[1]) + factor.T @ (factor / noise[:, None])
    log_det = -0.5 * float(np.log(noise).sum() + np.linalg.slogdet(core)[1])
    return LowRankDensity(fit.centre, np.ascontiguousarray(factor), noise, core, fit.log_weight, log_det)


def _judge(density: LowRankDensity, rows: Floats) -> tuple[float, float]:
    """Return the best scale of the covariance and the mean log density of the rows."""
    level, form = _expect(density, rows)
    observed = (rows.shape[1] - np.isnan(rows).sum(axis=1))[:, None]
    half = 0.5 * (TAIL + observed)
    level = level + half * np.log1p(form / TAIL)
    values = [
        logsumexp(level - 0.5 * observed * math.log(scale) - half * np.log1p(form / (TAIL * scale)), axis=1).mean()
        for scale in SCALES
    ]
    return SCALES[int(np.argmax(values))], float(np.max(values))


def _expect(density: LowRankDensity, rows: Floats) -> tuple[Floats, Floats]:
    """Log density and quadratic form of each row in each component (n x K); complete rows by matrix products."""
    complete = ~np.isnan(rows).any(axis=1)
    n, d = rows.shape
    level, form = np.empty((n, len(density.centre))), np.empty((n, len(density.centre)))
    some = rows if complete.all() else rows[complete]
    weighted = density.factor / density.noise[:, None]
    scores = some @ weighted
    at = density.log_weight + density_constants(d)[-1] + density.log_det
    for k, centre in enumerate(density.centre):
        b = scores - centre @ weighted
        q = np.square(some - centre) @ (1.0 / density.noise)
        q = np.maximum(q - (b * np.linalg.solve(density.core, b.T).T).sum(axis=1), 0.0)
        form[complete, k] = q
        level[complete, k] = at[k] - 0.5 * (density.tail + d) * np.log1p(q / density.tail)
    if not complete.all():
        level[~complete], form[~complete] = _condition_rows(density, rows[~complete], *_NOTHING)
    return level, form


def _expected(density: LowRankDensity, rows: Floats) -> tuple[Floats, Floats]:
    """Rows with gaps at their expectation, and the mean conditional variance of each column's gaps."""
    filled, variance = rows.copy(), np.zeros(rows.shape)
    _condition_rows(density, rows, filled, variance)
    return filled, variance.mean(axis=0)


def _condition_rows(density: LowRankDensity, rows: Floats, filled: Floats, variance: Floats) -> tuple[Floats, Floats]:
    shape = len(rows), len(density.centre)
    level, form = np.empty(shape), np.empty(shape)
    _condition(
        np.ascontiguousarray(rows),
        density.centre,
        density.factor,
        density.noise,
        density.core,
        density.log_weight,
        density_constants(rows.shape[1]),
        density.tail,
        level,
        form,
        filled,
        variance,
    )
    return level, form


@kernel
def condition_low_rank(
    row: Floats,
    centre: Floats,
    factor: Floats,
    noise: Floats,
    core: Floats,
    matrix: Floats,
    scores: Floats,
    column: Floats,
    form: Floats,
) -> tuple[int, float]:
    """Condition on the observed cells of a row.

    Writes the Cholesky factor of A to ``matrix`` (r x r), the expected scores C b_k to ``scores`` (K x r) and the
    quadratic forms to ``form`` (K); returns the number of observed cells and half the log determinant.
    """
    d, r = factor.shape
    n = 0
    for j in range(d):
        n += not np.isnan(row[j])
    few_gaps = 4 * (d - n) <= d
    matrix[:] = core if few_gaps else np.eye(r)
    total = 0.0
    for j in range(d):
        missing = np.isnan(row[j])
        if missing != few_gaps:
            continue
        sign = -1.0 / noise[j] if few_gaps else 1.0 / noise[j]
        total += math.log(noise[j])
        for a in range(r):
            f = sign * factor[j, a]
            for b in range(a + 1):
                matrix[a, b] += f * factor[j, b]
    half = factorise(matrix, r, column)
    if few_gaps:
        total = np.log(noise).sum() - total
    half = -half - 0.5 * total
    for k in range(len(centre)):
        q = 0.0
        for a in range(r):
            scores[k, a] = 0.0
        for j in range(d):
            if np.isnan(row[j]):
                continue
            e = row[j] - centre[k, j]
            f = e / noise[j]
            q += e * f
            for a in range(r):
                scores[k, a] += f * factor[j, a]
        for a in range(r):
            v = scores[k, a]
            for b in range(a):
                v -= matrix[a, b] * scores[k, b]
            scores[k, a] = v / matrix[a, a]
            q -= scores[k, a] * scores[k, a]
        for a in range(r - 1, -1, -1):
            v = scores[k, a]
            for b in range(a + 1, r):
                v -= matrix[b, a] * scores[k, b]
            scores[k, a] = v / matrix[a, a]
        form[k] = max(q, 0.0)
    return n, half


@kernel
def gap_scale(factor: Floats, noise: float, matrix: Floats, column: Floats) -> float:
    """Return the conditional scale of a cell that is not kept, given its line of F and the Cholesky factor of A."""
    total = noise
    for a in range(len(factor)):
        v = factor[a]
        for b in range(a):
            v -= matrix[a, b] * column[b]
        column[a] = v / matrix[a, a]
        total += column[a] * column[a]
    return total


@kernel
def _condition(
    rows: Floats,
    centre: Floats,
    factor: Floats,
    noise: Floats,
    core: Floats,
    log_weight: Floats,
    constants: Floats,
    tail: float,
    level: Floats,
    form: Floats,
    filled: Floats,
    variance: Floats,
) -> None:
    d, r = factor.shape
    matrix, column = np.empty((r, r)), np.empty(r)
    scores = np.empty((len(centre), r))
    for i in range(len(rows)):
        n, half = condition_low_rank(rows[i], centre, factor, noise, core, matrix, scores, column, form[i])
        for k in range(len(centre)):
            level[i, k] = log_weight[k] + constants[n] + half - 0.5 * (tail + n) * math.log1p(form[i, k] / tail)
        if n == d or len(filled) == 0:
            continue
        top = level[i].max()
        total = np.exp(level[i] - top).sum()
        for j in range(d):
            if not np.isnan(rows[i, j]):
                continue
            filled[i, j] = 0.0
            for k in range(len(centre)):
                v = centre[k, j]
                for a in range(r):
                    v += factor[j, a] * scores[k, a]
                filled[i, j] += math.exp(level[i, k] - top) / total * v
            variance[i, j] = gap_scale(factor[j], noise[j], matrix, column)
