import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tcs.literal import interval_tree

from treemend.tcs import build_tree, grid_order


@given(n_features=st.integers(1, 40), depth=st.integers(1, 7))
def test_equals_the_literal_tree(n_features, depth):
    tree, nodes = build_tree(n_features, depth), interval_tree(n_features, depth)
    assert list(zip(tree.start, tree.stop, strict=True)) == [(node["start"], node["stop"]) for node in nodes]
    for node in nodes:
        children = [child["number"] for child in node["children"]] or [-1, -1]
        assert [tree.left[node["number"]], tree.right[node["number"]]] == children
        for child, other in zip(children, children[::-1], strict=True):
            if child >= 0:
                assert tree.parent[child] == node["number"]
                assert tree.sibling[child] == other
                assert tree.depth[child] == tree.depth[node["number"]] + 1
    assert (tree.parent[0], tree.sibling[0], tree.depth[0]) == (-1, -1, 0)
    assert (tree.n_features, tree.n_nodes) == (n_features, len(nodes))
    assert tree.height == min(depth, int(np.ceil(np.log2(n_features))))


@given(height=st.integers(1, 9), width=st.integers(1, 9), channels=st.integers(1, 3))
def test_grid_orders_are_permutations_that_keep_channels_together(height, width, channels):
    order = grid_order(height, width, channels)
    assert sorted(order) == list(range(height * width * channels))
    cells = order.reshape(-1, channels)
    assert (cells % channels == np.arange(channels)).all()
    assert (cells // channels == cells[:, :1] // channels).all()


@pytest.mark.parametrize(("height", "width"), [(8, 8), (4, 16), (16, 2)])
def test_every_node_of_a_grid_of_powers_of_two_is_a_rectangle(height, width):
    order, tree = grid_order(height, width), build_tree(height * width, 6)
    for start, stop in zip(tree.start, tree.stop, strict=True):
        rows, columns = np.divmod(order[start:stop], width)
        assert np.ptp(rows) + 1 == len(np.unique(rows))
        assert (np.ptp(rows) + 1) * (np.ptp(columns) + 1) == stop - start


def test_a_square_grid_is_cut_by_column_first():
    order, tree = grid_order(4, 4), build_tree(16, 2)
    parts = [sorted(order[a:b].tolist()) for a, b in zip(tree.start, tree.stop, strict=True)]
    assert parts[1] == [0, 1, 4, 5, 8, 9, 12, 13]
    assert parts[3] == [0, 1, 4, 5]
