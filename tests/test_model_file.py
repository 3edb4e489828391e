import json
import os
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import save_file

from treemend import model_file
from treemend.exceptions import ModelFileError
from treemend.model_file import Document, check_shapes, decode, encode, read_model, write_model


@dataclass(frozen=True, eq=False)
class Part:
    weights: NDArray[np.float64]
    limit: float


@dataclass(frozen=True, eq=False)
class Model:
    numbers: NDArray[np.int64]
    part: Part
    other: Part | None
    shape: tuple[int, int, int] | None
    parts: tuple[Part, ...]
    label: str
    flag: bool

    def validate(self):
        check_shapes(self, {}, numbers="d")
        if self.numbers.min() < 0:
            raise ModelFileError("numbers must not be negative.")


MODEL = Model(
    numbers=np.arange(5),
    part=Part(np.linspace(0, 1, 4).reshape(2, 2), np.inf),
    other=None,
    shape=(2, 3, 1),
    parts=(Part(np.zeros(0), 0.5), Part(np.ones(3), -1.0)),
    label="é\n",
    flag=True,
)
PARAMETERS = {"rate": 0.05, "layout": (3, 4), "groups": {"a": [1, 2], 3: None}, "limit": float("inf")}


KINDS = {"Test": Model}


def write(path, model=MODEL, parameters=PARAMETERS):
    write_model(path, Document("treemend 0", "Test", parameters, ("a", "b"), model))


@pytest.fixture
def path(tmp_path):
    write(tmp_path / "model.safetensors")
    return tmp_path / "model.safetensors"


def test_everything_comes_back(path):
    stored = read_model(path, KINDS)
    assert (stored.written_by, stored.estimator, stored.names) == ("treemend 0", "Test", ("a", "b"))
    assert stored.parameters == PARAMETERS
    assert isinstance(stored.parameters["layout"], tuple)
    model = stored.model
    assert np.array_equal(model.numbers, MODEL.numbers)
    assert model.numbers.dtype == np.int64
    assert np.array_equal(model.part.weights, MODEL.part.weights)
    assert (model.part.limit, model.other, model.shape, model.label, model.flag) == (
        np.inf,
        None,
        (2, 3, 1),
        "é\n",
        True,
    )
    assert [part.limit for part in model.parts] == [0.5, -1.0]
    assert os.listdir(path.parent) == [path.name]


def test_the_same_model_gives_the_same_file(path, tmp_path):
    write(tmp_path / "again", read_model(path, KINDS).model)
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_the_header_can_be_read_by_others(path):
    with safe_open(path, framework="np") as file:
        metadata = file.metadata()
        assert np.array_equal(file.get_tensor("model.parts.1.weights"), np.ones(3))
    assert (metadata["format"], metadata["version"]) == ("treemend model", "3")
    assert json.loads(metadata["document"])["parameters"]["rate"] == 0.05


def test_what_cannot_be_saved(tmp_path):
    with pytest.raises(ModelFileError, match="rate holds a RandomState"):
        write(tmp_path / "model", parameters={"rate": np.random.RandomState(0)})
    assert os.listdir(tmp_path) == []


def rewritten(path, change):
    """Change the document and the arrays of a file, and seal it anew, as someone with bad intentions would."""
    with safe_open(path, framework="np") as file:
        metadata, arrays = file.metadata(), {name: file.get_tensor(name) for name in tuple(file.keys())}
    document = json.loads(metadata["document"])
    replaced = change(document, arrays)
    metadata = {"format": metadata["format"], "version": metadata["version"], "document": json.dumps(document)}
    metadata.update(replaced or {})
    save_file(arrays, path, metadata={**metadata, "sha256": model_file._checksum(metadata, arrays)})


def test_the_twin_of_writing_changes_nothing(path):
    rewritten(path, lambda document, arrays: None)
    assert np.array_equal(read_model(path, KINDS).model.numbers, MODEL.numbers)


