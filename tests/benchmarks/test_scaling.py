from pathlib import Path

import pytest

pytest.importorskip("distributed")

from benchmarks import scaling

pytestmark = pytest.mark.slow


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the memory of a process is read from /proc")
def test_the_quick_form_runs_and_memory_is_within_the_formula(capsys):
    measured = scaling.main(["--quick"])
    assert measured.by_round == (measured.elapsed_ratio,)
    assert measured.idle <= measured.peak <= measured.formula
    assert list(measured.fits) == [100, 300]
    assert "two single-threaded workers against one" in capsys.readouterr().out
