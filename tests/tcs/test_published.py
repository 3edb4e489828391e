"""Every mask, repaired row and score equals a literal implementation of the method."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import correlated_rows, overwrite
from tests.tcs.literal import LiteralTCS

from treemend.tcs import TCS


def compare(reference, suspects, **params):
    """Compare all rows; return in how many something was declared."""
    tcs, literal = TCS(**params).fit(reference), LiteralTCS(reference, **params)
    result = tcs.mend(suspects)
    masks, repaired = zip(*(literal.mend(row) for row in suspects), strict=True)
    np.testing.assert_array_equal(result.mask, masks)
    np.testing.assert_array_equal(result.repaired, repaired)
    np.testing.assert_array_equal(result.corrupted, np.any(masks, axis=1))
    np.testing.assert_array_equal(tcs.predict(suspects) == -1, result.corrupted)
    np.testing.assert_array_equal(tcs.score_nodes(suspects), [literal.scores(row) for row in suspects])
    return int(result.corrupted.sum())


@pytest.mark.parametrize("imputation", ["map", "nearest"])
@pytest.mark.parametrize("alpha", [0.375, 0.75, 1.0])
@pytest.mark.parametrize(("n_features", "depth"), [(7, 3), (33, 4), (64, 6)])
def test_equals_the_literal_method(n_features, depth, alpha, imputation):
    rng = np.random.default_rng(n_features)
    reference = correlated_rows(rng, 50, n_features)
    suspects, _ = overwrite(rng, correlated_rows(rng, 12, n_features))
    assert compare(reference, suspects, tau=0.06, alpha=alpha, depth=depth, n_neighbors=4, imputation=imputation) > 0


@pytest.mark.parametrize("root_rule", ["continue", "stop"])
@pytest.mark.parametrize("decimals", [0, 1])
def test_equals_the_literal_method_on_rounded_rows(decimals, root_rule):
    rng = np.random.default_rng(decimals)
    reference = correlated_rows(rng, 60, 16).round(decimals)
    suspects = overwrite(rng, correlated_rows(rng, 20, 16))[0].round(decimals)
    params = {"tau": 0.1, "alpha": 0.75, "depth": 4, "n_neighbors": 4, "imputation": "map"}
    assert compare(reference, suspects, root_rule=root_rule, **params) > 0


@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_equals_the_literal_method_on_coarse_values(data):
    """Values on a coarse grid: ties between distances everywhere, duplicates, constant attributes."""
    n_features = data.draw(st.integers(1, 9))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    reference = rng.integers(0, 4, (data.draw(st.integers(6, 16)), n_features)).astype(float)
    suspects = rng.integers(0, 5, (4, n_features)).astype(float)
    if data.draw(st.booleans()):
        suspects[rng.random(suspects.shape) < 0.3] = np.nan
    compare(
        reference,
        suspects,
        tau=data.draw(st.sampled_from([0.0, 0.05, 0.2, 0.5])),
        alpha=data.draw(st.sampled_from([0.5, 0.75, 1.0])),
        depth=data.draw(st.integers(1, 4)),
        n_neighbors=data.draw(st.integers(1, 4)),
        imputation=data.draw(st.sampled_from(["map", "nearest"])),
        root_rule=data.draw(st.sampled_from(["continue", "stop"])),
    )


@pytest.mark.parametrize("alpha", [0.75, 1.0])
def test_rows_with_missing_values(alpha):
    rng = np.random.default_rng(3)
    reference = correlated_rows(rng, 60, 22)
    suspects, _ = overwrite(rng, correlated_rows(rng, 15, 22))
    suspects[rng.random(suspects.shape) < 0.2] = np.nan
    suspects[0] = np.nan
    suspects[1, 1:] = np.nan
    suspects[2, :11] = np.nan
    suspects[3] = correlated_rows(rng, 1, 22)
    params = {"tau": 0.06, "alpha": alpha, "depth": 3, "n_neighbors": 4, "imputation": "map"}
    assert compare(reference, suspects, **params) > 0


@pytest.mark.parametrize("imputation", ["map", "nearest"])
def test_reference_rows_are_judged_and_filled_by_the_others(imputation):
    rng = np.random.default_rng(4)
    reference = correlated_rows(rng, 50, 12).round(1)
    reference[7] = reference[8]
    params = {"tau": 0.06, "alpha": 0.75, "depth": 3, "n_neighbors": 4, "imputation": imputation}
    result, literal = TCS(**params).fit_mend(reference), LiteralTCS(reference, **params)
    masks, repaired = zip(*(literal.mend(row, left_out=i) for i, row in enumerate(reference)), strict=True)
    np.testing.assert_array_equal(result.mask, masks)
    np.testing.assert_array_equal(result.repaired, repaired)
    assert result.corrupted.any()


def test_the_root_rules_differ():
    rng = np.random.default_rng(3)
    reference = correlated_rows(rng, 60, 16)
    suspects = correlated_rows(rng, 10, 16) * 5
    params = {"tau": 0.1, "alpha": 1.0, "depth": 3, "n_neighbors": 4, "imputation": "map"}
    found = {rule: compare(reference, suspects, root_rule=rule, **params) for rule in ("continue", "stop")}
    assert found["continue"] > found["stop"]
