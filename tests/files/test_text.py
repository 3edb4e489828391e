import io

import numpy as np
import pytest

from treemend.exceptions import ColumnsError, InputError
from treemend.files import batches as batches_module
from treemend.files import open_table, open_writer
from treemend.files.text import quoted, raw_cells, unquoted


def written(table, chosen, change=None, path="out.csv", delimiter=None):
    """Read a table in batches and write it again, with one cell filled where ``change`` says."""
    file = io.BytesIO()
    writer = open_writer(path, file, table.names, named=table.named, like=table.sources[0], delimiter=delimiter)
    first = 0
    for batch, _ in table.batches(chosen):
        mask = np.zeros(batch.values.shape, dtype=bool)
        if change and first <= change[0] < first + len(mask):
            mask[change[0] - first, change[1]] = True
        writer.write(batch.rows, chosen, np.full(mask.shape, 0.1), mask)
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


@pytest.fixture(params=[1, 2, 10**6], ids="{} cells a batch".format)
def small_batches(request, monkeypatch):
    monkeypatch.setattr(batches_module, "_CELLS", 4 * request.param)


@pytest.mark.usefixtures("small_batches")
def test_untouched_bytes_stay(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_bytes(ODD)
    table = open_table([str(path)])
    assert table.names == ("id", " a ", "b", "no\nte")
    assert written(table, (1, 2)) == ODD
    assert written(table, (1, 2)) == ODD, "files can be read again"
    values = np.concatenate([batch.values for batch, _ in table.batches((1, 2))])
    assert values.tolist() == [[1.5, 2], [3, 4], [5, 6], [7, 8]]
    places = [batch.place(row) for batch, _ in table.batches((1, 2)) for row in range(len(batch.values))]
    assert [place.rsplit(" ", 1)[1] for place in places] == ["3", "4", "6", "8"]


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
    assert [share for _, share in table.batches((0, 1))] == [0.5, 1.0]
    (tmp_path / "c.csv").write_text("x,z\n3,4\n")
    with pytest.raises(
        ColumnsError, match=r"c.csv does not have the columns of .*a.csv: - missing: 'y'; \+ extra: 'z'"
    ):
        open_table([str(tmp_path / "a.csv"), str(tmp_path / "c.csv")])


def test_no_header_other_delimiters_and_streams(tmp_path):
    table = open_table(["-"], header=False, delimiter=";", standard_input=lambda: io.BytesIO(b"1;2\n3;4\n"))
    assert table.names == ("0", "1")
    assert written(table, (0, 1), (1, 0), delimiter=";") == b"1;2\n0.1;4\n"
    (tmp_path / "a.tsv").write_text("x\tname\n1\tone, two\n")
    table = open_table([str(tmp_path / "a.tsv")])
    assert written(table, (0,)) == b'x,name\n1,"one, two"\n'
    assert written(table, (0,), (0, 0)) == b'x,name\n0.1,"one, two"\n'
    assert table.paths == (str(tmp_path / "a.tsv"),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,y\n1,2\n3,cat\n", "line 3, column 'y': 'cat' is no number"),
        ("x,y\n1,2\n3,1_0\n", "line 3, column 'y': '1_0' is no number"),
        ("x,y\n1,2\n\n3,inf\n", "line 4, column 'y': inf is no finite number"),
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
    assert raw_cells('"a""b",c,"d,e"', ",") == ['"a""b"', "c", '"d,e"']
    assert unquoted('"a""b"') == 'a"b'
    assert quoted('a"b', ",") == '"a""b"'
    assert quoted("plain", ",") == "plain"
