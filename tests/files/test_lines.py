"""Records found by NumPy, against a reader that goes line by line."""

import re
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from treemend.exceptions import InputError
from treemend.files.csv import Lines, delimited, find_records, line_ends, texts_at
from treemend.files.formats import MISSING_WORDS, NumberFormat, number_format

TEXT = st.text(st.sampled_from('a",;\n\r1'), max_size=40).map(str.encode)


def cut(record, delimiter):
    """Cut a record into its cells with their quotes, none if one is open."""
    between = re.escape(delimiter.encode())
    cell = rb'(?:"(?:[^"]++|"")*+"|(?!"))[^%b\r\n]*+' % between
    line = re.sub(rb"(?:\r\n|\n|\r)\Z", b"", record)
    cells = re.findall(rb"(?:\A|%b)(%b)" % (between, cell), line)
    return cells if sum(map(len, cells)) + len(cells) - 1 == len(line) else []


def unquoted(cell):
    quoted = len(cell) >= 2 and cell[:1] == cell[-1:] == b'"'
    return cell[1:-1].replace(b'""', b'"') if quoted else cell


def records_of(data, delimiter):
    """Cut data into records, with blank lines as records of their own, and what is left in an open quote."""
    records, record = [], b""
    for line in re.findall(rb"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+$", data):
        record += line
        if cut(record, delimiter):
            records.append(record)
            record = b""
    return records, record


@given(TEXT, st.sampled_from(",;"))
@example(b'a,"b""\nc"\n"",\n', ",")
@example(b'a"b\nc"\n', ",")
@example(b'"a"b"\n"\n', ",")
@example(b'a\r\n\r\n"\r\n"\r', ",")
def test_records_of_any_text(data, delimiter):
    expected, rest = records_of(data, delimiter)
    bounds, records, end = find_records(data, delimiter, last=True, blank_is_record=True)
    assert data[end:] == rest
    starts = [*bounds[records[:, 0], 0].tolist(), end]
    assert [data[begin:stop] for begin, stop in pairwise(starts)] == expected
    cells = [cell for record in expected for cell in cut(record, delimiter)]
    assert [data[begin:stop] for begin, stop in bounds.tolist()] == cells
    assert records[:, 1].tolist() == [len(cut(record, delimiter)) for record in expected]
    assert [bytes(text, "utf-8") for text in texts_at(data, bounds).to_pylist()] == list(map(unquoted, cells))
    _, some, _ = find_records(data, delimiter, last=True, blank_is_record=False)
    with_cells = [bool(record.strip(f"{delimiter}\r\n".encode())) for record in expected]
    assert records[np.array(with_cells, dtype=bool)].tolist() == some.tolist()


@given(TEXT, st.data())
def test_records_that_are_complete_stay_so_whatever_follows(data, draw):
    length = draw.draw(st.integers(0, len(data)))
    early, records, end = find_records(data[:length], ",", last=False, blank_is_record=True)
    late, late_records, _ = find_records(data, ",", last=True, blank_is_record=True)
    assert early.tolist() == late[: len(early)].tolist()
    assert records.tolist() == late_records[: len(records)].tolist()
    assert end <= length


@given(TEXT)
def test_lines_end_as_in_python(data):
    assert len(line_ends(data)) == len(re.findall(rb"\r\n|\n|\r", data))


def lines_of(data, names, delimiter=","):
    bounds, records, end = find_records(data, delimiter, last=True, blank_is_record=len(names) == 1)
    return Lines(data[:end], bounds, records, 1, SimpleNamespace(label="file", names=names))


def test_first_and_single_records():
    lines = lines_of(b'\n1,a\n\n2,"b\nc"\n3,d', ("x", "y"))
    assert lines.places == ["file, line 2", "file, line 4", "file, line 6"]
    assert lines.cells.tolist() == [[[1, 2], [3, 4]], [[6, 7], [8, 13]], [[14, 15], [16, 17]]]
    assert lines.table.to_pydict() == {"x": ["1", "2", "3"], "y": ["a", "b\nc", "d"]}


