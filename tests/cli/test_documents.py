"""Every command of the documents, typed one after the other as it stands, works."""

import shlex
from pathlib import Path

import pandas as pd
import pytest
from tests.cli.conftest import NAMES

ROOT = Path(__file__).parents[2]


def commands(page):
    lines = (ROOT / page).read_text().splitlines()
    typed = [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("treemend ")]
    return [arguments for arguments in typed if arguments != ["demo"]]


@pytest.mark.parametrize("page", ["README.md", "docs/command_line.md"])
def test_commands_of_a_page(page, folder, treemend, frames):
    pytest.importorskip("plotly")
    frames[1][NAMES].to_csv("suspect.csv", index=False)
    pd.concat([frames[1][NAMES], frames[0]]).to_csv("table.csv", index=False)
    assert len(commands(page)) >= 4
    for arguments in commands(page):
        code, _, err = treemend(*arguments)
        assert code == (arguments[0] == "check"), (arguments, err)
