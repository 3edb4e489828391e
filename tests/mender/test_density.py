import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_t
from tests.mender.densities import learn_density, log_density

from treemend.mender.density import (
    TAIL,
    Shape,
    density_constants,
    learn_moments,
    make_density,
)
from treemend.mender.learning import LIGHTER_TAILS, SHRINKAGES, choose_shape


def random_density(n_components, d, seed, tail=TAIL):
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(n_components, d, d + 2))
    covariance = roots @ roots.transpose(0, 2, 1) / d + 0.1 * np.eye(d)
    log_weight = np.log(rng.dirichlet(np.ones(n_components)))
    return make_density(rng.normal(size=(n_components, d)), covariance, log_weight, tail)


def naive_log_density(density, row):
    """Log density of the observed cells by scipy, component by component."""
    seen = ~np.isnan(row)
    if not seen.any():
        return 0.0
    terms = [
        log_weight + multivariate_t(centre[seen], covariance[np.ix_(seen, seen)], df=density.tail).logpdf(row[seen])
        for log_weight, centre, covariance in zip(
            density.log_weight, density.centre, density.mix.covariance, strict=True
        )
    ]
    return np.logaddexp.reduce(terms)


def with_holes(rows, share, seed):
    rows = rows.copy()
    rows[np.random.default_rng(seed).random(rows.shape) < share] = np.nan
    return rows


def two_clusters(n, d, seed):
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(d, d)) / np.sqrt(d)
    return 0.1 * (rng.normal(size=(n, d)) @ mixing + 4 * (rng.random(n) < 0.4)[:, None])


@given(st.integers(1, 4), st.integers(1, 7), st.integers(0, 10**6), st.floats(0, 1), st.sampled_from((TAIL, 100.0)))
@settings(max_examples=40, deadline=None)
def test_log_density_is_that_of_scipy(n_components, d, seed, share, tail):
    density = random_density(n_components, d, seed, tail)
    rows = with_holes(np.random.default_rng(seed).normal(size=(5, d)) * 2, share, seed)
    expected = [naive_log_density(density, row) for row in rows]
    assert log_density(density, rows) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("tail", [TAIL, *LIGHTER_TAILS])
def test_constants_are_those_of_a_student_vector(tail):
    at_centre = [multivariate_t(np.zeros(n), np.eye(n), df=tail).logpdf(np.zeros(n)) for n in range(1, 6)]
    assert density_constants(5, tail) == pytest.approx([0.0, *at_centre])


def test_half_log_determinant_and_precision():
    density = random_density(3, 6, 0)
    for k in range(3):
        assert density.mix.precision[k] == pytest.approx(np.linalg.inv(density.mix.covariance[k]), abs=1e-9)
        assert density.mix.log_det[k] == pytest.approx(-0.5 * np.linalg.slogdet(density.mix.covariance[k])[1])


def test_a_row_has_the_same_bits_in_any_company():
    density = random_density(4, 9, 1)
    rows = with_holes(np.random.default_rng(0).normal(size=(40, 9)), 0.3, 2)
    rows[:5] = np.random.default_rng(3).normal(size=(5, 9))
    together = log_density(density, rows)
    alone = np.concatenate([log_density(density, row[None]) for row in rows])
    assert np.array_equal(together, alone)


def test_learning_is_likely_to_hold_out_of_sample():
    rows, fresh = two_clusters(900, 8, 0)[:600], two_clusters(900, 8, 0)[600:]
    shape = choose_shape(rows, 0)
    learnt = log_density(learn_density(rows, shape, 0), fresh).mean()
    single = log_density(learn_density(rows, Shape(1, 0.05), 0), fresh).mean()
    assert shape.n_components > 1
    assert learnt > single + 0.5


def test_the_tail_is_light_for_normal_rows_and_heavy_for_rows_of_many_scales():
    rng = np.random.default_rng(0)
    normal = 0.1 * rng.normal(size=(600, 12))
    scaled = normal * rng.gamma(2.0, 0.5, (600, 1)) ** -0.5
    assert choose_shape(normal, 0).tail > TAIL
    assert choose_shape(scaled, 0).tail == TAIL


