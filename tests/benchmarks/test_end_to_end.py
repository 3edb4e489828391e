import pytest

from benchmarks import end_to_end


@pytest.mark.slow
def test_a_small_size_is_measured(capsys):
    end_to_end.main(["--sizes", "100x16x40"])
    line = capsys.readouterr().out.splitlines()[-1]
    assert line.startswith("| 100 x 16, 40 |")
    assert all(float(value) >= 0 for value in line.split("|")[2:-1])
