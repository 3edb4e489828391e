import csv
import io
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from treemend.exceptions import ColumnsError, InputError
from treemend.files import csv as csv_module
from treemend.files.formats import ReadOptions
from treemend.files.table import FileTable, choose_columns, open_writer


def written(table, chosen, change=None, path="out.csv", delimiter=None, filled=0.1):
    """Read a table in batches and write it again, with one cell filled where ``change`` says."""
    file = io.BytesIO()
    writer = open_writer(path, file, like=table, delimiter=delimiter)
    first = 0
    for batch in table.batches(chosen):
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
def test_untouched_bytes_stay(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_bytes(ODD)
    table = FileTable([str(path)])
    assert table.names == ("id", " a ", "b", "no\nte")
    assert written(table, (1, 2)) == ODD
    assert written(table, (1, 2)) == ODD, "files can be read again"
    values = np.concatenate([batch.values for batch in table.batches((1, 2))])
    assert values.tolist() == [[1.5, 2], [3, 4], [5, 6], [7, 8]]
    places = [place for batch in table.batches((1, 2)) for place in batch.places]
    assert [place.rsplit(" ", 1)[1] for place in places] == ["3", "4", "6", "8"]


@pytest.mark.usefixtures("small_blocks")
def test_only_the_repaired_cell_changes(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_bytes(ODD)
    assert written(FileTable([str(path)]), (1, 2), (1, 1)) == ODD.replace(b'"4"', b"0.1")
    assert written(FileTable([str(path)]), (1, 2), (3, 0)) == ODD.replace(b"007", b"0.10"), "as 1.50"


def test_files_follow_each_other_on_lines_of_their_own(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2")
    (tmp_path / "b.csv").write_text("x,y\n3,4\n")
    table = FileTable([str(tmp_path / "a.csv"), str(tmp_path / "b.csv")])
    assert written(table, (0, 1)) == b"x,y\n1,2\n3,4\n"
    assert [batch.done for batch in table.batches((0, 1))] == [0.5, 1.0]
    (tmp_path / "c.csv").write_text("x,z\n3,4\n")
    with pytest.raises(
        ColumnsError, match=r"c.csv does not have the columns of .*a.csv: - missing: 'y'; \+ extra: 'z'"
    ):
        FileTable([str(tmp_path / "a.csv"), str(tmp_path / "c.csv")])


def test_no_header_other_delimiters_and_streams(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1;2\n3;4\n")))
    table = FileTable(["-"], ReadOptions(no_header=True, delimiter=";"))
    assert table.names == ("0", "1")
    for _ in range(2):
        assert written(table, (0, 1), (1, 0), delimiter=";") == b"1;2\n0;4\n"
    (tmp_path / "a.tsv").write_text("x\tname\n1\tone, two\n")
    table = FileTable([str(tmp_path / "a.tsv")])
    assert written(table, (0,)) == b'x,name\n1,"one, two"\n'
    assert written(table, (0,), (0, 0)) == b'x,name\n0,"one, two"\n'
    assert table.paths == [str(tmp_path / "a.tsv")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,y\n1,2\n3,cat\n", "line 3, column 'y': 'cat' is not a number"),
        ("x,y\n1,2\n3,1_0\n", "line 3, column 'y': '1_0' is not a number"),
        ("x,y\n1,2\n\n3,inf\n", "line 4, column 'y': inf is not a finite number"),
        ("x,y\n1,2\n3\n", "line 3: 1 cells, where 2 were"),
        ("x,y\n1,2\n3,4,5\n", "line 3: 3 cells, where 2 were"),
        ("Export of May\n\nx,y\n1,2\n", "line 3: 2 cells, where 1 were expected. Delete lines above the column names"),
        ('x,y\n1,2\n3,"4\n5,6\n', "line 3: a quote is opened and never closed"),
        ("", "is empty"),
        ("x,x\n1,2\n", "several columns named 'x'"),
    ],
)
def test_a_broken_row_names_file_and_line(text, message, tmp_path):
    path = tmp_path / "broken.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        list(FileTable([str(path)]).batches((0, 1)))
    assert str(path) in str(caught.value)


def test_a_quote_does_not_swallow_the_file(tmp_path):
    path = tmp_path / "broken.csv"
    with open(path, "w") as file:
        file.write('x,y\n1,"2\n')
        file.write("1,2\n" * 500_000)
    with pytest.raises(InputError, match="line 2: a quote"):
        list(FileTable([str(path)]).batches((0, 1)))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cells=st.lists(
        st.tuples(
            st.floats(allow_nan=False, allow_infinity=False),
            st.text(st.sampled_from('ab",; \né'), max_size=6),
            st.integers(-(2**40), 2**40),
        ),
        min_size=1,
        max_size=8,
    ),
    ending=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    block=st.sampled_from([1, 5, 20, 1000]),
    data=st.data(),
)
def test_any_file_comes_back_and_reads_as_the_csv_module_reads_it(
    cells, ending, quoting, block, data, tmp_path_factory, monkeypatch
):
    monkeypatch.setattr(csv_module, "BLOCK_BYTES", block)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator=ending, quoting=quoting)
    writer.writerow(["x", "note", "n"])
    writer.writerows([repr(number), note, whole] for number, note, whole in cells)
    path = tmp_path_factory.mktemp("any") / "any.csv"
    path.write_bytes(text.getvalue().encode())
    table = FileTable([str(path)], ReadOptions(delimiter=",", decimal=".", thousands="", missing=()))
    assert written(table, (0, 2)) == path.read_bytes()
    batches = list(table.batches((0, 2)))
    assert np.concatenate([batch.values for batch in batches]).tolist() == [[x, float(n)] for x, _, n in cells]
    notes = [note for batch in batches for note in batch.table.column(1).to_pylist()]
    assert notes == [note for _, note, _ in cells]
    row = data.draw(st.integers(0, len(cells) - 1))
    changed = written(table, (0, 2), (row, 0), filled=-7.5).decode()
    back = list(csv.reader(io.StringIO(changed, newline="")))
    assert (float(back[row + 1][0]), *back[row + 1][1:]) == (-7.5, cells[row][1], str(cells[row][2]))
    assert [line for place, line in enumerate(back) if place != row + 1] == [
        line for place, line in enumerate(csv.reader(io.StringIO(text.getvalue(), newline=""))) if place != row + 1
    ]


@pytest.mark.usefixtures("small_blocks")
def test_quotes_within_cells_are_characters(tmp_path):
    content = b'x,size\n1,6" pipe\n2,"a\n""b"" c"\n\n3,7" ,\n'.replace(b'7" ,', b'7" ')
    (tmp_path / "a.csv").write_bytes(content)
    table = FileTable([str(tmp_path / "a.csv")])
    assert written(table, (0,)) == content
    assert written(table, (0,), (1, 0)) == content.replace(b"2,", b"0,")
    sizes = [text for batch in table.batches((0,)) for text in batch.table.column("size").to_pylist()]
    assert sizes == ['6" pipe', 'a\n"b" c', '7" ']


def test_bytes_that_are_not_utf8_stay(tmp_path):
    content = b"x,name\n1,\xe9\n2.5,b\n"
    (tmp_path / "latin.csv").write_bytes(content)
    table = FileTable([str(tmp_path / "latin.csv")])
    assert written(table, (0,)) == content
    assert written(table, (0,), path="out.tsv") == content.replace(b",", b"\t")
    (tmp_path / "odd.csv").write_bytes(b"x,y\n" + b"1,2\n" * 9 + b"3,\xe9\n")
    with pytest.raises(InputError, match="line 11, column 'y': '\ufffd' is not a number"):
        list(FileTable([str(tmp_path / "odd.csv")]).batches((0, 1)))
    with pytest.raises(InputError, match="is not text in UTF-8. Save it"):
        (tmp_path / "wide.csv").write_text("x,y\n1,2\n", encoding="utf-16")
        FileTable([str(tmp_path / "wide.csv")])


def test_integers_and_decimal_commas_are_written_as_they_came(tmp_path):
    (tmp_path / "a.csv").write_text("n;x\n1;0,5\n12;1,5\n7;2,5\n")
    table = FileTable([str(tmp_path / "a.csv")])
    assert written(table, (0, 1), (1, 0), filled=3.75) == b"n;x\n1;0,5\n4;1,5\n7;2,5\n"
    assert written(table, (0, 1), (1, 1), filled=3.0) == b"n;x\n1;0,5\n12;3,0\n7;2,5\n"
    assert written(table, (0, 1), (1, 0), filled=3.75, delimiter=",") == b'n,x\n1,"0,5"\n4,"1,5"\n7,"2,5"\n'
    assert written(table, (0, 1), (1, 1), filled=3.2, delimiter=",") == b'n,x\n1,"0,5"\n12,"3,2"\n7,"2,5"\n'


@pytest.mark.parametrize(
    ("cells", "as_written"),
    [
        (("1.25", "3", "4.5"), "2.35"),
        (("1.50", "2.25", "NA"), "2.35"),
        (("1.0", "2.0", "3.0"), "2.3"),
        (('"1,012"', "4", '"2,500"'), "2"),
        (("0.1234567891", "1.5", "2.5"), "2.345678901"),
        (("1.5e3", "1.5", "2.5"), "2.345678901"),
    ],
)
def test_a_filled_cell_has_the_decimals_of_its_column(cells, as_written, tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n" + "".join(f"{cell},{row}\n" for row, cell in enumerate(cells)))
    table = FileTable([str(tmp_path / "a.csv")])
    assert written(table, (0,), (1, 0), filled=2.345678901).splitlines()[2] == f"{as_written},1".encode()
    (batch,) = table.batches((0,))
    filled, mask = np.full((3, 1), 2.345678901), np.array([[False], [True], [False]])
    assert batch.rounded(filled, mask)[:, 0].tolist() == [2.345678901, float(as_written), 2.345678901]
    assert str(batch.rounded(-1e-12 * filled, mask)[1, 0])[0] == ("0" if len(as_written) < 8 else "-")


def test_units_of_columns_are_kept(tmp_path):
    cells = "\u00a0%", "\u00a0€", " kg", "°C"
    rows = [";".join(f"{number},5{cell}" for cell in cells) + ";$1.200;7 m\n" for number in (4, 1201)]
    content = "a;b;c;d;e;f\n" + "".join(rows) + ";NA;n/a;;;5\n"
    (tmp_path / "a.csv").write_text(content, encoding="utf-8")
    table = FileTable([str(tmp_path / "a.csv")])
    assert table.notes[0].endswith("numbers have units: 'a' (%), 'b' (€), 'c' (kg), 'd' (°C), 'e' ($)")
    assert choose_columns(table)[0] == (0, 1, 2, 3, 4)
    values = np.concatenate([batch.values for batch in table.batches((0, 1, 2, 3, 4))])
    assert values[:2].tolist() == [[4.5] * 4 + [1200], [1201.5] * 4 + [1200]]
    assert np.isnan(values[2]).all()
    for position, filled in enumerate(["8,5\u00a0%", "8,5\u00a0€", "8,5 kg", "8,5°C", "$8"]):
        line = written(table, tuple(range(5)), (2, position), filled=8.5).decode().splitlines()[3]
        assert line.split(";")[position] == filled


@pytest.mark.parametrize("cells", [("4%", "5"), ("4%", "5 kg"), ("12A", "13A"), ("1 May", "2 May"), ("4 %x", "5 %x")])
def test_what_is_not_a_unit_is_text(cells, tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n" + "".join(f"{cell},{row}\n" for row, cell in enumerate(cells * 9)))
    table = FileTable([str(tmp_path / "a.csv")])
    assert not table.notes
    assert table.columns[0].kind != "number" or "5" in cells


def test_the_place_of_a_row_and_its_other_cells(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,x,when\n" + "".join(f"r{row},{row * row},2020-01-{row + 1:02d}\n" for row in range(20)))
    (batch,) = FileTable([str(path)]).batches((1,))
    assert batch.places[9] == f"{path}, line 11"
    assert batch.table.select([0, 2]).take([9, 11]).to_pydict() == {
        "id": ["r9", "r11"],
        "when": ["2020-01-10", "2020-01-12"],
    }


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("cell", [b"x", b'"x\n;;\n"'])
def test_lines_of_delimiters_are_not_rows(cell, tmp_path):
    content = b";;\nt;a;b\n%b;1;2\n;;\n\n;\n;3;\r\n;;\r\n;5;6\n;;\n;;" % cell
    (tmp_path / "a.csv").write_bytes(content)
    table = FileTable([str(tmp_path / "a.csv")])
    assert table.names == ("t", "a", "b")
    batches = list(table.batches((1, 2)))
    values = np.concatenate([batch.values for batch in batches])
    assert np.array_equal(values, [[1, 2], [3, np.nan], [5, 6]], equal_nan=True)
    assert [text for batch in batches for text in batch.table.column(0).to_pylist()][1:] == ["", ""]
    assert written(table, (1, 2)) == content
    assert written(table, (1, 2), (0, 1), filled=7) == content.replace(b";1;2\n", b";1;7\n")
    assert written(table, (1, 2), (1, 1), filled=7) == content.replace(b";3;\r\n", b";3;7\r\n")


def test_blank_lines_are_rows_where_there_is_one_column(tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\n\n3\n")
    table = FileTable([str(tmp_path / "a.csv")])
    assert np.array_equal(next(table.batches((0,))).values, [[1], [np.nan], [3]], equal_nan=True)
    assert written(table, (0,)) == b"x\n1\n\n3\n"


def test_a_byte_order_mark_stays_before_the_first_row(tmp_path):
    content = b"\xef\xbb\xbf1,2\n3,4\n"
    (tmp_path / "a.csv").write_bytes(content)
    table = FileTable([str(tmp_path / "a.csv")], ReadOptions(no_header=True))
    assert next(table.batches((0, 1))).values.tolist() == [[1, 2], [3, 4]]
    assert written(table, (0, 1)) == content
    (tmp_path / "b.csv").write_bytes(b"x,y")
    (tmp_path / "c.csv").write_bytes(b"x,y\n1,2")
    assert written(FileTable([str(tmp_path / "b.csv"), str(tmp_path / "c.csv")]), (0, 1)) == b"x,y\n1,2"
