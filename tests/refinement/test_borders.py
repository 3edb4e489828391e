"""The refinement of borders against its twin."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.refinement import naive
from tests.refinement.examples import a_mixture

from treemend.kernels.borders import BorderModel, refine_boxes, refine_intervals
from treemend.refinement.mixture import TAIL, density_constants
from treemend.refinement.scan import SHIFT

seeds = st.integers(0, 2**32 - 1)


def border_model(mixture):
    constant = density_constants(mixture.centre.shape[1])
    return BorderModel(mixture.centre, mixture.covariance, mixture.precision, mixture.log_det, constant, TAIL, SHIFT)


def suspects(rng, mixture, component):
    """Rows of a component, one stretch of each overwritten."""
    rows = mixture.centre[component] + rng.normal(0, 0.05, (len(component), mixture.centre.shape[1]))
    for row in rows:
        start, stop = np.sort(rng.integers(0, len(row) + 1, 2))
        row[start:stop] += rng.normal(0, 0.5, stop - start)
    return rows


@settings(max_examples=20, deadline=None)
@given(seed=seeds, n_cells=st.integers(2, 14), per_cell=st.integers(1, 2), reach=st.integers(1, 4))
def test_intervals_agree_with_their_twin(seed, n_cells, per_cell, reach):
    rng = np.random.default_rng(seed)
    mixture = a_mixture(rng, n_cells * per_cell, 2)
    component, explanation = rng.integers(0, len(mixture.centre), 6), np.arange(6) % 3
    rows = suspects(rng, mixture, component)
    stretch = rng.random(rows.shape)
    start = rng.integers(0, n_cells, 6)
    intervals = np.column_stack([start, np.minimum(start + rng.integers(1, max(2, n_cells - 1), 6), n_cells)])
    intervals[np.diff(intervals)[:, 0] == n_cells] = (0, 1)
    expected = [
        naive.refine_interval(naive.single(mixture, k), e, x, s, interval, per_cell, reach)
        for k, e, x, s, interval in zip(component, explanation, rows, stretch, intervals.tolist(), strict=True)
    ]
    refine_intervals(rows, stretch, border_model(mixture), explanation, component, intervals, per_cell, reach)
    np.testing.assert_array_equal(intervals, expected)


@settings(max_examples=15, deadline=None)
@given(seed=seeds, height=st.integers(3, 5), width=st.integers(3, 5), per_cell=st.integers(1, 2))
def test_boxes_agree_with_their_twin(seed, height, width, per_cell):
    rng = np.random.default_rng(seed)
    mixture = a_mixture(rng, height * width * per_cell, 2)
    component, explanation = rng.integers(0, len(mixture.centre), 6), np.arange(6) % 3
    rows = suspects(rng, mixture, component)
    stretch = rng.random(rows.shape)
    top, left = rng.integers(0, height - 1, 6), rng.integers(0, width - 1, 6)
    boxes = np.column_stack([top, top + 2, left, left + 2])
    expected = [
        naive.refine_box(naive.single(mixture, k), e, x, s, box, per_cell, height, width)
        for k, e, x, s, box in zip(component, explanation, rows, stretch, boxes.tolist(), strict=True)
    ]
    refine_boxes(rows, stretch, border_model(mixture), explanation, component, boxes, per_cell, height, width)
    np.testing.assert_array_equal(boxes, expected)
