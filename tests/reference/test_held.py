"""Answers of a reference in memory, beyond what the kernels' own tests tell."""

import numpy as np
import pytest
from tests.literal import ranked_distance
from tests.rows import correlated_rows

from treemend.kernels import kept
from treemend.reference import HeldRows, Means
from treemend.tables import Scaling
from treemend.tree import build_tree, lay_out


def prepared(values, depth, alpha, grid=None):
    width = values.shape[1]
    tree = build_tree(lay_out(grid[:2] if grid else "sequence", width), depth)
    return HeldRows(values).prepared(Scaling(np.zeros(width), np.ones(width)), tree, grid, alpha, Means())


@pytest.mark.parametrize("alpha", [0.6, 1.0])
def test_missing_values_are_ignored(alpha):
    rng = np.random.default_rng(0)
    reference = correlated_rows(rng, 30, 11)
    asked = prepared(reference, 3, alpha)
    tree = asked.tree
    rows = correlated_rows(rng, 12, 11)
    rows[rng.random(rows.shape) < 0.3] = np.nan
    rows[0] = np.nan
    rows[1] = correlated_rows(rng, 1, 11)
    found = asked.radii(rows, 3)
    for row, radii in zip(rows, found, strict=True):
        for node, radius in enumerate(radii):
            here = np.arange(tree.start[node], tree.stop[node])
            seen = here[~np.isnan(row[here])]
            if len(seen) == 0:
                assert radius == 0
                continue
            third = sorted(ranked_distance(row[seen], s[seen], alpha) for s in reference)[2]
            stretch = np.sqrt(kept(len(here), alpha) / kept(len(seen), alpha))
            assert radius == pytest.approx(third * stretch, rel=1e-12)


@pytest.mark.parametrize("alpha", [0.6, 1.0])
def test_left_out_radii_of_some_rows_are_those_of_all(alpha):
    rng = np.random.default_rng(1)
    values = correlated_rows(rng, 90, 12)
    values[7] = values[8]
    asked = prepared(values, 2, alpha)
    everything = asked.left_out_radii(np.arange(90), 4)
    some = rng.permutation(90)[:20]
    np.testing.assert_array_equal(asked.left_out_radii(some, 4), everything[some])
    np.testing.assert_array_equal(asked.radii(values[some], 4, left_out=some), everything[some])


def test_unit_layout_takes_a_grid_to_its_pixels_and_back():
    rng = np.random.default_rng(2)
    values = rng.uniform(-3, 5, (40, 12))
    asked = prepared(values, 2, 1.0, grid=(3, 4, 1))
    table, places = asked.laid(np.arange(40))
    low, high = values.min(axis=0), values.max(axis=0)
    np.testing.assert_allclose(table[places], (values - low) / (high - low))
    mask = rng.random((5, 12)) < 0.5
    np.testing.assert_array_equal(asked.unit.to_tree(mask), mask[:, asked.tree.order])
    np.testing.assert_array_equal(
        asked.given(np.array([[3, 1], [0, 39]])), values[[[3, 1], [0, 39]]][..., asked.tree.order]
    )
