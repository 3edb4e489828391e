import pytest
from experiments.recording import Settings, Work, read_rows, write_rows


@pytest.fixture
def settings(tmp_path):
    return Settings(data=tmp_path, results=tmp_path / "results", quiet=True, quick=True)


def test_a_killed_run_goes_on_where_it_stopped(settings):
    done = []

    def work(name, *, dies=False):
        done.append(name)
        if dies:
            raise KeyboardInterrupt
        return [{"name": name, "value": 0.5}]

    killed = Work("trial", settings, 2)
    with pytest.raises(KeyboardInterrupt):
        killed.do({"a": lambda: work("a"), "b": lambda: work("b", dies=True)})

    again = Work("trial", settings, 2)
    found = again.do({"a": lambda: work("a"), "b": lambda: work("b")})
    assert found == {name: [{"name": name, "value": 0.5}] for name in "ab"}
    rows = again.finish()

    assert done == ["a", "b", "b"]
    assert read_rows(settings.results / "trial.csv") == rows


def test_another_seed_shares_no_pieces(settings):
    Work("trial", settings, 1).do({"a": lambda: [{"seed": 0}]})
    other = Settings(data=settings.data, results=settings.results, seed=1, quiet=True, quick=True)
    assert Work("trial", other, 1).do({"a": lambda: [{"seed": 1}]}) == {"a": [{"seed": 1}]}


def test_a_finished_run_starts_anew(settings):
    for value in (1, 2):
        work = Work("trial", settings, 1)
        work.do({"a": lambda value=value: [{"value": value}]})
        work.finish()
    assert read_rows(settings.results / "trial.csv") == [{"value": 2}]


def test_progress_is_shown_where_it_is_wanted(settings, capsys):
    loud = Settings(data=settings.data, results=settings.results, quick=True)
    work = Work("trial", loud, 1)
    work.do({"a": list})
    work.finish()
    said = capsys.readouterr().err
    assert "1/1" in said


def test_rows_come_back_as_numbers_and_words(tmp_path):
    write_rows(tmp_path / "rows.csv", [{"a": 1, "b": 0.25}, {"a": 2, "c": "5 %"}])
    assert read_rows(tmp_path / "rows.csv") == [{"a": 1, "b": 0.25, "c": ""}, {"a": 2, "b": "", "c": "5 %"}]
