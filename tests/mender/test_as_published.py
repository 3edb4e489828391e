"""Every mask and repaired row equals a literal implementation of the method."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.literal import LiteralMender
from tests.rows import correlated_rows, overwrite

from treemend import TreeMender


def compare(reference, suspects, *, tau, alpha, depth, n_neighbors, imputation):
    mended = (
        TreeMender.as_published(tau, alpha=alpha, depth=depth, n_neighbors=n_neighbors, imputation=imputation)
        .fit(reference)
        .mend(suspects)
    )
    literal = LiteralMender(
        reference, tau=tau, alpha=alpha, depth=depth, n_neighbors=n_neighbors, imputation=imputation
    )
    found = 0
    for row, suspect in enumerate(suspects):
        mask, repaired = literal.mend(suspect)
        assert np.array_equal(mended.mask[row], mask)
        assert np.array_equal(mended.repaired[row], repaired)
        assert mended.corrupted[row] == mask.any()
        found += mask.any()
    return found


@pytest.mark.parametrize("imputation", ["map", "nearest"])
@pytest.mark.parametrize("alpha", [0.375, 0.5, 0.75, 1.0])
@pytest.mark.parametrize(("n_features", "depth"), [(7, 3), (33, 4), (64, 6)])
def test_equals_the_literal_method(n_features, depth, alpha, imputation):
    rng = np.random.default_rng(n_features)
    reference = correlated_rows(rng, 50, n_features)
    suspects, _ = overwrite(rng, correlated_rows(rng, 12, n_features))
    found = compare(reference, suspects, tau=0.06, alpha=alpha, depth=depth, n_neighbors=4, imputation=imputation)
    assert found > 0


@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_equals_the_literal_method_on_coarse_values(data):
    """Values on a coarse grid: ties between distances everywhere, duplicates, constant attributes."""
    n_features = data.draw(st.integers(2, 9))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    reference = rng.integers(0, 4, (data.draw(st.integers(6, 16)), n_features)).astype(float)
    suspects = rng.integers(0, 5, (4, n_features)).astype(float)
    compare(
        reference,
        suspects,
        tau=data.draw(st.sampled_from([0.05, 0.2, 0.5])),
        alpha=data.draw(st.sampled_from([0.5, 0.75, 1.0])),
        depth=data.draw(st.integers(1, 4)),
        n_neighbors=data.draw(st.integers(1, 4)),
        imputation=data.draw(st.sampled_from(["map", "nearest"])),
    )


def test_the_listing_s_root_rule():
    rng = np.random.default_rng(3)
    reference = correlated_rows(rng, 60, 16)
    suspects = correlated_rows(rng, 10, 16) * 5
    mender = TreeMender(
        tau=0.1,
        alpha=1.0,
        depth=3,
        n_neighbors=4,
        scale=None,
        root_rule="stop",
        donors="sibling",
        imputation="map",
        refine=False,
    ).fit(reference)
    literal = LiteralMender(reference, tau=0.1, alpha=1.0, depth=3, n_neighbors=4, imputation="map", stop_at_root=True)
    expected = np.array([literal.mend(row)[0] for row in suspects])
    assert np.array_equal(mender.localize(suspects), expected)
    going_on = TreeMender(tau=0.1, alpha=1.0, depth=3, n_neighbors=4, scale=None, refine=False).fit(reference)
    assert going_on.localize(suspects).sum() > expected.sum()
