"""Rows of more than 512 columns, and the formulas that find their cells."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal, t

from treemend import Mender, load
from treemend.exceptions import ModelFileError
from treemend.mender.evidence import FOREIGN, NOISE, SHIFT, SHIFTED, STUCK
from treemend.mender.layout import Layout
from treemend.mender.low_rank import LowRankDensity, last_score, leftovers
from treemend.mender.wide import lay_blocks
from treemend.mender.wide_sets import Residuals, WideRow, WideSet, _fill_chain, find_set, learn_residuals
from treemend.mender.windows import run_prior
from treemend.synthetic import corrupt, scattered_masks, stretch_masks, waves

NEARLY_NORMAL = 1e7


def smooth_rows(n, d, seed):
    rng = np.random.default_rng(seed)
    basis = np.array([np.sin(np.pi * (k + 1) * np.linspace(0, 1, d)) / (k + 1) for k in range(6)])
    return 0.5 + 0.12 * rng.normal(size=(n, 6)) @ basis + 0.01 * rng.normal(size=(n, d))


def wide_row(density, law, row, log_slope):
    return WideRow(density, law, row, log_slope, leftovers(density, row, ~np.isnan(row)))


def random_row(d, seed):
    """A row under a low-rank density, of which what is left is nearly normal, with the variances of its noise."""
    rng = np.random.default_rng(seed)
    density = LowRankDensity(rng.normal(size=d), rng.normal(size=(d, 2)), rng.uniform(0.1, 1, d))
    law = Residuals(np.sqrt(density.noise), NEARLY_NORMAL)
    return wide_row(density, law, rng.normal(size=d), rng.uniform(0, 1, d)), rng


def normal_logpdf(row, cells, moved=()):
    density = row.density
    covariance = density.factor @ density.factor.T + np.diag(density.noise)
    if len(moved):
        covariance += np.outer(moved, moved)
    return multivariate_normal(density.centre[cells], covariance[np.ix_(cells, cells)]).logpdf(row.row[cells])


@given(st.integers(3, 9), st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_log_odds_of_sets_are_those_of_normal_vectors(d, seed):
    row, rng = random_row(d, seed)
    out = rng.permutation(np.arange(d) < rng.integers(1, d))
    every = np.ones(d, bool)
    prior = run_prior(d)[out.sum(), np.diff(out.astype(int), prepend=0).clip(0).sum()]
    kept, clean = normal_logpdf(row, ~out), normal_logpdf(row, every)
    moved = SHIFT * np.exp(-row.log_slope) * out
    expected = {
        NOISE: kept + row.log_slope[out].sum(),
        FOREIGN: kept + normal_logpdf(row, out),
        SHIFTED: normal_logpdf(row, every, moved),
    }
    for kind, value in expected.items():
        assert row.weigh(out, kind).odds == pytest.approx(value - clean + prior, rel=1e-4, abs=1e-4)


@given(st.integers(2, 8), st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_the_chain_finds_the_best_of_all_sets(d, seed):
    rng = np.random.default_rng(seed)
    gains, (enter, leave) = rng.normal(0, 3, d), rng.uniform(0, 4, 2)

    def value(out):
        runs = np.diff(np.array(out, int), prepend=0).clip(0).sum()
        return gains @ np.array(out, float) - enter * runs - leave * (runs - out[-1])

    found = np.empty(d, bool)
    _fill_chain(gains, enter, leave, found)
    assert value(found) == pytest.approx(max(value(out) for out in product((False, True), repeat=d)))


def test_missing_cells_are_neither_out_nor_do_they_count():
    row, _ = random_row(40, 0)
    values = np.where(np.arange(40) % 3 == 0, np.nan, row.row)
    gap = wide_row(row.density, row.law, values, np.where(np.isnan(values), 0.0, row.log_slope))
    found, kind = find_set(gap, np.zeros(40, bool), -1)
    assert kind == NOISE
    assert not (found.out & np.isnan(values)).any()
    assert not found.cells[np.isnan(values)].any()


def test_far_cells_are_found_and_nothing_is_found_in_clean_rows():
    row, rng = random_row(60, 3)
    scores = rng.normal(size=2)
    clean = row.density.centre + row.density.factor @ scores + np.sqrt(row.density.noise) * rng.normal(size=60)
    unlikely = np.full(60, -4.0)  # columns range over some 50 units
    assert not find_set(wide_row(row.density, row.law, clean, unlikely), np.zeros(60, bool), -1)[0].out.any()
    far = np.isin(np.arange(60), (3, 17, 18, 50))
    bad = wide_row(row.density, row.law, np.where(far, clean + 30, clean), unlikely)
    found = find_set(bad, np.zeros(60, bool), -1)[0]
    assert isinstance(found, WideSet)
    assert np.array_equal(found.out, far)
    assert found.odds > 100


def test_a_set_of_blocks_may_be_foreign_or_stuck():
    row, rng = random_row(60, 4)
    density = row.density
    one, other = (density.centre + density.factor @ rng.normal(size=2) * 3 for _ in range(2))
    noise = np.sqrt(density.noise) * rng.normal(size=60)
    out = (np.arange(60) >= 10) & (np.arange(60) < 40)
    mixed = wide_row(density, row.law, np.where(out, other, one) + noise, np.full(60, -4.0))
    assert find_set(mixed, out, FOREIGN)[1] == FOREIGN
    found, kind = find_set(mixed, out, STUCK)
    assert kind == STUCK
    assert np.array_equal(found.out, out)


def test_what_factors_leave_is_learnt():
    scale = np.linspace(0.05, 0.5, 30)
    left = scale * t.rvs(4, size=(4000, 30), random_state=0)
    left[:100, 3] = np.nan
    law = learn_residuals(left)
    assert law.tail == 4.0
    assert law.scale == pytest.approx(scale, rel=0.1)
    x = np.linspace(-1, 1, 30)
    assert law.log_density(x) == pytest.approx(t.logpdf(x, law.tail, scale=law.scale))


def test_leftovers_and_the_last_score_are_those_of_regression():
    row, rng = random_row(12, 5)
    kept = rng.random(12) < 0.7
    density, away = row.density, row.row - row.density.centre
    weights = np.diag(kept / density.noise)
    precision = np.eye(2) + density.factor.T @ weights @ density.factor
    scores = np.linalg.solve(precision, density.factor.T @ weights @ away)
    left, level = leftovers(density, row.row, kept)
    assert left == pytest.approx(away - density.factor @ scores)
    assert level == pytest.approx(-0.5 * scores @ scores - 0.5 * np.linalg.slogdet(precision)[1])
    mean, deviation = last_score(density, np.where(kept, row.row, np.nan))
    assert mean == pytest.approx(scores[-1])
    q = away[kept] @ np.linalg.solve(
        (density.factor @ density.factor.T + np.diag(density.noise))[kept][:, kept], away[kept]
    )
    assert deviation**2 == pytest.approx(np.linalg.inv(precision)[-1, -1] * (6 + q) / (6 + kept.sum()))


def test_blocks_keep_equal_values_equal_where_ranges_are_alike():
    values = np.random.default_rng(0).random((50, 1024))
    blocks, layout = lay_blocks(values, Layout(np.arange(1024)))
    for value in (0.0, 0.3):
        assert np.ptp(blocks.reduce(np.full((1, 1024), value))) <= 1e-9 * value
    unlike, _ = lay_blocks(values * 10.0 ** (np.arange(1024) % 5), Layout(np.arange(1024)))
    assert unlike.unit.max() > 1000 * unlike.unit.min()
    missing = np.full((1, 1024), np.nan)
    missing[0, 1] = 2.0
    assert np.flatnonzero(~np.isnan(blocks.reduce(missing))).tolist() == [0]
    assert len(layout.order) == 256
    levels = 1e9 + 50.0 * np.arange(1024)
    blocks, _ = lay_blocks(levels + values, Layout(np.arange(1024)))
    row = (levels + values[0])[None]
    holed = np.where(np.arange(1024) % 4 == 1, np.nan, row)
    assert np.abs(blocks.reduce(holed) - blocks.reduce(row)).max() < 1


@pytest.fixture(scope="module")
def fitted():
    rows = smooth_rows(260, 700, 0)
    return Mender(n_jobs=1).fit(rows[:200]), rows[200:]


@pytest.mark.parametrize("shape", ["scattered", "one stretch", "three stretches"])
def test_noise_is_found_column_by_column(fitted, shape):
    mender, true = fitted
    rng = np.random.default_rng(1)
    count = {"one stretch": 1, "three stretches": 3}.get(shape)
    mask = stretch_masks(*true.shape, rng=rng, count=count) if count else scattered_masks(*true.shape, 0.05, rng=rng)
    mended = mender.mend(corrupt("noise", true, mask, rng=rng), on_drift="repair")
    found = np.asarray(mended.mask)
    assert 2 * (found & mask).sum() / (found.sum() + mask.sum()) > 0.93
    assert np.abs(np.asarray(mended.repaired) - true).mean() < 0.02


def test_shifts_are_taken_back_and_stuck_runs_have_exact_borders(fitted):
    mender, true = fitted
    mask = stretch_masks(*true.shape, rng=2, longest=0.3)
    moved = mender.mend(corrupt("offset", true, mask, rng=3), on_drift="repair")
    assert np.abs(np.asarray(moved.repaired) - true)[mask].mean() < 0.06
    stuck = mender.mend(corrupt("stuck", true, mask, rng=3), on_drift="repair")
    found = np.asarray(stuck.mask)[np.asarray(stuck.corrupted)]
    assert np.asarray(stuck.corrupted).mean() > 0.9
    assert (found != mask[np.asarray(stuck.corrupted)]).mean() < 0.01


@pytest.mark.parametrize("share", [0.02, 0.1])
def test_scattered_missing_columns_make_no_row_unusual_and_hide_no_stretch(share):
    rng = np.random.default_rng(1)
    mender, clean = Mender(n_jobs=1).fit(waves(300, 600, rng=rng)), waves(60, 600, rng=rng)
    bad = clean.copy()
    bad[:, 100:300] = rng.uniform(-2, 2, (60, 200))
    lost = rng.random(clean.shape) < share
    clean[lost], bad[lost] = np.nan, np.nan
    mended = mender.mend(clean, on_drift="repair")
    assert mended.unusual.mean() <= 0.05
    assert mended.corrupted.mean() <= 0.1
    assert mender.mend(bad, on_drift="repair").corrupted.mean() > 0.6


def test_missing_columns_are_filled_and_never_called_corrupted():
    rng = np.random.default_rng(1)
    mender, rows = Mender(n_jobs=1).fit(waves(150, 600, rng=rng)), waves(40, 600, rng=rng)
    rows[:20, 100:300] = 0.3
    rows[rng.random(rows.shape) < 0.02] = np.nan
    mended = mender.mend(rows, on_drift="repair")
    assert mended.corrupted[:20].any()
    assert not (mended.mask & mended.missing).any()
    assert np.isfinite(mended.repaired).all()


def test_wide_rows_that_were_moved_as_a_whole_are_left_alone(fitted):
    mender, true = fitted
    width = np.ptp(smooth_rows(200, 700, 0), axis=0)
    for amount in (0.3, 1.0, 3.0):
        mended = mender.mend(true + amount * width, on_drift="repair")
        assert mended.unusual.all()
        assert not mended.corrupted.any()


def test_a_wide_row_has_the_same_answer_in_any_company(fitted):
    mender, true = fitted
    bad = corrupt("noise", true, scattered_masks(*true.shape, 0.03, rng=4), rng=4)
    bad[::5, :40] = np.nan
    together = mender.mend(bad, on_drift="repair")
    for i in range(0, len(bad), 7):
        alone = mender.mend(bad[[i]], on_drift="repair")
        assert np.array_equal(np.asarray(alone.repaired)[0], np.asarray(together.repaired)[i])
        assert alone.p_values[0] == together.p_values[i]


def test_squares_and_pixels_of_colour_images():
    rng = np.random.default_rng(0)
    height, width, channels = 16, 16, 3
    y, x = np.mgrid[:height, :width] / 16
    waves = np.array([np.cos(a * x + b * y) for a in range(3) for b in range(3)]).reshape(9, -1)
    rows = 0.5 + 0.05 * np.repeat(rng.normal(size=(250, 9)) @ waves, channels, axis=1)
    rows += 0.01 * rng.normal(size=rows.shape)
    true, mask = rows[200:], np.zeros((50, height, width, channels), bool)
    for one, top, left in zip(mask, rng.integers(0, 9, 50), rng.integers(0, 9, 50), strict=True):
        one[top : top + 7, left : left + 7] = True
    mask = mask.reshape(50, -1)
    mender = Mender(layout=(height, width, channels), n_jobs=1).fit(rows[:200])
    found = np.asarray(mender.mend(corrupt("noise", true, mask, rng=1), on_drift="repair").mask)
    assert 2 * (found & mask).sum() / (found.sum() + mask.sum()) > 0.95


def test_a_model_of_wide_rows_is_saved_and_checked(fitted, tmp_path):
    mender, true = fitted
    mender.save(tmp_path / "wide.model")
    loaded = load(tmp_path / "wide.model")
    bad = corrupt("noise", true, stretch_masks(*true.shape, rng=5), rng=5)
    assert np.array_equal(loaded.mend(bad).p_values, mender.mend(bad).p_values)
    model = mender._model
    residuals = model.detector.clean.wide.residuals
    whole = residuals.scale
    object.__setattr__(residuals, "scale", whole[1:])
    with pytest.raises(ModelFileError, match="scale"):
        model.validate()
    object.__setattr__(residuals, "scale", whole)
    model.validate()
