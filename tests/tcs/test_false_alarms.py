import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.tcs.literal import enumerated_rate

from treemend.exceptions import InputError, ParameterError
from treemend.tcs.false_alarms import corruption_false_alarm_rate, fit_theta, tau_for_rate
from treemend.tcs.tree import build_tree

unit = st.floats(0, 1)


@settings(deadline=None, max_examples=30)
@given(tau=unit, thetas=st.lists(unit, min_size=1, max_size=2))
def test_model_equals_enumeration(tau, thetas):
    assert corruption_false_alarm_rate(tau, thetas, len(thetas)) == pytest.approx(
        enumerated_rate(tau, thetas), abs=1e-9
    )


@pytest.mark.parametrize(("tau", "thetas"), [(0.1, [0.3, 0.7, 0.9]), (0.01, [0.8] * 3)])
def test_model_equals_enumeration_at_depth_3(tau, thetas):
    assert corruption_false_alarm_rate(tau, thetas, 3) == pytest.approx(enumerated_rate(tau, thetas), abs=1e-9)


@pytest.mark.parametrize(
    ("tau", "theta", "rate"),
    [(0.004, 0.8, 0.0972), (0.004, 0.75, 0.1174), (0.016, 0.8, 0.3359), (0.016, 0.75, 0.3933)],
)
def test_values_of_section_7(tau, theta, rate):
    assert round(corruption_false_alarm_rate(tau, theta, 6), 4) == rate


@given(tau=unit, depth=st.integers(1, 8))
def test_identical_labels_give_tau(tau, depth):
    assert corruption_false_alarm_rate(tau, 1, depth) == pytest.approx(tau, abs=1e-12)


@given(tau=st.floats(0.001, 0.5), depth=st.integers(2, 8))
def test_independent_labels_alarm_more_often(tau, depth):
    assert corruption_false_alarm_rate(tau, 0, depth) > tau


def test_arrays_of_tau_keep_their_shape():
    taus = np.array([[0.0, 0.004], [0.016, 1.0]])
    rates = corruption_false_alarm_rate(taus, 0.8, 6)
    assert rates.shape == taus.shape
    assert rates[1, 0] == corruption_false_alarm_rate(0.016, 0.8, 6)


@given(tau=st.floats(1e-6, 0.2), theta=st.floats(0, 0.99), depth=st.integers(1, 8))
@example(tau=0.07421875, theta=0.78125, depth=8)
def test_inverse(tau, theta, depth):
    rate = corruption_false_alarm_rate(tau, theta, depth)
    found = tau_for_rate(rate, theta, depth)
    assert found <= tau * (1 + 1e-6)
    assert corruption_false_alarm_rate(found, theta, depth) == pytest.approx(rate, rel=1e-9)


def labels_of_the_model(rng, tree, tau, thetas, n_rows):
    labels = np.empty((n_rows, tree.n_nodes), dtype=bool)
    labels[:, 0] = rng.random(n_rows) < tau
    for node in range(1, tree.n_nodes):
        parent = tree.parent[node]
        inherits = rng.random(n_rows) < thetas[tree.depth[parent]]
        labels[:, node] = np.where(inherits, labels[:, parent], rng.random(n_rows) < tau)
    return labels


def test_theta_is_found_again():
    rng = np.random.default_rng(0)
    tree = build_tree(64, 4)
    thetas = [0.9, 0.7, 0.5, 0.3]
    labels = labels_of_the_model(rng, tree, 0.1, thetas, 20_000)
    assert fit_theta(labels, tree, tau=0.1, by_depth=True) == pytest.approx(thetas, abs=0.02)
    same = labels_of_the_model(rng, tree, 0.05, [0.8] * 4, 20_000)
    assert fit_theta(same, tree) == pytest.approx(0.8, abs=0.01)


def test_theta_of_labels_that_never_differ_is_unknown():
    tree = build_tree(4, 2)
    assert np.isnan(fit_theta(np.zeros((5, tree.n_nodes), dtype=bool), tree))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1.5, 0.5, 3), "tau must lie"),
        ((0.5, -0.1, 3), "theta must lie"),
        ((0.5, [0.5, 0.5], 3), "one for each of the 3 depths"),
        ((0.5, 0.5, 0), "depth must be an integer"),
        ((0.5, 0.5, 2.0), "depth must be an integer"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ParameterError, match=message):
        corruption_false_alarm_rate(*arguments)


def test_labels_of_the_wrong_shape():
    tree = build_tree(4, 2)
    with pytest.raises(InputError, match="rows x 7 nodes"):
        fit_theta(np.zeros((5, 3), dtype=bool), tree)
