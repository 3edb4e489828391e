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

from treemend import ColumnsError, InputError, ParameterError, TreeMender


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    reference = correlated_rows(rng, 300, 24)
    suspects, mask = overwrite(rng, correlated_rows(rng, 40, 24))
    return reference, suspects, mask


@pytest.fixture(scope="module")
def mender(rows):
    return TreeMender().fit(rows[0])


def test_finds_and_repairs(rows, mender):
    reference, suspects, mask = rows
    mended = mender.mend(suspects)
    assert mended.corrupted.mean() > 0.5
    assert mended.mask[mask].mean() > 3 * mended.mask[~mask].mean()
    assert repr(mended).startswith("Mended(")


def test_untouched_values_are_the_same_bits_and_inputs_never_change(rows, mender):
    _, suspects, _ = rows
    kept = suspects.copy()
    mended = mender.mend(suspects)
    assert np.array_equal(suspects, kept)
    assert np.array_equal(mended.repaired[~mended.mask], suspects[~mended.mask])
    assert not np.shares_memory(mended.repaired, suspects)
    assert (mended.repaired[mended.mask] != suspects[mended.mask]).any()


@pytest.mark.parametrize("imputation", ["map", "nearest", "draw"])
@pytest.mark.parametrize("donors", ["clean", "sibling"])
def test_single_donors_give_reference_values_in_the_user_s_units(rows, donors, imputation):
    reference, suspects, _ = rows
    mended = TreeMender(donors=donors, imputation=imputation, refine=False).fit(reference).mend(suspects)
    for column in range(reference.shape[1]):
        assert np.isin(mended.repaired[mended.mask[:, column], column], reference[:, column]).all()


def test_the_methods_agree(rows, mender):
    _, suspects, _ = rows
    mended = mender.mend(suspects)
    assert np.array_equal(mender.localize(suspects), mended.mask)
    assert np.array_equal(mender.transform(suspects), mended.repaired)
    assert np.array_equal(mender.predict(suspects) == -1, mended.corrupted)
    decision = mender.decision_function(suspects)
    assert np.array_equal(decision < 0, mended.corrupted)
    assert np.allclose(mender.score_samples(suspects) - mender.offset_, decision)
    assert mender.score_nodes(suspects).shape == (len(suspects), mender.tree_.n_nodes)


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
    whole, part = mender.mend(suspects), mender.mend(suspects[chosen])
    assert np.array_equal(whole.repaired[chosen], part.repaired)
    assert np.array_equal(whole.mask[chosen], part.mask)


@settings(deadline=None, max_examples=5)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_order_of_the_reference_does_not_matter_to_the_published_method(rows, seed):
    reference, suspects, _ = rows
    mender = TreeMender.as_published(0.02)
    mended = clone(mender).fit(reference).mend(suspects)
    again = mender.fit(np.random.default_rng(seed).permutation(reference)).mend(suspects)
    assert np.array_equal(again.mask, mended.mask)
    assert np.array_equal(again.repaired, mended.repaired)


@settings(deadline=None, max_examples=5)
@given(power=st.lists(st.integers(-200, 200), min_size=24, max_size=24))
def test_units_do_not_matter(rows, mender, power):
    """In units of powers of two, scaling rounds nothing, and even the bits are the same."""
    reference, suspects, _ = rows
    factor = 2.0 ** np.array(power)
    mended = TreeMender().fit(reference * factor).mend(suspects * factor)
    assert np.array_equal(mended.repaired, mender.mend(suspects).repaired * factor)


@pytest.mark.parametrize("n_jobs", [1, 2, 3, -1, None])
def test_any_number_of_threads_gives_the_same_bits(rows, mender, n_jobs):
    reference, suspects, _ = rows
    again = TreeMender(n_jobs=n_jobs).fit(reference)
    assert np.array_equal(again.score_nodes(suspects), mender.score_nodes(suspects))
    assert np.array_equal(again.mend(suspects).repaired, mender.mend(suspects).repaired)


