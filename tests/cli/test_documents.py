"""Every command of the documents, typed one after the other as it stands, works on files a user would have."""

import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.conftest import NAMES

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


def commands(page):
    lines = (ROOT / page).read_text().splitlines()
    typed = [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("treemend ")]
    return [arguments for arguments in typed if arguments != ["demo"] and "tcp://scheduler:8786" not in arguments]


@pytest.mark.parametrize("page", ["README.md", "docs/command_line.md", "docs/scaling.md"])
def test_commands_of_a_page(page, folder, treemend, frames):
    pytest.importorskip("distributed")
    times = pd.date_range("2024-03-01", periods=220, freq="h")
    table = pd.concat([frames[1][NAMES], frames[0]], ignore_index=True)
    table.insert(0, "time", times)
    table["remark"] = "ok"
    # More rows than clean files have, and fewer than half of them.
    noise = np.random.default_rng(1)
    for row in range(6):
        table.loc[row, NAMES[row : row + 6]] = noise.uniform(-2, 2, 6)
    table.to_csv("table.csv", index=False)
    table[:20].to_csv("suspect.csv", index=False, sep=";")
    table[:20].to_csv("export.csv", index=False, sep=";", decimal=",")
    table[20:].to_csv("clean.csv", index=False)
    table[20:].to_parquet("clean.parquet")
    Path("parts").mkdir()
    for number in range(3):
        table[number * 20 : number * 20 + 20].to_parquet(f"parts/{number}.parquet")
    assert len(commands(page)) >= 3
    for arguments in commands(page):
        code, _, err = treemend(*arguments)
        assert code == (arguments[0] == "check" and "--fail-above" not in arguments), (arguments, err)
