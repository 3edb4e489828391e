"""Contexts and rows for the refinement's tests."""

from __future__ import annotations

import numpy as np

from treemend.kernels import pack
from treemend.reference import HeldReference, Means, UnitLayout
from treemend.refinement.mixture import Shape, learn_mixture
from treemend.tree import build_tree, lay_out

GRIDS = {None: 24, (6, 6, 1): 36, (4, 5, 2): 40}


def clean_rows(rng, n_rows, d):
    """Two kinds of smooth rows in [0, 1], every attribute told by its neighbours."""
    phase = rng.uniform(0, 1.5, (n_rows, 1)) + np.where(rng.random((n_rows, 1)) < 0.5, 0.0, 3.0)
    height = rng.uniform(0.2, 0.4, (n_rows, 1))
    rows = 0.5 + height * np.sin(np.linspace(0, 5, d) + phase) + rng.normal(0, 0.01, (n_rows, d))
    return np.clip(rows, 0, 1)


def clean_images(rng, n_rows, height, width, channels):
    """Blobs of one width at random places, dimmer from channel to channel."""
    y, x, c = np.ogrid[:height, :width, :channels]
    top, left = rng.uniform(0.3, 0.7, (2, n_rows, 1, 1, 1))
    distance = ((y + 0.5) / height - top) ** 2 + ((x + 0.5) / width - left) ** 2
    images = np.exp(-6 * distance) / (1 + c) + rng.normal(0, 0.01, (n_rows, height, width, channels))
    return np.clip(images, 0, 1).reshape(n_rows, -1)


def rows_for(rng, n_rows, grid, d=24):
    return clean_rows(rng, n_rows, d) if grid is None else clean_images(rng, n_rows, *grid)


def a_mixture(rng, d, n_components, shrinkage=0.05):
    """A mixture learnt from few random rows."""
    described = np.cumsum(rng.normal(0, 0.1, (12 * n_components, d)), axis=1)
    return learn_mixture(described, Shape(n_components, shrinkage), seed=0)


def held(rows):
    """A reference whose rows are in unit layout as they are."""
    rows = np.ascontiguousarray(rows)
    tree = build_tree(lay_out("sequence", rows.shape[1]), 1)
    zeros, ones = np.zeros(rows.shape[1]), np.ones(rows.shape[1])
    return HeldReference(
        rows, rows, pack(rows, tree, 1.0), tree, zeros, ones, UnitLayout(zeros, ones, None, zeros, ones), Means()
    )


def p_values(clean, statistics):
    """How often a clean row is at least as surprising, the row itself counted."""
    return np.array([(1 + np.sum(clean >= statistic)) / (1 + len(clean)) for statistic in statistics])