@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize("asked", [0.05, 0.2])
def test_the_promise_on_fresh_clean_rows(generator, asked):
    """The rate on fresh rows, over several references, within three standard errors of the one asked for."""
    rng = np.random.default_rng(11)
    n_references, n_reference, n_fresh = 6, 500, 500
    touched = [
        np.mean(
            TreeMender(false_alarm_rate=asked).fit(generator(rng, n_reference)).predict(generator(rng, n_fresh)) == -1
        )
        for _ in range(n_references)
    ]
    # The threshold itself is estimated from n_reference rows, the rate from n_fresh: both vary like a proportion.
    error = np.sqrt(asked * (1 - asked) * (1 / n_reference + 1 / n_fresh) / n_references)
    assert abs(np.mean(touched) - asked) <= 3 * error


def test_reference_rate_is_the_rate_on_left_out_rows(rows):
    reference = rows[0]
    mender = TreeMender(false_alarm_rate=0.1)
    touched = np.mean(mender.fit_predict(reference) == -1)
    assert touched == pytest.approx(mender.reference_rate_)
    assert touched <= 0.1


def test_tau_is_the_largest_within_the_rate(rows):
    reference = rows[0]
    chosen = TreeMender(false_alarm_rate=0.1).fit(reference)
    taus = np.arange(len(reference) + 1) / len(reference)
    larger = taus[taus > chosen.tau_ + 1e-9][:40]
    assert all(TreeMender(refine=False, tau=tau).fit(reference).reference_rate_ > 0.1 for tau in larger)


def test_fit_transform_leaves_each_row_s_own_copy_out():
    rng = np.random.default_rng(2)
    reference = correlated_rows(rng, 200, 16)
    reference[7, 4:8] = 100.0
    mended = TreeMender(false_alarm_rate=0.05).fit_transform(reference)
    assert (np.abs(mended[7, 4:8]) < 50).all()


def test_too_small_a_reference_for_the_rate_touches_nothing_and_says_so():
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match="too few to promise a false-alarm rate of 0.001"):
        mender = TreeMender(false_alarm_rate=0.001).fit(correlated_rows(rng, 20, 32))
    assert not mender.mend(correlated_rows(rng, 20, 32) * 9).mask.any()


def test_data_frames(rows, mender):
    reference, suspects, _ = rows
    names = [f"sensor {k}" for k in range(24)]
    frame = pd.DataFrame(suspects, columns=names, index=np.arange(40) * 2)
    framed = TreeMender().fit(pd.DataFrame(reference, columns=names))
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
        TreeMender(refine=False, tau=0.05).fit(frame).mend(change(frame))


def test_wrong_number_of_attributes(mender):
    with pytest.raises(ColumnsError, match="X has 3 features, but TreeMender is expecting 24"):
        mender.mend(np.zeros((2, 3)))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"tau": 0.1, "false_alarm_rate": 0.05, "refine": False}, "Give tau or false_alarm_rate, not both"),
        ({"tau": 1.5, "refine": False}, "tau must be a number between 0 and 1, got 1.5"),
        ({"tau": True, "refine": False}, "tau must be a number"),
        ({"false_alarm_rate": -0.1}, "false_alarm_rate must be"),
        ({"false_alarm_rate": "low"}, "false_alarm_rate must be"),
        ({"alpha": 0}, "alpha must be a number above 0"),
        ({"alpha": float("nan")}, "alpha must be"),
        ({"depth": 0}, "depth must be an integer of at least 1 or 'auto'"),
        ({"depth": 2.5}, "depth must be an integer"),
        ({"depth": "deep"}, "depth must be an integer"),
        ({"n_neighbors": 0}, "n_neighbors must be an integer of at least 1"),
        ({"n_neighbors": None}, "n_neighbors must be an integer"),
        ({"imputation": "median"}, "imputation must be one of 'reconstruct', 'map', 'nearest', 'mean', 'draw'; got"),
        ({"donors": "friends"}, "donors must be one of 'clean', 'sibling'"),
        ({"donors": "sibling", "imputation": "map"}, "donors='sibling' needs whole nodes"),
        ({"refine": 1}, "refine must be True or False"),
        ({"donors": "sibling"}, "imputation='reconstruct' rebuilds a row from all of its clean attributes"),
        ({"incomplete_reference": True}, "incomplete_reference must be one of 'refuse', 'drop'"),
        ({"random_state": "lucky"}, "random_state must be an integer"),
        ({"scale": "standard"}, "scale must be one of 'minmax', None"),
        ({"layout": "spiral"}, "layout must be 'sequence'"),
        ({"layout": (2, 3)}, "A grid of 2 x 3 has 6 attributes, but the rows have 4"),
        ({"root_rule": 1}, "root_rule must be one of"),
        ({"n_jobs": 0}, "n_jobs must be an integer"),
        ({"n_jobs": 1.5}, "n_jobs must be an integer"),
    ],
)
def test_parameters_out_of_range(parameters, message):
    with pytest.raises(ParameterError, match=re.escape(message)):
        TreeMender(**parameters).fit(np.random.default_rng(0).normal(size=(30, 4)))


