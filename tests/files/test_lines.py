"""Records found by NumPy, against a reader that goes line by line."""

import re
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from treemend.exceptions import InputError
from treemend.files.cells import NumberFormat, raw_cells
from treemend.files.lines import Lines, line_ends, record_starts

TEXT = st.text(st.sampled_from('a",;\n\r1'), max_size=40).map(str.encode)


def records_of(data, delimiter):
    """Cut data into records, with blank lines as records of their own, and what is left in an open quote."""
    records, record = [], b""
    for line in re.findall(rb"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+$", data):
        record += line
        if raw_cells(record.rstrip(b"\r\n"), delimiter.encode()) is not None:
            records.append(record)
            record = b""
    return records, record


@given(TEXT, st.sampled_from(",;"))
@example(b'a,"b""\nc"\n"",\n', ",")
@example(b'a"b\nc"\n', ",")
@example(b'"a"b"\n"\n', ",")
@example(b'a\r\n\r\n"\r\n"\r', ",")
def test_records_of_any_text(data, delimiter):
    records, rest = records_of(data, delimiter)
    starts, end = record_starts(data, delimiter, last=True, blank_is_record=True)
    assert data[end:] == rest
    bounds = [*starts.tolist(), end]
    assert [data[begin:stop] for begin, stop in pairwise(bounds)] == records
    some, _ = record_starts(data, delimiter, last=True, blank_is_record=False)
    assert [start for start in starts if data[start : start + 1] not in (b"\n", b"\r")] == some.tolist()


@given(TEXT, st.data())
def test_records_that_are_complete_stay_so_whatever_follows(data, draw):
    cut = draw.draw(st.integers(0, len(data)))
    early, end = record_starts(data[:cut], ",", last=False, blank_is_record=True)
    late, _ = record_starts(data, ",", last=True, blank_is_record=True)
    assert early.tolist() == late[: len(early)].tolist()
    assert end <= cut


@given(TEXT)
def test_lines_end_as_in_python(data):
    assert len(line_ends(data)) == len(re.findall(rb"\r\n|\n|\r", data))


def lines_of(data, names, delimiter=","):
    starts, end = record_starts(data, delimiter, last=True, blank_is_record=len(names) == 1)
    return Lines(data[:end], starts, "file", 1, names, delimiter, NumberFormat())


def test_parts_and_single_records():
    lines = lines_of(b'\n1,a\n\n2,"b\nc"\n3,d', ("x", "y"))
    assert [lines.place(row) for row in range(3)] == ["file, line 2", "file, line 4", "file, line 6"]
    parts = [lines.part(0, 1), lines.part(1, 3)]
    assert b"".join(part.data for part in parts) == lines.data
    assert parts[1].place(1) == "file, line 6"
    assert lines.take(np.array([2, 1])).table().to_pydict() == {"x": ["3", "2"], "y": ["d", "b\nc"]}
    assert lines.table((1,)).to_pydict() == {"y": ["a", "b\nc", "d"]}
    assert lines.floats((0,), []).tolist() == [[1], [2], [3]]
    assert lines.floats((1,), []) is None


def test_a_record_that_lacks_a_cell_is_named():
    lines = lines_of(b"1,2\n3\n", ("x", "y"))
    assert [lines.is_complete(row) for row in range(2)] == [True, False]
    assert lines.floats((0,), []) is None
    with pytest.raises(InputError, match="file, line 2: 1 cells, where 2"):
        lines.table((0,))


@pytest.mark.parametrize("too_few", [True, False])
def test_what_pyarrow_refuses_is_cut_in_python(too_few, monkeypatch):
    lines = lines_of(b'\n1,a\n\n2,"b ""c""\nd"\n3,\xe9', ("x", "y"))
    expected = lines.table()

    def refuse(*arguments):
        if too_few:
            return expected.slice(1)
        raise pa.ArrowInvalid

    monkeypatch.setattr(Lines, "_parse", refuse)
    assert lines.table().equals(expected)
    assert lines.table((1,), as_text=True).to_pydict() == {"y": ["a", 'b "c"\nd', "\ufffd"]}
    assert lines.floats((0,), []) is None
