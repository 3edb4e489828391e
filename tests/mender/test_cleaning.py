import numpy as np
import pandas as pd
import pytest
from tests.rows import correlated_rows, overwrite

import treemend
from treemend import InputError, ParameterError, TreeMender


@pytest.fixture(scope="module")
def dirty():
    rng = np.random.default_rng(0)
    table = correlated_rows(rng, 300, 20)
    true = table.copy()
    table[:45], mask = overwrite(rng, table[:45])
    return table, true, mask


def test_corrupted_reference_rows_are_set_aside(dirty):
    table, _, _ = dirty
    mender = TreeMender(clean_reference=True).fit(table)
    assert np.isin(np.arange(45), mender.set_aside_).mean() > 0.8
    assert (mender.set_aside_ >= 45).mean() < 0.3
    assert len(mender.reference_) == len(table) - len(mender.set_aside_)
    rng = np.random.default_rng(1)
    assert np.mean(mender.predict(correlated_rows(rng, 400, 20)) == -1) < 0.1
    suspects, _ = overwrite(rng, correlated_rows(rng, 50, 20))
    found = np.mean(mender.predict(suspects) == -1)
    assert found > np.mean(TreeMender().fit(table).predict(suspects) == -1)


def test_a_clean_reference_stays_nearly_whole():
    mender = TreeMender(clean_reference=True).fit(correlated_rows(np.random.default_rng(2), 300, 20))
    assert len(mender.set_aside_) < 15


def test_one_table(dirty):
    table, true, mask = dirty
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


def test_parameters_reach_the_mender(dirty):
    table, _, _ = dirty
    few = treemend.mend(table, false_alarm_rate=0.01)
    many = treemend.mend(table, false_alarm_rate=0.3, n_draws=2)
    assert few.corrupted.sum() < many.corrupted.sum()
    assert len(many.draws) == 2
    with pytest.raises(TypeError, match="no_such"):
        treemend.mend(table, no_such=1)


def test_what_cleaning_needs():
    with pytest.raises(ParameterError, match="clean_reference=True judges reference rows by their context"):
        TreeMender(clean_reference=True, refine=False).fit(np.zeros((20, 4)))
    with pytest.raises(InputError, match="at least n_neighbors"):
        treemend.mend(np.full((20, 4), np.nan))
