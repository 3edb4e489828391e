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
from treemend import TCS, Mender
from treemend.mender import one_table


@pytest.fixture
def expected(frames):
    clean, suspect = frames
    return Mender().fit(clean).mend(suspect[NAMES], on_drift="repair")


def test_mend_with_a_model(model, treemend, frames, expected):
    code, out, err = treemend(
        "mend", "suspect.csv", "-m", model, "-o", "out.csv", "--mask", "mask.csv", "--json", "found.json"
    )
    assert (code, out) == (0, "")
    assert err == f"out.csv: {expected.summary()['headline']}\n"
    repaired = read_csv("out.csv")
    assert repaired["id"].tolist() == frames[1]["id"].tolist()
    assert np.array_equal(repaired[NAMES], expected.repaired)
    mask = read_csv("mask.csv")
    assert mask["id"].tolist() == frames[1]["id"].tolist()
    assert np.array_equal(mask[NAMES].astype(bool), expected.mask)
    before, after = (Path(name).read_bytes().splitlines() for name in ("suspect.csv", "out.csv"))
    assert [old == new for old, new in zip(before[1:], after[1:], strict=True)] == (~expected.corrupted).tolist()
    found = json.loads(Path("found.json").read_text())
    assert found["summary"]["totals"]["corrupted_rows"] == expected.corrupted.sum() >= 2
    assert found["summary"]["totals"]["unusual_rows"] == expected.unusual.sum()
    assert found["summary"]["totals"]["cells"] == 320
    assert found["summary"]["rows"][0]["id"].startswith("suspect.csv, line ")
    assert sum(found["summary"]["columns"]["corrupted"]) == found["summary"]["totals"]["corrupted_cells"]
    assert found["summary"]["rule"]["rate"] == 0.05
    assert found["summary"]["rule"]["reference_rows"] == 200
    assert found["reference"] == "model"
    assert sorted(os.listdir()) == sorted(
        ["clean.csv", "suspect.csv", "suspect.parquet", "model.safetensors", "out.csv", "mask.csv", "found.json"]
    )


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "feather"])
def test_in_one_go_into_any_format(ending, folder, treemend, expected):
    code, _, _ = treemend("mend", "suspect.parquet", "--clean", "clean.csv", "-o", f"out.{ending}", "-q")
    assert code == 0
    readers = {"parquet": pd.read_parquet, "feather": pd.read_feather, "tsv": lambda path: read_csv(path, sep="\t")}
    repaired = readers.get(ending, read_csv)(f"out.{ending}")
    assert np.array_equal(repaired[NAMES], expected.repaired)


def test_arrays(folder, treemend, frames, expected):
    np.save("clean.npy", frames[0])
    np.savez("suspect.npz", rows=frames[1][NAMES].to_numpy(dtype=np.float32))
    assert treemend("fit", "clean.npy", "-o", "model")[0] == 0
    assert treemend("mend", "suspect.npz", "-m", "model", "-o", "out.npy", "--mask", "m.npz")[0] == 0
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
    assert json.loads(Path("found.json").read_text())["reference"] == "the table itself"


def test_a_large_table_is_judged_by_a_sample_as_in_python(folder, treemend, frames, monkeypatch):
    from treemend.cli import reference

    for module in (one_table, reference):
        monkeypatch.setattr(module, "MOST_REFERENCE_ROWS", 150)
    frame = pd.concat([frames[1][NAMES], frames[0]], ignore_index=True)
    frame.to_csv("table.csv", index=False)
    for rule in ([], ["--fdr", "0.1"]):
        code, _, err = treemend("mend", "table.csv", "-o", "out.csv", "--json", "found.json", "-f", *rule)
        assert code == 0
        assert "a random 150 of 220 rows are the reference" in err
        expected = package.mend(frame, fdr=0.1 if rule else None)
        assert np.array_equal(read_csv("out.csv"), expected.repaired)
        assert json.loads(Path("found.json").read_text())["summary"]["totals"] == expected.summary()["totals"]
        assert rule or expected.corrupted[[1, 7]].all()


def test_a_smaller_sample_can_be_asked_for(folder, treemend, frames):
    frame = pd.concat([frames[0], frames[1][NAMES]], ignore_index=True)
    frame.to_csv("table.csv", index=False)
    code, _, err = treemend("check", "table.csv", "--reference-rows", 100, "--json", "found.json")
    assert "a random 100 of 220 rows" in err
    assert json.loads(Path("found.json").read_text())["summary"]["rule"]["reference_rows"] <= 100
    assert treemend("fit", "clean.csv", "--reference-rows", 100, "-o", "m")[2].endswith(
        "learnt from 100 rows of 16 columns\n"
    )


