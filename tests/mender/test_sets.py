from itertools import product

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.mender.densities import best_sets, complete_scan, learn_detector, log_density, weigh_rows
from tests.mender.naive_sets import density_of, log_odds, random_density

from treemend.mender import moves, swept
from treemend.mender.density import make_density
from treemend.mender.evidence import NOISE, SHIFTED, SINGLE, STUCK
from treemend.mender.layout import Layout
from treemend.mender.windows import CALM, CELL_PRICE, LEAVE, START, STAY, lay_cells, run_prior, set_rules


def callable_kernel(inner):
    """Return a function of Python that calls a kernel which only other kernels call."""

    @numba.njit
    def call(*arguments):
        return inner(*arguments)

    return call


count_runs, mark_odd_cells = callable_kernel(moves.count_runs), callable_kernel(moves.mark_odd_cells)
kept_density, new_space, prefix_gains, sweep, sweep_to, toggle_gains = (
    callable_kernel(inner)
    for inner in (
        swept.kept_density,
        swept.new_space,
        swept.prefix_gains,
        swept.sweep,
        swept.sweep_to,
        swept.toggle_gains,
    )
)


def state_of(density, row):
    away = row - density.centre[0]
    r = density.mix.precision[0] @ away
    return swept.State(
        density.mix.precision[0].copy(), r, np.array([r @ away, density.mix.log_det[0]]), np.zeros(len(row), bool)
    )


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.lists(st.integers(0, 5), min_size=1, max_size=9))
def test_sweeps_gains_and_prefixes_are_densities_of_subsets(seed, toggles):
    rng = np.random.default_rng(seed)
    d = 6
    density = random_density(rng, d, 1)
    row = rng.normal(size=d)
    law = density.law
    state, space = state_of(density, row), new_space(1, d)
    for j in toggles:
        sweep(state, j, space.lines)
    kept = ~state.out
    now = density_of(density, row, kept)
    assert kept_density(state, law, int(kept.sum())) == pytest.approx(now, abs=1e-6)
    toggle_gains(state, law, int(kept.sum()), space.gains)
    for j in range(d):
        other = kept.copy()
        other[j] = not other[j]
        assert space.gains[j] == pytest.approx(density_of(density, row, other) - now, abs=1e-6)
    for sign, cells in ((1, np.flatnonzero(kept)), (-1, np.flatnonzero(~kept))):
        if len(cells) == 0:
            continue
        order = rng.permutation(cells)
        space.order[: len(order)] = order
        prefix_gains(state, law, int(kept.sum()), len(order), space)
        for m in range(len(order)):
            other = kept.copy()
            other[order[: m + 1]] = sign < 0
            assert space.gains[m] == pytest.approx(density_of(density, row, other) - now, abs=1e-6)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 14))
def test_cells_swept_together_are_swept_one_by_one(seed, d):
    rng = np.random.default_rng(seed)
    density, row, space = random_density(rng, d, 1), rng.normal(size=d), new_space(1, d)
    together, one_by_one = state_of(density, row), state_of(density, row)
    for _ in range(3):
        labels = rng.integers(-1, 1, d).astype(np.int8)
        sweep_to(together, labels, space.lines)
        for j in np.flatnonzero((labels >= 0) != one_by_one.out):
            sweep(one_by_one, j, space.lines)
        np.testing.assert_array_equal(together.out, labels >= 0)
        np.testing.assert_allclose(np.tril(together.W), np.tril(one_by_one.W), rtol=1e-7, atol=1e-9)
        for found, expected in ((together.r, one_by_one.r), (together.totals, one_by_one.totals)):
            np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


def naive_runs(labels):
    return sum(labels[j] >= 0 and (j == 0 or labels[j - 1] < 0) for j in range(len(labels)))


def test_the_prior_counts_sets_as_a_markov_chain_does():
    d = 7
    prior = run_prior(d)
    draws = np.random.default_rng(0)
    begin, leave = draws.beta(START, CALM, 400_000), draws.beta(LEAVE, STAY, 400_000)
    for labels in ([1, 0, 0, 1, 1, 0, 0], [0, 1, 0, 0, 0, 0, 0]):
        chance, before = np.ones(len(begin)), 0
        for now in [*labels, 0]:
            enter = begin if now else 1 - begin
            stay = 1 - leave if now else leave
            chance = chance * (stay if before else enter)
            before = now
        clean = ((1 - begin) ** (d + 1)).mean()
        n, runs = sum(labels), naive_runs(np.array(labels) - 1)
        assert prior[n, runs] == pytest.approx(np.log(chance.mean() / clean), abs=0.03)


