import csv

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from treemend.exceptions import ColumnsError, InputError
from treemend.files import arrow as arrow_module
from treemend.files import csv as csv_module
from treemend.files.table import FileTable, choose_columns, open_writer

ENDINGS = ("csv", "tsv", "parquet", "feather", "npy", "npz")
VALUES = np.array([[0.1, 2, 3], [4, 5.5, 6], [1e300, -1e-300, 7]])


def save(path, values=VALUES):
    frame = pd.DataFrame(values, columns=[f"c{column}" for column in range(values.shape[1])])
    match path.suffix:
        case ".csv":
            frame.to_csv(path, index=False)
        case ".tsv":
            frame.to_csv(path, index=False, sep="\t")
        case ".parquet":
            frame.to_parquet(path)
        case ".feather":
            frame.to_feather(path)
        case ".npy":
            np.save(path, values)
        case ".npz":
            np.savez(path, values)


def load(path):
    match path.suffix:
        case ".csv" | ".tsv":
            with open(path, newline="") as file:
                lines = list(csv.reader(file, delimiter="," if path.suffix == ".csv" else "\t"))
            return np.array([line for line in lines if line[0] != "c0"], dtype=np.float64)
        case ".parquet":
            return pd.read_parquet(path).to_numpy().astype(np.float64)
        case ".feather":
            return pd.read_feather(path).to_numpy().astype(np.float64)
        case ".npy":
            return np.load(path)
        case ".npz":
            return np.load(path)["rows"]


def rewrite(source, target, chosen, filled, mask):
    table = FileTable([str(source)])
    with open(target, "w+b") as file:
        writer = open_writer(str(target), file, like=table)
        first = 0
        for batch in table.batches(chosen):
            part = slice(first, first + len(batch.values))
            writer.write(batch, filled[part], mask[part])
            first = part.stop
        writer.close()
    return table


@pytest.mark.parametrize("given", ENDINGS)
@pytest.mark.parametrize("wanted", ENDINGS)
def test_every_kind_becomes_every_other(given, wanted, tmp_path, monkeypatch):
    monkeypatch.setattr(arrow_module, "CELLS_IN_BATCH", 6)
    monkeypatch.setattr(csv_module, "BLOCK_BYTES", 10)
    source, target = tmp_path / f"in.{given}", tmp_path / f"out.{wanted}"
    save(source)
    mask = np.zeros((3, 2), dtype=bool)
    mask[1, 1] = True
    rewrite(source, target, (0, 2), np.full((3, 2), 0.3), mask)
    expected = VALUES.copy()
    expected[1, 2] = 0.3
    assert np.array_equal(load(target), expected)


def test_parquet_keeps_types_metadata_and_what_is_not_chosen(tmp_path):
    frame = pd.DataFrame(
        {
            "when": pd.date_range("2020-01-01", periods=3, tz="Europe/Berlin"),
            "small": np.float32([0.1, 0.2, 0.3]),
            "whole": [1, 2, 3],
            "id": [2**60, 2**60 + 1, 5],
            "word": pd.Categorical(["a", None, "b"]),
        },
        index=pd.Index(["r", "s", "t"], name="row"),
    )
    frame.to_parquet(tmp_path / "in.parquet")
    mask = np.zeros((3, 2), dtype=bool)
    mask[2] = True
    rewrite(tmp_path / "in.parquet", tmp_path / "out.parquet", (1, 2), np.full((3, 2), 9.75), mask)
    back = pd.read_parquet(tmp_path / "out.parquet")
    assert back["small"].tolist() == [*frame["small"].tolist()[:2], 9.75]
    assert back["whole"].tolist() == [1, 2, 10]
    assert back.dtypes.tolist() == frame.dtypes.tolist()
    pd.testing.assert_frame_equal(back[["when", "id", "word"]], frame[["when", "id", "word"]])
    schemas = [pq.read_schema(tmp_path / f"{name}.parquet") for name in ("in", "out")]
    assert schemas[0].metadata[b"pandas"] == schemas[1].metadata[b"pandas"]


def test_a_folder_of_parquet_is_one_table(tmp_path):
    for part in range(3):
        (tmp_path / f"day={part}").mkdir()
        save(tmp_path / f"day={part}" / "part.parquet", VALUES + part)
    (tmp_path / "_hidden.parquet").write_text("not one")
    table = FileTable([str(tmp_path)])
    rows = np.concatenate([batch.values for batch in table.batches((0, 1, 2))])
    assert np.array_equal(rows, np.concatenate([VALUES, VALUES + 1, VALUES + 2]))
    assert table.label.endswith("part.parquet and 2 more files")
    with pytest.raises(InputError, match="folder without Parquet"):
        (tmp_path / "empty").mkdir()
        FileTable([str(tmp_path / "empty")])


