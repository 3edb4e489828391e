"""`TCS` as an estimator: scikit-learn's checks, tables of any kind, thresholds, scores, errors."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.rows import GENERATORS, correlated_rows, overwrite

from treemend.exceptions import ColumnsError, InputError, ParameterError
from treemend.tcs import TCS, grid_order

OWN_COPY = "on the reference every row is judged and repaired by the others, its own copy left out"
MISSING = "NaN in suspect rows stands for a missing value, which is filled; in the reference it is refused"


def deviations(estimator):
    differing = ["check_outliers_fit_predict"]
    if estimator.tau is not None:  # by default the checks' 30 rows are too few for anything to be declared
        differing += ["check_transformer_general", "check_transformer_data_not_an_array"]
    return dict.fromkeys(differing, OWN_COPY) | {"check_estimators_nan_inf": MISSING}


@pytest.mark.filterwarnings("ignore:.*too few for:UserWarning")
@parametrize_with_checks(
    [TCS(), TCS(tau=0.05), TCS(tau=0.05, alpha=1.0, imputation="nearest", root_rule="stop")],
    expected_failed_checks=deviations,
)
def test_scikit_learn_s_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    reference = correlated_rows(rng, 300, 16)
    suspects, mask = overwrite(rng, correlated_rows(rng, 60, 16))
    suspects[::3] = correlated_rows(rng, 20, 16)
    return reference, suspects


@pytest.mark.parametrize("rate", [0.0, 0.02, 0.05, 0.2, 1.0])
def test_the_threshold_is_the_largest_that_keeps_the_rate(rows, rate):
    reference = rows[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tcs = TCS(false_alarm_rate=rate)
        found = tcs.fit_mend(reference).corrupted.mean()
    assert found == tcs.reference_rate_ <= rate
    if 0 <= tcs.tau_ < 1:
        above = TCS(tau=tcs.tau_ + 1 / len(reference)).fit(reference)
        assert above.reference_rate_ > rate
        same = TCS(tau=tcs.tau_).fit(reference)
        assert same.reference_rate_ == tcs.reference_rate_


@pytest.mark.parametrize("generator", GENERATORS)
def test_fresh_clean_rows_keep_the_rate(generator):
    rng = np.random.default_rng(1)
    tcs = TCS(false_alarm_rate=0.1, alpha=1.0).fit(generator(rng, 600))
    alarms = (tcs.predict(generator(rng, 1500)) == -1).sum()
    # Of 1500 fresh rows; the reference itself is a sample of 600, so the rate varies by about 1.2 % around 10 %.
    assert alarms <= 1500 * 0.145


@pytest.mark.parametrize("params", [{"tau": 0.0}, {"tau": 0.05}, {"tau": 0.6}, {"tau": 1.0}, {"false_alarm_rate": 0.1}])
@pytest.mark.parametrize("root_rule", ["continue", "stop"])
def test_the_decision_is_negative_exactly_where_predict_says_so(rows, params, root_rule):
    reference, suspects = rows
    suspects = suspects.copy()
    suspects[::5, 3:9] = np.nan
    tcs = TCS(**params, root_rule=root_rule, alpha=1.0).fit(reference)
    decision = tcs.decision_function(suspects)
    np.testing.assert_array_equal(decision < 0, tcs.predict(suspects) == -1)
    np.testing.assert_array_equal(decision, tcs.score_samples(suspects) - tcs.offset_)


def test_a_rate_that_the_reference_cannot_promise_declares_nothing_and_says_so():
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match="30 reference rows are too few for a false-alarm rate of 0.01"):
        tcs = TCS(false_alarm_rate=0.01).fit(correlated_rows(rng, 30, 8))
    assert tcs.tau_ == -1
    suspects = rng.uniform(-90, 90, (5, 8))
    assert not tcs.mend(suspects).corrupted.any()
    assert (tcs.decision_function(suspects) > 0).all()


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_tables_come_back_in_their_kind(rows, kind):
    reference, suspects = rows
    names = [f"c{k}" for k in range(16)]

    def table(values):
        return kind({"id": [f"row {i}" for i in range(len(values))], **dict(zip(names, values.T, strict=True))})

    plain = TCS(tau=0.05).fit(reference)
    tcs = TCS(tau=0.05, passthrough=["id"]).fit(table(reference))
    result, expected = tcs.mend(table(suspects)), plain.mend(suspects)
    assert isinstance(result.repaired, kind)
    assert list(result.repaired.columns) == ["id", *names]
    assert list(result.mask.columns) == names
    np.testing.assert_array_equal(np.asarray(result.mask), expected.mask)
    np.testing.assert_array_equal(np.asarray(result.repaired[names]), expected.repaired)
    np.testing.assert_array_equal(tcs.transform(table(suspects)), plain.transform(suspects))
    with pytest.raises(ColumnsError, match="missing: 'c3'"):
        tcs.mend(kind({name: [1.0] for name in ["id", *names[:3], *names[4:], "new"]}))


def test_findings_have_what_a_report_needs(rows):
    reference, suspects = rows
    suspects = suspects.copy()
    suspects[2, 4] = np.nan
    tcs = TCS(tau=0.05).fit(pd.DataFrame(reference).rename(columns=str))
    frame = pd.DataFrame(suspects, index=[f"r{i}" for i in range(len(suspects))]).rename(columns=str)
    findings = tcs.mend(frame).findings()
    tcs = TCS(tau=0.05).fit(reference)
    result = tcs.mend(suspects)
    np.testing.assert_array_equal(findings.after, result.repaired)
    np.testing.assert_array_equal(findings.mask, result.mask)
    assert findings.row_ids[3] == "r3"
    assert findings.missing.sum() == 1
    some = np.array([5, 2])
    np.testing.assert_array_equal(findings.node_scores(some), tcs.score_nodes(suspects[some]))
    assert (findings.rule.name, findings.rule.value, findings.rule.n_reference) == ("tau", 0.05, 300)
    touched = result.corrupted
    np.testing.assert_array_equal(findings.row_scores[touched], tcs.score_samples(suspects)[touched])
    assert np.isnan(findings.row_scores[~touched]).all()
    own = tcs.fit_mend(reference).findings()
    assert (own.row_scores[own.mask.any(axis=1)] <= 0.05).all()
    labels = own.node_scores(np.arange(300)) <= 0.05
    assert labels[own.mask.any(axis=1)].any(axis=1).all()


def test_a_grid_is_mended_through_its_order():
    rng = np.random.default_rng(2)
    centre = np.exp(-((np.arange(8)[:, None, None] - rng.uniform(1, 6, 400)) ** 2) / 6)
    images = (centre * np.ones((1, 8, 1))).transpose(2, 0, 1) + 0.02 * rng.normal(size=(400, 8, 8))
    reference, suspects = images[:350].reshape(-1, 64), images[350:].copy()
    suspects[:, 2:6, 4:8] = rng.random((50, 4, 4))
    order = grid_order(8, 8)
    result = TCS(tau=0.01, depth=4).fit(reference[:, order]).mend(suspects.reshape(-1, 64)[:, order])
    mask = result.mask[:, np.argsort(order)].reshape(-1, 8, 8)
    assert mask[:, 2:6, 4:8].mean() > 0.8
    assert mask[:, :, :4].mean() < 0.1


def test_models_are_pickled_without_what_can_be_computed_again(rows):
    reference, suspects = rows
    tcs = TCS(tau=0.05).fit(reference)
    before = tcs.mend(suspects).repaired
    pickled = pickle.dumps(tcs)
    assert len(pickled) < 8 * (reference.size + 300 * tcs.tree_.n_nodes) + 10_000
    np.testing.assert_array_equal(pickle.loads(pickled).mend(suspects).repaired, before)


def test_parameters_set_after_the_fit_wait_for_the_next_fit(rows):
    reference, suspects = rows
    tcs = TCS(tau=0.05).fit(reference)
    before = tcs.mend(suspects).mask
    tcs.set_params(tau=0.5, alpha=1.0, root_rule="stop")
    np.testing.assert_array_equal(tcs.mend(suspects).mask, before)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"tau": 0.1, "false_alarm_rate": 0.1}, "Give tau or false_alarm_rate, not both"),
        ({"tau": 1.5}, "tau must be a number between 0 and 1"),
        ({"false_alarm_rate": "5 %"}, "false_alarm_rate must be a number"),
        ({"alpha": 0}, "alpha must be a number above 0"),
        ({"depth": 0}, "depth must be an integer of at least 1"),
        ({"n_neighbors": 2.0}, "n_neighbors must be an integer"),
        ({"imputation": "mean"}, "imputation must be one of 'map', 'nearest'"),
        ({"root_rule": "go on"}, "root_rule must be one of 'continue', 'stop'"),
        ({"passthrough": "id"}, "passthrough must be a list"),
        ({"n_jobs": 0}, "n_jobs must be an integer"),
    ],
)
def test_bad_parameters(rows, params, message):
    with pytest.raises(ParameterError, match=message):
        TCS(**params).fit(rows[0])


def test_what_cannot_be_learnt_from_is_refused_and_the_estimator_stays_as_it_was(rows):
    reference, suspects = rows
    tcs = TCS(tau=0.05).fit(reference)
    before = tcs.mend(suspects).repaired
    with_nan = reference.copy()
    with_nan[3, 4] = np.nan
    for bad, message in (
        (with_nan, "Input contains NaN: the reference rows must be complete, but NaN stands in 1 cell in 1 row: row 3"),
        (reference[:9, :5], "n_neighbors \\+ 2 = 10 rows, got n_samples = 9"),
        (np.where(np.isnan(with_nan), np.inf, reference), "Input contains inf"),
    ):
        with pytest.raises(InputError, match=message):
            tcs.fit(bad)
    np.testing.assert_array_equal(tcs.mend(suspects).repaired, before)
    with pytest.raises(InputError, match="Input contains inf: the suspect rows"):
        tcs.mend(np.where(np.isnan(with_nan), np.inf, reference))


def test_values_of_any_magnitude_give_the_same_answer(rows):
    reference, suspects = rows
    expected = TCS(tau=0.05).fit(reference).mend(suspects)
    for factor in (2.0**-300, 2.0**500):
        result = TCS(tau=0.05).fit(reference * factor).mend(suspects * factor)
        np.testing.assert_array_equal(result.mask, expected.mask)
        np.testing.assert_array_equal(result.repaired, expected.repaired * factor)
