"""Frozen values against their twin."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.refinement import naive

from treemend.kernels import neighbors_outside
from treemend.kernels.frozen import equal_regions, most_surprising_region


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    grid=st.sampled_from([None, (5, 4, 1), (3, 4, 2)]),
    n_reference=st.integers(2, 30),
    n_values=st.integers(1, 6),
    left_out=st.booleans(),
)
def test_frozen_rows_agree_with_their_twin(seed, grid, n_reference, n_values, left_out):
    rng = np.random.default_rng(seed)
    d = int(np.prod(grid)) if grid else 20
    # Small binary fractions, so that sums are exact and ties are ties in float32 too.
    reference = rng.integers(0, n_values + 1, (n_reference, d)) / 8
    rows = reference[rng.integers(0, n_reference, 5)].copy()
    rows[0, 3:11] = 0.25
    rows[1] = 0.5
    rows[2, ::2] = 0.0
    own = rng.integers(0, n_reference, 5) if left_out else np.full(5, -1)
    n_donors, smallest = min(4, n_reference - 1), 3
    evidence, mask = np.empty(5), np.empty((5, d), dtype=bool)
    region, n_regions = np.empty((5, d), dtype=np.int64), np.empty(5, dtype=np.int64)
    height, width = grid[:2] if grid else (0, 0)
    columns = np.ascontiguousarray(reference.T, np.float32)
    equal_regions(rows, height, width, smallest, region, n_regions)
    donors, _ = neighbors_outside(columns, rows, region, n_regions, n_donors, exclude=own)
    most_surprising_region(rows, reference, donors, region, n_regions, evidence, mask)
    for row, place, value, found in zip(rows, own, evidence, mask, strict=True):
        expected, expected_mask = naive.frozen(row, reference, grid, place, smallest, n_donors)
        np.testing.assert_allclose(value, expected)
        np.testing.assert_array_equal(found, expected_mask)