@pytest.mark.parametrize("family", ["npy", "npz"])
def test_arrays_keep_their_type(family, tmp_path):
    path, target = tmp_path / f"a.{family}", tmp_path / f"b.{family}"
    mask = np.array([[True, False], [False, False]])
    for dtype, expected in (("float32", "float32"), ("int16", "float64"), ("bool", "float64")):
        save(path, np.array([[1, 0], [1, 1]], dtype=dtype))
        rewrite(path, target, (0, 1), np.full((2, 2), 0.25), mask)
        back = load(target)
        assert back.dtype == expected
        assert back.tolist() == [[0.25 if dtype == "float32" else 0, 0], [1, 1]]
    np.save(tmp_path / "f.npy", np.asfortranarray(VALUES))
    rewrite(tmp_path / "f.npy", tmp_path / "g.npy", (0,), np.zeros((3, 1)), np.zeros((3, 1), dtype=bool))
    assert np.array_equal(np.load(tmp_path / "g.npy"), VALUES)


@pytest.mark.parametrize("dtype", [">f4", "float16", ">i2", "uint8"])
@pytest.mark.parametrize("wanted", ENDINGS)
def test_any_type_of_numbers_becomes_any_format(dtype, wanted, tmp_path):
    values = np.arange(6).reshape(3, 2).astype(dtype)
    np.save(tmp_path / "a.npy", values)
    mask = np.array([[False, False], [True, False], [False, False]])
    rewrite(tmp_path / "a.npy", tmp_path / f"b.{wanted}", (0, 1), np.full((3, 2), 0.25), mask)
    assert load(tmp_path / f"b.{wanted}").tolist() == [[0, 1], [0.25 if values.dtype.kind == "f" else 0, 3], [4, 5]]


def test_archives_hold_one_array(tmp_path):
    np.savez(tmp_path / "a.npz", train=VALUES, test=VALUES + 1)
    with pytest.raises(InputError, match="must hold one array, and it holds train, test"):
        FileTable([str(tmp_path / "a.npz")])
    np.savez(tmp_path / "none.npz")
    with pytest.raises(InputError, match="must hold one array, and it holds none"):
        FileTable([str(tmp_path / "none.npz")])


def test_files_that_cannot_be_read(tmp_path):
    np.save(tmp_path / "objects.npy", np.array([[{}]]), allow_pickle=True)
    np.save(tmp_path / "cube.npy", np.zeros((2, 2, 2)))
    np.save(tmp_path / "large.npy", np.array([[2**60]]))
    np.save(tmp_path / "complex.npy", np.array([[1j]]))
    np.save(tmp_path / "short.npy", VALUES)
    (tmp_path / "short.npy").write_bytes((tmp_path / "short.npy").read_bytes()[:-1])
    pq.write_table(pa.table({"a": ["x"]}), tmp_path / "words.parquet")
    pq.write_table(pa.table({"a": [2**60]}), tmp_path / "large.parquet")
    pq.write_table(pa.table({"a": [1.0, np.inf]}), tmp_path / "infinite.parquet")
    pq.write_table(pa.table({"a": np.arange(1000.0)}), tmp_path / "damaged.parquet", compression="gzip")
    data = bytearray((tmp_path / "damaged.parquet").read_bytes())
    data[40:900] = bytes(860)
    (tmp_path / "damaged.parquet").write_bytes(data)
    (tmp_path / "text.parquet").write_text("a,b")
    (tmp_path / "text.npz").write_text("a,b")
    (tmp_path / "text.feather").write_text("a,b")
    (tmp_path / "file.xlsx").touch()
    (tmp_path / "file").touch()
    messages = {
        "objects.npy": "Python objects",
        "cube.npy": "Reshape",
        "large.npy": "beyond 2",
        "complex.npy": "holds complex128, not numbers",
        "short.npy": "truncated",
        "words.parquet": "do not hold numbers: 'a' .text.*--passthrough",
        "large.parquet": "beyond 2.*--passthrough",
        "infinite.parquet": "infinite.parquet, row 1, column 'a': inf",
        "damaged.parquet": "damaged",
        "text.parquet": "cannot be read as parquet",
        "text.npz": "cannot be read as npz",
        "text.feather": "cannot be read as feather",
        "absent.csv": "does not exist",
        "file.xlsx": "only .csv, .tsv",
        "file": "no ending that names a format",
    }
    for name, message in messages.items():
        with pytest.raises(InputError, match=message):
            list(FileTable([str(tmp_path / name)]).batches((0,)))


def test_texts_do_not_become_arrays(tmp_path):
    (tmp_path / "a.csv").write_text("x,name\n1,one\n")
    pq.write_table(pa.table({"x": [1.0], "name": ["one"]}), tmp_path / "a.parquet")
    for name in ("a.csv", "a.parquet"):
        with pytest.raises(InputError, match="cannot become an array"):
            rewrite(tmp_path / name, tmp_path / "a.npy", (0,), np.zeros((1, 1)), np.zeros((1, 1), dtype=bool))


