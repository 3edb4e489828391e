"""The result tells what a report needs, whatever the table, the layout and the way of mending."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.rows import correlated_rows, overwrite

from treemend import Mended, TreeMender
from treemend.exceptions import InputError


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    clean, suspect = correlated_rows(rng, 300, 16), correlated_rows(rng, 30, 16)
    suspect[::2] = overwrite(rng, suspect[::2])[0]
    suspect[1, 3] = np.nan
    return clean, suspect


@pytest.fixture(scope="module")
def mender(rows):
    return TreeMender(false_alarm_rate=0.1).fit(rows[0])


def test_summary_tells_what_the_result_holds(rows, mender):
    mended = mender.mend(rows[1])
    summary = mended.summary()
    assert summary["totals"]["touched_rows"] == mended.corrupted.sum() > 0
    assert summary["totals"]["found_cells"] == mended.mask.sum()
    assert summary["totals"]["missing_cells"] == 1
    assert summary["promise"]["asked_rate"] == 0.1
    assert summary["promise"]["tau"] == mender.tau_
    assert summary["promise"]["reference_rows"] == 300
    scores, cleanness = mender.score_nodes(rows[1]), mender.score_samples(rows[1])
    for record in summary["rows"]:
        row, at = record["row"], record["filled_at"]
        np.testing.assert_allclose(record["nodes"], scores[row], rtol=1e-5)
        np.testing.assert_allclose(record["after"], mended.repaired[row, at], rtol=1e-5)
        np.testing.assert_allclose(record["spread"], mended.spread[row, at], rtol=1e-5)
        if record["n_found"]:
            assert record["score"] == pytest.approx(cleanness[row], rel=1e-5)


def test_the_summary_tells_which_explanation_spoke():
    """Shifted, noisy and exchanged stretches are told apart."""
    rng = np.random.default_rng(0)

    def waves(n_rows):
        phase, height = rng.uniform(0, 6, (n_rows, 1)), rng.uniform(1, 2, (n_rows, 1))
        return height * np.sin(np.linspace(0, 6, 24) + phase) + rng.normal(scale=0.1, size=(n_rows, 24))

    clean, suspect = waves(400), waves(30)
    suspect[:10, 8:16] += 0.8
    suspect[10:20, 8:16] = rng.uniform(-2, 2, (10, 8))
    suspect[20:, 8:16] = waves(10)[:, 8:16]
    summary = TreeMender().fit(clean).mend(suspect).summary()
    spoke = {record["row"]: record["explanation"] for record in summary["rows"]}
    for first, name in ((0, "shifted"), (10, "noise"), (20, "foreign")):
        assert sum(spoke[row] == name for row in range(first, first + 10)) >= 7
    assert summary["explanations"] == {name: list(spoke.values()).count(name) for name in summary["explanations"]}
    assert all("400 reference rows" in record["why"] for record in summary["rows"] if record["n_found"])


def test_nothing_is_weighed_again_for_a_summary(rows, mender, monkeypatch):
    mended = mender.mend(rows[1])
    before = mended.summary()
    monkeypatch.setattr("treemend.mender.judging.weigh_rows", lambda *given: pytest.fail("weighed again"))
    assert mended.summary() == before


def test_summary_does_not_change_when_the_mender_learns_anew(rows):
    mender = TreeMender(false_alarm_rate=0.1).fit(rows[0])
    mended = mender.mend(rows[1])
    before = mended.summary()
    mender.fit(rows[0][:150] * 2)
    assert mended.summary() == before


def test_rows_and_columns_carry_their_names(rows, mender):
    index = [f"day {row}" for row in range(30)]
    names = [f"at {hour}" for hour in range(16)]
    frame = pd.DataFrame(rows[1], index=index, columns=names)
    mender = TreeMender(false_alarm_rate=0.1).fit(pd.DataFrame(rows[0], columns=names))
    summary = mender.mend(frame).summary()
    assert all(record["id"] == f"day {record['row']}" for record in summary["rows"])
    assert summary["attributes"]["names"] == names
    summary = mender.mend(pl.DataFrame(rows[1], schema=names, orient="row")).summary()
    assert all(record["id"] == str(record["row"]) for record in summary["rows"])


def test_grids_are_known(rows):
    mended = TreeMender(layout=(4, 4), false_alarm_rate=0.1).fit(rows[0]).mend(rows[1])
    assert mended.summary()["grid"] == [4, 4]
    assert mended.summary()["attributes"]["columns"] is not None


def test_a_given_threshold_is_no_promise(rows):
    promise = TreeMender(tau=0.02).fit(rows[0]).mend(rows[1]).summary()["promise"]
    assert promise["asked_rate"] is None
    assert promise["tau"] == 0.02


def test_reference_rows_are_scored_without_themselves(rows):
    mended = TreeMender(false_alarm_rate=0.1).fit(rows[0])._mend_reference(rows[0])
    summary = mended.summary()
    assert summary["totals"]["touched_rows"] == mended.corrupted.sum() <= 30
    assert summary["rows"][0]["nodes"] is not None


def test_report_is_written_and_results_travel(rows, mender, tmp_path):
    mended = pickle.loads(pickle.dumps(mender.mend(rows[1])))
    mended.report(tmp_path / "report.html", title="My <rows>")
    text = (tmp_path / "report.html").read_text("utf-8")
    assert "<title>My &lt;rows&gt;</title>" in text
    assert mended.summary()["headline"] in text


def test_notebooks_show_a_table(rows, mender):
    html = mender.mend(rows[1])._repr_html_()
    assert "were repaired" in html
    assert "<script" not in html


def test_a_result_made_by_hand_says_what_it_lacks():
    bare = Mended(np.zeros((1, 2)), np.zeros((1, 2), bool), np.zeros(1, bool), None, None, [])
    assert "0 of 1 rows" in bare._repr_html_()
    with pytest.raises(InputError, match="TreeMender.mend"):
        bare.summary()


def test_rows_of_the_reference_are_ranked_by_their_scores_too():
    rng = np.random.default_rng(0)
    table = np.cumsum(rng.normal(size=(200, 16)), axis=1)
    table[:10, 4:12] = rng.uniform(-20, 20, (10, 8))
    mender = TreeMender(clean_reference=True)
    mended = mender.fit_mend(table)
    scores = [row["score"] for row in mended.summary()["rows"] if row["n_found"]]
    assert len(scores) == mended.corrupted.sum() > 5
    assert scores == sorted(scores)
    assert max(scores) < mender.offset_
