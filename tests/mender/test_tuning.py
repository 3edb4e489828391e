import numpy as np
import pytest
from tests.rows import correlated_rows

import treemend
from treemend import InputError, ParameterError, TreeMender
from treemend.mender.practice import KINDS, overwrite


@pytest.mark.parametrize("kind", KINDS)
def test_practice_overwrites_a_stretch_and_nothing_else(kind):
    rng = np.random.default_rng(0)
    rows = rng.random((20, 30))
    overwritten, mask = overwrite(rng, rows, kind)
    assert np.array_equal(overwritten[~mask], rows[~mask])
    assert (np.diff(mask.astype(int), axis=1, prepend=0, append=0) == 1).sum(axis=1).tolist() == [1] * 20
    assert ((mask.mean(axis=1) >= 0.1) & (mask.mean(axis=1) <= 0.5)).all()
    assert (overwritten[mask] != rows[mask]).mean() > 0.8


def test_the_better_settings_win():
    rng = np.random.default_rng(0)
    reference = correlated_rows(rng, 240, 16)
    mender, trials = treemend.tune(
        reference,
        kinds=["noise", "offset"],
        candidates=[{"refine": False}, {}],
        false_alarm_rate=0.1,
    )
    assert isinstance(mender, TreeMender)
    assert mender.false_alarm_rate == 0.1
    assert trials[0].parameters == {}
    assert trials[0].quality > trials[1].quality
    assert trials[0].found > trials[1].found
    assert trials[0].touched < 0.3


def test_what_tuning_needs():
    with pytest.raises(ParameterError, match="kinds must be some of 'noise'"):
        treemend.tune(np.zeros((50, 4)), kinds=["rust"])
    with pytest.raises(InputError, match="at least 30 reference rows, got 20"):
        treemend.tune(np.zeros((20, 4)))