def searched(seed, n, d, n_components):
    rng = np.random.default_rng(seed)
    density = random_density(rng, d, n_components)
    scan = complete_scan(density, Layout(np.arange(d)))
    rules = set_rules(scan.cells, 3.0, np.zeros(5), 10, 3 * d)
    rows = density.centre[0] + rng.multivariate_normal(np.zeros(d), density.mix.covariance[0], n)
    rows[:, 2:4] += 4 * rng.choice([-1, 1], (n, 2))
    u = rng.uniform(-2, -1, (n, d))
    answers = best_sets(scan, rules, rows, u, np.zeros((n, d), bool), (NOISE, SINGLE))
    return density, rules, rows, u - CELL_PRICE, answers


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6))
def test_log_odds_are_those_of_the_formula(seed):
    density, rules, rows, u, answers = searched(seed, 4, 7, 1)
    for i in range(4):
        labels = answers.labels[i]
        n, runs = int((labels >= 0).sum()), naive_runs(labels)
        assert (n, runs) == count_runs(labels, rules.earlier, SINGLE)
        evidence = log_odds(density, rows[i], u[i], labels)
        assert answers.odds[i] == pytest.approx(evidence + rules.prior[n, runs], abs=1e-6)
        assert answers.prior[i] == rules.prior[n, runs]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.floats(0, 3))
def test_the_oddest_cells_are_as_many_as_are_best_taken_out(seed, far):
    rng = np.random.default_rng(seed)
    d = 9
    density = random_density(rng, d, 1)
    scan = complete_scan(density, Layout(np.arange(d)))
    rules, u = set_rules(scan.cells, 3.0, np.zeros(5), 10, 3 * d), rng.uniform(-2, -1, d)
    row = density.centre[0] + far * rng.normal(size=d)
    alone = np.array([density_of(density, row, np.arange(d) == j) for j in range(d)])
    oddest = [j for j in np.argsort(alone - u) if u[j] > alone[j]][: int(0.7 * d)]
    naive, best = np.full(d, -1), density_of(density, row, np.ones(d, bool))
    for m in range(1, len(oddest) + 1):
        out = np.isin(np.arange(d), oddest[:m])
        value = density_of(density, row, ~out) + u[out].sum() + rules.prior[m, naive_runs(np.where(out, 0, -1))]
        if value > best:
            naive, best = np.where(out, 0, -1), value
    away, labels = (row - density.centre[0])[None], np.zeros(d, np.int8)
    r = away @ density.mix.precision[0]
    q = np.array([r[0] @ away[0]])
    known = moves.Row(u, away, r, q)
    odds = mark_odd_cells(density.mix, density.law, rules, 0, known, labels, new_space(1, d))
    assert odds == pytest.approx(best, abs=1e-6)
    assert labels.tolist() == naive.tolist()


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6))
def test_shifted_cells_are_judged_without_the_cells_of_noise(seed):
    rng = np.random.default_rng(seed)
    density = random_density(rng, 9, 1)
    scan = complete_scan(density, Layout(np.arange(9)))
    rows = density.centre[0] + rng.multivariate_normal(np.zeros(9), density.mix.covariance[0], 3)
    rows[:, 2:5] += 2.0
    rows[:, 7] -= 9.0
    u = rng.uniform(-2, -1, (3, 9))
    rules = set_rules(scan.cells, 3.0, np.zeros(5), 10, 27)
    answers = best_sets(scan, rules, rows, u, np.zeros((3, 9), bool), (SHIFTED,))
    for i in np.flatnonzero((answers.labels >= 0).any(axis=1)):
        assert (answers.labels[i] == SHIFTED).any()
        labels = answers.labels[i]
        prior = rules.prior[(labels >= 0).sum(), naive_runs(labels)]
        assert answers.odds[i] == pytest.approx(log_odds(density, rows[i], u[i] - CELL_PRICE, labels) + prior, abs=1e-6)


def test_a_moved_row_is_one_of_a_law_that_is_wider_in_all_cells_at_once():
    rng = np.random.default_rng(0)
    density, d = random_density(rng, 6, 2), 6
    wider = make_density(density.centre, density.mix.covariance + 1.0, density.log_weight, density.tail)
    rows = density.centre[0] + rng.normal(size=(5, d)) + rng.normal(size=(5, 1)) * 3
    scan, nothing = complete_scan(density, Layout(np.arange(d))), np.zeros((5, d), bool)
    rules = set_rules(scan.cells, 3.0, np.zeros(5), 0, 0)
    answers = best_sets(scan, rules, rows, np.zeros((5, d)), nothing, (SINGLE,))
    odds = log_density(wider, rows) - log_density(density, rows)
    np.testing.assert_allclose(answers.move, odds)


