import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.literal import interval_tree

from treemend.tree import build_tree, default_depth, lay_out


def literal_intervals(n_features, depth):
    level, found = [interval_tree(n_features, depth)], []
    while level:
        found += [(node["start"], node["stop"]) for node in level]
        level = [child for node in level for child in node["children"]]
    return found


@given(n_features=st.integers(1, 70), depth=st.integers(1, 7))
def test_sequence_tree_equals_section_2(n_features, depth):
    tree = build_tree(lay_out("sequence", n_features), depth)
    assert sorted(zip(tree.start, tree.stop, strict=True)) == sorted(literal_intervals(n_features, depth))
    assert tree.order.tolist() == list(range(n_features))


@given(n_features=st.integers(1, 70), depth=st.integers(1, 7))
def test_links_agree(n_features, depth):
    tree = build_tree(lay_out("sequence", n_features), depth)
    assert tree.parent[0] == -1
    assert tree.sibling(0) == -1
    for node in range(1, tree.n_nodes):
        parent = tree.parent[node]
        assert parent < node
        assert node in (tree.left[parent], tree.right[parent])
        assert tree.depth[node] == tree.depth[parent] + 1
        assert tree.sibling(tree.sibling(node)) == node
    inner = np.flatnonzero(tree.left >= 0)
    assert (tree.start[tree.left[inner]] == tree.start[inner]).all()
    assert (tree.stop[tree.left[inner]] == tree.start[tree.right[inner]]).all()
    assert (tree.stop[tree.right[inner]] == tree.stop[inner]).all()
    leaves = np.flatnonzero(tree.left < 0)
    assert all(tree.depth[leaf] == depth or tree.stop[leaf] - tree.start[leaf] == 1 for leaf in leaves)


def test_default_depth_leaves_about_four_attributes():
    for n_features in range(5, 1000):
        assert 2 <= n_features / 2 ** default_depth(n_features) <= 4
