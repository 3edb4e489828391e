import pickle
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from tests.rows import GENERATORS, correlated_rows, overwrite

from treemend import ColumnsError, InputError, Mender, ParameterError


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    reference = correlated_rows(rng, 300, 24)
    suspects, mask = overwrite(rng, correlated_rows(rng, 40, 24))
    return reference, suspects, mask


@pytest.fixture(scope="module")
def mender(rows):
    return Mender().fit(rows[0])


def test_finds_and_repairs(rows, mender):
    reference, suspects, mask = rows
    mended = mender.mend(suspects)
    assert mended.corrupted.mean() > 0.5
    assert mended.mask[mask].mean() > 3 * mended.mask[~mask].mean()
    assert repr(mended).startswith("Result(")


def test_untouched_values_are_the_same_bits_and_inputs_never_change(rows, mender):
    _, suspects, _ = rows
    kept = suspects.copy()
    mended = mender.mend(suspects)
    assert np.array_equal(suspects, kept)
    assert np.array_equal(mended.repaired[~mended.mask], suspects[~mended.mask])
    assert not np.shares_memory(mended.repaired, suspects)
    assert (mended.repaired[mended.mask] != suspects[mended.mask]).any()


def test_the_methods_agree(rows, mender):
    _, suspects, _ = rows
    mended = mender.mend(suspects)
    assert np.array_equal(mender.transform(suspects), mended.repaired)
    decision = mender.decision_function(suspects)
    assert np.array_equal(mender.predict(suspects) == -1, decision < 0)
    assert np.array_equal(mended.corrupted, decision < 0)
    assert not (mended.corrupted & mended.unusual).any()
    assert np.array_equal(mended.p_values <= 0.05, decision < 0)
    assert np.array_equal(mender.score_samples(suspects) - mender.offset_, decision)
    assert np.array_equal(mender.p_values(suspects), mended.p_values)
    assert (mended.q_values >= mended.p_values).all()


@pytest.mark.parametrize("seed", range(10))
def test_the_sign_of_a_decision_is_the_verdict_with_ties(seed):
    """Each of ten small references, whose rows and values repeat, at 50 rates: 500 settings."""
    rng = np.random.default_rng(seed)
    pool = np.round(correlated_rows(rng, 40, 5), seed % 2)
    reference, suspects = (pool[rng.integers(0, len(pool), n)] for n in (60, 50))
    suspects[:20], _ = overwrite(rng, suspects[:20])
    suspects[:10] = np.round(suspects[:10])
    suspects[5:15][rng.random((10, 5)) < 0.2] = np.nan
    mender = Mender().fit(reference)
    ranks = np.arange(1, 20) / 61
    for rate in [0.0, 1.0, *ranks, *rng.uniform(0, 0.3, 19), *rng.uniform(0.3, 1.0, 10)]:
        mender.set_params(false_alarm_rate=float(rate))
        declared = mender.predict(suspects) == -1
        assert np.array_equal(declared, mender.decision_function(suspects) < 0)
        assert np.array_equal(declared, mender.mend(suspects, on_drift="repair").corrupted)


@pytest.mark.parametrize("contaminated", [False, True])
def test_rows_judge_each_other_alike_in_both_ways(contaminated):
    table = np.round(correlated_rows(np.random.default_rng(1), 60, 5), 1)
    table[:12], _ = overwrite(np.random.default_rng(2), table[:12])
    for rate in (0.0, 1 / 60, 1 / 61, 0.05, 0.2, 0.5, 1.0):
        mender = Mender(false_alarm_rate=rate, contaminated=contaminated)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            assert np.array_equal(mender.fit_predict(table) == -1, mender.fit_mend(table).corrupted)


def test_corrupted_rows_score_lower(rows, mender):
    reference, suspects, _ = rows
    rng = np.random.default_rng(5)
    clean = correlated_rows(rng, 40, 24)
    assert np.median(mender.score_samples(suspects)) < np.median(mender.score_samples(clean))


