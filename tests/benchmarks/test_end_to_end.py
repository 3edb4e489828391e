import pytest

from benchmarks import end_to_end


@pytest.mark.slow
def test_a_small_size_is_measured(capsys):
    end_to_end.main(["--sizes", "100x16x40", "--growth", "100x16x40"])
    grown, by_row = (line for line in capsys.readouterr().out.splitlines() if line.startswith("| 100"))
    assert grown.startswith("| 100 x 16, 40 |")
    assert by_row.startswith("| 100 x 16 |")
    assert all(float(value) >= 0 for line in (grown, by_row) for value in line.replace("/", "|").split("|")[2:-1])
