"""Radii of all nodes equal the naive twin's, bit for bit, for any chunk size and number of threads."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import naive
from tests.kernels.examples import correlated, halving_tree, row_pairs, trees

import treemend
from treemend import kernels
from treemend.kernels import node_scans, threads

ALPHAS = (1.0, 0.9, 0.75, 0.5, 0.375, 0.1)


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_equal_to_the_naive_twin(data):
    tree = data.draw(trees())
    reference, rows = data.draw(row_pairs(int(tree.stop[0])))
    alpha = data.draw(st.sampled_from(ALPHAS))
    n_neighbors = data.draw(st.integers(1, len(reference) - 1))
    packed = kernels.pack(reference, tree, alpha)
    np.testing.assert_array_equal(
        kernels.node_radii(packed, rows, n_neighbors, n_jobs=1),
        naive.node_radii(reference, tree, alpha, rows, n_neighbors),
    )
    np.testing.assert_array_equal(
        kernels.left_out_radii(packed, n_neighbors, n_jobs=1),
        naive.left_out_radii(reference, tree, alpha, n_neighbors),
    )


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_distances_of_every_rank_are_the_radii_of_that_rank(data):
    tree = data.draw(trees())
    reference, rows = data.draw(row_pairs(int(tree.stop[0])))
    alpha = data.draw(st.sampled_from(ALPHAS))
    n_neighbors = data.draw(st.integers(1, len(reference) - 1))
    exclude = np.array([data.draw(st.integers(-1, len(reference) - 1)) for _ in rows])
    packed = kernels.pack(reference, tree, alpha)
    found = kernels.node_distances(packed, rows, n_neighbors, exclude=exclude, n_jobs=1)
    for rank in range(1, n_neighbors + 1):
        expected = naive.node_radii(reference, tree, alpha, rows, rank, left_out=exclude)
        np.testing.assert_array_equal(found[:, :, rank - 1], expected)
    np.testing.assert_array_equal(
        kernels.node_radii(packed, rows, n_neighbors, exclude=exclude, n_jobs=1), found[:, :, -1]
    )


def test_rows_that_leave_out_nobody_in_company_of_rows_that_do():
    reference, rows = np.array([[0.0], [0.0], [1 / 3], [2 / 3]]), np.array([[1 / 3], [1e9]])
    exclude = np.array([0, -1])
    for alpha in (1.0, 0.75):
        packed = kernels.pack(reference, halving_tree(1, 1), alpha)
        expected = naive.node_radii(reference, halving_tree(1, 1), alpha, rows, 1, left_out=exclude)
        np.testing.assert_array_equal(kernels.node_radii(packed, rows, 1, exclude=exclude), expected)


@pytest.mark.parametrize("alpha", [1.0, 0.75, 0.375])
def test_equal_to_the_naive_twin_on_many_rows(alpha):
    generator = np.random.default_rng(5)
    tree = halving_tree(60, 4)
    reference, rows = correlated(generator, 700, 60), correlated(generator, 20, 60)
    packed = kernels.pack(reference, tree, alpha)
    np.testing.assert_array_equal(
        kernels.node_radii(packed, rows, 8), naive.node_radii(reference, tree, alpha, rows, 8)
    )


@pytest.mark.parametrize("alpha", [1.0, 0.75])
def test_any_chunks_and_threads_give_the_same_bits(alpha, monkeypatch):
    generator = np.random.default_rng(6)
    tree = halving_tree(33, 5)
    reference, rows = correlated(generator, 203, 33), correlated(generator, 75, 33)
    packed = kernels.pack(reference, tree, alpha)
    expected = kernels.node_radii(packed, rows, 4, n_jobs=1)
    expected_left_out = kernels.left_out_radii(packed, 4, n_jobs=1)
    for size in (1, 2, 7, 16, 50, 1000):
        monkeypatch.setattr(threads, "chunk_size", lambda *_, size=size: size)
        for n_jobs in (1, 2, 3, None):
            np.testing.assert_array_equal(kernels.node_radii(packed, rows, 4, n_jobs=n_jobs), expected)
            np.testing.assert_array_equal(kernels.left_out_radii(packed, 4, n_jobs=n_jobs), expected_left_out)


@pytest.mark.parametrize("alpha", [1.0, 0.75])
def test_a_row_does_not_depend_on_the_others(alpha):
    generator = np.random.default_rng(7)
    tree = halving_tree(16, 3)
    packed = kernels.pack(correlated(generator, 60, 16), tree, alpha)
    rows = correlated(generator, 9, 16)
    together = kernels.node_radii(packed, rows, 3)
    for row, radii in zip(rows, together, strict=True):
        np.testing.assert_array_equal(kernels.node_radii(packed, row[None], 3)[0], radii)


@pytest.mark.parametrize("alpha", [1.0, 0.75])
@pytest.mark.parametrize("n_rows", [40, 9])
def test_left_out_radii_of_some_rows_are_those_of_all(alpha, n_rows):
    generator = np.random.default_rng(12)
    reference = correlated(generator, n_rows, 12)
    reference[3] = reference[7]
    packed = kernels.pack(reference, halving_tree(12, 2), alpha)
    everything = kernels.left_out_radii(packed, 3)
    for some in ([3], [7, 0, 3, 3], np.arange(n_rows)[::-1], np.empty(0, dtype=np.int64)):
        np.testing.assert_array_equal(kernels.left_out_radii(packed, 3, rows=np.asarray(some)), everything[some])


@pytest.mark.parametrize("rows", [[30], [-1], [0.5], [[1]], [True]])
def test_rows_that_are_not_indices_are_refused(rows):
    packed = kernels.pack(correlated(np.random.default_rng(0), 30, 4), halving_tree(4, 1), 1.0)
    with pytest.raises(ValueError, match="rows must be"):
        kernels.left_out_radii(packed, 3, rows=np.array(rows))


@pytest.mark.parametrize("alpha", [1.0, 0.75])
def test_absurdly_far_rows_stay_finite_and_far(alpha):
    generator = np.random.default_rng(8)
    tree = halving_tree(8, 2)
    reference = correlated(generator, 40, 8)
    rows = np.vstack([reference[:1], np.full((1, 8), 1e308), np.full((1, 8), -1e308)])
    for magnitude in (1.0, 1e-200):
        packed = kernels.pack(reference * magnitude, tree, alpha)
        radii = kernels.node_radii(packed, rows, 2)
        assert np.isfinite(radii).all()
        assert (radii[1:] > kernels.left_out_radii(packed, 2).max()).all()


def test_runs_without_compilation():
    """The interpreted lanes give the same radii and labels as the compiled ones."""
    code = """