@settings(deadline=None, max_examples=5)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_row_s_result_depends_on_no_other_suspect(rows, mender, seed):
    _, suspects, _ = rows
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(suspects))[: rng.integers(1, len(suspects))]
    whole, part = (mender.mend(rows, on_drift="repair") for rows in (suspects, suspects[chosen]))
    assert np.array_equal(whole.repaired[chosen], part.repaired)
    assert np.array_equal(whole.mask[chosen], part.mask)


@settings(deadline=None, max_examples=5)
@given(power=st.lists(st.integers(-200, 200), min_size=24, max_size=24))
def test_units_do_not_matter(rows, mender, power):
    """In units of powers of two, scaling rounds nothing, and even the bits are the same."""
    reference, suspects, _ = rows
    factor = 2.0 ** np.array(power)
    mended = Mender().fit(reference * factor).mend(suspects * factor)
    assert np.array_equal(mended.repaired, mender.mend(suspects).repaired * factor)


@pytest.mark.parametrize("n_jobs", [1, 2, 3, -1, None])
def test_any_number_of_threads_gives_the_same_bits(rows, mender, n_jobs):
    reference, suspects, _ = rows
    again = Mender(n_jobs=n_jobs).fit(reference)
    assert np.array_equal(again.score_samples(suspects), mender.score_samples(suspects))
    assert np.array_equal(again.mend(suspects).repaired, mender.mend(suspects).repaired)


@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize("asked", [0.05, 0.2])
def test_the_promise_on_fresh_clean_rows(generator, asked):
    """The rate on fresh rows, over several references, within three standard errors of the one asked for.

    At high rates less is declared: no set of cells explains rows that are hardly odd, and those are left alone.
    """
    rng = np.random.default_rng(11)
    n_references, n_reference, n_fresh = 6, 500, 500
    touched = [
        np.mean(Mender(false_alarm_rate=asked).fit(generator(rng, n_reference)).predict(generator(rng, n_fresh)) == -1)
        for _ in range(n_references)
    ]
    # The threshold itself is estimated from n_reference rows, the rate from n_fresh: both vary like a proportion.
    error = np.sqrt(asked * (1 - asked) * (1 / n_reference + 1 / n_fresh) / n_references)
    assert np.mean(touched) - asked <= 3 * error
    if asked <= 0.15:
        assert asked - np.mean(touched) <= 3 * error


def test_fit_transform_leaves_each_row_s_own_copy_out():
    rng = np.random.default_rng(2)
    reference = correlated_rows(rng, 200, 16)
    reference[7, 4:8] = 100.0
    mended = Mender(false_alarm_rate=0.05).fit_transform(reference)
    assert (np.abs(mended[7, 4:8]) < 50).all()


def test_too_small_a_reference_for_the_rate_touches_nothing_and_says_so():
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match="too few for a false-alarm rate of 0.001"):
        mender = Mender(false_alarm_rate=0.001).fit(correlated_rows(rng, 20, 32))
    assert not mender.mend(correlated_rows(rng, 20, 32) * 9).mask.any()


def test_data_frames(rows, mender):
    reference, suspects, _ = rows
    names = [f"sensor {k}" for k in range(24)]
    frame = pd.DataFrame(suspects, columns=names, index=np.arange(40) * 2)
    framed = Mender().fit(pd.DataFrame(reference, columns=names))
    assert list(framed.feature_names_in_) == names
    mended = framed.mend(frame)
    assert list(mended.repaired.index) == list(frame.index)
    assert np.array_equal(mended.repaired.to_numpy(), mender.mend(suspects).repaired)
    assert mended.mask.dtypes.eq(bool).all()
    assert isinstance(framed.mend(pl.DataFrame(suspects, schema=names)).repaired, pl.DataFrame)
    assert list(framed.get_feature_names_out()) == names
    framed.set_output(transform="pandas")
    assert list(framed.transform(frame).columns) == names
    assert list(framed.fit_transform(pd.DataFrame(reference, columns=names)).columns) == names


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda frame: frame.drop(columns="b"), "- missing: 'b'"),
        (lambda frame: frame.assign(extra=1.0), "+ extra: 'extra'"),
        (lambda frame: frame[list("bacdefgh")], "~ out of order: 'a'"),
    ],
)
def test_other_columns_are_told_as_a_diff(change, line):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 8)), columns=list("abcdefgh"))
    with pytest.raises(ColumnsError, match=re.escape(line)):
        Mender().fit(frame).mend(change(frame))


