import numpy as np
import pytest
from experiments.corruptions import overwrite_share_of_rows, overwrite_squares, overwrite_stretches


@pytest.mark.parametrize(("longest", "widest"), [(0.5, 15), (0.3, 9)])
def test_stretches_cover_ten_per_cent_to_the_longest_and_nothing_else_changes(longest, widest):
    rng = np.random.default_rng(0)
    rows = np.full((300, 30), 2.0)
    corrupted = overwrite_stretches(rows, rng, longest)
    changed = corrupted != rows
    widths = changed.sum(axis=1)
    assert widths.min() == 3
    assert widths.max() == widest
    assert (np.diff(changed.astype(int), axis=1) == 1).sum(axis=1).max() <= 1
    assert corrupted[changed].min() >= 0
    assert corrupted[changed].max() <= 1
    assert np.all(rows == 2.0)


def test_stretches_are_as_long_as_the_text_says_unless_told_otherwise():
    rows = np.full((50, 30), 2.0)
    usual, told = (overwrite_stretches(rows, np.random.default_rng(0), *longest) for longest in ((), (0.5,)))
    np.testing.assert_array_equal(usual, told)


@pytest.mark.parametrize(("longest", "widest"), [(0.5, 10), (0.3, 6)])
def test_a_share_of_rows(longest, widest):
    rng = np.random.default_rng(0)
    rows = np.full((2000, 20), 2.0)
    changed = overwrite_share_of_rows(rows, 0.05, rng, longest) != rows
    assert changed.any(axis=1).sum() == 100
    assert changed.sum(axis=1).max() == widest


def test_squares_hit_half_of_the_images():
    rng = np.random.default_rng(0)
    images = np.full((400, 256), 2.0)
    corrupted, mask = overwrite_squares(images, rng)
    np.testing.assert_array_equal(corrupted != images, mask)
    hit = mask.any(axis=1)
    assert 160 < hit.sum() < 240
    sides = np.sqrt(mask[hit].sum(axis=1))
    assert set(sides) == {5, 6, 7, 8, 9, 10, 11}
    assert np.all(mask[hit].reshape(-1, 16, 16).any(axis=1).sum(axis=1) == sides)


def test_draws_are_those_of_the_committed_results():
    rng = np.random.default_rng(0)
    corrupted = overwrite_stretches(np.zeros((20, 30)), rng)
    images, _ = overwrite_squares(np.zeros((20, 256)), rng)
    shares = overwrite_share_of_rows(np.zeros((20, 30)), 0.5, rng, 0.3)
    found = [corrupted.sum(), images.sum(), shares.sum(), rng.random()]
    np.testing.assert_allclose(
        found, [112.86032320256933, 244.80718255812846, 29.41545127873, 0.03257234981461099], rtol=1e-13
    )
