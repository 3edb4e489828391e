import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from treemend.exceptions import ColumnsError, InputError, ParameterError
from treemend.files.formats import ReadOptions
from treemend.files.table import FileTable, choose_columns, reasons


def spreadsheet_row(row):
    moist = "" if row == 3 else row * row
    return f'{1000 + 7 * row};{row + 1:02d}.03.2024 12:00;"Halle {row}; Nord";{20 + row},5;{moist};1.{row:03d},25;;\r\n'


SPREADSHEET = ("\ufeffId;Zeit;Ort;Temperatur;Feuchte;Menge;;\r\n" + "".join(map(spreadsheet_row, range(12)))).encode()


def table_of(tmp_path, text, name="table.csv", **options):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return FileTable([str(path)], ReadOptions(**options))


def values_of(table, columns):
    return np.concatenate([batch.values for batch in table.batches(columns)])


def lines(header, row, n_rows=30):
    return header + "\n" + "".join(row(number) + "\n" for number in range(n_rows))


def passed(table, **asked):
    return {column.name: (column.kind, column.reason) for column in choose_columns(table, **asked)[1]}


def test_an_exported_spreadsheet_needs_no_option(tmp_path):
    table = table_of(tmp_path, SPREADSHEET)
    assert table.names[:3] == ("Id", "Zeit", "Ort")
    columns, others = choose_columns(table)
    assert [table.names[column] for column in columns] == ["Temperatur", "Feuchte", "Menge"]
    assert reasons(others) == ("'Id' (id), 'Zeit' (time), 'Ort' (text), 'Unnamed: 6' (empty), 'Unnamed: 7' (empty)")
    expected = [[20.5 + row, np.nan if row == 3 else row * row, 1000.25 + row] for row in range(12)]
    assert np.array_equal(values_of(table, columns), expected, equal_nan=True)
    (note,) = table.notes
    assert note.endswith(
        "table.csv: cells are separated by semicolons, numbers have decimal commas, '.' separates thousands"
    )


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_what_columns_hold(kind, tmp_path):
    rng = np.random.default_rng(0)
    n_rows = 40
    frame = pd.DataFrame(
        {
            "sensor_id": rng.integers(0, 3, n_rows),
            "key": 10 + np.arange(n_rows),
            "large": 2**60 + rng.integers(0, 9, n_rows),
            "when": pd.date_range("2020-01-01", periods=n_rows, freq="h"),
            "t": np.arange(n_rows) ** 1.5,
            "timestamp": 1e9 + rng.permutation(n_rows),
            "note": ["a", "b"] * 20,
            "seldom": [1.0, 2.0] + [np.nan] * 38,
            "never": [None] * n_rows,
            "x": rng.normal(size=n_rows),
            "often": [np.nan, *rng.normal(size=n_rows - 1)],
            "count": rng.integers(0, 1000, n_rows),
            "no": rng.permutation(n_rows),
            "weekday": rng.integers(0, 7, n_rows),
        }
    )
    path = tmp_path / f"table.{kind}"
    frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    table = FileTable([str(path)])
    columns, _ = choose_columns(table)
    assert [table.names[column] for column in columns] == ["x", "often", "count", "no", "weekday"]
    assert passed(table) == {
        "sensor_id": ("id", "id"),
        "key": ("id", "numbers the rows"),
        "large": ("id", "integers beyond 2**53"),
        "when": ("time", "time"),
        "t": ("time", "time"),
        "timestamp": ("time", "time"),
        "note": ("text", "text"),
        "seldom": ("empty", "95% empty"),
        "never": ("empty", "empty"),
    }
    assert [table.columns[column].decimals == 0 for column in columns] == [False, False, True, True, True]
    assert choose_columns(table, wanted=["sensor_id", "x"])[0] == (0, 9), "asked for by name"
    assert "note" not in passed(table, unwanted=["n*"])


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_ids_may_be_texts(kind, tmp_path):
    n_rows = 20
    frame = pd.DataFrame(
        {
            "sample": [f"A-{row:03d}" for row in range(n_rows)],
            "site_id": ["north", "south"] * 10,
            "remark": [f"remark number {row}" for row in range(n_rows)],
            "when": [f"12:{row:02d}" for row in range(n_rows)],
            "x": np.arange(n_rows) ** 0.5,
        }
    )
    path = tmp_path / f"table.{kind}"
    frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    table = FileTable([str(path)])
    _, others = choose_columns(table)
    assert [column.kind for column in others] == ["id", "id", "text", "time"]
    with pytest.raises(InputError, match="'sample' .id."):
        next(table.batches((0, 4)))


@pytest.mark.parametrize("name", ["humid", "acid", "valid", "NO", "void", "identity", "thread"])
def test_names_that_only_look_like_ids(name, tmp_path):
    table = table_of(tmp_path, lines(f"{name},sensorId,x", lambda row: f"{row * row % 17},{row * row % 17},{row % 3}"))
    assert passed(table) == {"sensorId": ("id", "id")}