def test_wrong_number_of_attributes(mender):
    with pytest.raises(ColumnsError, match="X has 3 features, but Mender is expecting 24"):
        mender.mend(np.zeros((2, 3)))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"false_alarm_rate": -0.1}, "false_alarm_rate must be a number between 0 and 1, got -0.1"),
        ({"false_alarm_rate": "low"}, "false_alarm_rate must be"),
        ({"false_alarm_rate": True}, "false_alarm_rate must be"),
        ({"imputation": "median"}, "imputation must be one of 'mean', 'mode', 'draw'; got"),
        ({"contaminated": 1}, "contaminated must be True or False"),
        ({"random_state": "lucky"}, "random_state must be an integer"),
        ({"layout": "spiral"}, "layout must be 'auto', 'sequence'"),
        ({"layout": (2, 3)}, "A grid of 2 x 3 has 6 cells, but the rows have 4 columns"),
        ({"layout": [[0, 1], [1, 2, 3]]}, "in more than one: [1]"),
        ({"layout": [[0, 1], [9]]}, "layout names column 9"),
        ({"n_jobs": 0}, "n_jobs must be an integer"),
        ({"n_jobs": 1.5}, "n_jobs must be an integer"),
        ({"progress": 1}, "progress must be"),
    ],
)
def test_parameters_out_of_range(parameters, message):
    with pytest.raises(ParameterError, match=re.escape(message)):
        Mender(**parameters).fit(np.random.default_rng(0).normal(size=(30, 4)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"fdr": 2}, "fdr must be"),
        ({"false_alarm_rate": 2}, "false_alarm_rate must be"),
        ({"on_drift": "panic"}, "on_drift must be one of 'leave', 'repair'"),
        ({"n_draws": -1}, "n_draws must be"),
    ],
)
def test_arguments_out_of_range(mender, arguments, message):
    with pytest.raises(ParameterError, match=message):
        mender.mend(np.zeros((3, 24)), **arguments)


@pytest.mark.parametrize(
    "method",
    ["mend", "transform", "predict", "score_samples", "decision_function", "p_values", "save"],
)
def test_use_before_fit(method):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(Mender(), method)(np.zeros((2, 2)))


def test_too_few_reference_rows():
    with pytest.raises(InputError, match=r"at least 5 rows, got n_samples = 4"):
        Mender().fit(np.zeros((4, 4)))


def test_not_finite(rows, mender):
    bad = rows[1].copy()
    bad[3, 5] = np.inf
    for judged in (Mender().fit, mender.mend):
        with pytest.raises(InputError, match="inf stands in 1 cell in 1 row: row 3, column 5"):
            judged(bad)


def test_a_reference_with_missing_values(rows, mender):
    reference, suspects, mask = rows
    rng = np.random.default_rng(4)
    holes = reference.copy()
    holes[rng.random(holes.shape) < 0.2] = np.nan
    learnt = Mender().fit(holes)
    found = learnt.mend(suspects).mask
    assert found[mask].mean() > 0.8 * mender.mend(suspects).mask[mask].mean()
    filled = Mender().fit_transform(holes)
    gaps = np.isnan(holes)
    assert np.isfinite(filled).all()
    error = np.abs(filled - reference)[gaps].mean()
    assert error < 0.5 * np.abs(reference.mean(axis=0) - reference)[gaps].mean()


@pytest.mark.parametrize("imputation", ["mean", "mode", "draw"])
def test_missing_values_are_filled_and_told_apart(rows, imputation):
    reference = rows[0]
    mender = Mender(imputation=imputation).fit(reference)
    true = correlated_rows(np.random.default_rng(3), 60, 24)
    holes = true.copy()
    holes[:, 5:9] = np.nan
    holes[0] = np.nan
    mended = mender.mend(holes)
    assert np.array_equal(mended.missing, np.isnan(holes))
    assert not (mended.mask & mended.missing).any()
    assert np.isfinite(mended.repaired).all()
    assert mended.corrupted.mean() < 0.2
    error = np.abs(mended.repaired - true)[1:, 5:9].mean()
    assert error < 0.7 * np.abs(reference.mean(axis=0) - true)[1:, 5:9].mean()
    assert np.array_equal(np.isfinite(mended.spread), mended.mask | mended.missing)


