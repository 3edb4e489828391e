"""Labels without radii equal labels from radii, always, also where a radius equals its threshold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.examples import correlated, halving_tree, row_pairs, trees

from treemend import kernels


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_equal_to_comparing_radii(data):
    tree = data.draw(trees())
    reference, rows = data.draw(row_pairs(int(tree.stop[0])))
    alpha = data.draw(st.sampled_from([1.0, 0.9, 0.75, 0.375]))
    n_neighbors = data.draw(st.integers(1, len(reference) - 1))
    packed = kernels.pack(reference, tree, alpha)
    radii = kernels.node_radii(packed, rows, n_neighbors, n_jobs=1)
    left_out = np.sort(kernels.left_out_radii(packed, n_neighbors, n_jobs=1), axis=0)
    just_below = np.nextafter(radii[1], 0)
    for thresholds in (
        left_out[-1],
        left_out[len(left_out) // 2],
        radii[0],
        radii[1],
        just_below,
        0 * radii[0],
    ):
        np.testing.assert_array_equal(
            kernels.node_labels(packed, rows, thresholds, n_neighbors, n_jobs=1), radii > thresholds
        )


@pytest.mark.parametrize("alpha", [1.0, 0.75])
@pytest.mark.parametrize(("width", "depth"), [(64, 4), (45, 6)])
def test_equal_to_comparing_radii_on_many_rows(alpha, width, depth):
    generator = np.random.default_rng(2)
    tree = halving_tree(width, depth)
    packed = kernels.pack(correlated(generator, 600, width), tree, alpha)
    rows = correlated(generator, 60, width)
    rows[:20, 5:25] = generator.normal(size=(20, 20)) * 4
    thresholds = np.quantile(kernels.left_out_radii(packed, 5), 0.99, axis=0)
    expected = kernels.node_radii(packed, rows, 5) > thresholds
    assert 0 < expected.mean() < 0.5
    for n_jobs in (1, 3):
        found = kernels.node_labels(packed, rows, thresholds, 5, n_jobs=n_jobs)
        np.testing.assert_array_equal(found, expected)
