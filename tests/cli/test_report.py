import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.conftest import NAMES, read_csv

import treemend as package
from treemend import Mender
from treemend.report import as_html


def told(path="found.json"):
    return json.loads(Path(path).read_text())


def test_report_and_json_are_one_summary(model, treemend, frames):
    code, out, _ = treemend(
        "mend", "suspect.csv", "-m", model, "-o", "out.csv", "--report", "report.html", "--json", "found.json"
    )
    assert (code, out) == (0, "")
    found = told()
    summary, page = found["summary"], Path("report.html").read_text()
    assert page == as_html(summary, "treemend report: suspect.csv")
    alone = Mender().fit(frames[0]).mend(frames[1][NAMES], on_drift="repair").summary()
    for row in alone["rows"] + alone["unusual_rows"]:
        row["id"] = f"suspect.csv, line {row['row'] + 2}"
    assert summary == json.loads(json.dumps(alone))
    assert {"treemend", "input", "output", "method", "reference", "parameters", "drift", "seconds"} < set(found)


def test_batches_make_no_difference(model, treemend, monkeypatch):
    from treemend.files import arrow

    for cells, name in ((1_000_000, "one"), (17 * 3, "many")):
        monkeypatch.setattr(arrow, "CELLS_IN_BATCH", cells)
        options = ("--json", name, "--findings", f"{name}.csv", "--fail-above", "0", "-q")
        assert treemend("check", "suspect.parquet", "-m", model, *options)[0] == 1
    assert told("one")["summary"]["rows"] == told("many")["summary"]["rows"]
    assert told("one")["summary"]["totals"] == told("many")["summary"]["totals"]
    assert Path("one.csv").read_bytes() == Path("many.csv").read_bytes()


def test_check_writes_a_report_and_nothing_else(model, treemend):
    before = set(Path().iterdir())
    assert treemend("check", "suspect.csv", "-m", model, "--fail-above", "0", "--report", "r.html")[0] == 1
    assert {path.name for path in set(Path().iterdir()) - before} == {"r.html"}
    code, out, err = treemend("check", "suspect.csv", "-m", model, "--fail-above", "0", "--json", "-")
    assert code == 1
    assert json.loads(out)["summary"]["totals"]["rows"] == 20
    assert "Corrupted values were found in" in err


def test_the_report_is_an_output_like_others(model, treemend):
    Path("r.html").write_text("mine")
    common = ("mend", "suspect.csv", "-m", model, "-o", "o.csv")
    code, _, err = treemend(*common, "--report", "r.html")
    assert code == 5
    assert "give --force" in err
    assert not Path("o.csv").exists()
    assert Path("r.html").read_text() == "mine"
    assert treemend(*common, "--report", "o.csv")[0] == 5
    assert treemend(*common, "--report", "suspect.csv", "--force")[0] == 5
    assert treemend(*common[:-1], "-", "--report", "-")[0] == 5
    assert treemend(*common, "--report", "r.html", "--force")[0] == 0
    assert Path("r.html").read_text().startswith("<!doctype html>")


def test_grids_show_images(folder, treemend):
    code, _, _ = treemend(
        "mend", "suspect.csv", "--clean", "clean.csv", "--layout", "4x4", "-o", "o.csv", "--json", "j", "--report", "r"
    )
    assert code == 0
    assert told("j")["summary"]["grid"] == [4, 4]
    assert told("j")["parameters"]["layout"] == [4, 4]


def test_names_and_formulas_do_no_harm(folder, treemend, frames):
    odd = {"s8": "<script>alert(1)</script>", "s10": '"><img src=x onerror=alert(1)>', "s11": "{{data}}"}
    frames[0].rename(columns=odd).to_csv("c.csv", index=False)
    suspect = frames[1].rename(columns=odd)
    suspect.insert(3, "text", "=1+1")
    suspect.to_csv("<b>s.csv", index=False)
    code, _, _ = treemend("mend", "<b>s.csv", "--clean", "c.csv", "-o", "o.csv", "--report", "r.html", "--json", "j")
    assert code == 0
    page = Path("r.html").read_text()
    assert "<script>alert" not in page
    assert "<img" not in re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert "<b>s.csv" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    repaired = read_csv("o.csv")
    assert (repaired["text"] == "=1+1").all()
    assert repaired.columns.tolist() == suspect.columns.tolist()


def test_labels_and_units_of_columns(model, treemend, frames):
    common = ("check", "--fail-above", "1", "-f", "--json", "found.json", "--report", "r.html")
    words = ("--label", "s9=Inlet", "--unit", "s*=mV", "--unit", "s9=°C")
    suspect = frames[1].copy()
    suspect["s3"] = [f"{value}%" for value in suspect["s3"]]
    suspect.to_csv("percent.csv", index=False)
    assert treemend(*common, "percent.csv", "-m", model, *words)[0] == 0
    columns = told()["summary"]["columns"]
    assert columns["names"][8:11] == ["s8", "Inlet", "s10"]
    assert columns["units"][8:11] == ["mV", "°C", "mV"]
    assert treemend(*common, "percent.csv", "-m", model)[0] == 0
    assert told()["summary"]["columns"]["units"] == ["%" if name == "s3" else "" for name in NAMES]
    np.save("rows.npy", frames[1][NAMES].to_numpy())
    assert treemend(*common, "rows.npy", "-m", model, "--unit", "*=V", "--label", "2=Outlet")[0] == 0
    columns = told()["summary"]["columns"]
    assert (columns["names"][2], set(columns["units"])) == ("Outlet", {"V"})
    assert treemend(*common, "rows.npy", "-c", "[2-9]", "--label", "5=Outlet")[0] == 0
    assert told()["summary"]["columns"]["names"][2:5] == ["column 4", "Outlet", "column 6"]
    shape = ("--layout", "4x4", "--unit", "*=V")
    assert treemend(*common, "rows.npy", *shape)[0] == 0
    assert set(told()["summary"]["columns"]["units"]) == {"V"}
    for wrong, message in (("mV", "--unit must be NAME=UNIT, got 'mV'"), ("x=mV", "no column is called 'x'")):
        code, _, err = treemend(*common, "suspect.csv", "-m", model, "--unit", wrong)
        assert (code, message in err) == (2, True), err


