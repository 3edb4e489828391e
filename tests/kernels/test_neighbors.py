"""Neighbours equal the naive twins': same rows, same order, same distances to the last bit."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import naive
from tests.kernels.examples import correlated, halving_tree, row_pairs, trees

from treemend import kernels


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_node_neighbors_equal_the_naive_twin(data):
    tree = data.draw(trees())
    reference, rows = data.draw(row_pairs(int(tree.stop[0])))
    alpha = data.draw(st.sampled_from([1.0, 0.75, 0.375]))
    n_neighbors = data.draw(st.integers(1, len(reference) - 1))
    nodes = np.array([data.draw(st.integers(0, len(tree.start) - 1)) for _ in rows])
    exclude = np.array([data.draw(st.integers(-1, len(reference) - 1)) for _ in rows])
    packed = kernels.pack(reference, tree, alpha)
    found = kernels.node_neighbors(packed, rows, nodes, n_neighbors, exclude=exclude, n_jobs=1)
    expected = naive.node_neighbors(reference, tree, alpha, rows, nodes, n_neighbors, exclude)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_masked_neighbors_equal_the_naive_twin(data):
    width = data.draw(st.integers(1, 70))
    reference, rows = data.draw(row_pairs(width))
    generator = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    observed = generator.random(rows.shape) < data.draw(st.sampled_from([0.0, 0.2, 0.7, 1.0]))
    n_neighbors = data.draw(st.integers(1, len(reference) - 1))
    exclude = np.array([data.draw(st.integers(-1, len(reference) - 1)) for _ in rows])
    packed = kernels.pack(reference, halving_tree(width, 1), data.draw(st.sampled_from([0.75, 1.0])))
    found = kernels.masked_neighbors(packed, rows, observed, n_neighbors, exclude=exclude, n_jobs=1)
    expected = naive.masked_neighbors(reference, rows, observed, n_neighbors, exclude)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


def test_threads_give_the_same_neighbours():
    generator = np.random.default_rng(3)
    tree = halving_tree(24, 3)
    reference, rows = correlated(generator, 300, 24), correlated(generator, 100, 24)
    packed = kernels.pack(reference, tree, 0.75)
    nodes = generator.integers(0, len(tree.start), size=100)
    observed = generator.random(rows.shape) < 0.5
    for function, arguments in (
        (kernels.node_neighbors, (packed, rows, nodes, 5)),
        (kernels.masked_neighbors, (packed, rows, observed, 5)),
    ):
        alone, together = function(*arguments, n_jobs=1), function(*arguments, n_jobs=3)
        np.testing.assert_array_equal(alone[0], together[0])
        np.testing.assert_array_equal(alone[1], together[1])
