import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from treemend import progress
from treemend.cli.errors import run, signals_caught
from treemend.synthetic import waves

NAMES = [f"s{column}" for column in range(16)]


@pytest.fixture(scope="session")
def frames():
    """Clean rows, and suspect rows with ids of which rows 1 and 7 are partly overwritten."""
    rng = np.random.default_rng(0)
    clean = pd.DataFrame(waves(200, 16, rng=rng, noise=0.02), columns=NAMES)
    suspect = pd.DataFrame(waves(20, 16, rng=rng, noise=0.02), columns=NAMES)
    suspect.iloc[1, 8:16] = rng.uniform(-2, 2, 8)
    suspect.iloc[7, 0:8] = rng.uniform(-2, 2, 8)
    suspect.insert(0, "id", [f"=cmd|'/C calc'!A{row}" for row in range(20)])
    return clean, suspect


@pytest.fixture(autouse=True)
def no_lines_of_progress(monkeypatch):
    """On a busy machine lines about progress would come between those that tests look at."""
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 1e9)


@pytest.fixture
def folder(tmp_path, monkeypatch, frames):
    """A folder with clean.csv, suspect.csv and suspect.parquet, which is the working folder."""
    monkeypatch.chdir(tmp_path)
    frames[0].to_csv("clean.csv", index=False)
    frames[1].to_csv("suspect.csv", index=False)
    frames[1].to_parquet("suspect.parquet")
    return tmp_path


@pytest.fixture
def treemend(capfd):
    """Run a command; give back exit code, standard output and standard error."""

    def call(*arguments):
        capfd.readouterr()
        with signals_caught() as received:
            code = run([str(argument) for argument in arguments], received)
        out, err = capfd.readouterr()
        return code, out, err

    return call


@pytest.fixture(scope="session")
def fitted(frames, tmp_path_factory):
    """A model file that the command line wrote, once for all tests; by then all that mending needs is compiled."""
    place = tmp_path_factory.mktemp("fitted")
    frames[0].to_csv(place / "clean.csv", index=False)
    frames[1].to_csv(place / "suspect.csv", index=False)
    model = str(place / "model.safetensors")
    assert run(["fit", str(place / "clean.csv"), "-o", model, "--quiet"]) == 0
    assert run(["mend", str(place / "suspect.csv"), "-m", model, "-o", str(place / "out.csv"), "--quiet"]) == 0
    return place / "model.safetensors"


@pytest.fixture
def model(folder, fitted):
    return Path(shutil.copy(fitted, folder))


def read_csv(source, **options):
    """Read numbers as they were written, to the last bit, which pandas does by itself since version 3."""
    if int(pd.__version__.split(".")[0]) < 3:
        options["float_precision"] = "round_trip"
    return pd.read_csv(source, **options)