def test_an_empty_row_has_the_columns_own_spread(rows):
    mended = Mender().fit(rows[0]).mend(np.full((1, 24), np.nan))
    ratio = mended.spread[0] / rows[0].std(axis=0)
    assert ratio.min() > 0.8
    assert ratio.max() < 1.25


def test_corruption_is_found_beside_missing_values(rows, mender):
    _, suspects, mask = rows
    holes = suspects.copy()
    holes[:, ::6] = np.nan
    found = mender.mend(holes).mask
    seen = mask & ~np.isnan(holes)
    assert found[seen].mean() > 3 * found[~mask].mean()


def test_draws(rows, mender):
    reference, suspects, _ = rows
    mended = mender.mend(suspects, n_draws=20)
    assert len(mended.draws) == 20
    stacked = np.array(mended.draws)
    assert np.array_equal(stacked[:, ~mended.mask], np.broadcast_to(suspects[~mended.mask], (20, (~mended.mask).sum())))
    assert (stacked[:, mended.mask].std(axis=0) > 0).mean() > 0.9
    alone = mender.mend(suspects[7:8], n_draws=20)
    assert np.array_equal(np.array(alone.draws)[:, 0], stacked[:, 7])
    other = Mender(random_state=1).fit(reference).mend(suspects, n_draws=20)
    assert not np.array_equal(np.array(other.draws), stacked)


def test_another_rate_needs_no_new_fit(rows, mender):
    suspects = rows[1]
    many = mender.mend(suspects, false_alarm_rate=0.3)
    few = mender.mend(suspects, false_alarm_rate=0.01)
    assert (few.p_values == many.p_values).all()
    assert (few.p_values <= 0.01).sum() == few.corrupted.sum() <= many.corrupted.sum()
    again = clone(mender).set_params(false_alarm_rate=0.3).fit(rows[0])
    assert np.array_equal(again.mend(suspects).repaired, many.repaired)


def test_a_false_discovery_rate(rows, mender):
    rng = np.random.default_rng(12)
    clean = correlated_rows(rng, 600, 24)
    clean[:60] = overwrite(rng, clean[:60])[0]
    mended = mender.mend(clean, fdr=0.1)
    assert np.array_equal(mended.corrupted, mended.q_values <= 0.1)
    assert mended.corrupted[60:].sum() <= 0.25 * mended.corrupted.sum()
    assert mended.corrupted[:60].mean() > 0.5
    assert mended.findings().rule.name == "fdr"


def test_rare_rows_are_left_alone():
    """Eight sensors that read the same value: a reading just outside the range is unusual, not corrupted."""
    rng = np.random.default_rng(0)
    reference = rng.uniform(15, 25, (500, 1)) + rng.normal(scale=0.1, size=(500, 8))
    suspects = np.array([[14.5], [14.0], [26.0], [10.0], [40.0]]) + rng.normal(scale=0.1, size=(5, 8))
    mended = Mender().fit(reference).mend(suspects)
    assert not mended.corrupted.any()
    assert mended.unusual.any()
    assert np.array_equal(mended.repaired, suspects)


def test_a_drifted_table_is_left_as_it_is(rows, mender):
    rng = np.random.default_rng(5)
    moved = correlated_rows(rng, 300, 24) + rows[0].std(axis=0)
    moved[0, 0] = np.nan
    mended = mender.mend(moved)
    assert "Columns that have moved against the reference" in mended.notes[0]
    assert not mended.corrupted.any()
    assert np.isfinite(mended.repaired).all()
    assert mender.mend(moved, on_drift="repair").notes == mended.notes
    assert mender.mend(correlated_rows(rng, 300, 24)).notes == ()


