"""Saved estimators come back with the same answers, and damaged files are refused."""

import builtins
import os
import pickle
import random
import resource
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from tests.rows import correlated_rows, overwrite
from tests.test_model_file import rewritten

import treemend
from treemend import TCS, Mender, ModelFileError


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return correlated_rows(rng, 60, 12), overwrite(rng, correlated_rows(rng, 20, 12))[0]


@pytest.fixture(scope="module")
def mender(rows):
    return Mender(false_alarm_rate=0.1).fit(rows[0])


@pytest.fixture
def path(mender, tmp_path):
    mender.save(tmp_path / "model.safetensors")
    return tmp_path / "model.safetensors"


def same(left, right, suspects):
    one, other = left.mend(suspects), right.mend(suspects)
    return (
        left.get_params() == right.get_params()
        and left.offset_ == right.offset_
        and np.asarray(one.repaired).tobytes() == np.asarray(other.repaired).tobytes()
        and np.array_equal(np.asarray(one.mask), np.asarray(other.mask))
        and np.array_equal(left.score_samples(suspects), right.score_samples(suspects))
    )


@pytest.mark.parametrize(
    "estimator",
    [
        Mender(n_jobs=1, contaminated=True, false_alarm_rate=0.1),
        Mender(layout=(3, 4), false_alarm_rate=0.1),
        Mender(layout=[[0, 1, 2, 3, 4], [5, 6, 7, 8, 9, 10, 11]], imputation="mode", false_alarm_rate=0.1),
        TCS(tau=0.05, n_neighbors=4, depth=3),
        TCS(false_alarm_rate=0.1, alpha=1.0, imputation="nearest"),
    ],
    ids=repr,
)
def test_a_loaded_estimator_gives_the_same_bits(estimator, rows, tmp_path):
    reference, suspects = rows
    estimator.fit(reference)
    estimator.save(tmp_path / "model")
    loaded = treemend.load(tmp_path / "model")
    assert type(loaded) is type(estimator)
    assert estimator.mend(suspects).corrupted.any()
    assert same(estimator, loaded, suspects)
    assert set(vars(loaded)) == set(vars(estimator))
    loaded.save(tmp_path / "again")
    assert (tmp_path / "model").read_bytes() == (tmp_path / "again").read_bytes()


def test_column_names_come_back(rows, tmp_path):
    names = ["<script>", "ü", "a\nb", *"defghijkl"]
    frame = pd.DataFrame(rows[0], columns=names)
    Mender().fit(frame).save(tmp_path / "model")
    loaded = treemend.load(tmp_path / "model")
    assert loaded.feature_names_in_.tolist() == names
    assert list(loaded.mend(frame).repaired.columns) == names


def test_no_row_of_the_reference_is_in_the_file(tmp_path):
    reference = correlated_rows(np.random.default_rng(1), 5000, 64)
    Mender().fit(reference).save(tmp_path / "model")
    data = (tmp_path / "model").read_bytes()
    assert len(data) < 1_000_000
    inside = reference[:, [20, 21]]
    assert not any(pair.tobytes() in data for pair in inside[:500])


def test_saving_replaces_completely_or_not_at_all(path, mender, monkeypatch):
    before = path.read_bytes()

    def disk_full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", disk_full)
    with pytest.raises(OSError, match="No space"):
        mender.save(path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_what_cannot_be_saved(rows, tmp_path):
    with pytest.raises(NotFittedError):
        Mender().save(tmp_path / "model")
    mender = Mender().fit(rows[0])
    mender.random_state = np.random.RandomState(0)
    with pytest.raises(ModelFileError, match="random_state holds a RandomState"):
        mender.save(tmp_path / "model")
    assert os.listdir(tmp_path) == []


def test_unusable_parameters_are_refused(path):
    def change(document, arrays):
        document["parameters"]["false_alarm_rate"] = -1

    rewritten(path, change)
    with pytest.raises(ModelFileError, match="false_alarm_rate must be"):
        treemend.load(path)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda document: document.update(estimator="Other"), "holds a 'Other'; expected one of Mender, TCS"),
        (lambda document: document["parameters"].pop("layout"), "must have the parameters of Mender; layout differ"),
        (lambda document: document["parameters"].update(exec=1), "exec differ"),
        (lambda document: document.update(names=["a"]), "1 column names for a model of 12 columns"),
    ],
)
def test_resealed_nonsense_is_refused(change, complaint, path):
    rewritten(path, lambda document, arrays: change(document) and None)
    with pytest.raises(ModelFileError, match=complaint):
        treemend.load(path)


