import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treemend.mender.columns import column_widths, learn_columns
from treemend.mender.density import log_density, make_density
from treemend.mender.fill_calibration import calibrate_filling
from treemend.mender.filling import conditional, fill
from treemend.mender.low_rank import (
    LowRankDensity,
    choose_low_rank,
    learn_low_rank,
    learn_low_rank_fold,
    low_rank_log_density,
)


def random_low_rank(n_components, d, rank, seed):
    rng = np.random.default_rng(seed)
    factor, noise = rng.normal(size=(d, rank)), rng.uniform(0.1, 1, d)
    core = np.eye(rank) + factor.T @ (factor / noise[:, None])
    log_det = -0.5 * (np.log(noise).sum() + np.linalg.slogdet(core)[1])
    weight = np.log(rng.dirichlet(np.ones(n_components)))
    return LowRankDensity(rng.normal(size=(n_components, d)), factor, noise, core, weight, log_det)


def as_full(density):
    """The same density with its covariance written out."""
    covariance = density.factor @ density.factor.T + np.diag(density.noise)
    return make_density(density.centre, np.repeat(covariance[None], len(density.centre), axis=0), density.log_weight)


def wide_rows(n, d, seed):
    """Smooth curves in two groups."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 1, d)
    waves = np.array([np.sin(np.pi * (k + 1) * t) for k in range(4)])
    group = rng.random(n) < 0.5
    return 0.1 * (rng.normal(size=(n, 4)) @ waves + group[:, None] * t + 0.1 * rng.normal(size=(n, d)))


@given(st.integers(1, 3), st.integers(2, 12), st.integers(1, 4), st.integers(0, 10**6), st.floats(0, 1))
@settings(max_examples=40, deadline=None)
def test_density_and_gaps_are_those_of_the_full_covariance(n_components, d, rank, seed, share):
    density = random_low_rank(n_components, d, rank, seed)
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(4, d))
    rows[rng.random(rows.shape) < share] = np.nan
    full = as_full(density)
    assert density.log_det == pytest.approx(full.log_det[0], abs=1e-8)
    assert low_rank_log_density(density, rows) == pytest.approx(log_density(full, rows), abs=1e-7)
    scale = np.full(d, 2.0)
    ours, theirs = conditional(density, scale, rows), conditional(full, scale, rows)
    for name in ("mean", "variance", "centre", "deviation", "mode"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), rel=1e-5, abs=1e-6), name


def test_toggles_of_the_docstring_keep_the_state():
    """The update of one cell leads to the state computed from scratch, out and back again."""
    density = random_low_rank(2, 9, 3, 0)
    row = np.random.default_rng(1).normal(size=9)
    factor, noise = density.factor, density.noise
    away = row - density.centre

    def state(kept):
        inverse = np.linalg.inv(np.eye(3) + factor[kept].T @ (factor[kept] / noise[kept, None]))
        scores = (away[:, kept] / noise[kept]) @ factor[kept] @ inverse
        form = (away[:, kept] ** 2 / noise[kept]).sum(axis=1) - np.einsum(
            "kr,rs,ks->k", scores, np.linalg.inv(inverse), scores
        )
        half = -0.5 * (np.log(noise[kept]).sum() - np.linalg.slogdet(inverse)[1])
        return inverse, scores, form, half

    kept = np.ones(9, bool)
    inverse, scores, form, half = state(kept)
    assert form == pytest.approx([(e @ np.linalg.solve(as_full(density).covariance[0], e)) for e in away])
    for j, sign in ((4, -1), (7, -1), (4, 1)):
        explained = np.einsum("ar,rs,as->a", factor, inverse, factor)
        expected = scores @ factor.T
        den = noise[j] + sign * explained[j]
        v = inverse @ factor[j]
        f = (away[:, j] - expected[:, j]) / den
        form = form + sign * (away[:, j] - expected[:, j]) * f
        half -= 0.5 * np.log(den if sign > 0 else den / noise[j] ** 2)
        inverse = inverse - sign * np.outer(v, v) / den
        scores = scores + sign * f[:, None] * v
        kept[j] = sign > 0
        for got, true in zip((inverse, scores, form, half), state(kept), strict=True):
            assert got == pytest.approx(true)


def test_draws_have_the_conditional_moments():
    density = random_low_rank(1, 6, 2, 3)
    row = np.array([[0.5, np.nan, np.nan, -1.0, np.nan, 0.3]])
    gap = np.isnan(row[0])
    law = conditional(density, np.full(6, 1e6), row, 30_000, 0)
    assert law.draws[:, 0, gap].mean(axis=0) == pytest.approx(law.centre[0, gap], abs=0.05)
    assert law.draws[:, 0, gap].std(axis=0) == pytest.approx(law.deviation[0, gap], rel=0.05)
    drawn = conditional(as_full(density), np.full(6, 1e6), row, 30_000, 0).draws[:, 0, gap]
    assert np.cov(law.draws[:, 0, gap].T) == pytest.approx(np.cov(drawn.T), abs=0.1 * np.cov(drawn.T).max())


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_wide_rows_are_learnt_and_filled(share):
    values = wide_rows(150, 700, 0)
    fresh, values = values[:50], values[50:]
    holed = np.where(np.random.default_rng(0).random(values.shape) < share, np.nan, values)
    columns = learn_columns(holed, np.arange(700))
    rows = columns.to_rows(holed)[0]
    shape = choose_low_rank(rows, 0)
    density, _ = learn_low_rank(rows, shape, 0)
    gaps = np.zeros(fresh.shape, bool)
    gaps[:, 200:400] = True
    filled = fill(density, columns, fresh, gaps)
    error = np.sqrt(np.square((filled.values - fresh)[gaps]).mean())
    assert error < 0.2 * np.sqrt(np.square((values.mean(axis=0) - fresh)[gaps]).mean())


def test_folds_and_calibration_of_wide_rows():
    values = wide_rows(260, 600, 1)
    fresh, values = values[:60], values[60:]
    order = np.arange(600)
    columns = learn_columns(values, order)
    rows = columns.to_rows(values)[0]
    shape = choose_low_rank(rows, 0)
    density, assignment = learn_low_rank(rows, shape, 0)
    fold = np.arange(200) % 4
    own = [learn_columns(values[fold != f], order, column_widths(values)) for f in range(4)]
    folds = [
        learn_low_rank_fold(shape, assignment, fold != f, own[f].to_rows(values[fold != f])[0], 0) for f in range(4)
    ]
    left_out = own[0].to_rows(values[fold == 0])[0]
    refit = learn_low_rank(own[0].to_rows(values[fold != 0])[0], shape, 0)[0]
    assert low_rank_log_density(folds[0], left_out).mean() == pytest.approx(
        low_rank_log_density(refit, left_out).mean(), rel=0.02
    )
    learnt = calibrate_filling(values, fold, own, folds, 0)
    assert learnt.softening == 0.0
    gaps = np.zeros(fresh.shape, bool)
    gaps[:, 100:300] = True
    filled = fill(density, columns, fresh, gaps, spread=learnt.spread)
    covered = np.abs(filled.values - fresh)[gaps] <= 1.2816 * filled.spread[gaps]
    assert covered.mean() == pytest.approx(0.8, abs=0.08)


def test_a_row_has_the_same_bits_in_any_company():
    density = random_low_rank(3, 40, 5, 1)
    rows = np.random.default_rng(0).normal(size=(20, 40))
    rows[5:, :7] = np.nan
    together = low_rank_log_density(density, rows)
    assert np.array_equal(together, np.concatenate([low_rank_log_density(density, row[None]) for row in rows]))