def test_false_discovery_rate(model, treemend, frames):
    mender = Mender().fit(frames[0])
    expected = mender.mend(frames[1][NAMES], fdr=0.2, on_drift="repair")
    assert 0 < expected.corrupted.sum() < 20
    code, _, _ = treemend("mend", "suspect.csv", "-m", model, "--fdr", 0.2, "-o", "out.csv", "--json", "found.json")
    assert code == 0
    assert np.array_equal(read_csv("out.csv")[NAMES], expected.repaired)
    rule = json.loads(Path("found.json").read_text())["summary"]["rule"]
    assert (rule["name"], rule["value"]) == ("fdr", 0.2)
    expected = mender.mend(frames[1][NAMES], fdr=0.7, on_drift="repair")
    assert treemend("mend", "suspect.csv", "-m", model, "--fdr", 0.7, "-o", "more.csv", "--force")[0] == 0
    assert np.array_equal(read_csv("more.csv")[NAMES], expected.repaired)
    frames[0][:30].to_csv("fine.csv", index=False)
    assert treemend("check", "fine.csv", "-m", model, "--fdr", 1e-6, "-q") == (0, "", "")
    table = np.vstack([frames[0][:100], frames[1][NAMES][:1]])
    table[-1, 2:6] += 100 * np.ptp(table[:, 2:6], axis=0) * [1, -1, 1, -1]
    pd.DataFrame(table, columns=NAMES).to_csv("one.csv", index=False)
    p_value = mender.p_values(pd.DataFrame(table, columns=NAMES))[-1]
    assert p_value < 1 / (len(frames[0]) + 1)
    assert treemend("check", "one.csv", "-m", model, "--fdr", 1.1 * 101 * p_value, "-q")[0] == 1


def test_another_rate_needs_no_other_model(model, treemend, frames):
    code, _, _ = treemend("mend", "suspect.csv", "-m", model, "-r", 0.3, "-o", "out.csv", "--json", "found.json")
    assert code == 0
    expected = Mender(false_alarm_rate=0.3).fit(frames[0]).mend(frames[1][NAMES], on_drift="repair")
    assert np.array_equal(read_csv("out.csv")[NAMES], expected.repaired)
    assert json.loads(Path("found.json").read_text())["summary"]["rule"]["rate"] == 0.3


def test_models_of_the_published_method(folder, treemend, frames):
    published = TCS(false_alarm_rate=0.2).fit(frames[0])
    published.save("tcs.safetensors")
    expected = published.mend(frames[1][NAMES])
    assert expected.corrupted.any()
    code, _, err = treemend("mend", "suspect.csv", "-m", "tcs.safetensors", "-o", "out.csv", "--report", "r.html")
    assert code == 0, err
    assert np.array_equal(read_csv("out.csv")[NAMES], expected.repaired)
    assert "method       TCS" in treemend("inspect", "tcs.safetensors")[1]
    for option, message in (("-r", "set by fit"), ("--fdr", "p-values")):
        code, _, err = treemend("check", "suspect.csv", "-m", "tcs.safetensors", option, "0.1")
        assert (code, message in err) == (2, True)


def test_check_is_a_gate(model, treemend, frames, expected):
    code, out, _ = treemend("check", "suspect.parquet", "-m", model)
    lines = out.splitlines()
    assert lines[0].startswith(f"Corrupted values were found in {expected.corrupted.sum()} of 20 rows")
    assert "suspect.parquet, row 7: s0 to s7 (noise)" in out
    usual = "99% of clean files of this size have at most "
    assert usual in lines[-1]
    n_found = max(expected.corrupted.sum(), expected.unusual.sum())
    assert code == (n_found > int(lines[-1].split(usual)[1].split()[0]))
    assert treemend("check", "suspect.csv", "-m", model, "--fail-above", "0.05")[0] == 1
    code, out, _ = treemend("check", "suspect.csv", "-m", model, "--fail-above", "0.9")
    assert (code, "passes" in out, "90% allowed" in out) == (0, True, True)
    assert treemend("check", "suspect.csv", "-m", model, "--fdr", "0.1")[0] == 1


