"""Trees and rows for the kernels' tests, and Hypothesis strategies that draw them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from hypothesis import strategies as st

FIELDS = ("start", "stop", "left", "right", "parent", "depth")


def halving_tree(width, depth):
    """The tree of section 2, written apart from the product's own."""
    nodes = [[0, width, -1, -1, -1, 0]]
    for number, node in enumerate(nodes):
        start, stop, *_, level = node
        if stop - start >= 2 and level < depth:
            middle = start + (stop - start) // 2
            node[2:4] = len(nodes), len(nodes) + 1
            nodes += [[start, middle, -1, -1, number, level + 1], [middle, stop, -1, -1, number, level + 1]]
    columns = np.array(nodes, dtype=np.int64).T
    return SimpleNamespace(**dict(zip(FIELDS, np.ascontiguousarray(columns), strict=True)))


def lopsided_tree(width, cut):
    """A tree whose left children are leaves of ``cut`` attributes and whose right children go on."""
    nodes = [[0, width, -1, -1, -1, 0]]
    for number, node in enumerate(nodes):
        start, stop, *_, level = node
        is_left = number % 2 == 1
        if stop - start > cut and not is_left:
            node[2:4] = len(nodes), len(nodes) + 1
            middle = start + cut
            nodes += [[start, middle, -1, -1, number, level + 1], [middle, stop, -1, -1, number, level + 1]]
    columns = np.array(nodes, dtype=np.int64).T
    return SimpleNamespace(**dict(zip(FIELDS, np.ascontiguousarray(columns), strict=True)))


def correlated(generator, n_rows, width):
    """Continuous rows whose neighbouring attributes go together."""
    return np.cumsum(generator.normal(size=(n_rows, width)), axis=1)


@st.composite
def trees(draw):
    width = draw(st.integers(1, 40))
    if draw(st.booleans()):
        return halving_tree(width, draw(st.integers(0, 6)))
    return lopsided_tree(width, draw(st.integers(1, 9)))


@st.composite
def row_pairs(draw, width):
    """Reference rows and suspect rows: continuous, tied, constant, duplicated, far out, huge or tiny."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows = draw(st.integers(3, 50))
    reference = correlated(generator, n_rows, width)
    kind = draw(st.sampled_from(["continuous", "tied", "binary", "constant columns", "duplicates", "offset"]))
    if kind == "tied":
        reference = generator.integers(0, 5, size=reference.shape) / 3.0
    elif kind == "binary":
        reference = generator.integers(0, 2, size=reference.shape).astype(float)
    elif kind == "constant columns":
        reference[:, generator.random(width) < 0.6] = 1.7
    elif kind == "duplicates":
        reference = reference[generator.integers(0, 3, size=n_rows)]
    elif kind == "offset":
        reference += 1e7
    rows = reference[generator.integers(0, n_rows, size=4)] + 0.0
    rows[1] += generator.normal(size=width) * 0.1
    rows[2, : width // 2 + 1] = draw(st.sampled_from([0.0, -9999.0, 1e9]))
    rows[3] = generator.permutation(rows[3])
    magnitude = draw(st.sampled_from([1.0, 2.0**-140, 3e-60, 1e-9, 1e9, 2.0**120, 7e70]))
    # A reference of zeros has no magnitude, and rows are drawn in to 1e15 times its own.
    magnitude = magnitude if reference.any() else 1.0
    return reference * magnitude, rows * magnitude
