import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treemend.exceptions import ParameterError
from treemend.tree import build_tree, grid_shape, lay_out


def node_sets(tree):
    return [set(tree.order[a:b].tolist()) for a, b in zip(tree.start, tree.stop, strict=True)]


@given(shape=st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(1, 3)), depth=st.integers(1, 6))
def test_nodes_of_a_grid_are_rectangles_with_all_channels(shape, depth):
    height, width, channels = shape
    tree = build_tree(lay_out(shape, height * width * channels), depth)
    assert sorted(tree.order.tolist()) == list(range(height * width * channels))
    for attributes in node_sets(tree):
        pixels = {attribute // channels for attribute in attributes}
        rows, columns = {pixel // width for pixel in pixels}, {pixel % width for pixel in pixels}
        assert len(pixels) == len(rows) * len(columns)
        assert max(rows) - min(rows) + 1 == len(rows)
        assert max(columns) - min(columns) + 1 == len(columns)
        assert len(pixels) == 1 or len(attributes) == len(pixels) * channels


def test_a_square_grid_is_cut_alternately_by_column_and_row():
    tree = build_tree(lay_out((4, 4), 16), 2)
    assert node_sets(tree)[1] == {0, 1, 4, 5, 8, 9, 12, 13}
    assert node_sets(tree)[3] == {0, 1, 4, 5}


@pytest.mark.parametrize("layout", [[[3, 0], [1], [2, 4]], {"x": ["d", "a"], "y": ["b"], "z": ["c", "e"]}])
def test_groups_are_cut_between_first(layout):
    tree = build_tree(lay_out(layout, 5, names=list("abcde")), 3)
    nodes = node_sets(tree)
    assert nodes[:4] == [{0, 1, 2, 3, 4}, {0, 3}, {1, 2, 4}, {3}]
    assert {1} in nodes
    assert {2, 4} in nodes


def test_correlated_columns_come_together():
    rng = np.random.default_rng(0)
    source = rng.normal(size=(300, 4))
    reference = np.repeat(source, 3, axis=1) + 0.1 * rng.normal(size=(300, 12))
    shuffled = rng.permutation(12)
    part = lay_out("correlated", 12, reference=lambda: reference[:, shuffled])
    kinds = shuffled[part.attributes()] // 3
    assert (np.diff(kinds) != 0).sum() == 3


def test_constant_columns_can_be_correlated():
    reference = np.c_[np.ones(20), np.arange(20), np.ones(20), -np.arange(20)]
    part = lay_out("correlated", 4, reference=lambda: reference)
    places = part.attributes().tolist()
    assert abs(places.index(1) - places.index(3)) == 1


@pytest.mark.parametrize(("layout", "shape"), [((3, 4), (3, 4, 1)), ([3, 4, 2], (3, 4, 2)), ((3,), None), ("x", None)])
def test_grid_shape(layout, shape):
    assert grid_shape(layout) == shape


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        ("spiral", "layout must be"),
        (3, "layout must be"),
        (None, "layout must be"),
        (["sequence"], "layout must be"),
        ((0, 4), "layout must be"),
        ((True, 4), "layout must be"),
        ((3, 2), "A grid of 3 x 2 has 6 attributes, but the rows have 4"),
        ((2, 2, 3), "A grid of 2 x 2 x 3 has 12"),
        ([[0, 1], [2, 9]], "column 9, which the reference does not have"),
        ([["a"], ["z"]], "column 'z', which the reference does not have. Its columns are named 'a'"),
        ([[0, 1], [2]], r"in no group: \[3\]"),
        ([[0, 1], [1, 2, 3]], r"more than one: \[1\]"),
        ([[0, 1, 2, 3], []], "no empty group"),
    ],
)
def test_unknown_layouts_are_refused(layout, message):
    with pytest.raises(ParameterError, match=message):
        lay_out(layout, 4, names=list("abcd"))
