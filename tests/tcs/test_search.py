"""The search, its alarm curve and its turning levels equal their naive twins; thresholds follow from scores."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tcs import literal

from treemend.tcs.model import counts_at_least, level_at, radius_limits
from treemend.tcs.search import alarm_rates, attribute_mask, declared_nodes, largest_level, turning_levels
from treemend.tcs.tree import build_tree

trees = st.builds(build_tree, st.integers(1, 40), st.integers(1, 6))
root_rules = st.sampled_from(["continue", "stop"])
seeds = st.integers(0, 2**32 - 1)


@settings(max_examples=60, deadline=None)
@given(trees, seeds, root_rules, st.sampled_from([0.1, 0.5, 0.9]))
def test_declared_nodes_equal_the_naive_twin(tree, seed, root_rule, share):
    anomalous = np.random.default_rng(seed).random((30, tree.n_nodes)) < share
    expected = literal.declared_nodes(anomalous, tree, root_rule)
    np.testing.assert_array_equal(declared_nodes(anomalous, tree, root_rule), expected)


@settings(max_examples=40, deadline=None)
@given(trees, seeds, root_rules)
def test_alarm_rates_equal_a_search_at_every_level(tree, seed, root_rule):
    counts = np.random.default_rng(seed).integers(-1, 12, size=(12, tree.n_nodes))
    expected = [literal.declared_nodes(counts <= level, tree, root_rule).any(axis=1).mean() for level in range(13)]
    np.testing.assert_array_equal(alarm_rates(counts, tree, root_rule), expected)


def turning_level(own, tree, level, n_levels, root_rule):
    """Twin: the result at every level, one after the other."""
    found = [literal.declared_nodes((own <= k)[None], tree, root_rule).any() for k in range(n_levels)]
    if level >= 0 and found[level]:
        while level > 0 and found[level - 1]:
            level -= 1
        return level
    return next((k for k in range(level + 1, n_levels) if found[k]), n_levels)


@settings(deadline=None, max_examples=60)
@given(st.builds(build_tree, st.integers(1, 9), st.integers(1, 3)), seeds, root_rules, st.integers(-1, 11))
def test_turning_levels_equal_the_naive_twin(tree, seed, root_rule, level):
    counts = np.random.default_rng(seed).integers(0, 12, size=(5, tree.n_nodes))
    found = turning_levels(counts, tree, level, 12, root_rule)
    assert found.tolist() == [turning_level(own, tree, level, 12, root_rule) for own in counts]


@pytest.mark.parametrize(
    ("labels", "declared"),
    [
        ([1, 1, 0, 1, 1, 0, 0], [0, 1, 0, 0, 0, 0, 0]),
        ([0, 1, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0, 1]),
        ([1, 0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0, 0]),
        ([1, 1, 1, 1, 1, 0, 1], [0, 1, 0, 0, 0, 0, 1]),
    ],
    ids=["inner node", "leaf below normal nodes", "rejected at the root", "the root itself is never declared"],
)
def test_the_search_by_hand(labels, declared):
    found = declared_nodes(np.array([labels], dtype=bool), build_tree(4, 2), "continue")
    np.testing.assert_array_equal(found[0], np.array(declared, dtype=bool))


def test_the_listing_ends_at_an_anomalous_root():
    labels = np.array([[1, 1, 1, 1, 1, 0, 1]], dtype=bool)
    assert not declared_nodes(labels, build_tree(4, 2), "stop").any()


def test_declared_nodes_cover_their_columns():
    declared = np.zeros((2, 15), dtype=bool)
    declared[0, [1, 13]] = True
    mask = attribute_mask(declared, build_tree(8, 3))
    assert np.flatnonzero(mask[0]).tolist() == [0, 1, 2, 3, 6]
    assert not mask[1].any()


@settings(deadline=None)
@given(seeds, st.integers(2, 30), st.floats(0, 1))
def test_limits_levels_and_scores_say_the_same(seed, n_rows, tau):
    rng = np.random.default_rng(seed)
    usual, radii = rng.integers(0, 9, (n_rows, 3)) / 4, rng.integers(0, 10, (20, 3)) / 4
    ascending = np.sort(usual, axis=0).T
    counts = counts_at_least(radii, ascending)
    np.testing.assert_array_equal(counts, (radii[:, None] <= usual).sum(axis=1))
    level = level_at(tau, n_rows)
    np.testing.assert_array_equal(counts <= level, counts / n_rows <= tau + 1e-12)
    np.testing.assert_array_equal(radii > radius_limits(ascending, level), counts <= level)
    assert not (radii > radius_limits(ascending, -1)).any()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9), st.floats(0, 1))
def test_the_largest_level_keeps_the_rate_up_to_itself(rates, rate):
    level = largest_level(np.array(rates), rate)
    assert all(share <= rate for share in rates[: level + 1])
    assert level == len(rates) - 1 or rates[level + 1] > rate
