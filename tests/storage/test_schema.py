import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treemend.exceptions import ModelFileError
from treemend.storage import (
    Array,
    Fields,
    Integers,
    Number,
    OneOf,
    Optional,
    Plain,
    Record,
    Series,
    Text,
    checked,
    encoded,
)
from treemend.storage.plain import from_plain, to_plain
from treemend.storage.schema import ArrayHeader


@dataclass(frozen=True)
class Pair:
    low: float
    high: float
    width: float

    @classmethod
    def between(cls, low, high):
        return cls(low, high, high - low)


@dataclass(frozen=True)
class Other:
    word: str


PAIR = Record(
    Pair,
    {"low": Number(), "high": Number()},
    build=Pair.between,
    problem=lambda pair: "is upside down" if pair.low > pair.high else None,
)
SCHEMA = Fields(
    {
        "rows": Array("float64", ("rows", "columns")),
        "marks": Array("bool", ("rows",)),
        "names": Optional(Series(Text(), "columns")),
        "order": Integers("columns"),
        "pairs": Series(OneOf((PAIR, Record(Other, {"word": Text()})))),
        "count": Number(least=0, whole=True),
    }
)
VALUE = {
    "rows": np.arange(6.0).reshape(2, 3),
    "marks": np.array([True, False]),
    "names": ("a", "b", "c"),
    "order": np.array([2, 0, 1]),
    "pairs": (Pair.between(0.1, 0.3), Other("word")),
    "count": 3,
}


def headers_of(arrays):
    return {name: ArrayHeader(str(array.dtype), array.shape) for name, array in arrays.items()}


def test_values_come_back():
    node, arrays = encoded(VALUE, SCHEMA)
    assert checked(node, headers_of(arrays), SCHEMA) == {"rows": 2, "columns": 3}
    back = SCHEMA.decode(node, "", arrays)
    assert back["pairs"] == VALUE["pairs"]
    assert back["names"] == VALUE["names"]
    assert np.array_equal(back["rows"], VALUE["rows"])
    assert back["order"].dtype == np.int64


@pytest.mark.parametrize(
    ("key", "node", "complaint"),
    [
        ("rows", [1.0], "must be an array"),
        ("rows", {"array": "marks"}, "must be an array"),
        ("names", ["a"], "has 1 columns, where 3 were expected"),
        ("names", "abc", "must be a list"),
        ("names", ["a", "b", 3], "names.2 must be a text"),
        ("order", [0, 1, 2**63], "64-bit"),
        ("order", [0, 1, True], "64-bit"),
        ("order", [0, 1, 1.0], "64-bit"),
        ("pairs", [{"record": "Pickle", "fields": {}}], "one of Pair, Other"),
        ("pairs", [{"record": "Other", "fields": {"word": 3}}], "pairs.0.word must be a text"),
        ("pairs", [{"record": "Other", "fields": {}}], "must have the keys word"),
        ("pairs", [7], "one of Pair, Other"),
        ("count", 1.0, "finite integer"),
        ("count", -1, r"must lie in \[0, inf\]"),
    ],
)
def test_wrong_nodes_are_refused(key, node, complaint):
    good, arrays = encoded(VALUE, SCHEMA)
    with pytest.raises(ModelFileError, match=complaint):
        checked({**good, key: node}, headers_of(arrays), SCHEMA)


@pytest.mark.parametrize(
    ("name", "header", "complaint"),
    [
        ("rows", ArrayHeader("float32", (2, 3)), "must be float64, is float32"),
        ("rows", ArrayHeader("float64", (2, 3, 1)), "must have 2 dimensions"),
        ("marks", ArrayHeader("bool", (3,)), "has 3 rows, where 2"),
        ("spare", ArrayHeader("bool", (3,)), "do not belong there: spare"),
    ],
)
def test_wrong_headers_are_refused(name, header, complaint):
    node, arrays = encoded(VALUE, SCHEMA)
    with pytest.raises(ModelFileError, match=complaint):
        checked(node, {**headers_of(arrays), name: header}, SCHEMA)


def test_built_records_are_asked_for_problems():
    node = PAIR.encode(Pair.between(1.0, 2.0), "pair", {})
    node["fields"]["low"] = 5.0
    with pytest.raises(ModelFileError, match="upside down"):
        PAIR.decode(node, "pair", {})


def test_what_cannot_be_kept_is_refused():
    with pytest.raises(ModelFileError, match="must be of Pair to be saved, is of Other"):
        encoded(Other("x"), PAIR)
    with pytest.raises(ModelFileError, match="is of Pair, which"):
        encoded(Pair.between(0, 1), OneOf(()))
    with pytest.raises(ModelFileError, match="random_state holds a RandomState"):
        to_plain(np.random.RandomState(0), "random_state")


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text() | st.integers() | st.tuples(st.integers()), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(PLAIN)
def test_plain_values_come_back(value):
    back = from_plain(to_plain(value, "parameters"), "parameters")
    assert back == value
    assert repr(back) == repr(value)


def test_numpy_values_become_plain():
    assert to_plain(np.float32(0.5), "") == 0.5
    assert to_plain(np.int8(3), "") == 3
    assert to_plain(np.array([1, 2]), "") == [1, 2]
    assert to_plain(np.str_("word"), "") == "word"
    assert math.isnan(from_plain(to_plain(math.nan, ""), ""))


@pytest.mark.parametrize(
    "node",
    [
        {},
        {"code": "x"},
        {"float": "1"},
        {"float": []},
        {"tuple": 3},
        {"dict": [1]},
        {"dict": [[[], 1]]},
        {"a": 1, "b": 2},
    ],
)
def test_nodes_that_are_no_plain_values(node):
    with pytest.raises(ModelFileError, match="parameters holds"):
        Plain().check(node, "parameters", None)