def test_all_columns_that_cannot_be_used_are_named_at_once(tmp_path):
    table = table_of(
        tmp_path, lines("a,b,c,d", lambda row: f"{row * row},x {row},2020-01-{row % 28 + 1:02d},{row % 5}")
    )
    with pytest.raises(InputError, match=r"2 of 3 chosen columns do not hold numbers: 'b' \(text\), 'c' \(time\)"):
        next(table.batches(choose_columns(table, wanted=["a", "b", "c"])[0]))
    with pytest.raises(ColumnsError, match="No column is called or matches 'e' or 'f'"):
        choose_columns(table, wanted=["e", "a"], unwanted=["f"])
    texts = table_of(tmp_path, "a,b\nx,y\n")
    with pytest.raises(InputError, match=r"no column of numbers to look at: 'a' \(text\), 'b' \(text\).*--delimiter"):
        choose_columns(texts)


def test_cells_that_are_not_numbers_name_each_column_and_an_option(tmp_path):
    rows = lines("a,b", lambda row: f"{row * row},{row % 7}")
    table = table_of(tmp_path, rows + "broken,?\n7,faulty\n")
    message = "line 32, column 'a': 'broken' is not a number; nor are cells of 'b'.*--missing 'broken'.*--passthrough"
    with pytest.raises(InputError, match=message):
        values_of(table, (0, 1))
    table = table_of(tmp_path, rows + "broken,?\n7,faulty\n", missing=("Broken", "faulty"))
    assert np.isnan(values_of(table, (0, 1))[-2:]).tolist() == [[True, True], [False, True]]
    table = table_of(tmp_path, lines("a,b", lambda row: f"{row}.25,{row % 7}") + '"1,5",2\n')
    with pytest.raises(InputError, match="line 32, column 'a': '1,5' is not a number.*--decimal ','"):
        values_of(table, (0, 1))


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("a;b\n1,5;2\n-3,25;4e3\n", "t.csv", [[1.5, 2], [-3.25, 4000]]),
        ("1,5;2\n3;4\n", "t.csv", [[3, 4]]),
        ("a\tb\n1,5\t2\n", "t.csv", [[1.5, 2]]),
        ("a|b\n1.5|2\n", "t.txt", [[1.5, 2]]),
        ("a,b\n1.5,2\n", "t.txt", [[1.5, 2]]),
        ("a,b\n1.5,2\n", "t.tsv", [[1.5, 2]]),
        ('a,b\n"1,234.5",2\n"1,234,567",3\n', "t.csv", [[1234.5, 2], [1234567, 3]]),
        ("a;b\n1.234,5;2\n7;8\n", "t.csv", [[1234.5, 2], [7, 8]]),
        ("\ufeffa;b\r\n1;2\r\n", "t.csv", [[1, 2]]),
        ("a,b\r1,2\r3,4", "t.csv", [[1, 2], [3, 4]]),
        ("a,b\n#DIV/0!,#VALUE!\n#REF!,#NUM!\n1,2\n", "t.csv", [[np.nan, np.nan]] * 2 + [[1, 2]]),
        ("a,b\nNA,n/a\nnull,-\n#N/A,NaN\n , \n1,.5\n+1,1.\n", "t.csv", [[np.nan, np.nan]] * 4 + [[1, 0.5], [1, 1]]),
        ('a,b\n6" pipe,1\n7" pipe,2\n', "t.csv", None),
    ],
)
def test_how_cells_and_numbers_are_written(text, name, expected, tmp_path):
    table = table_of(tmp_path, text, name)
    if expected is None:
        assert values_of(table, (1,)).tolist() == [[1], [2]]
        assert next(table.batches((1,))).table.column(0)[1:].to_pylist() == ['7" pipe']
        return
    assert np.array_equal(values_of(table, (0, 1)), expected, equal_nan=True)


def test_numbers_are_looked_for_in_every_column(tmp_path):
    rows = lines("id;when;x;y", lambda row: f"R-{row};2026-01-01 {row};{row},5;{row % 3 + 1}.{row:03d},25", n_rows=900)
    table = table_of(tmp_path, rows)
    assert table.notes[0].endswith("numbers have decimal commas, '.' separates thousands")
    assert values_of(table, (3,))[:2, 0].tolist() == [1000.25, 2001.25]


@pytest.mark.parametrize("blank", [" ", "\u00a0", "\u202f"])
def test_blanks_and_apostrophes_divide_thousands(tmp_path, blank):
    table = table_of(tmp_path, lines("a;b", lambda row: f"{row + 1}{blank}234,5;{row + 1}{blank}000 €"))
    assert table.notes[0].endswith("numbers have decimal commas, ' ' separates thousands, numbers have units: 'b' (€)")
    assert values_of(table, (0, 1))[:2].tolist() == [[1234.5, 1000], [2234.5, 2000]]
    table = table_of(tmp_path, lines("a;b", lambda row: f"{row + 1}'234.5;7"))
    assert values_of(table, (0, 1))[:2].tolist() == [[1234.5, 7], [2234.5, 7]]


