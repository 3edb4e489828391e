"""The parts of the peers' benchmark that need none of the peers' packages."""

import numpy as np
import pytest
from benchmarks.peers.gaussian_cells import GaussianCells
from benchmarks.peers.imputers import IMPUTERS
from benchmarks.peers.nearest_filling import NearestFilling
from benchmarks.peers.peer import floored, judge_and_repair, row_threshold
from benchmarks.peers.z_scores import ZScores


def correlated_rows(n_rows, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(0, 1, (n_rows, 1)) + rng.normal(0, 0.1, (n_rows, 6))


def test_threshold_touches_the_share_that_was_asked():
    scores = np.random.default_rng(0).random((200, 5))
    threshold = row_threshold(scores, 0.05)
    assert np.mean(scores.max(axis=1) > threshold) == pytest.approx(0.05)


def test_units_have_a_floor():
    np.testing.assert_allclose(floored(np.array([0.0, 1.0, 2.0, 3.0])), [1.0, 1.0, 2.0, 3.0])


@pytest.mark.parametrize("peer", [GaussianCells(), ZScores()])
def test_peer_finds_and_fills_a_wild_cell(peer):
    peer.fit(correlated_rows(400, 0))
    fresh = correlated_rows(200, 1)
    broken = fresh.copy()
    broken[:, 2] += 9.0
    (fill,) = peer.fillings().values()
    mask, repaired = judge_and_repair(peer, fill, fresh, 0.05)(broken)
    assert mask[:, 2].mean() > 0.9
    assert np.abs(repaired - fresh)[:, 2].mean() < 1.0


def test_gaussian_handler_sees_a_contradiction_that_columns_cannot():
    peer = GaussianCells().fit(correlated_rows(400, 0))
    row = np.full((1, 6), 1.0)
    row[0, 4] = -1.0
    assert peer.score(row)[0].argmax() == 4
    filled = peer.fillings()["conditional mean"](row, np.arange(6)[None] == 4)
    assert filled[0, 4] == pytest.approx(1.0, abs=0.15)


def test_nearest_filling_leaves_other_cells_alone():
    reference = correlated_rows(100, 0)
    rows, mask = correlated_rows(5, 1), np.zeros((5, 6), dtype=bool)
    mask[0, :2] = True
    filled = NearestFilling().fit(reference).fill(rows, mask)
    np.testing.assert_array_equal(filled[~mask], rows[~mask])
    np.testing.assert_allclose(filled[0, :2], rows[0, :2], atol=0.6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in IMPUTERS if name != "miceforest"])
@pytest.mark.parametrize("with_reference", [True, False])
def test_imputers_fill_gaps_better_than_column_means_and_leave_other_cells_alone(name, with_reference):
    true = correlated_rows(120, 1)
    gaps = np.random.default_rng(2).random(true.shape) < 0.2
    gaps[gaps.all(axis=1), 0] = False
    _, fill = IMPUTERS[name]
    filled = fill(correlated_rows(200, 0) if with_reference else None, np.where(gaps, np.nan, true))
    np.testing.assert_allclose(filled[~gaps], true[~gaps], atol=1e-12)
    assert np.abs(filled - true)[gaps].mean() < 0.5 * np.abs(true - true.mean(axis=0))[gaps].mean()
