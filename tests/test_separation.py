import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from treemend.kernels import declared_nodes
from treemend.separation import attribute_mask, declare, turning_levels
from treemend.tree import build_tree, lay_out


def turning_level(own, tree, level, n_levels, stop_at_root):
    """Twin: the verdict at every level, one after the other."""
    verdicts = [declared_nodes((own <= k)[None], tree, stop_at_root=stop_at_root).any() for k in range(n_levels)]
    if level >= 0 and verdicts[level]:
        while level > 0 and verdicts[level - 1]:
            level -= 1
        return level
    return next((k for k in range(level + 1, n_levels) if verdicts[k]), n_levels)


@settings(deadline=None, max_examples=60)
@given(data=st.data(), n_features=st.integers(1, 9), depth=st.integers(1, 3), stop_at_root=st.booleans())
def test_turning_levels(data, n_features, depth, stop_at_root):
    tree = build_tree(lay_out("sequence", n_features), depth)
    n_levels = 12
    counts = np.array(data.draw(st.lists(st.integers(0, n_levels - 1), min_size=tree.n_nodes, max_size=tree.n_nodes)))
    level = data.draw(st.integers(-1, n_levels - 1))
    found = turning_levels(counts[None], tree, level, n_levels, stop_at_root=stop_at_root)
    assert found[0] == turning_level(counts, tree, level, n_levels, stop_at_root)


def test_declared_nodes_cover_their_attributes():
    tree = build_tree(lay_out("sequence", 8), 3)
    scores = np.ones((2, tree.n_nodes))
    scores[0, [1, 3, 4]] = 0.01
    declared = declare(scores, tree, 0.05, stop_at_root=False)
    assert np.flatnonzero(declared[0]).tolist() == [1]
    mask = attribute_mask(declared, tree)
    assert np.flatnonzero(mask[0]).tolist() == [0, 1, 2, 3]
    assert not mask[1].any()