@pytest.mark.parametrize(
    "method",
    ["mend", "transform", "localize", "predict", "score_samples", "decision_function", "score_nodes"],
)
def test_use_before_fit(method):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(TreeMender(), method)(np.zeros((2, 2)))


def test_too_few_reference_rows():
    with pytest.raises(InputError, match=r"at least n_neighbors \+ 2 = 10 rows, got n_samples = 9"):
        TreeMender().fit(np.zeros((9, 4)))


def test_not_finite(rows, mender):
    reference, suspects, _ = rows
    bad = suspects.copy()
    bad[3, 5] = np.nan
    with pytest.raises(InputError, match="NaN stands in 1 cell in 1 row: row 3, column 5.*incomplete_reference='drop'"):
        TreeMender().fit(bad)
    bad[3, 5] = np.inf
    for judged in (TreeMender().fit, mender.mend):
        with pytest.raises(InputError, match="inf stands in 1 cell in 1 row: row 3, column 5"):
            judged(bad)


def test_incomplete_reference_rows_are_dropped_on_request(rows, mender):
    reference, suspects, _ = rows
    holes = np.vstack([reference, suspects])
    holes[len(reference) :, 2] = np.nan
    dropping = TreeMender(incomplete_reference="drop").fit(holes)
    assert np.array_equal(dropping.reference_, reference)
    assert np.array_equal(dropping.mend(suspects).repaired, mender.mend(suspects).repaired)
    assert np.isfinite(TreeMender(incomplete_reference="drop").fit_transform(holes)).all()


@pytest.mark.parametrize(
    "parameters", [{}, {"imputation": "mean"}, {"donors": "sibling", "imputation": "map", "refine": False}]
)
def test_missing_values_are_filled_and_told_apart(rows, parameters):
    reference, suspects, _ = rows
    mender = TreeMender(**parameters).fit(reference)
    rng = np.random.default_rng(3)
    true = correlated_rows(rng, 60, 24)
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


def test_corruption_is_found_beside_missing_values(rows, mender):
    _, suspects, mask = rows
    holes = suspects.copy()
    holes[:, ::6] = np.nan
    found = mender.mend(holes).mask
    seen = mask & ~np.isnan(holes)
    assert found[seen].mean() > 3 * found[~mask].mean()


def test_draws(rows, mender):
    reference, suspects, _ = rows
    for drawing in (mender, TreeMender(imputation="mean").fit(reference)):
        mended = drawing.mend(suspects, n_draws=20)
        assert len(mended.draws) == 20
        stacked = np.array(mended.draws)
        assert np.array_equal(
            stacked[:, ~mended.mask], np.broadcast_to(suspects[~mended.mask], (20, (~mended.mask).sum()))
        )
        assert (stacked[:, mended.mask].std(axis=0) > 0).mean() > 0.9
        alone = drawing.mend(suspects[7:8], n_draws=20)
        assert np.array_equal(np.array(alone.draws)[:, 0], stacked[:, 7])
        other = TreeMender(**drawing.get_params() | {"random_state": 1}).fit(reference).mend(suspects, n_draws=20)
        assert not np.array_equal(np.array(other.draws), stacked)
    with pytest.raises(ParameterError, match="n_draws must be"):
        mender.mend(suspects, n_draws=-1)


