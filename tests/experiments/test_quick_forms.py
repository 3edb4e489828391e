"""Every experiment in its quick form, from its data to the page, so that none can rot."""

import pytest
from experiments.__main__ import EXPERIMENTS, main
from experiments.recording import read_rows
from tests.experiments.digits_file import write_digits

pytestmark = pytest.mark.slow

LEFT_BEHIND = {
    "false_alarms": ("false_alarms.csv", "theta.csv", "false_alarms.png"),
    "roc": ("roc.csv", "roc.png"),
    "imputation_quality": ("imputation_quality.csv", "imputation_quality.png"),
    "digit_pictures": ("digit_pictures.csv", "digit_pictures.png"),
    "scatter": ("scatter.csv", "scatter_points.csv", "scatter.png"),
    "table_1": ("table_1_cells.csv", "table_1.csv", "table_1_readings.csv", "table_1.png", "table_1_milder.png"),
    "table_2": ("table_2.csv",),
}


def run(folder, *arguments):
    options = ["--quick", "--quiet", "--data", str(folder / "data"), "--results", str(folder / "results")]
    return main([*options, "--page", str(folder / "page.md"), *arguments])


SHARING_A_SWEEP = ("false_alarms", "roc", "imputation_quality")
ALONE = [(name,) for name in EXPERIMENTS if name not in SHARING_A_SWEEP]


@pytest.mark.parametrize("names", [SHARING_A_SWEEP, *ALONE], ids=" ".join)
def test_leaves_results_and_a_page(names, tmp_path):
    write_digits(tmp_path / "data")
    assert run(tmp_path, *names) == 0
    for file in (file for name in names for file in LEFT_BEHIND[name]):
        assert (tmp_path / "results" / file).stat().st_size > 0
    assert not list((tmp_path / "results").glob(".pieces/*"))
    assert "# The paper, run again" in (tmp_path / "page.md").read_text()
    assert (tmp_path / "results" / "runs.json").exists()


def test_results_depend_on_the_seed_only(tmp_path):
    found = []
    for folder, seed in (("one", "0"), ("two", "0"), ("three", "1")):
        assert run(tmp_path / folder, "table_2", "--seed", seed) == 0
        found.append(read_rows(tmp_path / folder / "results" / "table_2.csv"))
    assert found[0] == found[1]
    assert found[0] != found[2]


def test_pictures_can_be_drawn_again_without_data(tmp_path):
    write_digits(tmp_path / "data")
    run(tmp_path, "digit_pictures")
    (tmp_path / "data" / "usps01.npz").unlink()
    picture = tmp_path / "results" / "digit_pictures.png"
    picture.unlink()
    assert run(tmp_path, "digit_pictures", "--draw-only") == 0
    assert picture.exists()


def test_without_data_says_what_is_missing_and_runs_the_rest(tmp_path, capsys):
    assert run(tmp_path, "scatter", "table_2") == 0
    said = capsys.readouterr().err
    assert "USPS 0-1 is missing" in said
    assert "OpenML: USPS" in said
    assert (tmp_path / "results" / "table_2.csv").exists()
    assert "Not run: its data were not there." in (tmp_path / "page.md").read_text()


def test_unknown_experiment_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        run(tmp_path, "table_3")
    assert "table_3" in capsys.readouterr().err
