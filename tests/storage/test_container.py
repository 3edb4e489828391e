import hashlib
import json
import os

import numpy as np
import pytest
from safetensors.numpy import save_file

from treemend.exceptions import ModelFileError
from treemend.storage import container

ARRAYS = {"a": np.arange(12.0).reshape(3, 4), "b": np.array([True, False])}
CONTENTS = {"words": ["x", "é"], "number": 0.1}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "file.safetensors"
    container.write(path, "test file", 3, CONTENTS, ARRAYS)
    return path


def test_contents_come_back(path):
    stored = container.read(path, "test file", 3)
    assert (stored.version, stored.contents) == (3, CONTENTS)
    assert stored.headers["a"].shape == (3, 4)
    arrays = stored.arrays()
    assert all(np.array_equal(arrays[name], ARRAYS[name]) for name in ARRAYS)
    assert arrays["b"].dtype == bool
    assert os.listdir(path.parent) == [path.name]


def test_writing_replaces(path):
    container.write(path, "test file", 4, {}, {})
    assert container.read(path, "test file", 4).contents == {}


def resealed(path, kind="test file", version="3", **changes):
    """Write a file with a right checksum around something wrong."""
    stated = {
        name: {"dtype": str(array.dtype), "shape": list(array.shape), "sha256": container._digest(array)}
        for name, array in ARRAYS.items()
    }
    document = changes.pop("document", json.dumps({"contents": CONTENTS, "arrays": {**stated, **changes}}))
    sealed = hashlib.sha256("\n".join((kind, version, document)).encode()).hexdigest()
    save_file(ARRAYS, path, metadata={"format": kind, "version": version, "document": document, "sha256": sealed})


def test_the_twin_writes_what_the_room_reads(tmp_path):
    resealed(tmp_path / "twin")
    assert container.read(tmp_path / "twin", "test file", 3).contents == CONTENTS


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"kind": "other"}, "not a test file"),
        ({"version": "4"}, "has format version 4, and this treemend reads versions up to 3. Install a newer"),
        ({"version": "-1"}, "altered"),
        ({"version": "9" * 5000}, "altered"),
        ({"document": "[" * 100_000}, "cannot be read"),
        ({"document": "{}"}, "cannot be read"),
        ({"document": '{"contents": 1, "arrays": 7}'}, "cannot be read"),
        ({"b": {"dtype": "bool", "shape": [2**40], "sha256": ""}}, "not those its document lists"),
        ({"c": {"dtype": "bool", "shape": [1], "sha256": ""}}, "not those its document lists"),
    ],
)
def test_wrong_headers_are_refused(changes, complaint, tmp_path):
    resealed(tmp_path / "wrong", **changes)
    with pytest.raises(ModelFileError, match=complaint):
        container.read(tmp_path / "wrong", "test file", 3)


def test_arrays_are_held_against_their_checksums(tmp_path):
    resealed(tmp_path / "wrong", b={"dtype": "bool", "shape": [2], "sha256": "0"})
    with pytest.raises(ModelFileError, match="b does not match its checksum"):
        container.read(tmp_path / "wrong", "test file", 3).arrays()


def test_altered_header(path):
    path.write_bytes(path.read_bytes().replace(b"0.1", b"0.2"))
    with pytest.raises(ModelFileError, match="header does not match its checksum"):
        container.read(path, "test file", 3)


@pytest.mark.parametrize("length", [0, 5, 8, 9, 100, -1, -50])
def test_truncated(path, length):
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(ModelFileError, match="truncated"):
        container.read(path, "test file", 3)


def test_absurd_headers(path):
    path.write_bytes((2**40).to_bytes(8, "little") + path.read_bytes()[8:])
    with pytest.raises(ModelFileError, match="truncated"):
        container.read(path, "test file", 3)
    with open(path, "r+b") as file:
        file.write((2**30).to_bytes(8, "little"))
        file.truncate(2**31)
    with pytest.raises(ModelFileError, match="absurdly many"):
        container.read(path, "test file", 3)


def test_foreign_files(tmp_path):
    save_file(ARRAYS, tmp_path / "foreign")
    with pytest.raises(ModelFileError, match="not a test file"):
        container.read(tmp_path / "foreign", "test file", 3)
    (tmp_path / "text").write_text("a,b\n1,2\n" * 50)
    with pytest.raises(ModelFileError, match="no safetensors file"):
        container.read(tmp_path / "text", "test file", 3)
    with pytest.raises(ModelFileError, match="No such file"):
        container.read(tmp_path / "absent", "test file", 3)
    with pytest.raises(ModelFileError, match="directory"):
        container.read(tmp_path, "test file", 3)
