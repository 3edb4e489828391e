"""Coordinates and the scan against their twins."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.refinement import naive
from tests.refinement.examples import a_mixture, rows_for

from treemend.refinement.coordinates import Cells, describe, lay_cells, learn_coordinates
from treemend.refinement.scan import learn_scan, scan
from treemend.refinement.windows import lay_windows

seeds = st.integers(0, 2**32 - 1)


@settings(max_examples=12, deadline=None)
@given(
    seed=seeds,
    layout=st.sampled_from([(2, None), (3, None), (9, None), (19, None), (9, (3, 3)), (12, (3, 4))]),
    per_cell=st.integers(1, 2),
    n_components=st.integers(1, 3),
)
def test_scan_agrees_with_its_twin(seed, layout, per_cell, n_components):
    n_cells, grid = layout
    rng = np.random.default_rng(seed)
    d = n_cells * per_cell
    mixture = a_mixture(rng, d, n_components)
    windows = lay_windows(Cells(np.repeat(np.arange(n_cells), per_cell), n_cells, grid, True))
    described = mixture.centre[rng.integers(0, len(mixture.centre), 3)] + rng.normal(0, 0.3, (3, d))
    described[0, : d // 2] = rng.uniform(-1, 1, d // 2)
    stretch = rng.random((3, d))
    best = scan(learn_scan(mixture, windows, per_cell), described, stretch, 1)
    expected, loudest = naive.all_evidence(mixture, windows, per_cell, described, stretch)
    tolerance = 1e-3 * (1 + np.abs(expected).max(axis=2))
    assert (np.abs(best.evidence - expected.max(axis=2)) <= tolerance).all()
    rows, explanations = np.indices(best.window.shape)
    chosen = expected[rows, explanations, best.window]
    assert (np.abs(chosen - expected.max(axis=2)) <= tolerance).all()
    assert np.mean(loudest[rows, explanations, best.window] == best.component) > 0.9
    whole = [np.logaddexp.reduce(naive.log_densities(mixture, x, np.arange(d))) for x in described]
    np.testing.assert_allclose(best.log_density, whole, rtol=1e-3, atol=1e-3)


@settings(max_examples=10, deadline=None)
@given(seed=seeds, grid=st.sampled_from([None, (20, 15, 1), (12, 10, 3)]))
def test_wide_rows_are_described_by_cells(seed, grid):
    rng = np.random.default_rng(seed)
    reference, rows = rows_for(rng, 20, grid, 300), rows_for(rng, 3, grid, 300)
    cells = lay_cells(reference.shape[1], grid)
    coordinates = learn_coordinates(reference, cells)
    described, stretch = describe(coordinates, cells, rows)
    assert described.shape == (3, cells.n_cells * 4)
    assert not stretch.any()
    for c in rng.choice(cells.n_cells, 5):
        inside = cells.of_attribute == c
        away = rows[:, inside] - reference[:, inside].mean(axis=0)
        leading = away @ coordinates.axes[inside]
        np.testing.assert_allclose(described[:, 4 * c : 4 * c + 3], leading, atol=1e-12)
        rest = np.sqrt(((away - leading @ coordinates.axes[inside].T) ** 2).mean(axis=1))
        np.testing.assert_allclose(described[:, 4 * c + 3], rest, atol=1e-7)


def test_warped_rows_have_the_density_of_attributes():
    rng = np.random.default_rng(0)
    reference = rng.exponential(0.1, (50, 3))
    cells = lay_cells(3, None)
    coordinates = learn_coordinates(reference, cells)
    described, stretch = describe(coordinates, cells, reference)
    step = 1e-6
    higher, _ = describe(coordinates, cells, reference + step)
    np.testing.assert_allclose((higher - described) / step, np.exp(-stretch), rtol=1e-4)
