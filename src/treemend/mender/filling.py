"""What most likely stood in a gap: the density of the missing cells given the observed ones.

Given its observed cells, a component of the density is again a Student vector over the gaps, so that mean, mode and
draws have closed forms. Each row is filled by itself in a fixed order of operations.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from treemend.arrays import Booleans, Floats, Integers
from treemend.mender.columns import Columns
from treemend.mender.compiled import kernel
from treemend.mender.conditional import COVARIANCE, VARIANCES, condition, factorise, split_cells
from treemend.mender.density import Density, expect_rows
from treemend.mender.low_rank import LowRankDensity, fill_row
from treemend.mender.spread import Spread, cut_gaps, learn_spread
from treemend.mender.swept import Mixture, largest

Imputation = Literal["mean", "mode", "draw"]
AnyDensity = Density | LowRankDensity

# Components behind the likeliest by more than this (in nats) do not count.
FAR_BEHIND = 14.0
# Rows that gaps are cut out of to learn the spread: enough cells for each column's factor, a second of work at most.
CELLS_CUT, MOST_CELLS_CUT = 64_000, 4_000_000
FEWEST_CUT, MOST_CUT = 400, 1_500


@dataclass(frozen=True)
class Filled:
    """Rows with their gaps filled, in the user's units and column order."""

    values: Floats  # (n, d), the rows; only gaps differ from what was given
    spread: Floats  # (n, d), standard deviation of a filled value; 0 outside of gaps
    draws: Floats  # (n_draws, n, d), rows with their gaps drawn from the conditional density


class FillOptions(NamedTuple):
    """What stands for a filled value, how many random completions there are beside it, and their seed."""

    imputation: Imputation = "mean"
    n_draws: int = 0
    seed: int = 0


USUAL = FillOptions()


class Conditional(NamedTuple):
    """Law of the gaps (n, d) given the rest, in coordinates and layout order; 0 outside of gaps."""

    mean: Floats
    variance: Floats
    mode: Floats  # conditional mean of the likeliest component
    draws: Floats  # (n_draws, n, d)


def fill(
    density: AnyDensity,
    columns: Columns,
    values: Floats,
    gaps: Booleans | None = None,
    *,
    spread: Spread | None = None,
    options: FillOptions = USUAL,
) -> Filled:
    """Fill what is missing or to be replaced in values (n, d), given the other cells of each row.

    What stands in ``gaps``, the cells to be replaced beside the missing ones, is not used. ``spread`` calibrates the
    standard deviations and the draws, which depend on the seed and the row alone. The imputation is the conditional
    mean of the mixture, in coordinates ("mean"), that of the likeliest component, which is feasible where a mean
    between two clusters is not ("mode"), or one draw.
    """
    missing: Booleans = np.isnan(values)
    gaps = missing if gaps is None else np.asarray(gaps | missing)
    rows, in_layout = columns.to_rows(np.where(gaps, np.nan, values))[0], gaps[:, columns.order]
    imputation, n_draws, seed = options
    (law,) = conditionals([(density, rows)], max(n_draws, int(imputation == "draw")), seed)
    one, many = (1.0, 1.0) if spread is None else spread.factors(in_layout)
    drawn = law.mean + many * (law.draws - law.mean)
    chosen = {"mean": law.mean, "mode": law.mode, "draw": drawn[0] if len(drawn) else law.mean}[imputation]
    found = columns.to_values(chosen, feasible=imputation != "mean")
    draws = columns.to_values(drawn[:n_draws], feasible=True)
    deviation = np.empty(values.shape)
    deviation[:, columns.order] = one * columns.slope(law.mean) * np.sqrt(law.variance)
    if spread is not None:
        deviation = np.where(np.all(gaps, axis=1, keepdims=True), spread.empty, deviation)
    return Filled(np.where(gaps, found, values), deviation, np.where(gaps, draws, values))


def take_back(
    columns: Columns,
    values: Floats,
    shifted: Booleans,
    rows: Integers,
    amounts: Floats,
    filled: Filled,
    options: FillOptions,
) -> None:
    """Write to ``filled`` the shifted cells (n, d) of some rows less the amount by which they were moved, in ranges.

    Columns are in their own order. ``amounts`` (2, rows) are these, and their deviations; NaN where nothing is known.
    """
    known, n_draws = np.isfinite(amounts[0]), len(filled.draws)
    (means, deviations), rows, drawn = amounts[:, known], rows[known], np.zeros((known.sum(), n_draws + 2))
    for i, row in enumerate(rows):
        drawn[i, 1:] = deviations[i] * _generator(values[row], options.seed).standard_normal(n_draws + 1)
    moved = (means[:, None] + drawn)[:, :, None] * columns.width
    found = np.clip(values[rows, None] - moved, columns.low, columns.high)
    feasible = columns.nearest_on_lattice(found)
    chosen = {"mean": found[:, 0], "mode": feasible[:, 0], "draw": feasible[:, -1]}[options.imputation]
    for i, row in enumerate(rows):
        own = shifted[row]
        filled.values[row, own], filled.spread[row, own] = chosen[i, own], (deviations[i] * columns.width)[own]
        filled.draws[:, row, own] = feasible[i, 1 : n_draws + 1, own].T