NONSENSE = {
    "not a treemend model": lambda document, arrays: {"format": "other"},
    "has format version 4, and this treemend reads version 3. Install": lambda document, arrays: {"version": "4"},
    "has format version -1, and": lambda document, arrays: {"version": "-1"},
    "has format version 999999999, and": lambda document, arrays: {"version": "9" * 5000},
    "header is not complete": lambda document, arrays: {"more": "x"},
    "altered, or not a safetensors file: ": lambda document, arrays: {"document": "[" * 100_000},
    "was altered: document must be an object with the fields": lambda document, arrays: {"document": "{}"},
    "unknown tag": lambda document, arrays: document["parameters"].update(rate={"exec": 1}),
    "altered, or not a safetensors file: 'list' object": lambda document, arrays: document.update(parameters=[1]),
    "was altered: document.names must be a list": lambda document, arrays: document.update(names=7),
    "model must be an object with the fields numbers, part": lambda document, arrays: document["model"].pop("label"),
    "model.label must be of type str": lambda document, arrays: document["model"].update(label=3),
    "model.flag must be of type bool": lambda document, arrays: document["model"].update(flag=1),
    "model.part.limit must be a number": lambda document, arrays: document["model"]["part"].update(limit=True),
    "model.part.limit must be a number, got nan": lambda document, arrays: document["model"]["part"].update(
        limit=float("nan")
    ),
    "model.shape must be a list of 3 entries": lambda document, arrays: document["model"].update(shape=[1]),
    "model.numbers must be an array of the file": lambda document, arrays: arrays.pop("model.numbers"),
    "model.numbers must be an array of int64, got 'float64'": lambda document, arrays: arrays.update(
        {"model.numbers": np.zeros(5)}
    ),
    "model.part.weights must be an array of numbers, got 'NaN'": lambda document, arrays: arrays.update(
        {"model.part.weights": np.full((2, 2), np.nan)}
    ),
    "numbers has shape": lambda document, arrays: arrays.update({"model.numbers": np.zeros((5, 1), np.int64)}),
    "must not be negative": lambda document, arrays: arrays.update({"model.numbers": np.full(5, -1)}),
}


@pytest.mark.parametrize("complaint", NONSENSE)
def test_resealed_nonsense_is_refused(complaint, path):
    def change(document, arrays):
        replaced = NONSENSE[complaint](document, arrays)
        return (
            replaced
            if isinstance(replaced, dict) and set(replaced) <= {"format", "version", "document", "more"}
            else None
        )

    rewritten(path, change)
    with pytest.raises(ModelFileError, match=complaint) as caught:
        read_model(path, KINDS)
    assert str(path) in str(caught.value)


def test_altered_bytes_are_refused(path):
    data = path.read_bytes()
    path.write_bytes(data.replace(b"0.05", b"0.06"))
    with pytest.raises(ModelFileError, match="does not match its checksum"):
        read_model(path, KINDS)
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(ModelFileError, match="does not match its checksum"):
        read_model(path, KINDS)


@pytest.mark.parametrize("length", [0, 5, 8, 9, 100, -1, -50])
def test_truncated(path, length):
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(ModelFileError, match="truncated"):
        read_model(path, KINDS)


def test_absurd_headers(path):
    path.write_bytes((2**40).to_bytes(8, "little") + path.read_bytes()[8:])
    with pytest.raises(ModelFileError, match="truncated"):
        read_model(path, KINDS)
    with open(path, "r+b") as file:
        file.write((2**30).to_bytes(8, "little"))
        file.truncate(2**31)
    with pytest.raises(ModelFileError, match="header too large|HeaderTooLarge"):
        read_model(path, KINDS)


def test_foreign_files(tmp_path):
    save_file({"a": np.zeros(3)}, tmp_path / "foreign")
    with pytest.raises(ModelFileError, match="not a treemend model"):
        read_model(tmp_path / "foreign", KINDS)
    (tmp_path / "text").write_text("a,b\n1,2\n" * 50)
    with pytest.raises(ModelFileError, match="not a safetensors file"):
        read_model(tmp_path / "text", KINDS)
    with pytest.raises(ModelFileError, match="No such file"):
        read_model(tmp_path / "absent", KINDS)
    with pytest.raises(ModelFileError, match="directory"):
        read_model(tmp_path, KINDS)


def test_encode_and_decode_are_inverse():
    arrays = {}
    document = json.loads(json.dumps(encode(MODEL, arrays)))
    model = decode(Model, document, arrays)
    assert np.array_equal(model.parts[1].weights, MODEL.parts[1].weights)


def test_axes_of_one_name_have_one_size():
    model = SimpleNamespace(centre=np.zeros((2, 3)), weight=np.zeros(5))
    with pytest.raises(ModelFileError, match=r"weight has shape \(5,\), expected \(k=2\)"):
        check_shapes(model, {}, centre="k d", weight="k")