def test_the_spread_tells_how_far_off_filled_values_are(rows):
    reference, _, _ = rows
    mender = TreeMender().fit(reference)
    true = correlated_rows(np.random.default_rng(9), 400, 24)
    holes = true.copy()
    holes[:, 10:15] = np.nan
    mended = mender.mend(holes)
    off = np.abs(mended.repaired - true)[mended.missing] / mended.spread[mended.missing]
    assert 0.55 < np.mean(off <= 1) < 0.8
    assert 0.82 < np.mean(off <= 1.645) < 0.97


def test_constant_attributes_and_identical_rows():
    rng = np.random.default_rng(0)
    reference = correlated_rows(rng, 60, 8)
    reference[:, 2:4] = 7.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mender = TreeMender(refine=False, tau=0.05).fit(reference)
        suspects = reference[:3].copy()
        suspects[0, 2:4] = 300.0
        mended = mender.mend(suspects)
        assert mended.mask[0, 2:4].all()
        assert (mended.repaired[:, 2:4] == 7).all()
        assert not TreeMender(refine=False, tau=0.05).fit(np.ones((20, 4))).mend(np.ones((3, 4))).mask.any()


@pytest.mark.parametrize("alpha", [0.75, 1.0])
@pytest.mark.parametrize("scale", ["minmax", None])
@pytest.mark.parametrize("huge", [1e39, 1e300, -1e308])
def test_values_beyond_float32_are_handled(alpha, scale, huge):
    rng = np.random.default_rng(0)
    reference = correlated_rows(rng, 100, 16)
    mender = TreeMender(refine=False, tau=0.02, alpha=alpha, scale=scale).fit(reference)
    suspects = correlated_rows(rng, 2, 16)
    suspects[1, 4:8] = huge
    mended = mender.mend(suspects)
    assert mended.mask[1, 4:8].all()
    assert np.isfinite(mended.repaired).all()
    assert np.isfinite(mender.score_nodes(suspects)).all()
    large = TreeMender(refine=False, tau=0.02, alpha=alpha, scale=scale).fit(reference * 1e200)
    assert np.array_equal(large.mend(suspects[:1] * 1e200).mask, mended.mask[:1])


def test_one_attribute_cannot_be_localised():
    rng = np.random.default_rng(0)
    mender = TreeMender(refine=False, tau=0.05).fit(rng.normal(size=(50, 1)))
    assert not mender.mend(np.array([[100.0]])).mask.any()


def test_clone_and_pickle(rows, mender):
    _, suspects, _ = rows
    assert clone(TreeMender(alpha=0.5)).get_params()["alpha"] == 0.5
    again = pickle.loads(pickle.dumps(mender))
    assert np.array_equal(again.mend(suspects).repaired, mender.mend(suspects).repaired)


def test_in_a_pipeline_and_a_grid_search(rows):
    reference, suspects, _ = rows
    X = np.vstack([reference[:100], suspects])
    y = np.r_[np.ones(100, dtype=int), -np.ones(len(suspects), dtype=int)]
    pipeline = make_pipeline(FunctionTransformer(), TreeMender(tau=0.02), LogisticRegression(max_iter=2000))
    assert pipeline.fit(X, y).predict(X).shape == (140,)
    search = GridSearchCV(TreeMender(), {"alpha": [0.5, 1.0], "tau": [0.01, 0.05]}, scoring="accuracy", cv=2).fit(X, y)
    assert search.best_params_["alpha"] in (0.5, 1.0)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize("layout", ["sequence", (4, 6)])
def test_values_that_stand_still_are_found_whatever_the_range_of_their_columns(layout):
    rng = np.random.default_rng(8)
    rows = 20 + rng.normal(size=(440, 24)).cumsum(axis=1)
    reference, stuck = rows[:400], rows[400:]
    stuck[:, 6:18] = stuck[:, 6:7]
    mended = TreeMender(layout=layout).fit(reference).mend(stuck)
    assert mended.corrupted.mean() > 0.9
    assert mended.mask[:, 8:17].mean() > 0.8