def test_tables_without_rows_keep_their_columns(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n")
    for ending in ("csv", "parquet", "feather", "npy"):
        rewrite(tmp_path / "a.csv", tmp_path / f"b.{ending}", (0, 1), np.zeros((0, 2)), np.zeros((0, 2), dtype=bool))
    assert pd.read_parquet(tmp_path / "b.parquet").columns.tolist() == ["x", "y"]
    assert (tmp_path / "b.csv").read_text() == "x,y\n"


def test_columns_by_name_and_pattern(tmp_path):
    rows = np.random.default_rng(0).normal(size=(3, 5))
    pd.DataFrame(rows, columns=["id", "s1", "s2", "[odd]", "note"]).to_csv(tmp_path / "a.csv", index=False)
    table = FileTable([str(tmp_path / "a.csv")])
    assert choose_columns(table)[0] == (0, 1, 2, 3, 4)
    assert choose_columns(table, ["s?"])[0] == (1, 2)
    assert choose_columns(table, ["note", "s1"])[0] == (1, 4)
    assert choose_columns(table, ["[odd]"])[0] == (3,)
    assert choose_columns(table, (), ["id", "note"])[0] == (1, 2, 3)
    with pytest.raises(ColumnsError, match="No column is called or matches 't\\*'"):
        choose_columns(table, ["t*"])
    with pytest.raises(ColumnsError, match="No column is left"):
        choose_columns(table, (), ["*"])


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_columns_of_integers_stay_integers(ending, tmp_path, monkeypatch):
    monkeypatch.setattr(arrow_module, "CELLS_IN_BATCH", 20)
    source, target = tmp_path / f"in.{ending}", tmp_path / f"out.{ending}"
    n_rows = 12
    frame = pd.DataFrame(
        {
            "kept": np.arange(n_rows, dtype=np.int16) ** 2,
            "with nulls": pd.array([None, *range(1, n_rows)], dtype="UInt8"),
            "large": np.arange(n_rows)[::-1] * 3,
            "flag": np.arange(n_rows) % 3 == 0,
            "x": np.float32(np.arange(n_rows) / 10),
        }
    )
    frame.to_parquet(source) if ending == "parquet" else frame.to_feather(source)
    mask = np.zeros((n_rows, 5), dtype=bool)
    mask[[2, 11]] = True
    filled = np.full((n_rows, 5), np.nan)
    filled[2] = 6.6, 300, 1e300, 0.7, 0.5
    filled[11] = -6.6, -0.1, -1e300, -3, 1.5
    rewrite(source, target, (0, 1, 2, 3, 4), filled, mask)
    back = (pq.read_table if ending == "parquet" else pyarrow.feather.read_table)(target)
    assert [str(kind) for kind in back.schema.types] == ["int16", "uint8", "int64", "bool", "float"]
    rows = frame.astype(object).where(frame.notna(), None).to_numpy()
    rows[2] = 7, 255, 2**53, True, 0.5
    rows[11] = -7, 0, -(2**53), False, 1.5
    assert [column.to_pylist() for column in back.columns] == rows.T.tolist()


@pytest.mark.parametrize("ending", ENDINGS)
def test_places_and_cells_of_rows(ending, tmp_path, monkeypatch):
    monkeypatch.setattr(arrow_module, "CELLS_IN_BATCH", 6)
    monkeypatch.setattr(csv_module, "BLOCK_BYTES", 20)
    save(tmp_path / f"a.{ending}")
    batches = list(FileTable([str(tmp_path / f"a.{ending}")]).batches((2, 0)))
    assert np.array_equal(np.concatenate([batch.values for batch in batches]), VALUES[:, [2, 0]])
    assert len(batches) > 1
    assert batches[-1].done == 1
    last = len(batches[-1]) - 1
    assert batches[-1].places[last].endswith(", line 4" if ending in ("csv", "tsv") else ", row 2")
    assert float(batches[-1].table.column(2)[last].as_py()) == 7


@pytest.mark.parametrize("ending", ENDINGS)
def test_masks_with_the_ids_of_their_rows(ending, tmp_path):
    mask = {"a": np.array([True, False]), "b": np.array([False, False])}
    target = tmp_path / f"mask.{ending}"
    with open(target, "w+b") as file:
        writer = open_writer(str(target), file)
        for _ in range(2):
            writer.write_table(pa.table(mask))
        writer.close()
    table = FileTable([str(target)])
    values = np.concatenate([batch.values for batch in table.batches((0, 1))])
    assert values.tolist() == [[1, 0], [0, 0]] * 2
    if ending.startswith("np"):
        assert load(target).dtype == bool


def test_missing_columns_of_a_model_are_named(tmp_path):
    save(tmp_path / "a.csv")
    table = FileTable([str(tmp_path / "a.csv")])
    assert table.positions(["c2", "c0"]) == (2, 0)
    with pytest.raises(ColumnsError, match="missing: 'd', 'e'. Rename"):
        table.positions(["d", "c0", "e"])


def test_files_that_differ_in_type(tmp_path):
    pq.write_table(pa.table({"x": pa.array([1, 2], pa.int64()), "y": [0.5, 1.5]}), tmp_path / "a.parquet")
    pq.write_table(
        pa.table({"x": pa.array([3], pa.int16()), "y": pa.array([2.5], pa.float32())}), tmp_path / "b.parquet"
    )
    pq.write_table(pa.table({"x": pa.array([3.5]), "y": ["text"]}), tmp_path / "c.parquet")
    for names, chosen in (("ab", (0, 1)), ("ac", (0,))):
        table = FileTable([str(tmp_path / f"{name}.parquet") for name in names])
        with open(tmp_path / "out.parquet", "w+b") as file:
            writer = open_writer("out.parquet", file, like=table)
            batches = list(table.batches(chosen))
            writer.write(batches[0], batches[0].values, np.zeros(batches[0].values.shape, dtype=bool))
            mask = np.zeros(batches[1].values.shape, dtype=bool)
            if names == "ac":
                with pytest.raises(InputError, match="columns differ in type cannot become one"):
                    writer.write(batches[1], batches[1].values, mask)
                continue
            writer.write(batches[1], batches[1].values, mask)
            writer.close()
        assert pq.read_table(tmp_path / "out.parquet").to_pydict() == {"x": [1, 2, 3], "y": [0.5, 1.5, 2.5]}


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_typed_tables_without_rows(ending, tmp_path):
    empty = pa.table({"n": pa.array([], pa.int32()), "name": pa.array([], pa.string())})
    write = pq.write_table if ending == "parquet" else pyarrow.feather.write_feather
    write(empty, tmp_path / f"in.{ending}")
    (batch,) = FileTable([str(tmp_path / f"in.{ending}")]).batches((0,))
    assert (batch.values.shape, batch.done) == ((0, 1), 1.0)
    rewrite(tmp_path / f"in.{ending}", tmp_path / "out.parquet", (0,), np.zeros((0, 1)), np.zeros((0, 1), dtype=bool))
    assert pq.read_table(tmp_path / "out.parquet").schema.types == empty.schema.types


def test_other_types_become_text(tmp_path):
    table = pa.table(
        {
            "category": pa.array(["a", None, "b,c"]).dictionary_encode(),
            "when": pa.array([0, None, 86_400_000], pa.timestamp("ms")),
            "x": [0.5, 1.5, None],
        }
    )
    pq.write_table(table, tmp_path / "in.parquet")
    rewrite(tmp_path / "in.parquet", tmp_path / "out.csv", (2,), np.zeros((3, 1)), np.zeros((3, 1), dtype=bool))
    assert (tmp_path / "out.csv").read_text() == (
        'category,when,x\na,1970-01-01 00:00:00.000,0.5\n,,1.5\n"b,c",1970-01-02 00:00:00.000,\n'
    )


def test_missing_flags_and_integers_are_nan(tmp_path):
    table = pa.table({"flag": [True, None, False], "n": [1, None, 3], "none": pa.nulls(3), "x": [None, 0.5, 1.5]})
    pq.write_table(table, tmp_path / "a.parquet")
    (batch,) = FileTable([str(tmp_path / "a.parquet")]).batches((0, 1, 2, 3))
    expected = [[1, 1, np.nan, np.nan], [np.nan, np.nan, np.nan, 0.5], [0, 3, np.nan, 1.5]]
    assert np.array_equal(batch.values, expected, equal_nan=True)


def test_a_repaired_cell_of_parquet_looks_as_its_neighbours_in_csv(tmp_path):
    columns = {"x": [2.5, 3.5, 0.1], "small": np.float32([0.1, 0.2, 0.3]), "n": [1, None, 3], "flag": [True] * 3}
    pq.write_table(pa.table(columns), tmp_path / "in.parquet")
    mask = np.array([[False] * 4, [True] * 4, [False] * 4])
    filled = np.tile([4.25, 0.7, 6.6, 0.2], (3, 1))
    rewrite(tmp_path / "in.parquet", tmp_path / "out.csv", (0, 1, 2, 3), filled, mask)
    assert (tmp_path / "out.csv").read_text() == "x,small,n,flag\n2.5,0.1,1,1\n4.25,0.7,7,0\n0.1,0.3,3,1\n"
