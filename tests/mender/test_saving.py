import builtins
import hashlib
import json
import os
import pickle
import random
import resource
import subprocess
import sys
import textwrap
from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors import safe_open
from safetensors.numpy import save
from sklearn.exceptions import NotFittedError
from tests.rows import correlated_rows, overwrite

from treemend import ModelFileError, TreeMender
from treemend.mender import saving
from treemend.mender.kept import KNOWLEDGE
from treemend.mender.knowledge import Knowledge

VERSION_0 = Path(__file__).parents[1] / "storage" / "models" / "version_0.safetensors"


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return correlated_rows(rng, 60, 12), overwrite(rng, correlated_rows(rng, 20, 12))[0]


@pytest.fixture(scope="module")
def mender(rows):
    return TreeMender(n_neighbors=4, depth=2, false_alarm_rate=0.1).fit(rows[0])


@pytest.fixture
def path(mender, tmp_path):
    mender.save(tmp_path / "model.safetensors")
    return tmp_path / "model.safetensors"


def same(left, right, suspects):
    one, other = left.mend(suspects), right.mend(suspects)
    return (
        left.get_params() == right.get_params()
        and left.tau_ == right.tau_
        and np.asarray(one.repaired).tobytes() == np.asarray(other.repaired).tobytes()
        and np.array_equal(np.asarray(one.mask), np.asarray(other.mask))
        and np.array_equal(left.score_nodes(suspects), right.score_nodes(suspects))
    )


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_jobs": 1, "clean_reference": True},
        {"alpha": 1.0, "layout": (3, 4)},
        {"refine": False, "imputation": "map", "tau": 0.05},
    ],
)
def test_a_loaded_mender_gives_the_same_bits(parameters, rows, tmp_path):
    reference, suspects = rows
    mender = TreeMender(**{"n_neighbors": 4, **parameters}).fit(reference)
    mender.save(tmp_path / "model")
    loaded = TreeMender.load(tmp_path / "model")
    assert mender.mend(suspects).corrupted.any()
    assert same(mender, loaded, suspects)
    assert set(vars(loaded)) == set(vars(mender))
    assert loaded.n_features_in_ == 12
    loaded.save(tmp_path / "again")
    assert (tmp_path / "model").read_bytes() == (tmp_path / "again").read_bytes()


def test_every_fitted_attribute_is_kept_or_derived(mender):
    assert set(vars(mender)) - set(mender.get_params()) <= saving.FITTED
    assert set(KNOWLEDGE.of) == {field.name for field in fields(Knowledge)}


def test_column_names_come_back(rows, tmp_path):
    names = ["<script>", "ü", "a\nb", *"defghijkl"]
    frame = pd.DataFrame(rows[0], columns=names)
    TreeMender().fit(frame).save(tmp_path / "model")
    loaded = TreeMender.load(tmp_path / "model")
    assert loaded.feature_names_in_.tolist() == names
    assert list(loaded.mend(frame).repaired.columns) == names


def test_the_header_can_be_read_by_others(path, mender):
    with safe_open(path, framework="np") as file:
        metadata = file.metadata()
    contents = json.loads(metadata["document"])["contents"]
    assert (metadata["format"], metadata["version"]) == ("treemend model", "1")
    assert ["alpha", 0.75] in contents["parameters"]["dict"]
    assert contents["knowledge"]["fields"]["tree"]["fields"]["start"] == mender.tree_.start.tolist()


def test_a_model_of_the_previous_version_still_loads(rows):
    loaded = TreeMender.load(VERSION_0)
    with safe_open(VERSION_0, framework="np") as file:
        assert file.metadata()["version"] == "0"
        reference = file.get_tensor("reference")
    assert loaded.feature_names_in_.tolist() == [f"sensor {column}" for column in range(8)]
    fitted = TreeMender(alpha=0.5, depth=2, n_neighbors=4, false_alarm_rate=0.1).fit(reference)
    suspects = pd.DataFrame(rows[1][:, :8], columns=loaded.feature_names_in_)
    assert np.array_equal(loaded.mend(suspects).mask, fitted.mend(rows[1][:, :8]).mask)
    assert VERSION_0.stat().st_size < 50_000


