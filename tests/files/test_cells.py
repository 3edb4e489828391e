import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treemend.files.cells import NumberFormat, delimited, number_format, number_text, quoted, raw_cells, unquoted


def test_cells():
    assert raw_cells(b'"a""b",c,"d,e"', b",") == [b'"a""b"', b"c", b'"d,e"']
    assert unquoted(b'"a""b"') == b'a"b'
    assert quoted('a"b', ",") == '"a""b"'
    assert quoted("plain", ",") == "plain"


@given(st.floats(allow_nan=False), st.sampled_from([".", ","]))
def test_numbers_come_back_with_the_same_bits(value, decimal):
    text = number_text(value, decimal=decimal)
    values, wrong = NumberFormat(decimal).numbers(pa.array([text, f" {text} "]))
    assert values.tolist() == [value, value]
    assert not wrong.any()


@given(st.text(st.sampled_from("0123456789.,eE+-_ na'x\u00a0"), max_size=8))
def test_texts_are_numbers_where_python_says_so(text):
    values, wrong = NumberFormat().numbers(pa.array([text]))
    try:
        expected = float(text) if "_" not in text else None
    except ValueError:
        expected = None
    if NumberFormat().is_missing(text):
        expected = np.nan
    assert bool(wrong[0]) == (expected is None)
    if expected is not None:
        assert np.array_equal(values, [expected], equal_nan=True)


@pytest.mark.parametrize(
    ("text", "decimal", "thousands", "value"),
    [
        ("1,234,567.5", ".", ",", 1234567.5),
        ("1.234,5", ",", ".", 1234.5),
        ("1 234", ",", " ", 1234),
        ("1\u202f234\u00a0567", ",", " ", 1234567),
        ("-1'234e2", ".", "'", -123400),
        ("12,34", ".", ",", None),
        ("1,2345", ".", ",", None),
        ("1,234,", ".", ",", None),
        (",5", ",", ".", 0.5),
    ],
)
def test_groups_of_digits(text, decimal, thousands, value):
    values, wrong = NumberFormat(decimal, thousands).numbers(pa.array([text]))
    assert (None if wrong[0] else values[0]) == value


def test_formats_of_numbers_in_doubt():
    assert number_format(["1,234"], ";") == NumberFormat(",", "")
    assert number_format(["1,234"], ",") == NumberFormat(".", ",")
    assert number_format(["1.234", "5"], ";").plain
    assert number_format([], ";").plain
    assert number_format(["1,5", "2.5", "3.5"], ";").plain, "more numbers with points"


@pytest.mark.parametrize("delimiter", [",", "|", "^", "]", "\\", "\t"])
def test_columns_as_cells(delimiter):
    column = pa.chunked_array([["plain", None, f"a{delimiter}b", 'q"', "two\nlines"]])
    assert delimited(column, delimiter).to_pylist() == [
        b"plain", b"", f'"a{delimiter}b"'.encode(), b'"q"""', b'"two\nlines"'
    ]  # fmt: skip
    assert delimited(pa.chunked_array([[True, None]]), delimiter).to_pylist() == [b"1", b""]
    assert delimited(pa.chunked_array([[0.1, float("nan")]]), delimiter).to_pylist() == [b"0.1", b""]
    assert delimited(pa.chunked_array([[[1, 2], None]]), ";").to_pylist() == [b"[1, 2]", b""]
