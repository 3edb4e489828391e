import io
import sys

import numpy as np
import pytest

from treemend.exceptions import ColumnsError, InputError
from treemend.files import ReadOptions, open_table, open_writer
from treemend.files import csv as csv_module
from treemend.files.cells import quoted, raw_cells, unquoted


def written(table, chosen, change=None, path="out.csv", delimiter=None, filled=0.1, max_rows=None):
    """Read a table in batches and write it again, with one cell filled where ``change`` says."""
    file = io.BytesIO()
    writer = open_writer(path, file, like=table, delimiter=delimiter)
    first = 0
    for batch in table.batches(chosen, max_rows):
        mask = np.zeros(batch.values.shape, dtype=bool)
        if change and first <= change[0] < first + len(mask):
            mask[change[0] - first, change[1]] = True
        writer.write(batch, np.full(mask.shape, filled), mask)
        first += len(mask)
    writer.close()
    return file.getvalue()


ODD = (
    b'\xef\xbb\xbf"id", a ,b,"no\nte"\r\n'
    b"1,1.50, +2e0 ,\"=cmd|' /C calc'!A0\"\r\n"
    b'"x ""y""",  3,"4",\xe9\xff\n'
    b"\n"
    b'3,5,6.000,"two\nlines, and a comma"\r\n'
    b"4,007,8,"
)


@pytest.fixture(params=[1, 7, 40, 10**6], ids="{} bytes a block".format)
def small_blocks(request, monkeypatch):
    monkeypatch.setattr(csv_module, "BLOCK_BYTES", request.param)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("max_rows", [None, 1, 2])
def test_untouched_bytes_stay(max_rows, tmp_path):
    path = tmp_path / "odd.csv"
    path.write_bytes(ODD)
    table = open_table([str(path)])
    assert table.names == ("id", " a ", "b", "no\nte")
    assert written(table, (1, 2), max_rows=max_rows) == ODD
    assert written(table, (1, 2), max_rows=max_rows) == ODD, "files can be read again"
    values = np.concatenate([batch.values for batch in table.batches((1, 2), max_rows)])
    assert values.tolist() == [[1.5, 2], [3, 4], [5, 6], [7, 8]]
    places = [batch.place(row) for batch in table.batches((1, 2), max_rows) for row in range(len(batch.values))]
    assert [place.rsplit(" ", 1)[1] for place in places] == ["3", "4", "6", "8"]


@pytest.mark.usefixtures("small_blocks")
def test_only_the_repaired_cell_changes(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_bytes(ODD)
    assert written(open_table([str(path)]), (1, 2), (1, 1)) == ODD.replace(b'"4"', b"0.1")
    assert written(open_table([str(path)]), (1, 2), (3, 0)) == ODD.replace(b"007", b"0.1")


def test_files_follow_each_other_on_lines_of_their_own(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2")
    (tmp_path / "b.csv").write_text("x,y\n3,4\n")
    table = open_table([str(tmp_path / "a.csv"), str(tmp_path / "b.csv")])
    assert written(table, (0, 1)) == b"x,y\n1,2\n3,4\n"
    assert [batch.done for batch in table.batches((0, 1))] == [0.5, 1.0]
    (tmp_path / "c.csv").write_text("x,z\n3,4\n")
    with pytest.raises(
        ColumnsError, match=r"c.csv does not have the columns of .*a.csv: - missing: 'y'; \+ extra: 'z'"
    ):
        open_table([str(tmp_path / "a.csv"), str(tmp_path / "c.csv")])


@pytest.mark.parametrize("reread", [False, True])
def test_no_header_other_delimiters_and_streams(reread, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1;2\n3;4\n")))
    table = open_table(["-"], ReadOptions(header=False, delimiter=";"), reread=reread)
    assert table.names == ("0", "1")
    for _ in range(1 + reread):
        assert written(table, (0, 1), (1, 0), delimiter=";") == b"1;2\n0.1;4\n"
    (tmp_path / "a.tsv").write_text("x\tname\n1\tone, two\n")
    table = open_table([str(tmp_path / "a.tsv")])
    assert written(table, (0,)) == b'x,name\n1,"one, two"\n'
    assert written(table, (0,), (0, 0)) == b'x,name\n0.1,"one, two"\n'
    assert table.paths == (str(tmp_path / "a.tsv"),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,y\n1,2\n3,cat\n", "line 3, column 'y': 'cat' is not a number"),
        ("x,y\n1,2\n3,1_0\n", "line 3, column 'y': '1_0' is not a number"),
        ("x,y\n1,2\n\n3,inf\n", "line 4, column 'y': inf is not a finite number"),
        ("x,y\n1,2\n3\n", "line 3: 1 cells, where 2 were"),
        ("x,y\n1,2\n3,4,5\n", "line 3: 3 cells, where 2 were"),
        ('x,y\n1,2\n3,"4\n5,6\n', "line 3: a quote is opened and never closed"),
        ("", "is empty"),
        ("x,x\n1,2\n", "several columns named 'x'"),
    ],
)
def test_a_broken_row_names_file_and_line(text, message, tmp_path):
    path = tmp_path / "broken.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        list(open_table([str(path)]).batches((0, 1)))
    assert str(path) in str(caught.value)


def test_a_quote_does_not_swallow_the_file(tmp_path):
    path = tmp_path / "broken.csv"
    with open(path, "w") as file:
        file.write('x,y\n1,"2\n')
        file.write("1,2\n" * 500_000)
    with pytest.raises(InputError, match="line 2: a quote"):
        list(open_table([str(path)]).batches((0, 1)))


def test_cells():
    assert raw_cells(b'"a""b",c,"d,e"', b",") == [b'"a""b"', b"c", b'"d,e"']
    assert unquoted(b'"a""b"') == b'a"b'
    assert quoted('a"b', ",") == '"a""b"'
    assert quoted("plain", ",") == "plain"
