"""The search and the alarm curve equal their naive twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import naive
from tests.kernels.examples import halving_tree, trees

from treemend import kernels


@settings(max_examples=60, deadline=None)
@given(trees(), st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from([0.1, 0.5, 0.9]))
def test_declared_nodes_equal_the_naive_twin(tree, seed, stop_at_root, share):
    anomalous = np.random.default_rng(seed).random((30, len(tree.start))) < share
    np.testing.assert_array_equal(
        kernels.declared_nodes(anomalous, tree, stop_at_root=stop_at_root),
        naive.declared_nodes(anomalous, tree, stop_at_root=stop_at_root),
    )


@settings(max_examples=40, deadline=None)
@given(trees(), st.integers(0, 2**32 - 1), st.booleans(), st.integers(1, 25))
def test_alarm_curve_equals_the_naive_twin(tree, seed, stop_at_root, n_levels):
    counts = np.random.default_rng(seed).integers(0, 20, size=(12, len(tree.start)))
    np.testing.assert_array_equal(
        kernels.alarm_curve(counts, tree, n_levels, stop_at_root=stop_at_root),
        naive.alarm_curve(counts, tree, n_levels, stop_at_root=stop_at_root),
    )


@pytest.mark.parametrize(
    ("labels", "declared"),
    [
        ([1, 1, 0, 1, 1, 0, 0], [0, 1, 0, 0, 0, 0, 0]),
        ([0, 1, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0, 1]),
        ([1, 0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0, 0]),
        ([1, 1, 1, 1, 1, 0, 1], [0, 1, 0, 0, 0, 0, 1]),
    ],
    ids=[
        "inner node",
        "leaf below normal nodes",
        "rejected at the root",
        "the root itself is never declared",
    ],
)
def test_the_search_by_hand(labels, declared):
    found = kernels.declared_nodes(np.array([labels], dtype=bool), halving_tree(4, 2))
    np.testing.assert_array_equal(found[0], np.array(declared, dtype=bool))


def test_the_listings_reading_ends_at_the_root():
    labels = np.array([[1, 1, 1, 1, 1, 0, 1]], dtype=bool)
    assert not kernels.declared_nodes(labels, halving_tree(4, 2), stop_at_root=True).any()