import numpy as np
from tests import naive
from tests.kernels.examples import correlated, halving_tree
from treemend import kernels
from treemend.kernels import node_scans
generator = np.random.default_rng(1)
for width, depth, alpha in ((20, 2, 0.75), (5, 3, 0.75), (20, 2, 1.0)):
    tree = halving_tree(width, depth)
    reference, rows = correlated(generator, 20, width), correlated(generator, 3, width)
    packed = kernels.pack(reference, tree, alpha)
    radii = kernels.node_radii(packed, rows, 3, n_jobs=1)
    assert np.array_equal(radii, naive.node_radii(reference, tree, alpha, rows, 3))
    labels = kernels.node_labels(packed, rows, radii[1], 3, n_jobs=1)
    assert np.array_equal(labels, radii > radii[1])
    node_scans.ATTRIBUTES_FOR_A_NODE = 0
    left_out = kernels.left_out_radii(packed, 3, n_jobs=1)
    assert np.array_equal(left_out, naive.left_out_radii(reference, tree, alpha, 3))
"""
    source = Path(treemend.__file__).parents[1]
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(source), str(root)])
    environment = {**os.environ, "PYTHONPATH": path, "NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, env=environment)


def test_scaling_by_a_power_of_two_scales_radii_exactly():
    generator = np.random.default_rng(9)
    tree = halving_tree(12, 3)
    reference, rows = correlated(generator, 50, 12), correlated(generator, 5, 12)
    base = kernels.node_radii(kernels.pack(reference, tree, 0.75), rows, 3)
    for exponent in (-600, -30, 45, 900):
        packed = kernels.pack(np.ldexp(reference, exponent), tree, 0.75)
        np.testing.assert_array_equal(kernels.node_radii(packed, np.ldexp(rows, exponent), 3), np.ldexp(base, exponent))


def test_a_packed_reference_survives_pickling():
    generator = np.random.default_rng(10)
    tree = halving_tree(10, 2)
    packed = kernels.pack(correlated(generator, 30, 10), tree, 0.5)
    again = pickle.loads(pickle.dumps(packed))
    np.testing.assert_array_equal(kernels.left_out_radii(again, 3), kernels.left_out_radii(packed, 3))


def test_callers_arrays_are_left_alone():
    generator = np.random.default_rng(11)
    tree = halving_tree(10, 2)
    reference, rows = correlated(generator, 30, 10), correlated(generator, 4, 10)
    for array in (reference, rows):
        array.setflags(write=False)
    kernels.node_radii(kernels.pack(reference, tree, 0.5), rows, 3)


@pytest.mark.parametrize("n_neighbors", [0, -1, 31])
def test_impossible_numbers_of_neighbours_are_refused(n_neighbors):
    packed = kernels.pack(correlated(np.random.default_rng(0), 30, 4), halving_tree(4, 1), 1.0)
    with pytest.raises(ValueError, match="n_neighbors must be between 1 and the 30"):
        kernels.node_radii(packed, np.zeros((1, 4)), n_neighbors)


def test_kept_guards_against_binary_fractions():
    assert kernels.kept(10, 0.7) == 7
    assert kernels.kept(100, 0.29) == 29
    assert kernels.kept(1, 0.1) == 1
    assert kernels.kept(7, 1.0) == 7


@pytest.mark.parametrize(("width", "depth", "alpha"), [(32, 3, 0.75), (21, 3, 0.75), (21, 3, 1.0)])
def test_pairs_computed_once_give_the_radii_of_pairs_computed_twice(width, depth, alpha, monkeypatch):
    """Also with several tiles, ties, a last tile that is not full, and lists too long for one go."""
    generator = np.random.default_rng(13)
    reference = np.round(correlated(generator, 171, width))
    packed = kernels.pack(reference, halving_tree(width, depth), alpha)
    monkeypatch.setattr(node_scans, "ATTRIBUTES_FOR_A_NODE", 0)
    mirrored_lists, calls = node_scans.mirrored_lists, []
    monkeypatch.setattr(node_scans, "mirrored_lists", lambda *given: (calls.append(given), mirrored_lists(*given))[1])
    for n_neighbors in (3, 20):
        twice = kernels.left_out_radii(packed, n_neighbors, memory=1_000)
        assert not calls
        for blocks, n_jobs in ((1, 3), (2, 1), (8, 2)):
            monkeypatch.setattr(node_scans, "BLOCKS_IN_A_TILE", blocks)
            monkeypatch.setattr(node_scans, "BLOCKS_IN_A_EUCLIDEAN_TILE", blocks)
            np.testing.assert_array_equal(kernels.left_out_radii(packed, n_neighbors, n_jobs=n_jobs), twice)
        assert len(calls) == 3
        calls.clear()


@pytest.mark.parametrize("n_tiles", [1, 2, 5, 8])
def test_all_tiles_meet_once_and_none_twice_in_a_round(n_tiles):
    rounds = node_scans.tournament(n_tiles)
    for games in rounds[1:]:
        players = [player for game in games for player in game]
        assert len(players) == len(set(players))
    games = [game for each in rounds for game in each]
    assert sorted(games) == [(a, b) for a in range(n_tiles) for b in range(a, n_tiles)]