def test_a_record_that_lacks_a_cell_is_named():
    lines = lines_of(b"1,2\n3\n", ("x", "y"))
    with pytest.raises(InputError, match="file, line 2: 1 cells, where 2"):
        lines.table  # noqa: B018


def test_cells_that_are_not_utf8_are_bytes():
    table = lines_of(b'\n1,a\n\n2,"b ""c""\nd"\n3,\xe9', ("x", "y")).table
    assert table.to_pydict() == {"x": ["1", "2", "3"], "y": [b"a", b'b "c"\nd', b"\xe9"]}


def test_cells():
    assert cut(b'"a""b",c,"d,e"\n', ",") == [b'"a""b"', b"c", b'"d,e"']
    assert cut(b'a,"b\n', ",") == []
    assert lines_of(b'"a""b",c,"d,e"\n,,\n', "xyz").table.to_pylist() == [{"x": 'a"b', "y": "c", "z": "d,e"}]
    assert len(lines_of(b'a,"b\n', "xy").table) == 0


@given(st.floats(allow_nan=False), st.sampled_from([".", ","]))
def test_numbers_come_back_with_the_same_bits(value, decimal):
    text = repr(value).replace(".", decimal)
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
    if text.strip().lower() in MISSING_WORDS:
        expected = np.nan
    assert bool(wrong[0]) == (expected is None)
    if expected is not None:
        assert np.array_equal(values, [expected], equal_nan=True)


@pytest.mark.parametrize(
    ("text", "decimal", "thousands", "value"),
    [
        ("1,234,567.5", ".", ",", 1234567.5),
        ("1.234,5", ",", ".", 1234.5),
        ("-1,234e2", ".", ",", -123400),
        ("12,34", ".", ",", None),
        ("1,2345", ".", ",", None),
        ("1,234,", ".", ",", None),
        (",5", ",", ".", 0.5),
        ("1 234\u00a0567\u202f890,5", ",", " ", 1234567890.5),
        ("1'234\u2019567.5", ".", "'", 1234567.5),
        ("12 34", ".", " ", None),
        ("030 123 456", ".", " ", None),
        ("0,500", ".", ",", None),
    ],
)
def test_groups_of_digits(text, decimal, thousands, value):
    values, wrong = NumberFormat(decimal, thousands).numbers(pa.array([text]))
    assert (None if wrong[0] else values[0]) == value


def test_formats_of_numbers_in_doubt():
    assert number_format(["1,234"], ";") == NumberFormat(",", "")
    assert number_format(["1,234"], ",") == NumberFormat(".", ",")
    assert number_format(["1.234", "5"], ";") == NumberFormat()
    assert number_format([], ";") == NumberFormat()
    assert number_format(["1 234,5", "2,5"], ";") == NumberFormat(",", " ")
    assert number_format(["1'234.5", "2.5"], ";") == NumberFormat(".", "'")
    assert number_format(["0,500"], ",") == NumberFormat(",")
    assert number_format(["1,5", "2.5", "3.5"], ";") == NumberFormat(), "more numbers with points"


@pytest.mark.parametrize("delimiter", [",", "|", "^", "]", "\\", "\t"])
def test_columns_as_cells(delimiter):
    column = pa.array(["plain", None, f"a{delimiter}b", 'q"', "two\nlines"])
    assert delimited(column, delimiter).to_pylist() == [
        b"plain", b"", f'"a{delimiter}b"'.encode(), b'"q"""', b'"two\nlines"'
    ]  # fmt: skip
    assert delimited(pa.array([True, None]), delimiter).to_pylist() == [b"1", b""]
    assert delimited(pa.array([0.1, float("nan")]), delimiter).to_pylist() == [b"0.1", b""]
    assert delimited(pa.array([[1, 2], None]), ";").to_pylist() == [b"[1, 2]", b""]
