import subprocess
import sys
from pathlib import Path

SPEED = Path(__file__).parents[2] / "benchmarks" / "speed"


def test_pairs_in_the_quick_form():
    command = [sys.executable, str(SPEED / "pairs.py"), "--quick", "--rounds", "1"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    head, *lines = (line.split() for line in told.splitlines())
    assert head[-1] == "chosen"
    assert [line[-1] for line in lines] == ["once"] * 3 + ["twice"] * 2 + ["once", "twice", "once"]
