"""How a row walks through the package, and what does not change its answer."""

import signal
import subprocess
import sys
import time
from itertools import pairwise

import numpy as np
import pytest
from tests.rows import correlated_rows, overwrite
from tests.walk import walked

from treemend import InputError, Mender
from treemend.mender import pipeline


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    suspects = correlated_rows(rng, 120, 12)
    suspects[:60] = overwrite(rng, suspects[:60])[0]
    suspects[3::9, 2:4] = np.nan
    return correlated_rows(rng, 200, 12), suspects


def test_a_row_passes_through_few_files(rows):
    mender = Mender(n_jobs=1)
    mender.fit(rows[0]).mend(rows[1])  # imports and compiled code are loaded
    files = walked(lambda: mender.fit(rows[0]).mend(rows[1]))
    assert len(set(files)) <= 22, " ".join(sorted(set(files)))
    assert sum(one != other for one, other in pairwise(files)) <= 316


def test_chunks_change_no_bit(rows, monkeypatch):
    mender = Mender(layout="sequence").fit(rows[0])
    in_one = mender.mend(rows[1], n_draws=2, on_drift="repair")
    monkeypatch.setattr(pipeline, "_CELLS_IN_A_CHUNK", 84)
    in_parts = mender.mend(rows[1], n_draws=2, on_drift="repair")
    for name in ("repaired", "mask", "spread", "corrupted", "p_values", "draws"):
        np.testing.assert_array_equal(getattr(in_parts, name), getattr(in_one, name))


def test_a_failed_fit_leaves_the_estimator_as_it_was(rows):
    fitted = Mender().fit(rows[0])
    before = fitted.score_samples(rows[1])
    with pytest.raises(InputError):
        fitted.fit(np.zeros((3, 5)))
    assert fitted.n_features_in_ == 12
    np.testing.assert_array_equal(fitted.score_samples(rows[1]), before)


@pytest.mark.parametrize("n_columns", [12, 600])
def test_fractions_among_counts_are_found(n_columns):
    rng = np.random.default_rng(0)
    counts = rng.poisson(np.exp(rng.normal(size=(700, 1)) + 1), size=(700, n_columns)).astype(float)
    suspects = counts[300:]
    wrong = np.zeros(suspects.shape, bool)
    wrong[::2, 4:9] = True
    suspects[wrong] += 0.37
    mended = Mender(layout="sequence").fit(counts[:300]).mend(suspects, on_drift="repair")
    assert mended.corrupted[::2].mean() > 0.95
    assert mended.corrupted[1::2].mean() < 0.15
    assert mended.mask[wrong].mean() > 0.95
    assert mended.mask[~wrong].mean() < 0.02


def test_a_large_reference_is_sampled():
    rng = np.random.default_rng(1)
    mender = Mender().fit(correlated_rows(rng, 6000, 6))
    assert mender._model.detector.calibration.n_rows == 3000
    rate = np.mean(mender.predict(correlated_rows(rng, 3000, 6)) == -1)
    assert abs(rate - 0.05) < 3 * np.sqrt(0.05 * 0.95 * (2 / 3000))


INTERRUPTED = """
import sys
import numpy as np
from treemend import Mender
rng = np.random.default_rng(0)
mender = Mender().fit(rng.normal(size=(300, 32)).cumsum(axis=1))
rows = rng.normal(size=(5_000, 32)).cumsum(axis=1)
before = mender.predict(rows[:50])
print("begun", flush=True)
try:
    while True:
        getattr(mender, sys.argv[1])(rows)
except KeyboardInterrupt:
    print("stopped", flush=True)
print(bool((mender.predict(rows[:50]) == before).all()), mender.n_features_in_, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fit", "mend"])
def test_ctrl_c_stops_soon_and_leaves_the_estimator_usable(method):
    command = [sys.executable, "-c", INTERRUPTED, method]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begun\n"
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        begun = time.monotonic()
        assert process.stdout.readline() == "stopped\n"
        elapsed = time.monotonic() - begun
        assert process.stdout.readline().split()[1] == "32"
    # A second is promised on a machine of one's own; here other tests are running.
    assert elapsed < 5
