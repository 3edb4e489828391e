import io
import json
import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.conftest import NAMES, read_csv

import treemend as package
from treemend import TreeMender
from treemend.cli import learning


@pytest.fixture
def expected(frames):
    clean, suspect = frames
    return TreeMender().fit(clean).mend(suspect[NAMES])


def test_mend_with_a_model(model, treemend, frames, expected):
    code, out, err = treemend(
        "mend", "suspect.csv", "-m", model, "-o", "out.csv", "--mask", "mask.csv", "--json", "found.json"
    )
    assert (code, out) == (0, "")
    assert err == f"out.csv: {expected.corrupted.sum()} of 20 rows hold something overwritten, " + (
        f"{np.asarray(expected.mask).sum()} cells in all\n"
    )
    repaired = read_csv("out.csv")
    assert repaired["id"].tolist() == frames[1]["id"].tolist()
    assert np.array_equal(repaired[NAMES], expected.repaired)
    assert np.array_equal(read_csv("mask.csv").astype(bool), expected.mask)
    before, after = (Path(name).read_bytes().splitlines() for name in ("suspect.csv", "out.csv"))
    assert [old == new for old, new in zip(before[1:], after[1:], strict=True)] == (~expected.corrupted).tolist()
    found = json.loads(Path("found.json").read_text())
    assert found["summary"]["totals"]["touched_rows"] == expected.corrupted.sum()
    assert found["summary"]["totals"]["cells"] == 320
    assert found["summary"]["rows"][0]["id"].startswith("suspect.csv, line ")
    assert sum(found["summary"]["attributes"]["found"]) == found["summary"]["totals"]["found_cells"]
    assert found["reference"] == {"kind": "model", "rows": 200, "set_aside": 0}
    assert sorted(os.listdir()) == sorted(
        ["clean.csv", "suspect.csv", "suspect.parquet", "model.safetensors", "out.csv", "mask.csv", "found.json"]
    )


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "feather"])
def test_in_one_go_into_any_kind(ending, folder, treemend, expected):
    code, _, _ = treemend("mend", "suspect.parquet", "--clean", "clean.csv", "-o", f"out.{ending}", "-q")
    assert code == 0
    readers = {"parquet": pd.read_parquet, "feather": pd.read_feather, "tsv": lambda path: read_csv(path, sep="\t")}
    repaired = readers.get(ending, read_csv)(f"out.{ending}")
    assert np.array_equal(repaired[NAMES], expected.repaired)


def test_arrays(folder, treemend, frames, expected):
    np.save("clean.npy", frames[0])
    np.savez("suspect.npz", other=np.zeros(3), rows=frames[1][NAMES].to_numpy(dtype=np.float32))
    assert treemend("fit", "clean.npy", "-o", "model")[0] == 0
    assert treemend("mend", "suspect.npz", "--array", "rows", "-m", "model", "-o", "out.npy", "--mask", "m.npz")[0] == 0
    assert np.load("out.npy").dtype == np.float32
    assert np.load("m.npz")["rows"].dtype == bool
    assert np.array_equal(np.load("m.npz")["rows"].any(axis=1), expected.corrupted)
    assert treemend("mend", "suspect.csv", "-c", "s*", "-m", "model", "-o", "out.csv")[0] == 0
    assert np.array_equal(read_csv("out.csv")[NAMES], expected.repaired)


def test_standard_streams(model, treemend, monkeypatch):
    assert treemend("mend", "suspect.csv", "-m", model, "-o", "out.csv")[0] == 0
    given, wanted = Path("suspect.csv").read_bytes(), Path("out.csv").read_text()
    for reference in (["-m", model], ["--clean", "clean.csv"]):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        code, out, err = treemend("mend", "-", *reference, "-o", "-")
        assert (code, out) == (0, wanted)
        assert err.startswith("standard output: ")


def test_the_table_as_its_own_reference(folder, treemend, frames, monkeypatch):
    frame = pd.concat([frames[0], frames[1][NAMES]], ignore_index=True)
    frame.to_csv("table.csv", index=False)
    wanted = package.mend(frame).repaired
    code, _, err = treemend("mend", "table.csv", "-o", "out.csv")
    assert code == 0
    assert "its own reference" in err
    assert np.array_equal(read_csv("out.csv"), wanted)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path("table.csv").read_bytes())))
    code, out, _ = treemend("mend", "-", "-o", "-", "--json", "found.json")
    assert np.array_equal(read_csv(io.StringIO(out)), wanted)
    assert json.loads(Path("found.json").read_text())["reference"]["kind"] == "the table itself"