def test_arrays_of_other_sizes_are_refused(path):
    """Whichever array is cut or made invalid, the model is refused or the answers stay finite."""
    from safetensors import safe_open

    with safe_open(path, framework="np") as file:
        # One entry a reference row that was asked: any number of them is as good.
        free = ("log_density", "rest_scores")
        names = [name for name in file.keys() if file.get_tensor(name).size and not name.endswith(free)]  # noqa: SIM118
    original = path.read_bytes()
    for name in names:
        path.write_bytes(original)

        def change(document, arrays, name=name):
            arrays[name] = np.ascontiguousarray(arrays[name][:-1])

        rewritten(path, change)
        with pytest.raises(ModelFileError):
            treemend.load(path)


def test_loading_executes_nothing(path, monkeypatch):
    def never(*arguments, **options):
        raise AssertionError("called")

    for module, name in ((pickle, "loads"), (pickle, "load"), (builtins, "eval")):
        monkeypatch.setattr(module, name, never)
    treemend.load(path)
    path.write_bytes(pickle.dumps(print))
    with pytest.raises(ModelFileError):
        treemend.load(path)


def mutated(data, rng):
    """One to four random changes: bytes, cuts, repetitions, numbers made huge."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        kind, place = rng.randrange(6), rng.randrange(max(1, len(data)))
        if kind == 0 and data:
            data[place % len(data)] ^= 1 << rng.randrange(8)
        elif kind == 1:
            data = data[:place]
        elif kind == 2:
            data[place:place] = rng.randbytes(rng.randint(1, 20))
        elif kind == 3:
            del data[place : place + rng.randint(1, 20)]
        elif kind == 4:
            data[:8] = rng.choice([2**63, 2**40, 2**31, len(data), 0, 2]).to_bytes(8, "little")
        else:
            digits = [spot for spot in range(8, min(len(data), 6000)) if 48 <= data[spot] <= 57]
            if digits:
                spot = rng.choice(digits)
                data[spot : spot + 1] = rng.choice([b"9" * 18, b"-1", b"1e999", b"null", b"[[", b"0"])
    return bytes(data)


FUZZ = """
import random, resource, sys
import numpy as np
from pathlib import Path
import treemend
from treemend import ModelFileError
from tests.test_loading import mutated, same

path, suspects = Path(sys.argv[1]), np.load(sys.argv[2])
data, original, rng = path.read_bytes(), treemend.load(path), random.Random(0)
original.mend(suspects)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
refused = equal = 0
for _ in range(1000):
    path.write_bytes(mutated(data, rng))
    try:
        loaded = treemend.load(path)
    except ModelFileError as error:
        assert "Traceback" not in str(error) and str(error)
        refused += 1
    else:
        assert same(loaded, original, suspects)
        equal += 1
print(refused, equal, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_a_thousand_mutated_files_are_refused_or_equal(path, rows, tmp_path):
    np.save(tmp_path / "suspects.npy", rows[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(Path(__file__).parents[1])])}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FUZZ), str(path), str(tmp_path / "suspects.npy")],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)),
    )
    assert done.returncode == 0, done.stderr
    refused, equal, grown = map(int, done.stdout.split())
    assert refused + equal == 1000
    assert refused > 900
    assert grown < 200_000, "kB"


def test_mutations_are_reproducible():
    assert mutated(b"0123456789" * 9, random.Random(1)) == mutated(b"0123456789" * 9, random.Random(1))
