"""Model files on their way to other processes."""

import pickle
import threading
import time

import numpy as np
import pytest

import treemend
from treemend import TreeMender
from treemend.exceptions import ModelFileError, ParameterError
from treemend.mender import ModelFile


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.safetensors"
    TreeMender(depth=2).fit(np.random.default_rng(0).normal(size=(60, 8))).save(path)
    return path


def sent(file):
    return pickle.loads(pickle.dumps(file))


def test_its_copy_opens_the_file_by_itself(path):
    file = ModelFile(path)
    assert len(pickle.dumps(file)) < 1_000
    rows = np.random.default_rng(1).normal(size=(5, 8))
    assert sent(file).mender.mend(rows).repaired.tobytes() == file.mender.mend(rows).repaired.tobytes()


def test_threads_share_one_mender(path, monkeypatch):
    copy, load, calls, menders = sent(ModelFile(path)), TreeMender.load, [], []

    def slow_load(path):
        calls.append(path)
        time.sleep(0.05)
        return load(path)

    monkeypatch.setattr(TreeMender, "load", slow_load)
    threads = [threading.Thread(target=lambda: menders.append(copy.mender)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1
    assert len(menders) == 4
    assert len({id(mender) for mender in menders}) == 1


def test_a_file_that_changed_or_went_is_refused(path, tmp_path):
    moved = tmp_path / "model"
    moved.write_bytes(path.read_bytes())
    copy = sent(ModelFile(moved))
    TreeMender(depth=2).fit(np.random.default_rng(2).normal(size=(60, 8))).save(moved)
    with pytest.raises(ModelFileError, match="is not there, or another file, on .*under the same path"):
        _ = copy.mender
    moved.unlink()
    with pytest.raises(ModelFileError, match="is not there, or another file"):
        _ = copy.mender
    with pytest.raises(ModelFileError, match="cannot be read: No such file"):
        ModelFile(moved)


def test_a_file_replaced_while_it_is_read_is_refused(path, tmp_path, monkeypatch):
    moved = tmp_path / "model"
    moved.write_bytes(path.read_bytes())
    file, load = ModelFile(moved), TreeMender.load

    def load_and_replace(path):
        mender = load(path)
        moved.write_bytes(b"another")
        return mender

    monkeypatch.setattr(TreeMender, "load", load_and_replace)
    with pytest.raises(ModelFileError, match="another file"):
        _ = file.mender


def test_another_version_is_refused(path, monkeypatch):
    copy = sent(ModelFile(path))
    monkeypatch.setattr(treemend, "__version__", "99.1")
    with pytest.raises(
        ParameterError, match=r"has treemend 99\.1, and the model was sent by treemend .*Install the same"
    ):
        _ = copy.mender