def test_a_sample_of_the_table_as_its_reference(folder, treemend, frames):
    frame = pd.concat([frames[0], frames[1][NAMES]], ignore_index=True)
    frame.to_csv("table.csv", index=False)
    code, _, err = treemend("check", "table.csv", "--reference-rows", 100, "--json", "found.json")
    assert code == 1
    assert "a random 100 of 220 rows" in err
    reference = json.loads(Path("found.json").read_text())["reference"]
    assert reference["rows"] + reference["set_aside"] == 100


def test_samples_are_fair():
    rng = np.random.default_rng(0)
    counts = np.zeros(30)
    for _ in range(2000):
        sample, places = np.empty((0, 1)), np.empty(0, dtype=np.int64)
        for first in range(0, 30, 7):
            ranks = np.arange(first, min(30, first + 7))
            sample, places = learning._sampled(sample, places, ranks[:, None].astype(float), ranks, first, 6, rng)
        assert np.array_equal(sample[:, 0], places)
        assert len(set(places)) == 6
        counts[places] += 1
    assert abs(counts / 2000 - 0.2).max() < 0.05


def test_check_tells_pipelines(model, treemend, frames, expected):
    code, out, _ = treemend("check", "suspect.parquet", "-m", model)
    assert code == 1
    assert out.startswith(f"{expected.corrupted.sum()} of 20 rows")
    assert "suspect.parquet, row 7: s0 to s7, like noise\n" in out
    frames[1][~expected.corrupted].to_csv("fine.csv", index=False)
    assert treemend("check", "fine.csv", "-m", model, "--quiet") == (0, "", "")


def test_several_files_are_one_table(model, treemend, frames):
    frames[1][:10].to_parquet("a.parquet")
    os.mkdir("parts")
    frames[1][10:].to_parquet("parts/b.parquet")
    assert treemend("mend", "a.parquet", "parts", "-m", model, "-o", "two.csv")[0] == 0
    assert treemend("mend", "suspect.parquet", "-m", model, "-o", "one.csv")[0] == 0
    assert Path("two.csv").read_text() == Path("one.csv").read_text()


def test_inspect(model, treemend):
    code, out, _ = treemend("inspect", model)
    assert code == 0
    for line in ("200 rows x 16 columns", "version 1", "checksums match", "'s0' to 's7', 8 attributes", "alpha"):
        assert line in out


def test_demo_and_version(folder, treemend):
    code, out, _ = treemend("demo", "-o", "picture.png")
    assert code == 0
    assert "occluded digits found" in out
    assert os.path.getsize("picture.png") > 1000
    assert treemend("--version") == (0, f"treemend {package.__version__}\n", "")


def test_parameters_from_everywhere(folder, treemend):
    with open("p.toml", "w") as file:
        file.write('alpha = 0.5\ndepth = 2\nscale = "minmax"\n')
    code, _, _ = treemend(
        "fit", "clean.csv", "-o", "m", "--params", "p.toml", "--set", "depth=3", "--set", "scale=none",
        "--set", "imputation=nearest", "-r", "0.1", "-j", "1",
    )  # fmt: skip
    assert code == 0
    loaded = TreeMender.load("m")
    wanted = {
        "alpha": 0.5, "depth": 3, "scale": None, "imputation": "nearest", "false_alarm_rate": 0.1, "n_jobs": 1
    }  # fmt: skip
    assert {name: loaded.get_params()[name] for name in wanted} == wanted


def test_columns_that_are_not_looked_at_are_remembered(folder, treemend, frames):
    frames[0].assign(id="x").to_csv("ids.csv", index=False)
    assert treemend("fit", "ids.csv", "-p", "id", "-o", "m")[0] == 0
    mender = TreeMender.load("m")
    assert mender.passthrough == ["id"]
    assert mender.mend(frames[1]).repaired["id"].tolist() == frames[1]["id"].tolist()


def test_odd_column_names_do_no_harm(folder, treemend, frames):
    odd = {"s0": "<script>alert(1)</script>", "s1": "[bold]x[/]", "s7": "\x1b[2J", "s3": "a,b"}
    frames[0].rename(columns=odd).to_csv("c.csv", index=False)
    frames[1].rename(columns=odd).to_csv("s.csv", index=False)
    assert treemend("fit", "c.csv", "-o", "m")[0] == 0
    code, out, err = treemend("check", "s.csv", "-m", "m")
    assert code == 1
    assert "line 9: <script>alert(1)</script> to \\x1b[2J, like" in out
    assert "\x1b" not in out + err + treemend("inspect", "m")[1]
    assert treemend("mend", "s.csv", "-m", "m", "-o", "o.csv")[0] == 0
    assert Path("o.csv").read_text().splitlines()[0] == Path("s.csv").read_text().splitlines()[0]