def test_check_passes_clean_files_and_fails_dirty_ones(model, treemend):
    from treemend.synthetic import corrupt, stretch_masks, waves

    passed = 0
    for seed in range(10):
        rows = waves(200, 16, rng=1000 + seed, noise=0.02)
        pd.DataFrame(rows, columns=NAMES).to_csv("fresh.csv", index=False)
        code, out, _ = treemend("check", "fresh.csv", "-m", model)
        passed += code == 0
        assert out.splitlines()[-1].startswith("passes" if code == 0 else "fails")
    assert passed >= 9
    rows[:60] = corrupt("noise", rows[:60], stretch_masks(60, 16), rng=0)
    pd.DataFrame(rows, columns=NAMES).to_csv("dirty.csv", index=False)
    assert treemend("check", "dirty.csv", "-m", model, "-q") == (1, "", "")


def test_rows_that_the_reference_does_not_cover_are_left_alone(model, treemend, frames):
    moved = frames[0].assign(s3=frames[0]["s3"] + 4)
    moved.to_csv("moved.csv", index=False)
    code, out, err = treemend("mend", "moved.csv", "-m", model, "-o", "out.csv", "--report", "r.html")
    assert (code, out) == (6, "")
    assert "does not seem to cover moved.csv" in err
    assert "s3" in err
    assert "give --force" in err
    assert not Path("out.csv").exists()
    assert not Path("r.html").exists()
    assert treemend("mend", "moved.csv", "-m", model, "-o", "-")[:2] == (6, "")
    code, _, err = treemend("mend", "moved.csv", "-m", model, "-o", "out.csv", "--json", "found.json", "--force")
    assert (code, "note: The reference does not seem to cover" in err) == (0, True)
    found = json.loads(Path("found.json").read_text())
    assert found["drift"]
    assert found["drift"][0] in found["summary"]["warnings"]
    code, out, _ = treemend("check", "moved.csv", "-m", model)
    assert (code, "fails: the reference does not cover the rows" in out) == (1, True)


def test_most_rows_declared_is_not_repaired_either(model, treemend, frames):
    rng = np.random.default_rng(0)
    rows = frames[0][:25].copy()
    for row in range(20):
        start = row % 12
        rows.iloc[row, start : start + 4] = rng.uniform(-2, 2, 4)
    rows.to_csv("dirty.csv", index=False)
    code, _, err = treemend("mend", "dirty.csv", "-m", model, "-o", "out.csv")
    assert (code, "% of the rows are corrupted or unusual" in err) == (6, True)
    assert treemend("mend", "dirty.csv", "-m", model, "-o", "out.csv", "--force")[0] == 0


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_findings_are_a_table_with_the_rows_ids(ending, model, treemend, frames, expected):
    name = f"findings.{ending}"
    assert treemend("mend", "suspect.csv", "-m", model, "-o", "o.csv", "--findings", name, "-q")[0] == 0
    lines = read_csv(name) if ending == "csv" else pd.read_parquet(name)
    table = pd.DataFrame(expected.findings_table())
    assert lines["row"].tolist() == table["row"].tolist()
    assert lines["first_column"].tolist() == table["first_column"].tolist()
    assert np.array_equal(lines["p_value"], table["p_value"])
    assert lines["id"].tolist() == frames[1]["id"][table["row"]].tolist()
    assert lines["place"].tolist() == [f"suspect.csv, line {row + 2}" for row in table["row"]]


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
    for line in (
        "16: s0, s1",
        "200 rows",
        "written by   treemend",
        "checksum matches",
        "method       Mender",
        "imputation",
    ):
        assert line in out


def test_demo_and_version(folder, treemend):
    code, out, _ = treemend("demo", "-o", "picture.png")
    assert code == 0
    assert "occluded digits found" in out
    assert os.path.getsize("picture.png") > 1000
    assert treemend("--version") == (0, f"treemend {package.__version__}\n", "")


def test_compile_says_what_it_does(treemend):
    code, out, err = treemend("compile")
    assert (code, out) == (0, "")
    assert err.splitlines()[-1].startswith("everything is compiled (")


def test_compilation_is_said_in_one_line(capsys):
    import numba

    from treemend.cli.app import compilation_said

    for quiet, told in ((False, "compiling, once on this machine\n"), (True, "")):
        with compilation_said(quiet=quiet):
            assert numba.njit(lambda x: x + 1)(1) == 2
            assert numba.njit(lambda x: x + 2)(1) == 3
        assert capsys.readouterr().err == told


def test_quiet_is_quiet(folder, treemend):
    assert treemend("fit", "clean.csv", "-o", "m", "--quiet") == (0, "", "")
    assert treemend("mend", "suspect.csv", "-m", "m", "-o", "o.csv", "--quiet") == (0, "", "")