def test_saving_replaces_whole(path, mender, monkeypatch):
    before = path.read_bytes()
    monkeypatch.setattr(os, "fsync", _disk_full)
    with pytest.raises(OSError, match="No space"):
        mender.save(path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_what_cannot_be_saved(rows, tmp_path):
    with pytest.raises(NotFittedError):
        TreeMender().save(tmp_path / "model")
    mender = TreeMender().fit(rows[0])
    mender.random_state = np.random.RandomState(0)
    with pytest.raises(ModelFileError, match="holds a RandomState"):
        mender.save(tmp_path / "model")
    assert os.listdir(tmp_path) == []


def rewritten(path, change):
    """Change the document and the arrays of a model, and seal it anew, as someone with bad intentions would."""
    with safe_open(path, framework="np") as file:
        metadata, arrays = file.metadata(), {name: file.get_tensor(name) for name in tuple(file.keys())}
    document = json.loads(metadata["document"])
    change(document["contents"], arrays)
    document["arrays"] = {name: document["arrays"][name] for name in arrays}
    for name, array in arrays.items():
        document["arrays"][name]["shape"] = list(array.shape)
        document["arrays"][name]["sha256"] = hashlib.sha256(array.tobytes()).hexdigest()
    texts = {"format": metadata["format"], "version": metadata["version"], "document": json.dumps(document)}
    sealed = hashlib.sha256("\n".join(texts.values()).encode()).hexdigest()
    path.write_bytes(save(arrays, metadata={**texts, "sha256": sealed}))


def _parameter(contents, name, value):
    for pair in contents["parameters"]["dict"]:
        if pair[0] == name:
            pair[1] = value


def _tree(contents, name, node, value):
    contents["knowledge"]["fields"]["tree"]["fields"][name][node] = value


def _forget_scales(contents, arrays):
    contents["knowledge"]["fields"]["scales"] = None
    for name in [name for name in arrays if name.startswith("knowledge.scales")]:
        del arrays[name]


CHANGES = {
    "n_neighbors must be": lambda contents, arrays: _parameter(contents, "n_neighbors", -1),
    "fewer than n_neighbors": lambda contents, arrays: _parameter(contents, "n_neighbors", 10**12),
    "parameters must be a dictionary": lambda contents, arrays: contents.update(parameters=[1]),
    "alpha differ": lambda contents, arrays: _renamed(contents, "alpha", "alpha"),
    "exec, imputation differ": lambda contents, arrays: _renamed(contents, "imputation", "exec"),
    "no permutation": lambda contents, arrays: _tree(contents, "order", 0, 5),
    "root": lambda contents, arrays: _tree(contents, "stop", 0, 10**9),
    "share their parent's attributes": lambda contents, arrays: _tree(contents, "stop", 3, 10**9),
    "level by level": lambda contents, arrays: _tree(contents, "left", 0, 0),
    "one child": lambda contents, arrays: _tree(contents, "right", 6, 3),
    "know their children": lambda contents, arrays: _tree(contents, "parent", 5, 1),
    "wrong depths": lambda contents, arrays: _tree(contents, "depth", 5, 3),
    "has 59 calibration rows, where 60": lambda contents, arrays: arrays.update(
        {"knowledge.radii": arrays["knowledge.radii"][1:]}
    ),
    "reference has values that are not finite": lambda contents, arrays: arrays["reference"].__setitem__(
        (0, 0), np.nan
    ),
    "not in ascending order": lambda contents, arrays: arrays["knowledge.calibrated"].__setitem__(0, 7),
    "calibration rows that the reference": lambda contents, arrays: [
        arrays[name].__setitem__(-1, 99) for name in ("knowledge.calibrated", "knowledge.scales.rows")
    ],
    "not finite, or negative": lambda contents, arrays: arrays["knowledge.radii"].__setitem__((0, 0), -1),
    "cannot be one": lambda contents, arrays: arrays["knowledge.scaling.width"].__setitem__(0, 0),
    "tau must lie in": lambda contents, arrays: contents["knowledge"]["fields"]["threshold"]["fields"].update(tau=2),
    "must have the keys": lambda contents, arrays: contents.pop("seed"),
    "lacks what": _forget_scales,
    "no calibration rows": lambda contents, arrays: arrays["knowledge.scales.rows"].__setitem__(0, 10**9),
    "places, is": lambda contents, arrays: contents["knowledge"]["fields"]["scales"]["fields"]["context"][
        "fields"
    ].update(grid=[2**20, 2**20, 1]),
    "context has values that are not finite": lambda contents, arrays: arrays[
        "knowledge.scales.context.mixture.precision"
    ].fill(np.nan),
}


def _renamed(contents, old, new):
    for pair in list(contents["parameters"]["dict"]):
        if pair[0] == old:
            if new == old:
                contents["parameters"]["dict"].remove(pair)
            pair[0] = new


@pytest.mark.parametrize("complaint", CHANGES)
def test_resealed_nonsense_is_refused(complaint, path):
    rewritten(path, CHANGES[complaint])
    with pytest.raises(ModelFileError, match=complaint) as caught:
        TreeMender.load(path)
    assert str(path) in str(caught.value)


def test_nested_nonsense_is_refused(path):
    nested = "x"
    for _ in range(600):
        nested = [nested]
    rewritten(path, lambda contents, arrays: _parameter(contents, "layout", nested))
    with pytest.raises(ModelFileError):
        TreeMender.load(path)


def test_the_twin_of_saving_changes_nothing(path, mender, rows):
    rewritten(path, lambda contents, arrays: None)
    assert same(TreeMender.load(path), mender, rows[1])


def test_loading_executes_nothing(path, monkeypatch):
    for module, name in ((pickle, "loads"), (pickle, "load"), (builtins, "eval")):
        monkeypatch.setattr(module, name, _never)
    TreeMender.load(path)
    path.write_bytes(pickle.dumps(print))
    with pytest.raises(ModelFileError):
        TreeMender.load(path)


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
from treemend import ModelFileError, TreeMender
from tests.mender.test_saving import mutated, same

path, suspects = Path(sys.argv[1]), np.load(sys.argv[2])
data, original, rng = path.read_bytes(), TreeMender.load(path), random.Random(0)
original.mend(suspects)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
refused = equal = 0
for _ in range(1000):
    path.write_bytes(mutated(data, rng))
    try:
        loaded = TreeMender.load(path)
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
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(Path(__file__).parents[2])])}
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


def _disk_full(descriptor):
    raise OSError(28, "No space left on device")


def _never(*arguments, **options):
    raise AssertionError("called")
