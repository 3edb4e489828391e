import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.rows import correlated_rows, overwrite

import treemend
from treemend import InputError, Mender
from treemend.mender import one_table
from treemend.mender.contaminated import HEAVIEST, LIGHT, reject_rows
from treemend.sampling import sample_rows
from treemend.synthetic import waves


@pytest.fixture(scope="module")
def dirty():
    rng = np.random.default_rng(0)
    table = correlated_rows(rng, 300, 20)
    true = table.copy()
    table[:45], mask = overwrite(rng, table[:45])
    return table, true, mask


def test_a_contaminated_reference(dirty):
    table, _, _ = dirty
    rng = np.random.default_rng(1)
    mender = Mender(contaminated=True).fit(table)
    assert np.mean(mender.predict(correlated_rows(rng, 400, 20)) == -1) < 0.1
    suspects, _ = overwrite(rng, correlated_rows(rng, 50, 20))
    found = np.mean(mender.predict(suspects) == -1)
    assert found > 0.8
    assert found > np.mean(Mender().fit(table).predict(suspects) == -1)


def test_one_table(dirty):
    table, true, _ = dirty
    frame = pd.DataFrame(table, index=np.arange(300) + 7)
    frame.iloc[100, 3] = np.nan
    mended = treemend.mend(frame)
    assert mended.corrupted[:45].mean() > 0.8
    assert mended.corrupted[45:].mean() < 0.1
    assert mended.missing.iloc[100, 3]
    assert list(mended.repaired.index) == list(frame.index)
    before = np.linalg.norm(table[:45] - true[:45], axis=1)
    after = np.linalg.norm(mended.repaired.to_numpy()[:45] - true[:45], axis=1)
    assert np.mean((before - after) / before) > 0.5


@pytest.mark.parametrize("kind", ["walks", "counts", "clusters"])
def test_a_clean_table_is_hardly_touched(kind):
    rng = np.random.default_rng(2)
    table = {
        "walks": correlated_rows(rng, 300, 16),
        "counts": rng.poisson(0.3, (300, 16)).astype(float),
        "clusters": rng.normal(size=(300, 16)) + 4 * rng.integers(0, 2, (300, 1)),
    }[kind]
    assert treemend.mend(table).corrupted.mean() <= 0.06


def test_every_row_incomplete():
    rng = np.random.default_rng(3)
    true = correlated_rows(rng, 250, 12)
    table = true.copy()
    gaps = rng.random(table.shape) < 0.3
    table[gaps] = np.nan
    mended = treemend.mend(table)
    assert np.array_equal(mended.missing, gaps)
    unchanged = gaps & ~mended.mask
    error = np.abs(mended.repaired - true)[unchanged].mean()
    assert error < 0.5 * np.abs(true - true.mean(axis=0))[unchanged].mean()


@pytest.mark.parametrize("n_rows", [5, 10, 20, 40])
def test_small_tables_may_leave_a_fold_without_a_trusted_row(n_rows):
    table = waves(40, 16, rng=0, noise=0.1)[:n_rows, 2:10]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert np.isfinite(treemend.mend(table).repaired).all()


def test_parameters_reach_the_mender(dirty):
    table, _, _ = dirty
    few = treemend.mend(table, false_alarm_rate=0.01)
    many = treemend.mend(table, false_alarm_rate=0.3, n_draws=2)
    assert few.corrupted.sum() < many.corrupted.sum()
    assert len(many.draws) == 2
    with pytest.raises(TypeError, match="no_such"):
        treemend.mend(table, no_such=1)


def test_a_false_discovery_rate_without_a_reference_says_why_nothing_is_declared(dirty):
    mended = treemend.mend(dirty[0][20:90], fdr=1e-9)
    assert not mended.corrupted.any()
    assert [note for note in mended.notes if "Give clean rows, or a false-alarm rate instead." in note]
    assert repr(mended).endswith("see notes)")
    assert mended.summary()["warnings"] == list(mended.notes)


def test_large_tables_sample_their_reference(monkeypatch):
    monkeypatch.setattr(one_table, "MOST_REFERENCE_ROWS", 200)
    table = correlated_rows(np.random.default_rng(4), 500, 8)
    frame = pl.DataFrame(table, schema=[f"c{column}" for column in range(8)])
    mended = treemend.mend(frame)
    sampled = frame[sample_rows(500, 200).tolist()]
    expected = Mender(contaminated=True).fit(sampled).mend(frame, on_drift="repair")
    assert mended.repaired.equals(expected.repaired)


def test_what_is_refused():
    with pytest.raises(InputError, match="has no value at all"):
        treemend.mend(np.full((20, 4), np.nan))
    with pytest.raises(InputError, match="Read the file first"):
        treemend.mend("table.csv")


@pytest.mark.parametrize("shape", [LIGHT, HEAVIEST])
def test_rejected_rows(shape):
    rng = np.random.default_rng(5)
    evidence = rng.exponential(size=(500, 4))
    assert reject_rows(evidence, 0.1, shape).mean() < 0.02
    evidence[:150] += 20 if shape == LIGHT else 200
    rejected = reject_rows(evidence, 0.1, shape)
    assert rejected[:150].all()
    assert rejected[150:].mean() < 0.05


def test_no_evidence_rejects_nothing():
    assert not reject_rows(np.full((100, 4), -50.0), 0.1, LIGHT).any()


def test_scattered_cells_in_a_third_of_the_rows():
    rng = np.random.default_rng(0)
    table = waves(400, 20, rng=rng)
    dirty = np.arange(400) < 120
    table[(rng.random(table.shape) < 0.15) & dirty[:, None]] = 2.0
    mended = treemend.mend(table)
    assert mended.corrupted[dirty].mean() > 0.85
    assert mended.corrupted[~dirty].mean() < 0.06


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_a_column_that_is_mostly_empty_does_not_make_its_rows_odd(share):
    rng = np.random.default_rng(0)
    values, fresh = waves(300, 6, rng=rng), waves(1000, 6, rng=rng)
    for table in (values, fresh):
        table[rng.random(len(table)) > share, 2] = np.nan
    assert treemend.mend(values).corrupted.mean() <= 0.06
    mended = Mender(contaminated=True).fit(values).mend(fresh, on_drift="repair")
    assert mended.corrupted.mean() <= 0.06
    assert mended.corrupted[~np.isnan(fresh[:, 2])].mean() <= 0.1