def test_clean_rows_need_not_have_what_is_passed_through(folder, treemend):
    common = ("mend", "suspect.csv", "--clean", "clean.csv", "-o", "o.csv")
    assert treemend(*common, "-p", "id")[0] == 0
    code, _, err = treemend(*common, "-f", "-p", "nobody")
    assert code == 3
    assert "No column is called or matches 'nobody'" in err


def holed(frame):
    """Return rows with empty cells, NaN and NA in rows 3 and 4, as CSV text."""
    lines = frame.to_csv(index=False).splitlines()
    for row, column, word in ((3, 2, ""), (4, 5, "NaN"), (4, 6, "NA")):
        cells = lines[row + 1].split(",")
        cells[column] = word
        lines[row + 1] = ",".join(cells)
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("ending", ["csv", "parquet", "npy"])
def test_missing_cells_are_filled_and_counted_apart(ending, model, treemend, frames):
    Path("holes.csv").write_text(holed(frames[1][NAMES]))
    values = frames[1][NAMES].to_numpy(copy=True)
    values[3, 2] = values[4, 5] = values[4, 6] = np.nan
    expected = Mender().fit(frames[0]).mend(pd.DataFrame(values, columns=NAMES), on_drift="repair")
    code, _, err = treemend(
        "mend", "holes.csv", "-m", model, "-o", f"o.{ending}", "--mask", "m.npy", "--json", "found.json"
    )
    assert code == 0
    assert err.endswith(", 3 missing values filled.\n")
    readers = {"csv": read_csv, "parquet": pd.read_parquet, "npy": np.load}
    assert np.array_equal(readers[ending](f"o.{ending}"), expected.repaired)
    assert np.array_equal(np.load("m.npy"), expected.mask)
    totals = told()["summary"]["totals"]
    assert totals["missing_cells"] == 3
    assert totals["corrupted_cells"] == np.asarray(expected.mask).sum()


def test_missing_cells_of_parquet(model, treemend, frames):
    frame = frames[1].copy()
    frame.loc[3, "s2"] = None
    frame.to_parquet("holes.parquet")
    code, out, _ = treemend("check", "holes.parquet", "-m", model, "--fail-above", "0")
    assert code == 1
    assert out.splitlines()[0].endswith(", 1 missing value found.")
    assert treemend("mend", "holes.parquet", "-m", model, "-o", "o.parquet", "-q")[0] == 0
    assert pd.read_parquet("o.parquet")[NAMES].notna().all(axis=None)


def test_missing_cells_in_the_reference_are_learnt_around(folder, treemend, frames):
    Path("holes.csv").write_text(holed(frames[0]))
    assert treemend("fit", "holes.csv", "-o", "m")[0] == 0
    assert treemend("mend", "suspect.csv", "--clean", "holes.csv", "-o", "o.csv")[0] == 0
    expected = Mender().fit(read_csv("holes.csv")).mend(frames[1][NAMES], on_drift="repair")
    assert np.array_equal(read_csv("o.csv")[NAMES], expected.repaired)


def own_table(frames):
    return pd.concat([frames[1][NAMES], frames[0]], ignore_index=True)


def test_the_table_itself_goes_the_way_of_treemend_mend(folder, treemend, frames, monkeypatch):
    from treemend.files import arrow

    monkeypatch.setattr(arrow, "CELLS_IN_BATCH", 16 * 50)
    Path("t.csv").write_text(holed(own_table(frames)))
    expected = package.mend(read_csv("t.csv"))
    code, _, err = treemend("mend", "t.csv", "-o", "o.csv", "--json", "found.json", "--report", "r.html")
    assert code == 0
    assert np.array_equal(read_csv("o.csv"), expected.repaired)
    assert told()["reference"] == "the table itself"
    assert told()["summary"]["totals"] == expected.summary()["totals"]
    code, _, err = treemend("mend", "t.csv", "-o", "o.csv", "--fdr", "0.001", "-f")
    assert "note: t.csv: No row was declared" in err
    code, _, err = treemend("mend", "t.csv", "-o", "o.csv", "--fdr", "0.1", "-f")
    assert np.array_equal(read_csv("o.csv"), package.mend(read_csv("t.csv"), fdr=0.1).repaired)


def test_a_table_without_rows(model, treemend):
    Path("none.csv").write_text(",".join(NAMES) + "\n")
    code, _, err = treemend("mend", "none.csv", "-m", model, "-o", "o.csv", "--report", "r.html", "--json", "j")
    assert code == 0
    assert "There are no rows." in err
    assert told("j")["summary"]["totals"]["rows"] == 0
    assert treemend("check", "none.csv", "-m", model, "-q") == (0, "", "")
