import bz2
import gzip
import io
import lzma

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from treemend.exceptions import InputError
from treemend.files.formats import Format, common_unit, format_of
from treemend.files.table import FileTable, open_writer

TEXT = b"x,y\n" + b"".join(b"%d,%d\n" % (row * row, row % 7) for row in range(5000))
DECOMPRESS = {
    "gz": gzip.decompress,
    "bz2": bz2.decompress,
    "xz": lzma.decompress,
    "zst": lambda data: pa.input_stream(io.BytesIO(data), compression="zstd").read(),
}


def write_columns(path, file, columns):
    writer = open_writer(path, file)
    writer.write_table(pa.table(columns))
    writer.close()


@pytest.mark.parametrize("ending", DECOMPRESS)
def test_compressed_files(ending, tmp_path):
    path = tmp_path / f"a.csv.{ending}"
    with open(path, "w+b") as file:
        write_columns(str(path), file, {"x": np.arange(5000) ** 2, "y": np.arange(5000) % 7})
        assert not file.closed
    assert DECOMPRESS[ending](path.read_bytes()) == TEXT
    table = FileTable([str(path)])
    for _ in range(2):
        values = np.concatenate([batch.values for batch in table.batches((0, 1))])
        assert values.tolist() == [[row * row, row % 7] for row in range(5000)]
    (tmp_path / f"b.csv.{ending}").write_bytes(path.read_bytes()[:-200])
    with pytest.raises(InputError, match="b.csv.*is damaged"):
        list(FileTable([str(tmp_path / f"b.csv.{ending}")]).batches((0, 1)))


def test_the_same_rows_give_the_same_compressed_bytes():
    files = [io.BytesIO(), io.BytesIO()]
    for file in files:
        write_columns("a.csv.gz", file, {"x": [1, 2]})
    assert files[0].getvalue() == files[1].getvalue()


def test_only_text_is_compressed():
    with pytest.raises(InputError, match="only text files can be. Decompress"):
        format_of("a.parquet.gz")
    with pytest.raises(InputError, match="'.xlsx', and only .csv.*Save it as CSV"):
        format_of("a.xlsx")
    assert format_of("-").family == "csv"
    assert format_of("a.b.CSV.GZ") == Format("csv", ",", ".gz")


def test_a_unit_stands_beside_every_number():
    assert common_unit(["48%", "", "7%"]) == ("", "%")
    assert common_unit(["48%", "7"]) is None


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_findings_as_a_table(ending, tmp_path):
    path = tmp_path / f"findings.{ending}"
    columns = {"row": [3, 5], "id": ["a, b", None], "p": [0.001, float("nan")], "found": [True, False]}
    with open(path, "w+b") as file:
        write_columns(str(path), file, columns)
    if ending == "csv":
        assert path.read_text() == 'row,id,p,found\n3,"a, b",0.001,1\n5,,,0\n'
    else:
        assert pq.read_table(path).select(["row", "id", "found"]).to_pydict() == {
            name: columns[name] for name in ("row", "id", "found")
        }