def test_missing_values_cost_little():
    """EM from 25 % missing values comes near to what complete rows teach, and far beyond rows filled with means."""
    every = two_clusters(1400, 8, 0)
    rows, fresh = every[:1000], every[1000:]
    holed = with_holes(rows, 0.25, 0)
    shape = Shape(3, 0.01)
    complete = log_density(learn_density(rows, shape, 0), fresh).mean()
    learnt = log_density(learn_density(holed, shape, 0), fresh).mean()
    filled = np.where(np.isnan(holed), np.nanmean(holed, axis=0), holed)
    by_means = log_density(learn_density(filled, shape, 0), fresh).mean()
    assert learnt > complete - 0.25 * (complete - by_means)


def test_one_complete_table_with_a_hole_is_learnt_alike():
    rows = two_clusters(300, 6, 1)
    holed = rows.copy()
    holed[7, 3] = np.nan
    shape = Shape(1, 0.01)
    complete, learnt = learn_density(rows, shape, 0), learn_density(holed, shape, 0)
    assert learnt.centre == pytest.approx(complete.centre, abs=0.01)
    assert learnt.mix.covariance == pytest.approx(complete.mix.covariance, rel=0.05, abs=2e-4)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_few_rows_and_constant_columns_are_learnt(n):
    rows = np.random.default_rng(0).normal(size=(n, 4))
    rows[:, 2] = 0.5
    density = learn_density(rows, choose_shape(rows, 0), 0)
    assert np.isfinite(log_density(density, rows)).all()


def test_equal_rows_are_learnt():
    rows = np.zeros((50, 3))
    density = learn_density(rows, choose_shape(rows, 0), 0)
    assert np.isfinite(log_density(density, rows)).all()


def test_a_column_or_row_without_values_is_learnt():
    rows = two_clusters(80, 4, 0)
    rows[:, 1] = np.nan
    rows[5] = np.nan
    density = learn_density(rows, choose_shape(rows, 0), 0)
    assert np.isfinite(log_density(density, rows)).all()


def test_a_density_is_kept_without_what_follows_from_it():
    rows = two_clusters(200, 5, 0)
    density = learn_density(rows, choose_shape(rows, 0), 0)
    again = make_density(density.centre, density.mix.covariance, density.log_weight)
    assert np.array_equal(again.mix.precision, density.mix.precision)
    assert density.lower.shape == (len(density.centre), 15)
    assert density.mix.precision[0] @ density.mix.covariance[0] == pytest.approx(np.eye(5), abs=1e-9)
    assert density.mix.log_det[0] == pytest.approx(0.5 * np.linalg.slogdet(density.mix.precision[0])[1])


def test_few_rows_of_a_few_factors_are_learnt_with_low_rank():
    rng = np.random.default_rng(0)
    loadings = rng.normal(0, 0.2, (4, 60))
    rows, fresh = (rng.normal(size=(n, 4)) @ loadings + rng.normal(0, 0.03, (n, 60)) for n in (50, 200))
    chosen = choose_shape(rows, 0)
    assert chosen.rank == 4
    shrunk = max(log_density(learn_density(rows, Shape(1, shrinkage), 0), fresh).mean() for shrinkage in SHRINKAGES)
    assert log_density(learn_density(rows, chosen, 0), fresh).mean() > shrunk + 5


def test_a_low_rank_keeps_the_variances_and_all_factors_the_covariance():
    rng = np.random.default_rng(1)
    loadings = rng.normal(0, 0.3, (2, 12))
    rows = rng.normal(size=(5000, 2)) @ loadings + rng.normal(0, 0.1, (5000, 12))
    moments, _ = learn_moments(rows, rows, np.zeros(5000, np.int64), Shape(1, 0.001))
    full = moments.scatter[0] / (moments.count[0] - 1)
    for rank in (1, 2, 5):
        low = moments.low_rank(rank)[0]
        assert np.diag(low) == pytest.approx(np.diag(full), rel=0.02)
        assert np.linalg.matrix_rank(low) == 12
    assert moments.low_rank(2)[0] == pytest.approx(full, abs=0.01)
