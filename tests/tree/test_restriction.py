import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from treemend.tree import build_tree, lay_out, restrict


@given(data=st.data(), n_features=st.integers(1, 20), depth=st.integers(1, 5))
def test_nodes_keep_what_is_left_of_them(data, n_features, depth):
    tree = build_tree(lay_out("sequence", n_features), depth)
    observed = np.array(data.draw(st.lists(st.booleans(), min_size=n_features, max_size=n_features)))
    if not observed.any():
        observed[data.draw(st.integers(0, n_features - 1))] = True
    left = restrict(tree, observed)
    original = np.flatnonzero(observed)
    seen = set()
    for node in range(tree.n_nodes):
        expected = np.flatnonzero(observed[tree.start[node] : tree.stop[node]]) + tree.start[node]
        new = left.node_of[node]
        assert (new == -1) == (len(expected) == 0)
        if new >= 0:
            assert original[left.tree.start[new] : left.tree.stop[new]].tolist() == expected.tolist()
            seen.add(int(new))
    assert seen == set(range(left.tree.n_nodes))
    inner = np.flatnonzero(left.tree.left >= 0)
    assert (left.tree.stop[left.tree.left[inner]] == left.tree.start[left.tree.right[inner]]).all()
    assert (left.tree.parent[left.tree.left[inner]] == inner).all()
    assert (left.tree.left[inner] > inner).all()