def test_parameters_are_plain_options(folder, treemend):
    code, _, _ = treemend(
        "fit", "clean.csv", "-o", "m", "--layout", "4x4", "--contaminated", "--imputation", "mode", "--seed", 7,
        "-r", "0.1", "-j", "1",
    )  # fmt: skip
    assert code == 0
    loaded = package.load("m").get_params()
    wanted = {
        "layout": (4, 4), "contaminated": True, "imputation": "mode", "random_state": 7, "false_alarm_rate": 0.1,
        "n_jobs": 1,
    }  # fmt: skip
    assert {name: loaded[name] for name in wanted} == wanted


def test_columns_that_are_not_looked_at_are_remembered(folder, treemend, frames):
    frames[0].assign(id="x").to_csv("ids.csv", index=False)
    for option in ([], ["-p", "id"]):
        code, _, err = treemend("fit", "ids.csv", "-o", "m", "-f", *option)
        assert (code, "ids.csv: passed through: 'id' (id)" in err) == (0, not option)
        mender = package.load("m")
        assert mender.passthrough == ["id"]
        assert mender.mend(frames[1]).repaired["id"].tolist() == frames[1]["id"].tolist()


def test_an_exported_spreadsheet_needs_no_option(folder, treemend, frames):
    """Semicolons, decimal commas, a byte-order mark, ids, times, text and empty cells."""
    rows = pd.concat([frames[1][NAMES], frames[0]], ignore_index=True)
    rows.insert(0, "nr", range(1, len(rows) + 1))
    rows.insert(1, "measured", pd.date_range("2024-03-01", periods=len(rows), freq="h").astype(str))
    rows["remark"] = np.where(np.arange(len(rows)) % 7 == 0, "checked; ok", "")
    rows.loc[3, "s2"] = np.nan
    rows.to_csv("export.csv", index=False, sep=";", decimal=",", encoding="utf-8-sig")
    code, _, err = treemend("mend", "export.csv", "-o", "fixed.csv")
    assert code == 0, err
    assert "passed through: 'nr'" in err
    assert "1 missing value filled" in err
    fixed = read_csv("fixed.csv", sep=";", decimal=",", encoding="utf-8-sig")
    assert fixed["remark"].fillna("").tolist() == rows["remark"].tolist()
    assert fixed["measured"].tolist() == rows["measured"].tolist()
    assert fixed[NAMES].notna().all(axis=None)
    assert (fixed.loc[1, NAMES] != rows.loc[1, NAMES]).any()


def test_odd_column_names_do_no_harm(folder, treemend, frames):
    odd = {"s0": "<script>alert(1)</script>", "s1": "[bold]x[/]", "s7": "\x1b[2J", "s3": "a,b"}
    frames[0].rename(columns=odd).to_csv("c.csv", index=False)
    frames[1].rename(columns=odd).to_csv("s.csv", index=False)
    assert treemend("fit", "c.csv", "-o", "m")[0] == 0
    code, out, err = treemend("check", "s.csv", "-m", "m", "--fail-above", "0")
    assert code == 1
    assert "line 9: <script>alert(1)</script> to \\x1b[2J (noise)" in out
    assert "\x1b" not in out + err + treemend("inspect", "m")[1]
    assert treemend("mend", "s.csv", "-m", "m", "-o", "o.csv")[0] == 0
    assert Path("o.csv").read_text().splitlines()[0] == Path("s.csv").read_text().splitlines()[0]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_columns_of_integers_get_integers(ending, folder, treemend, frames):
    clean, suspect = ((frame[NAMES] * 100).round() for frame in frames)
    clean.astype(int).to_csv("counts.csv", index=False)
    suspect = suspect.fillna(0).astype(int)
    suspect.to_csv("now.csv", index=False)
    suspect.to_parquet("now.parquet")
    code, _, err = treemend("mend", f"now.{ending}", "--clean", "counts.csv", "-o", f"out.{ending}", "--json", "j.json")
    assert code == 0
    notes = [line for line in err.splitlines() if "rounded" in line]
    assert len(notes) == 1
    assert f"note: now.{ending}: rounded in columns of integers: 's" in notes[0]
    repaired = pd.read_parquet("out.parquet") if ending == "parquet" else read_csv("out.csv")
    assert repaired.dtypes.tolist() == suspect.dtypes.tolist()
    assert (repaired != suspect).to_numpy().any()
    rows = json.loads(Path("j.json").read_text())["summary"]["rows"]
    assert all(value == round(value) for row in rows for value in row["after"])
