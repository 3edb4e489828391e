import numpy as np
import pytest
from tests.literal import ranked_distance
from tests.rows import correlated_rows

from treemend.kernels import kept, pack
from treemend.radii import suspect_radii
from treemend.tree import build_tree, lay_out


@pytest.mark.parametrize("alpha", [0.6, 1.0])
def test_missing_values_are_ignored(alpha):
    rng = np.random.default_rng(0)
    reference = correlated_rows(rng, 30, 11)
    tree = build_tree(lay_out("sequence", 11), 3)
    rows = correlated_rows(rng, 12, 11)
    rows[rng.random(rows.shape) < 0.3] = np.nan
    rows[0] = np.nan
    rows[1] = correlated_rows(rng, 1, 11)
    found = suspect_radii(rows, tree, pack(reference, tree, alpha), reference, 3)
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
