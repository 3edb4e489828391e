"""Tails, thresholds and p-values."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.refinement.examples import p_values

from treemend.refinement import conformal_threshold, learn_tails


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 60), rate=st.floats(0.001, 0.999))
def test_threshold_and_p_values_say_the_same(seed, n, rate):
    rng = np.random.default_rng(seed)
    clean = np.sort(rng.integers(0, 10, n).astype(float))
    statistics = rng.integers(-1, 12, 50).astype(float)
    beyond = statistics > conformal_threshold(clean, rate)
    np.testing.assert_array_equal(beyond, p_values(clean, statistics) <= rate + 1e-9 / (n + 1))


def test_exchangeable_rows_exceed_the_threshold_at_most_as_often_as_asked():
    rng = np.random.default_rng(0)
    for n, rate in ((19, 0.05), (20, 0.05), (100, 0.2), (10, 0.05)):
        draws = rng.random((20_000, n + 1))
        beyond = [row[-1] > conformal_threshold(np.sort(row[:-1]), rate) for row in draws]
        assert np.mean(beyond) <= rate + 3 * math.sqrt(rate * (1 - rate) / len(draws))


def test_surprise_grows_with_evidence_and_begins_at_the_edge():
    evidence = np.random.default_rng(0).gamma(2, 3, (500, 1)) * [1, 10]
    tails = learn_tails(evidence)
    surprise = tails.surprise(np.linspace(0, 300, 100)[:, None] * [1, 10])
    assert (np.diff(surprise, axis=0) >= 0).all()
    np.testing.assert_allclose((tails.surprise(evidence) > 0).mean(axis=0), 0.2, atol=0.01)
    np.testing.assert_allclose(surprise[:, 0], surprise[:, 1])


def test_constant_evidence_surprises_nobody():
    assert not learn_tails(np.zeros((30, 4))).surprise(np.zeros((5, 4))).any()
