import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treemend.synthetic import (
    KINDS,
    TYPOS,
    corrupt,
    scattered_masks,
    square_masks,
    stretch_masks,
    waves,
)

seeds = st.integers(0, 2**32 - 1)


def runs(masks):
    return (np.diff(masks.astype(int), axis=1, prepend=0) == 1).sum(axis=1)


def test_waves_are_smooth_and_of_bounded_height():
    rows = waves(50, 40)
    assert rows.shape == (50, 40)
    assert np.abs(rows).max() <= 2
    assert np.abs(np.diff(rows)).max() < 0.4
    assert np.abs(np.diff(waves(50, 40, noise=0.5))).max() > 0.4


def test_equal_seeds_give_equal_rows_and_a_generator_goes_on():
    np.testing.assert_array_equal(waves(3, rng=5), waves(3, rng=np.random.default_rng(5)))
    rng = np.random.default_rng(5)
    assert np.any(waves(3, rng=rng) != waves(3, rng=rng))


def test_one_stretch_covers_a_tenth_to_a_half():
    masks = stretch_masks(200, 30)
    assert masks.sum(axis=1).min() == 3
    assert masks.sum(axis=1).max() == 15
    assert np.all(runs(masks) == 1)
    assert stretch_masks(200, 30, longest=0.3).sum(axis=1).max() == 9


@settings(deadline=None)
@given(seeds, st.integers(2, 6), st.integers(12, 70))
def test_several_stretches_are_apart(seed, count, n_features):
    masks = stretch_masks(5, n_features, rng=seed, count=count)
    assert np.all(runs(masks) == count)
    assert np.all(masks.sum(axis=1) >= 0.1 * n_features)
    assert np.all(masks.sum(axis=1) <= max(count, 0.5 * n_features))


def test_too_many_stretches_are_refused():
    assert stretch_masks(3, 7, count=4)[0].tolist() == [True, False] * 3 + [True]
    with pytest.raises(ValueError, match="count must be at most 4 for 7 columns; got 5"):
        stretch_masks(3, 7, count=5)


@pytest.mark.parametrize(("grid", "sides"), [((8, 8), {3, 4, 5}), ((16, 16), {5, 6, 7, 8, 9, 10, 11})])
def test_squares_have_the_papers_sides(grid, sides):
    assert set(np.sqrt(square_masks(300, grid).sum(axis=1)).astype(int)) == sides


def test_two_squares_have_the_area_of_one():
    sizes = square_masks(300, (16, 16), count=2).sum(axis=1)
    assert sizes.min() >= 16
    assert sizes.max() <= 128


def test_scattered_cells_have_the_share_that_was_asked_and_no_row_is_empty():
    masks = scattered_masks(2000, 20, 0.1)
    assert masks.any(axis=1).all()
    assert masks.mean() == pytest.approx(0.1 + 0.9**20 / 20, abs=0.005)


@pytest.mark.parametrize("kind", KINDS + TYPOS)
def test_corruption_stays_inside_its_mask_and_the_rows_given_are_not_changed(kind):
    rng = np.random.default_rng(0)
    rows = rng.random((20, 12)) + 0.1
    before, masks = rows.copy(), stretch_masks(20, 12)
    corrupted = corrupt(kind, rows, masks)
    outside = ~masks if kind != "neighbours" else ~(masks | np.roll(masks, 1, axis=1) | np.roll(masks, -1, axis=1))
    np.testing.assert_array_equal(corrupted[outside], rows[outside])
    np.testing.assert_array_equal(rows, before)
    assert np.any(corrupted != rows)


def test_kinds_do_what_their_names_say():
    rows, others = np.random.default_rng(0).random((4, 10)), np.random.default_rng(1).random((1, 10))
    masks = np.zeros((4, 10), dtype=bool)
    masks[:, 3:6] = True
    assert np.all(corrupt("zero", rows, masks)[:, 3:6] == 0)
    np.testing.assert_array_equal(corrupt("stuck", rows, masks)[:, 3:6], np.tile(rows[:, 3:4], 3))
    np.testing.assert_array_equal(corrupt("swap", rows, masks, others=others)[:, 3:6], np.tile(others[:, 3:6], (4, 1)))
    assert np.all(corrupt("swap", rows, masks)[:, 3:6] != rows[:, 3:6])
    np.testing.assert_allclose(np.abs(corrupt("offset", rows, masks) - rows)[:, 3:6], 0.3)
    assert corrupt("offset", np.zeros((1, 4)), masks[:1, 2:6]).tolist() == [[0, 0.3, 0.3, 0.3]]
    assert 0.1 < np.std(corrupt("additive", rows, masks)[:, 3:6] - rows[:, 3:6]) < 0.4


def test_typos_do_what_their_names_say():
    rows = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    masks = np.array([[False, True, False], [False, False, True]])
    assert corrupt("sign", rows, masks).tolist() == [[1, -2, 3], [4, 5, -6]]
    assert corrupt("neighbours", rows, masks).tolist() == [[1, 3, 2], [4, 6, 5]]
    ratio = corrupt("factor", rows, masks) / rows
    assert all(value == pytest.approx(10) or value == pytest.approx(0.1) for value in ratio[masks])


def test_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="kind must be one of noise, .*; got 'rust'"):
        corrupt("rust", np.zeros((1, 2)), np.ones((1, 2), dtype=bool))