def calibrate_spread(
    values: Floats, fold: Integers, fillers: Sequence[tuple[AnyDensity, Columns]], seed: int
) -> Spread:
    """Learn from the errors of filling gaps cut out of reference rows (n, d), each by what its fold took no part in."""
    n, d = values.shape
    rng = np.random.default_rng(seed)
    n_cut = min(int(np.clip(CELLS_CUT // d, FEWEST_CUT, MOST_CUT)), max(1, MOST_CELLS_CUT // d))
    chosen = np.concatenate([rng.permutation(n) for _ in range(-(-n_cut // n))])[:n_cut]
    order = fillers[0][1].order
    gaps = np.empty((n_cut, d), bool)
    gaps[:, order] = cut_gaps(rng, n_cut, d)
    true, fold = values[chosen], fold[chosen]
    parts = [(np.flatnonzero(fold == number), *one) for number, one in enumerate(fillers)]
    holed, filled, deviation = np.where(gaps, np.nan, true), np.empty_like(true), np.empty_like(true)
    rows = [columns.to_rows(holed[own])[0] for own, _, columns in parts]
    laws = conditionals([(density, part) for part, (_, density, _) in zip(rows, parts, strict=True)])
    for (own, _, columns), law in zip(parts, laws, strict=True):
        filled[own] = columns.to_values(law.mean)
        deviation[np.ix_(own, order)] = columns.slope(law.mean) * np.sqrt(law.variance)
    return learn_spread(values, true, filled, deviation, gaps, order)


def conditionals(parts: Sequence[tuple[AnyDensity, Floats]], n_draws: int = 0, seed: int = 0) -> list[Conditional]:
    """Return the law of the missing cells of rows, each part by its density; draws depend on the seed and the row."""
    given = []
    for density, rows in parts:
        mean, variance, mode = np.zeros((3, *rows.shape))
        given.append((Conditional(mean, variance, mode, np.zeros((n_draws, *rows.shape))), density, rows))
    full = [(law, density, rows) for law, density, rows in given if isinstance(density, Density)]
    expected = [(density.mix, *expect_rows(density, rows)) for _, density, rows in full]
    for (law, density, rows), (mix, level, form) in zip(full, expected, strict=True):
        n, d = rows.shape
        share = np.exp(level - level.max(axis=1, keepdims=True))
        share[share < math.exp(-FAR_BEHIND)] = 0.0
        total = share.cumsum(axis=1)
        component, chi_square = np.empty((n, n_draws), np.int64), np.empty((n, n_draws))
        normal = np.empty((n, n_draws, d))
        for i in range(n if n_draws else 0):
            rng = _generator(rows[i], seed)
            component[i] = (rng.random((n_draws, 1)) * total[i, -1] >= total[i]).sum(axis=1)
            chi_square[i] = rng.chisquare(density.tail + d - np.isnan(rows[i]).sum(), n_draws)
            normal[i] = rng.standard_normal((n_draws, d))
        share /= total[:, -1:]
        _fill(rows, mix, density.tail, share, form, component, chi_square, normal, law)
    for law, low_rank, rows in [(law, one, rows) for law, one, rows in given if isinstance(one, LowRankDensity)]:
        for i in np.flatnonzero(np.isnan(rows).any(axis=1)).tolist():
            own = _generator(rows[i], seed) if n_draws else None
            law.mean[i], law.variance[i], law.draws[:, i] = fill_row(low_rank, rows[i], n_draws, own)
            law.mode[i] = law.mean[i]
    return [law for law, _, _ in given]


def _generator(row: Floats, seed: int) -> np.random.Generator:
    """Random numbers that depend on the row and the seed alone."""
    digest = hashlib.blake2b(np.ascontiguousarray(row + 0.0).tobytes(), digest_size=16).digest()
    return np.random.default_rng([seed, *np.frombuffer(digest, dtype=np.uint32).tolist()])


@kernel
def _fill(
    rows: Floats,
    mix: Mixture,
    tail: float,
    share: Floats,
    form: Floats,
    component: Integers,
    chi_square: Floats,
    normal: Floats,
    law: Conditional,
) -> None:
    d = rows.shape[1]
    centre, covariance, precision, _, _ = mix
    mean, variance, mode, draws = law
    places, expected, matrix = np.empty(d, np.int64), np.empty(d), np.empty((d, d))
    for i in range(len(rows)):
        n = split_cells(rows[i], places)
        best = largest(share[i])
        for k in range(len(centre)):
            if share[i, k] == 0.0 or n == d:
                continue
            wanted = VARIANCES
            for r in range(len(draws)):
                if component[i, r] == k:
                    wanted = COVARIANCE
            condition(rows[i], centre[k], covariance[k], precision[k], 0.0, places, n, wanted, expected, matrix)
            # Covariance of a Student vector with tail + n degrees of freedom.
            widening = (tail + form[i, k]) / (tail + n - 2.0)
            for a in range(d - n):
                j = places[n + a]
                expected[a] += centre[k, j]
                mean[i, j] += share[i, k] * expected[a]
                variance[i, j] += share[i, k] * (expected[a] * expected[a] + widening * matrix[a, a])
                if k == best:
                    mode[i, j] = expected[a]
            if wanted == COVARIANCE:
                factorise(matrix, d - n)
            for r in range(len(draws)):
                if component[i, r] != k:
                    continue
                root = math.sqrt((tail + form[i, k]) / chi_square[i, r])
                for a in range(d - n):
                    v = 0.0
                    for b in range(a + 1):
                        v += matrix[a, b] * normal[i, r, b]
                    draws[r, i, places[n + a]] = expected[a] + root * v
        for j in range(d):
            variance[i, j] = max(variance[i, j] - mean[i, j] * mean[i, j], 0.0)