def test_hardly_any_other_set_has_larger_log_odds():
    d, n = 6, 40
    density, rules, rows, u, answers = searched(0, n, d, 2)
    sets = [np.array(out, np.int8) for out in product((-1, 0), repeat=d)]
    reached = 0
    for i in range(n):
        best = max(
            log_odds(density, rows[i], u[i], other) + rules.prior[(other >= 0).sum(), naive_runs(other)]
            for other in sets
            if 0 < (other >= 0).sum() <= 0.7 * d
        )
        assert answers.odds[i] <= best + 1e-6
        reached += answers.odds[i] > best - 0.05
    assert reached >= 0.85 * n


def test_the_form_of_the_rest_is_that_of_its_likeliest_component():
    rng = np.random.default_rng(0)
    density = random_density(rng, 6, 1)
    scan = complete_scan(density, Layout(np.arange(6)))
    row = rng.normal(size=(1, 6))
    stuck = np.zeros((1, 6), bool)
    stuck[:, 1:3] = True
    answers = best_sets(scan, set_rules(scan.cells, 0, np.zeros(5), 0, 0), row, np.zeros((1, 6)), stuck, (STUCK,))
    kept = np.array([0, 3, 4, 5])
    away = row[0, kept] - density.centre[0, kept]
    form = away @ np.linalg.solve(density.mix.covariance[0][np.ix_(kept, kept)], away)
    assert answers.rest[0] == pytest.approx(form)


@pytest.fixture(scope="module")
def waves():
    rng = np.random.default_rng(0)
    clean = np.cumsum(rng.normal(size=(200, 24)), axis=1)
    return learn_detector(clean[:150], Layout(np.arange(24)), 0, 1)[0], clean[150:]


def found_in(detector, values, n_jobs=1):
    return weigh_rows(detector, values, n_jobs).find_sets(np.arange(len(values)))


def test_two_stretches_and_single_cells_are_found(waves):
    detector, fresh = waves
    rng = np.random.default_rng(1)
    truth = np.zeros(fresh.shape, bool)
    truth[:, 3:7], truth[:, 14:18] = True, True
    truth[25:] = rng.random(truth[25:].shape) < 0.12
    values = np.where(truth, rng.uniform(-25, 25, fresh.shape), fresh)
    found = found_in(detector, values)
    both = ((found.kinds >= 0) & truth).sum()
    assert both / (found.kinds >= 0).sum() > 0.85
    assert both / truth[~found.unusual].sum() > 0.8


def test_masks_have_the_same_bits_in_any_company(waves):
    detector, fresh = waves
    values = fresh.copy()
    values[:, 5:11] = np.random.default_rng(0).uniform(-20, 20, (len(fresh), 6))
    values[::3, 15] = np.nan
    together, threaded = found_in(detector, values), found_in(detector, values, 2)
    apart = [found_in(detector, values[i : i + 1]) for i in range(len(values))]
    np.testing.assert_array_equal(together.kinds, threaded.kinds)
    np.testing.assert_array_equal(together.unusual, threaded.unusual)
    np.testing.assert_array_equal(together.kinds, np.concatenate([one.kinds for one in apart]))
    np.testing.assert_array_equal(together.unusual, np.concatenate([one.unusual for one in apart]))


def test_a_missing_cell_is_never_in_a_set(waves):
    detector, fresh = waves
    values = fresh.copy()
    values[:, 5:11] += 12.0
    values[:, 8] = np.nan
    wrong = found_in(detector, values).kinds >= 0
    assert not wrong[:, 8].any()
    assert wrong[:, [6, 7, 9]].mean() > 0.6


def test_runs_do_not_cross_the_border_of_a_group():
    rng = np.random.default_rng(2)
    clean = np.cumsum(rng.normal(size=(120, 16)), axis=1)
    groups = np.repeat([0, 1], 8)
    cells = set_rules(lay_cells(Layout(np.arange(16), groups=groups)), 3, np.zeros(5), 1, 1)
    assert not cells.joined[8]
    labels = np.full(16, -1, np.int8)
    labels[6:10] = NOISE
    assert count_runs(labels, cells.earlier, SINGLE) == (4, 2)
    detector = learn_detector(clean, Layout(np.arange(16), groups=groups), 0, 1)[0]
    assert found_in(detector, clean[:5] + 30.0 * (np.arange(16) == 4)).kinds[:, 4].min() >= 0
