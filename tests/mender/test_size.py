"""Large references, large tables: samples that set thresholds, parts, batches, interruptions."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from tests.rows import correlated_rows

from treemend import TreeMender
from treemend.exceptions import InputError, ParameterError
from treemend.mender import judging
from treemend.mender.judging import judge, node_counts


def suspects(rng, n_rows, width):
    rows = correlated_rows(rng, n_rows, width)
    for row in rows[::4]:
        begin = rng.integers(0, width - 5)
        row[begin : begin + 5] = rng.uniform(rows.min(), rows.max(), 5)
    rows[1::9, 2:4] = np.nan
    return rows


@pytest.fixture(scope="module")
def mender():
    return TreeMender(false_alarm_rate=0.1).fit(correlated_rows(np.random.default_rng(0), 400, 16))


@pytest.mark.parametrize("alpha", [0.75, 1.0])
@pytest.mark.parametrize("parameters", [{}, {"tau": 0.02}, {"refine": False}, {"refine": False, "root_rule": "stop"}])
def test_looking_only_where_it_matters_changes_no_verdict(alpha, parameters, monkeypatch):
    rng = np.random.default_rng(1)
    mender = TreeMender(alpha=alpha, **parameters).fit(correlated_rows(rng, 300, 16))
    workshop = mender._workshop
    rows = workshop.to_tree(suspects(rng, 600, 16))
    quick = judge(workshop, rows)
    level = workshop.level()
    counts = node_counts(workshop, rows)
    np.testing.assert_array_equal(judging.anomalous_nodes(workshop, rows, level), counts <= level)
    monkeypatch.setattr(judging, "anomalous_nodes", lambda workshop, rows, level: node_counts(workshop, rows) <= level)
    monkeypatch.setattr(judging, "_deciding_level", lambda workshop, limit: workshop.calibration.n_rows)
    exact = judge(workshop, rows)
    np.testing.assert_array_equal(quick.mask, exact.mask)
    np.testing.assert_array_equal(quick.declared, exact.declared)
    assert 0.02 < exact.mask.any(axis=1).mean() < 0.6


def test_rows_beyond_every_doubt_are_not_counted(mender, monkeypatch):
    rows = mender._workshop.to_tree(correlated_rows(np.random.default_rng(2), 500, 16))
    asked = []
    counted = type(mender._workshop.reference).radii
    monkeypatch.setattr(
        type(mender._workshop.reference),
        "radii",
        lambda self, rows, *rest: asked.append(len(rows)) or counted(self, rows, *rest),
    )
    judge(mender._workshop, rows)
    assert sum(asked) < 250


@pytest.mark.parametrize("n_calibration", [60, 250])
def test_a_sample_sets_the_thresholds_and_all_rows_are_neighbours(n_calibration):
    rng = np.random.default_rng(3)
    reference, fresh = correlated_rows(rng, 600, 12), correlated_rows(rng, 3000, 12)
    mender = TreeMender(calibration_rows=n_calibration, false_alarm_rate=0.1, imputation="map").fit(reference)
    calibration = mender._workshop.calibration
    assert calibration.n_rows == n_calibration
    everything = TreeMender(calibration_rows="all", imputation="map").fit(reference)._workshop.calibration
    np.testing.assert_array_equal(calibration.radii, everything.radii[calibration.numbers])
    rate = np.mean(mender.predict(fresh) < 0)
    assert abs(rate - 0.1) < 3 * np.sqrt(0.1 * 0.9 / n_calibration)
    mended = mender.fit_mend(reference)
    assert mended.corrupted.mean() < 0.2
    np.testing.assert_array_equal(mender.fit(reference).mend(fresh[:50]).repaired, mender.mend(fresh[:50]).repaired)


def test_the_sample_survives_the_model_file(tmp_path):
    rng = np.random.default_rng(4)
    mender = TreeMender(calibration_rows=50).fit(correlated_rows(rng, 200, 8))
    mender.save(tmp_path / "model.safetensors")
    rows = suspects(rng, 40, 8)
    again = TreeMender.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.mend(rows).repaired, mender.mend(rows).repaired)
    np.testing.assert_array_equal(again.score_samples(rows), mender.score_samples(rows))


def test_parts_and_batches_change_no_bit(mender):
    rows = suspects(np.random.default_rng(5), 300, 16)
    whole = mender.mend(rows, n_draws=2)
    small = TreeMender(**mender.get_params() | {"memory_limit": "1 MB"}).fit(mender.reference_)
    parts = small.mend(rows, n_draws=2)
    batches = list(mender.mend_batches((rows[begin : begin + 7] for begin in range(0, 300, 7)), n_draws=2))
    for name in ("repaired", "mask", "spread", "corrupted"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))
        np.testing.assert_array_equal(np.concatenate([getattr(one, name) for one in batches]), getattr(whole, name))
    np.testing.assert_array_equal(parts.draws, whole.draws)
    np.testing.assert_array_equal(small.score_samples(rows), mender.score_samples(rows))
    np.testing.assert_array_equal(small.score_nodes(rows), mender.score_nodes(rows))


def test_batches_are_taken_one_at_a_time(mender):
    taken = []

    def batches():
        for number in range(3):
            taken.append(number)
            yield mender.reference_[:5]

    results = mender.mend_batches(batches())
    assert taken == []
    next(results)
    assert taken == [0]


@pytest.mark.parametrize("batches", [np.zeros((3, 16)), "rows.csv", {"a": 1}])
def test_one_table_is_no_batches(mender, batches):
    with pytest.raises(InputError, match="call mend"):
        mender.mend_batches(batches)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("calibration_rows", 3),
        ("calibration_rows", "some"),
        ("memory_limit", 10),
        ("memory_limit", "much"),
        ("progress", 1),
    ],
)
def test_nonsense_is_refused(name, value):
    with pytest.raises(ParameterError, match=name):
        TreeMender(**{name: value}).fit(np.random.default_rng(0).normal(size=(50, 4)))


def test_a_failed_fit_leaves_the_mender_as_it_was(mender):
    fitted = TreeMender().fit(mender.reference_)
    rows = mender.reference_[:20]
    before = fitted.score_samples(rows)
    with pytest.raises(InputError):
        fitted.fit(np.zeros((3, 5)))
    assert fitted.n_features_in_ == 16
    np.testing.assert_array_equal(fitted.score_samples(rows), before)


INTERRUPTED = """
import sys, time
import numpy as np
from treemend import TreeMender
rng = np.random.default_rng(0)
mender = TreeMender(calibration_rows="all").fit(rng.normal(size=(300, 64)).cumsum(axis=1))
rows = rng.normal(size=(60_000 if sys.argv[1] == "fit" else 5_000, 64)).cumsum(axis=1)
before = mender.predict(rows[:50])
print("begun", flush=True)
try:
    while True:
        getattr(mender, sys.argv[1])(rows)
except KeyboardInterrupt:
    print("stopped", flush=True)
print(bool((mender.predict(rows[:50]) == before).all()), mender.n_features_in_, flush=True)
"""


@pytest.mark.parametrize("method", ["fit", "mend"])
def test_ctrl_c_stops_soon_and_leaves_the_mender_usable(method):
    command = [sys.executable, "-c", INTERRUPTED, method]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begun\n"
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        begun = time.monotonic()
        assert process.stdout.readline() == "stopped\n"
        elapsed = time.monotonic() - begun
        assert process.stdout.readline() == "True 64\n"
    # A second is promised on a machine of one's own; here other tests are running.
    assert elapsed < 5
