"""``treemend mend FOLDER --dask``: part by part, killed, gone on with, and refused."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from tests.dask.conftest import NAMES, suspects

import treemend.cli.errors
from treemend.cli.errors import run

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path, monkeypatch, frame_mender):
    """A model, and a folder of parts, one of them in a folder of its own and one without rows."""
    monkeypatch.chdir(tmp_path)
    frame_mender.save("model.safetensors")
    os.makedirs("parts/later")
    for number in range(4):
        write_part(f"parts/{'later/' * (number == 3)}part_{number}.parquet", 30, number)
    write_part("parts/empty.parquet", 0, 0)
    return tmp_path


def write_part(path, n_rows, seed):
    frame = pd.DataFrame(suspects(max(1, n_rows), seed), columns=NAMES)[:n_rows]
    frame.insert(0, "id", pd.array([f"{seed}-{row}" for row in range(n_rows)], dtype="string"))
    frame.to_parquet(path)


@pytest.fixture
def spread(capfd, client):
    """Run ``mend parts`` on the cluster; give back exit code and standard error."""

    def call(*arguments, suspect="parts", output="out", address=None):
        capfd.readouterr()
        where = address or client.scheduler.address
        command = ["mend", suspect, "-m", "model.safetensors", "-o", output, "--dask", where, *arguments]
        code = run(command)
        out, err = capfd.readouterr()
        assert out == ""
        return code, err

    return call


def stamps(folder):
    """When parts were written, by name."""
    found = Path(folder).rglob("*.parquet")
    return {str(file.relative_to(folder)): (file.stat().st_mtime_ns, file.stat().st_ino) for file in found}


def test_one_output_part_for_each_input_part(folder, spread, frame_mender):
    code, err = spread("--mask", "masks")
    assert code == 0, err
    mended = [
        frame_mender.mend(pd.read_parquet(f"parts/{name}"), on_drift="repair")
        for name in stamps("parts")
        if "_" in name
    ]
    n_corrupted = sum(part.corrupted.sum() for part in mended)
    assert err.splitlines()[-1].startswith(f"out: 5 parts mended. {n_corrupted} of 120 rows were repaired, ")
    names = ["empty.parquet", "later/part_3.parquet", "part_0.parquet", "part_1.parquet", "part_2.parquet"]
    assert sorted(stamps("out")) == sorted(stamps("masks")) == names
    assert sorted(os.listdir("out")) == ["_treemend.json", "empty.parquet", "later", *names[2:]]
    for name in names:
        single = ["mend", f"parts/{name}", "-m", "model.safetensors", "-o", "one.parquet", "--mask", "mask.parquet"]
        assert run([*single, "-f", "-q"]) == 0
        assert Path("out", name).read_bytes() == Path("one.parquet").read_bytes()
        assert Path("masks", name).read_bytes() == Path("mask.parquet").read_bytes()


def test_without_dask_the_parts_are_the_same(folder, spread, capfd):
    assert spread("-q", "--mask", "masks") == (0, "")
    command = ["mend", "parts", "-m", "model.safetensors", "-o", "here", "--mask", "masks_here"]
    assert run(command) == 0
    assert "here: 5 parts mended. " in capfd.readouterr().err
    for name in stamps("out"):
        assert Path("here", name).read_bytes() == Path("out", name).read_bytes()
        assert Path("masks_here", name).read_bytes() == Path("masks", name).read_bytes()
    before = stamps("here")
    os.unlink("here/part_1.parquet")
    assert run(command) == 0
    assert capfd.readouterr().err.startswith("here: 4 of 5 parts exist already\nhere: 1 part mended. ")
    del before["part_1.parquet"]
    assert {name: stamp for name, stamp in stamps("here").items() if name in before} == before


def test_another_rate_is_another_run(folder, spread):
    assert spread("-q", "-r", "0.2") == (0, "")
    code, err = spread("-q")
    assert (code, "a run with another false-alarm rate" in err) == (5, True)


def test_a_part_that_the_reference_does_not_cover_is_not_written(folder, spread):
    frame = pd.read_parquet("parts/part_0.parquet")
    frame["s3"] += 5
    frame.to_parquet("parts/part_0.parquet")
    code, err = spread("-q")
    assert (code, "does not seem to cover" in err, "part_0.parquet" in err, err.count("\n")) == (6, True, True, 1)
    assert "part_0.parquet" not in stamps("out")
    assert spread("-q", "--force") == (0, "")
    assert "part_0.parquet" in stamps("out")


def test_all_parts_have_the_same_types(folder, spread):
    """A part without rows and parts with nothing to repair, too; columns of integers stay such."""
    for name in ("empty", "part_0", "part_1"):
        frame = pd.read_parquet(f"parts/{name}.parquet")
        frame["s8"] = frame["s8"].round().astype("int64")
        frame.to_parquet(f"parts/{name}.parquet")
    assert spread("-q", "--mask", "masks", "--force") == (0, "")
    for place, types in (("out", {"double", "int64"}), ("masks", {"bool"})):
        schemas = [pq.read_schema(f"{place}/{name}.parquet") for name in ("empty", "part_0", "part_1")]
        assert schemas[0].types == schemas[1].types == schemas[2].types
        assert {str(kind) for kind in schemas[0].types} <= types | {"string", "large_string"}
    assert str(pq.read_schema("out/part_0.parquet").field("s8").type) == "int64"


def test_only_parts_that_are_not_there_are_done(folder, spread):
    assert spread("-q") == (0, "")
    before = stamps("out")
    os.unlink("out/part_1.parquet")
    write_part("parts/part_9.parquet", 10, 9)
    code, err = spread()
    assert code == 0
    assert err.startswith("out: 4 of 6 parts exist already\n")
    assert err.splitlines()[-1].startswith("out: 2 parts mended. ")
    after = stamps("out")
    del before["part_1.parquet"]
    assert {name: after[name] for name in before} == before
    assert set(after) - set(before) == {"part_1.parquet", "part_9.parquet"}
    assert spread() == (0, "out: 6 of 6 parts exist already\nout: nothing left to do\n")


def test_a_mask_asked_for_later_is_made(folder, spread):
    assert spread("-q") == (0, "")
    expected = {name: Path("out", name).read_bytes() for name in stamps("out")}
    assert spread("-q", "--mask", "masks") == (0, "")
    assert {name: Path("out", name).read_bytes() for name in stamps("out")} == expected
    assert set(stamps("masks")) == set(expected)


def test_parts_of_another_run_are_not_mistaken(folder, spread, frame_mender, clean):
    assert spread("-q") == (0, "")
    before = stamps("out")
    frame = pd.DataFrame(clean[:100], columns=NAMES).assign(id="")
    type(frame_mender)(passthrough=["id"]).fit(frame).save("model.safetensors")
    code, err = spread()
    assert code == 5
    assert err == (
        "treemend: out holds parts of a run with another model. Choose another folder, or give --force to do all "
        "parts again.\n"
    )
    assert stamps("out") == before
    code, err = spread("--force")
    assert (code, "out: 5 parts mended" in err) == (0, True)
    after = stamps("out")
    assert all(after[name] != before[name] for name in before)
    write_part("parts/part_2.parquet", 31, 2)
    code, err = spread()
    assert (code, "out/part_2.parquet already exists, and its input has changed since" in err) == (5, True)
    for damaged in ("{", "[]", '{"parts": null}'):
        Path("out/_treemend.json").write_text(damaged)
        assert "another version of treemend and model and" in spread()[1]
    os.unlink("out/_treemend.json")
    assert "holds files, and none says" in spread()[1]
    Path("out/_treemend.json").write_text('{"parts": null}')
    assert spread("-q", "--force") == (0, "")


def test_what_the_run_file_says(folder, spread):
    assert spread("-q") == (0, "")
    told = json.loads(Path("out/_treemend.json").read_text())
    assert sorted(told) == [
        "choice of columns",
        "false-alarm rate",
        "kind of content",
        "model",
        "parts",
        "version of treemend",
    ]
    assert told["choice of columns"] == NAMES
    assert len(told["parts"]) == 5


def test_refusals_in_one_line(folder, spread, monkeypatch):
    Path("file").touch()
    for arguments, expected in (
        ({"suspect": "parts/part_0.parquet"}, (2, "one folder of Parquet files")),
        ({"output": "parts/out"}, (5, "lies within")),
        ({"output": "file"}, (5, "is not a folder")),
        ({"address": "tcp://127.0.0.1:9"}, (2, "No Dask scheduler answers at tcp://127.0.0.1:9")),
        ({"address": "nowhere://1"}, (2, "No Dask scheduler answers at nowhere://1")),
    ):
        monkeypatch.setattr("treemend.cli.parts.SECONDS_TO_CONNECT", 1)
        code, err = spread(**arguments)
        assert (code, expected[1] in err, err.count("\n")) == (expected[0], True, 1), err
    for arguments, expected in (
        (["--json", "found.json"], "--report, --json, --findings and --fdr need all rows"),
        (["--layout", "sequence"], "is fitted already, so --layout would have no effect"),
        (["--n-jobs", "2"], "--n-jobs is for --dask local"),
    ):
        code, err = spread(*arguments)
        assert (code, expected in err, err.count("\n")) == (2, True, 1), err
    monkeypatch.setattr(treemend.cli.errors.importlib.util, "find_spec", lambda name: None)
    assert spread() == (2, "treemend: --dask needs distributed, which is missing. pip install 'treemend[dask]'.\n")


def test_an_error_in_a_part_is_told_in_one_line_and_the_others_stay(folder, spread):
    frame = pd.read_parquet("parts/part_2.parquet")
    frame.loc[4, "s3"] = float("inf")
    frame.to_parquet("parts/part_2.parquet")
    code, err = spread("-q")
    assert code == 3
    assert "part_2.parquet, row 4, column 's3': inf is not a finite number" in err
    assert err.count("\n") == 1
    assert "part_2.parquet" not in stamps("out")
    frame.drop(columns="s3").to_parquet("parts/part_2.parquet")
    code, err = spread("-q")
    assert (code, "does not have the columns of the first part: - missing: 's3'" in err) == (3, True)
    write_part("parts/part_2.parquet", 30, 2)
    assert spread("-q") == (0, "")
    assert len(stamps("out")) == 5


def test_a_killed_run_goes_on_where_it_was(folder, spread):
    for number in range(15):
        write_part(f"parts/long_{number:02}.parquet", 250, number)
    command = [sys.executable, "-m", "treemend", "mend", "parts", "-m", "model.safetensors", "-o", "out", "-q"]
    process = subprocess.Popen([*command, "--dask", "local", "--n-jobs", "2"])
    deadline = time.monotonic() + 60
    while len(stamps("out")) < 3 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    before = stamps("out")
    assert 3 <= len(before) < 20
    code, err = spread()
    assert code == 0, err
    after = stamps("out")
    assert len(after) == 20
    assert {name: after[name] for name in before} == before
    files = {str(file.relative_to("out")) for file in Path("out").rglob("*") if file.is_file()}
    assert files == {*after, "_treemend.json"}
    for name in (min(before), max(set(after) - set(before))):
        assert run(["mend", f"parts/{name}", "-m", "model.safetensors", "-o", "one.parquet", "-f", "-q"]) == 0
        assert Path("out", name).read_bytes() == Path("one.parquet").read_bytes()


def test_a_worker_of_another_version_or_with_another_model_is_told_in_one_line(folder, spread, client, monkeypatch):
    monkeypatch.setattr("treemend.dask.chunks.checksum_of", lambda path: "0" * 64)
    code, err = spread("-q")
    assert (code, "is missing or another file on" in err, err.count("\n")) == (4, True, 1), err
    client.run(set_version, "99.1")
    code, err = spread("-q", "--force")
    assert (code, "has treemend 99.1, and the model was sent by" in err, err.count("\n")) == (2, True, 1), err
    # A task that was under way when the run ended may still begin: it must find nothing that it could use.
    assert stamps("out") == {}
    client.run(set_version, treemend.__version__)


def set_version(version):
    import treemend

    treemend.__version__ = version