def test_the_spread_tells_how_far_off_filled_values_are(rows):
    reference, _, _ = rows
    mender = Mender().fit(reference)
    true = correlated_rows(np.random.default_rng(9), 400, 24)
    holes = true.copy()
    holes[:, 10:15] = np.nan
    mended = mender.mend(holes)
    off = np.abs(mended.repaired - true)[mended.missing] / mended.spread[mended.missing]
    assert 0.55 < np.mean(off <= 1) < 0.8
    assert 0.82 < np.mean(off <= 1.645) < 0.97


def test_constant_columns_and_identical_rows():
    rng = np.random.default_rng(0)
    reference = correlated_rows(rng, 60, 8)
    reference[:, 2:4] = 7.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mender = Mender().fit(reference)
        suspects = reference[:3].copy()
        suspects[0, 2:4] = 300.0
        mended = mender.mend(suspects)
        assert mended.mask[0, 2:4].all()
        assert (mended.repaired[:, 2:4] == 7).all()
        assert not Mender(false_alarm_rate=0.1).fit(np.ones((20, 4))).mend(np.ones((3, 4))).mask.any()


@pytest.mark.parametrize("huge", [1e39, 1e300, -1e308])
def test_huge_values_are_handled(huge):
    rng = np.random.default_rng(0)
    reference = correlated_rows(rng, 100, 16)
    mender = Mender().fit(reference)
    suspects = correlated_rows(rng, 2, 16)
    suspects[1, 4:8] = huge
    mended = mender.mend(suspects)
    assert mended.mask[1, 4:8].all()
    assert np.isfinite(mended.repaired).all()
    large = Mender().fit(reference * 2.0**600)
    assert np.array_equal(large.mend(suspects[:1] * 2.0**600).mask, mended.mask[:1])


def test_one_column_cannot_be_repaired():
    rng = np.random.default_rng(0)
    mended = Mender().fit(rng.normal(size=(50, 1))).mend(np.array([[100.0], [np.nan]]))
    assert not mended.mask.any()
    assert np.isfinite(mended.repaired[1, 0])


def test_clone_and_pickle(rows, mender):
    _, suspects, _ = rows
    assert clone(Mender(imputation="mode")).get_params()["imputation"] == "mode"
    again = pickle.loads(pickle.dumps(mender))
    assert np.array_equal(again.mend(suspects).repaired, mender.mend(suspects).repaired)


def test_in_a_pipeline_and_a_grid_search(rows):
    reference, suspects, _ = rows
    X = np.vstack([reference[:100], suspects])
    y = np.r_[np.ones(100, dtype=int), -np.ones(len(suspects), dtype=int)]
    pipeline = make_pipeline(FunctionTransformer(), Mender(), LogisticRegression(max_iter=2000))
    assert pipeline.fit(X, y).predict(X).shape == (140,)
    grid = {"false_alarm_rate": [0.05, 0.2], "layout": ["sequence", "correlated"]}
    search = GridSearchCV(Mender(), grid, scoring="accuracy", cv=2).fit(X, y)
    assert search.best_params_["false_alarm_rate"] in (0.05, 0.2)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize("layout", ["sequence", (4, 6)])
def test_stuck_values_are_found_whatever_the_range_of_their_columns(layout):
    rng = np.random.default_rng(8)
    rows = 20 + rng.normal(size=(440, 24)).cumsum(axis=1)
    reference, stuck = rows[:400], rows[400:]
    stuck[:, 6:18] = stuck[:, 6:7]
    mended = Mender(layout=layout).fit(reference).mend(stuck)
    assert mended.corrupted.mean() > 0.9
    assert mended.mask[:, 8:17].mean() > 0.8


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_missing_columns_do_not_break_the_promise(share):
    """Rows of low rank: what is observed is predicted the worse, the less there is of it."""
    rng = np.random.default_rng(6)
    mixing = rng.normal(size=(3, 16))
    reference, fresh = (rng.normal(size=(300, 3)) @ mixing + 0.01 * rng.normal(size=(300, 16)) for _ in range(2))
    fresh[:, rng.permutation(16)[: int(share * 16)]] = np.nan
    mended = Mender().fit(reference).mend(fresh)
    assert mended.corrupted.mean() < 0.07
    assert mended.unusual.mean() < 0.07