def test_options_win_over_what_is_recognised(tmp_path):
    text = "a;b\n1,234;5\n"
    assert values_of(table_of(tmp_path, text), (0, 1)).tolist() == [[1.234, 5]]
    assert values_of(table_of(tmp_path, text, thousands=",", decimal="."), (0, 1)).tolist() == [[1234, 5]]
    assert table_of(tmp_path, "a;b\n1;2\n", delimiter=",").names == ("a;b",)
    for wrong in ({"delimiter": "ab"}, {"delimiter": "§"}, {"decimal": ";"}, {"thousands": "."}, {"thousands": "_"}):
        with pytest.raises(ParameterError, match="must be"):
            ReadOptions(**wrong)


@pytest.mark.parametrize("ending", ["csv", "parquet", "npy"])
def test_codes_for_missing_values(ending, tmp_path):
    rng = np.random.default_rng(1)
    values = rng.normal(10, 3, (60, 3)).round(3)
    values[::7, 1] = -999
    values[3, 2] = -999
    path = tmp_path / f"table.{ending}"
    if ending == "npy":
        np.save(path, values)
    else:
        frame = pd.DataFrame(values, columns=list("abc"))
        frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    expected = values.copy()
    expected[::7, 1] = np.nan
    table = FileTable([str(path)])
    assert np.array_equal(values_of(table, (0, 1, 2)), expected, equal_nan=True)
    assert np.array_equal(values_of(table, (1, 0)), expected[:, [1, 0]], equal_nan=True)
    name = "1" if ending == "npy" else "b"
    assert table.notes[-1].endswith(f"taken as missing: -999 in '{name}'; --missing none keeps them")
    kept = FileTable([str(path)], ReadOptions(missing=("none",)))
    assert np.array_equal(values_of(kept, (0, 1, 2)), values)
    assert kept.notes == ()
    expected[3, 2] = np.nan
    given = FileTable([str(path)], ReadOptions(missing=("-999", "nothing")))
    assert np.array_equal(values_of(given, (0, 1, 2)), expected, equal_nan=True)


def test_ordinary_numbers_are_no_codes(tmp_path):
    rows = lines("a,b,c", lambda row: f"{-99 if row < 3 else row * 5 - 60},{-999 if row == 3 else row},{row % 4 * 333}")
    assert not table_of(tmp_path, rows).notes


def test_a_column_that_begins_late_is_not_empty(tmp_path):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(60_000, 3)).round(6)
    values[:40_000, 1] = np.nan
    frame = pd.DataFrame(values, columns=list("abc"))
    frame.to_parquet(tmp_path / "late.parquet", row_group_size=5_000)
    frame.to_feather(tmp_path / "late.feather", chunksize=5_000)
    np.save(tmp_path / "late.npy", values)
    for ending in ("parquet", "feather", "npy"):
        assert choose_columns(FileTable([str(tmp_path / f"late.{ending}")]))[0] == (0, 1, 2)
    values = np.column_stack([np.arange(60_000), np.tile(np.arange(24), 2_500), values[:, 0]])
    pd.DataFrame(values.astype(int), columns=["n", "hour", "x"]).to_parquet(
        tmp_path / "n.parquet", row_group_size=5_000
    )
    assert passed(FileTable([str(tmp_path / "n.parquet")])) == {"n": ("id", "numbers the rows")}


def test_a_first_line_of_numbers_is_remarked(tmp_path):
    (note,) = table_of(tmp_path, "3,1\n1,2\n").notes
    assert "give --no-header if it is a row" in note
    assert not table_of(tmp_path, "400,410\n1,2\n").notes, "wavelengths"
    assert not table_of(tmp_path, "3,1\n1,2\n", no_header=True).notes


def test_types_that_are_no_numbers(tmp_path):
    table = pa.table(
        {
            "list": [[1], [2]],
            "price": pa.array([1.5, 2.5]).cast(pa.decimal128(5, 2)),
            "category": pa.array(["a", "b"]).dictionary_encode(),
            "bytes": pa.array([b"a", b"b"]),
            "nothing": pa.array([None, None], pa.string()),
            "flag": [True, False],
            "x": [1.0, 2.5],
        }
    )
    pq.write_table(table, tmp_path / "types.parquet")
    opened = FileTable([str(tmp_path / "types.parquet")])
    assert choose_columns(opened)[0] == (5, 6)
    assert [reason for _, reason in passed(opened).values()][1:] == ["decimal128(5, 2)", "text", "binary", "empty"]
