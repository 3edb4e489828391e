import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SPEED = Path(__file__).parents[2] / "benchmarks" / "speed"


def test_ratios_in_the_quick_form():
    command = [sys.executable, str(SPEED), "--quick", "--rounds", "1"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    _, _, *lines = told.splitlines()
    assert [line.split()[0] for line in lines] == ["uniform", "uniform", "smooth", "digits"]
    for line in lines:
        assert all(float(number) > 0 for number in line[22:].split())
