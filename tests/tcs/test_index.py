"""NodeIndex against its naive twin: the same row numbers and the same bits, whatever the data, chunks and threads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tcs import naive

from treemend import threads
from treemend.tcs.index import NodeIndex
from treemend.tcs.tree import build_tree

ALPHAS = (1.0, 0.75, 0.5, 0.3)
KINDS = ("uniform", "one decimal", "integers", "few distinct", "sparse", "constant", "scales", "offset")


def drawn(kind, n_rows, width, seed):  # noqa: PLR0911
    generator = np.random.default_rng(seed)
    uniform = generator.uniform(-1, 1, size=(n_rows, width))
    match kind:
        case "one decimal":
            return np.round(uniform * 3, 1)
        case "integers":
            return np.round(uniform * 8)
        case "few distinct":
            return np.sign(uniform)
        case "sparse":
            return np.where(uniform > 0.5, uniform, 0.0)
        case "constant":
            return np.where(np.arange(width) % 3 == 0, uniform, 7.5)
        case "scales":
            return uniform * 10.0 ** generator.integers(-6, 6, size=(n_rows, 1))
        case "offset":
            return 1e9 + np.round(uniform, 3)
    return uniform


def assert_equal_to_twin(reference, rows, depth, alpha, n_neighbors, **options):
    tree = build_tree(reference.shape[1], depth)
    index = NodeIndex.build(reference, tree, alpha)
    expected = naive.radii(reference, tree, alpha, rows, n_neighbors)
    radii = index.radii(rows, n_neighbors, **options)
    np.testing.assert_array_equal(radii, expected)
    left_out = np.arange(len(rows)) % (len(reference) + 1) - 1
    own = np.arange(min(len(reference), 9))
    np.testing.assert_array_equal(
        index.radii(reference[own], n_neighbors + 1, **options),
        naive.radii(reference, tree, alpha, reference[own], n_neighbors, own),
    )
    for limits in (np.median(expected, axis=0), expected[0], expected.max(axis=0), np.full(tree.n_nodes, -np.inf)):
        np.testing.assert_array_equal(index.labels(rows, n_neighbors, limits, **options), expected > limits)
    for node in {0, tree.n_nodes // 2, tree.n_nodes - 1}:
        at = np.full(len(rows), node)
        _, numbers = index.neighbors(rows, at, n_neighbors, alpha=alpha, left_out=left_out, n_jobs=1)
        np.testing.assert_array_equal(
            numbers, naive.neighbors(reference, tree, alpha, rows, node, n_neighbors, left_out)
        )


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("kind", KINDS)
def test_equal_to_the_naive_twin(kind, alpha):
    reference, rows = drawn(kind, 150, 24, 0), drawn(kind, 9, 24, 1)
    assert_equal_to_twin(reference, rows, 3, alpha, 5)


@pytest.mark.parametrize(
    ("n_reference", "width", "depth", "alpha"),
    [
        (700, 64, 4, 0.75),
        (700, 64, 4, 1.0),
        (33, 40, 1, 0.75),
        (40, 5, 4, 0.75),
        (70, 1, 2, 1.0),
        (64, 65, 5, 0.9),
        (2005, 27, 3, 1.0),
        (2005, 27, 3, 0.75),
    ],
)
def test_other_shapes(n_reference, width, depth, alpha):
    reference, rows = drawn("one decimal", n_reference, width, 2), drawn("one decimal", 5, width, 3)
    assert_equal_to_twin(reference, rows, depth, alpha, 8)


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(KINDS),
    n_reference=st.integers(2, 60),
    width=st.integers(1, 20),
    depth=st.integers(1, 5),
    alpha=st.sampled_from(ALPHAS),
    data=st.data(),
)
def test_equal_to_the_naive_twin_on_small_shapes(kind, n_reference, width, depth, alpha, data):
    n_neighbors = data.draw(st.integers(1, n_reference - 1))
    seed = data.draw(st.integers(0, 1000))
    reference, rows = drawn(kind, n_reference, width, seed), drawn(kind, 3, width, seed + 1)
    rows[0] = reference[0]
    assert_equal_to_twin(reference, rows, depth, alpha, n_neighbors, n_jobs=1)


@pytest.mark.parametrize("alpha", [1.0, 0.75])
def test_every_reference_row_against_the_others(alpha):
    reference = drawn("integers", 120, 16, 4)
    tree = build_tree(16, 3)
    expected = naive.radii(reference, tree, alpha, reference, 4, np.arange(120))
    np.testing.assert_array_equal(NodeIndex.build(reference, tree, alpha).radii(reference, 4 + 1), expected)


@pytest.mark.parametrize("alpha", [1.0, 0.6])
def test_neither_threads_nor_chunks_change_anything(alpha, monkeypatch):
    reference, rows = drawn("one decimal", 300, 16, 5), drawn("one decimal", 41, 16, 6)
    index = NodeIndex.build(reference, build_tree(16, 4), alpha)
    expected = index.radii(rows, 8, n_jobs=1)
    limits = np.median(expected, axis=0)
    for largest, n_jobs in ((1, 1), (7, 2), (16, 3)):
        monkeypatch.setattr(threads.chunk_size, "__defaults__", (largest,))
        monkeypatch.setattr(threads.for_chunks, "__kwdefaults__", {"largest": largest})
        np.testing.assert_array_equal(index.radii(rows, 8, n_jobs=n_jobs), expected)
        np.testing.assert_array_equal(index.labels(rows, 8, limits, n_jobs=n_jobs), expected > limits)


@pytest.mark.parametrize("scale", [1e200, 1e-200])
@pytest.mark.parametrize("alpha", [1.0, 0.75])
def test_values_whose_squares_are_out_of_range(alpha, scale):
    reference, rows = drawn("uniform", 100, 12, 7), drawn("uniform", 6, 12, 8)
    tree = build_tree(12, 3)
    exponent = 2.0 ** round(np.log2(scale))
    plain = NodeIndex.build(reference, tree, alpha)
    scaled = NodeIndex.build(reference * exponent, tree, alpha)
    radii = plain.radii(rows, 8)
    np.testing.assert_array_equal(scaled.radii(rows * exponent, 8), radii * exponent)
    limits = np.median(radii, axis=0)
    np.testing.assert_array_equal(scaled.labels(rows * exponent, 8, limits * exponent), radii > limits)
    nodes = np.array([0, 1, 2, 3, 4, 2])
    options = {"alpha": alpha, "left_out": None, "n_jobs": None}
    distances, found = scaled.neighbors(rows * exponent, nodes, 8, **options)
    expected, numbers = plain.neighbors(rows, nodes, 8, **options)
    np.testing.assert_array_equal(found, numbers)
    np.testing.assert_array_equal(distances, expected * exponent)


def test_rows_far_from_the_reference_have_finite_radii():
    reference, tree = drawn("uniform", 100, 12, 9), build_tree(12, 3)
    rows = np.array([np.full(12, 1e308), np.full(12, -1e308), np.full(12, 1e12)])
    for alpha in (1.0, 0.75):
        index = NodeIndex.build(reference, tree, alpha)
        radii = index.radii(rows, 8)
        assert np.isfinite(radii).all()
        assert (radii > 1e11).all()
        assert index.labels(rows, 8, np.full(tree.n_nodes, 1e11)).all()
        np.testing.assert_array_equal(radii[2], naive.radii(reference, tree, alpha, rows[2:], 8)[0])


@pytest.mark.parametrize("alpha", [1.0, 0.75])
@pytest.mark.parametrize("kind", ["uniform", "one decimal"])
def test_rows_with_missing_values_among_complete_ones(kind, alpha):
    reference, rows = drawn(kind, 90, 13, 10), drawn(kind, 12, 13, 11)
    rows[::2][np.random.default_rng(12).random((6, 13)) < 0.4] = np.nan
    rows[4] = np.nan
    assert_equal_to_twin(reference, rows, 3, alpha, 6)
