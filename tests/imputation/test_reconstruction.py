"""Rows rebuilt from reference rows, against the same in plain NumPy."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from treemend.imputation.reconstruction import DISTRUST, MOST_DISTRUSTED, RELEVANCE_FLOOR
from treemend.kernels.reconstruction import reconstruct_rows

N_SHOWN = 4


def naive_distrusted(near, row, usable, scale):
    if len(near) < 5 or usable.sum() < 5:
        return np.zeros(len(row), dtype=bool)
    deviation = np.abs(row - near.mean(axis=0)) / (near.std(axis=0) + 0.02 * scale)
    ranked = np.sort(deviation[usable])
    typical = max(1.0, np.median(ranked) / 0.6745)
    at_least = ranked[len(ranked) - 1 - math.floor(MOST_DISTRUSTED * len(ranked))]
    return usable & (deviation > DISTRUST * typical) & (deviation > at_least)


def naive_weights(relevance, scale, trusted, gap):
    said = scale[gap] ** 2 @ relevance[gap]
    return np.where(trusted, (said / said[trusted].mean() + RELEVANCE_FLOOR) / (1 + RELEVANCE_FLOOR), 0.0)


def naive_combination(differences, ridge, share, n_nearest):
    gram = differences @ differences.T
    n = len(gram)
    weights = np.linalg.solve(gram + (ridge * np.trace(gram) / n + 1e-12) * np.eye(n), np.ones(n))
    weights *= (1 - share) / weights.sum()
    weights[:n_nearest] += share / min(n_nearest, n)
    return weights


def naive_reconstruction(reference, scale, relevance, row, gaps, candidates, pairs, n_donors, n_nearest):
    found = candidates[candidates >= 0]
    distrusted = naive_distrusted(reference[found[:n_donors]], row, ~gaps, scale)
    weights = naive_weights(relevance, scale, ~gaps & ~distrusted, gaps)
    distances = (weights * (reference[found] - row) ** 2).sum(axis=1)
    chosen = found[np.argsort(distances, kind="stable")[:n_donors]]
    differences = np.sqrt(weights) * (reference[chosen] - row)
    filled = [naive_combination(differences, *pair, n_nearest) @ reference[chosen] for pair in pairs]
    shown = chosen[:N_SHOWN]
    return np.array(filled), ((reference[shown] - filled[0]) ** 2).mean(axis=0), shown, distrusted


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), d=st.integers(2, 40), n=st.integers(3, 90), n_donors=st.integers(1, 40))
def test_agrees_with_its_twin(seed, d, n, n_donors):
    rng = np.random.default_rng(seed)
    reference = rng.normal(size=(n, 3)) @ rng.normal(size=(3, d)) + 0.3 * rng.normal(size=(n, d))
    rows = reference[rng.integers(0, n, 3)] + 0.1 * rng.normal(size=(3, d))
    rows[0, rng.integers(d)] += 50
    gaps = rng.random((3, d)) < 0.3
    gaps[:, 0], gaps[:, -1] = True, False
    candidates = np.array([rng.permutation(n) for _ in rows])
    candidates[1, n // 2 :] = -1
    scale, relevance = rng.uniform(0.5, 2, d), rng.random((d, d)).astype(np.float32)
    pairs = [(0.3, 0.5), (0.1, 0.0), (3.0, 1.0)]
    filled, variance = np.zeros((3, len(pairs), d)), np.zeros((3, d))
    donors, distrusted = np.full((3, N_SHOWN), -1), np.zeros((3, d), dtype=bool)
    limits = DISTRUST, MOST_DISTRUSTED, RELEVANCE_FLOOR
    ridges, shares = (np.array(each) for each in zip(*pairs, strict=True))
    reconstruct_rows(
        reference,
        scale,
        relevance,
        np.where(gaps, 0.0, rows),
        gaps,
        ~gaps,
        candidates,
        ridges,
        shares,
        n_donors,
        2,
        *limits,
        filled,
        variance,
        donors,
        distrusted,
    )
    for r, row in enumerate(np.where(gaps, 0.0, rows)):
        if not (candidates[r] >= 0).any():
            continue
        expected, spread, shown, out_of_line = naive_reconstruction(
            reference, scale, relevance, row, gaps[r], candidates[r], pairs, n_donors, 2
        )
        np.testing.assert_array_equal(distrusted[r], out_of_line)
        np.testing.assert_array_equal(donors[r, : len(shown)], shown)
        np.testing.assert_allclose(filled[r][:, gaps[r]], expected[:, gaps[r]], rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(variance[r, gaps[r]], spread[gaps[r]], rtol=1e-6, atol=1e-7)
        assert not filled[r][:, ~gaps[r]].any()
