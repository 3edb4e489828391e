"""The result holds what a report needs, whatever the table and the layout."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.rows import correlated_rows, overwrite

from treemend import Mender
from treemend.report.findings import KINDS
from treemend.synthetic import waves


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    clean, suspect = correlated_rows(rng, 300, 16), correlated_rows(rng, 30, 16)
    suspect[::2] = overwrite(rng, suspect[::2])[0]
    suspect[1, 3] = np.nan
    return clean, suspect


@pytest.fixture(scope="module")
def mender(rows):
    return Mender(false_alarm_rate=0.1).fit(rows[0])


def test_findings_hold_what_the_result_holds(rows, mender):
    mended = mender.mend(rows[1])
    findings = mended.findings()
    assert np.array_equal(findings.mask, mended.mask)
    assert np.array_equal(findings.after, mended.repaired)
    assert np.array_equal(findings.missing, np.isnan(rows[1]))
    assert np.array_equal(findings.kinds >= 0, mended.mask)
    assert np.array_equal(findings.row_scores, mender.score_samples(rows[1]))
    assert (findings.rule.name, findings.rule.value, findings.rule.n_reference) == ("rate", 0.1, 300)
    assert np.array_equal(findings.reference_low, rows[0].min(axis=0))
    summary = mended.summary()
    assert summary["totals"]["missing_cells"] == 1


def test_kinds_are_told_apart():
    """Shifted, noisy, exchanged and stuck stretches."""
    rng = np.random.default_rng(0)

    def rows(n_rows):
        return waves(n_rows, 24, rng=rng) + rng.normal(scale=0.1, size=(n_rows, 24))

    clean, suspect = rows(400), rows(40)
    suspect[:10, 8:16] += 0.8
    suspect[10:20, 8:16] = rng.uniform(-2, 2, (10, 8))
    suspect[20:30, 8:16] = rows(10)[:, 8:16]
    suspect[30:, 8:16] = suspect[30:, 8:9]
    findings = Mender().fit(clean).mend(suspect).findings()
    for first, name in ((0, "shifted"), (10, "noise"), (20, "foreign"), (30, "stuck")):
        kinds = findings.kinds[first : first + 10, 8:16]
        told = kinds[kinds >= 0]
        assert np.mean(told == KINDS.index(name)) > 0.7, name


def test_a_summary_does_not_change_when_the_mender_learns_anew(rows):
    mender = Mender(false_alarm_rate=0.1).fit(rows[0])
    mended = mender.mend(rows[1])
    before = mended.summary()
    mender.fit(rows[0][:150] * 2)
    assert mended.summary() == before


def test_rows_and_columns_carry_their_names(rows):
    index = [f"day {row}" for row in range(30)]
    names = [f"at {hour}" for hour in range(16)]
    frame = pd.DataFrame(rows[1], index=index, columns=names)
    mender = Mender(false_alarm_rate=0.1).fit(pd.DataFrame(rows[0], columns=names))
    findings = mender.mend(frame).findings()
    assert list(findings.row_ids) == index
    assert list(findings.names) == names
    assert mender.mend(pl.DataFrame(rows[1], schema=names, orient="row")).findings().row_ids is None


def test_grids_are_known(rows):
    mended = Mender(layout=(4, 4), false_alarm_rate=0.1).fit(rows[0]).mend(rows[1])
    assert mended.findings().grid == (4, 4)


def test_report_is_written_and_results_travel(rows, mender, tmp_path):
    mended = pickle.loads(pickle.dumps(mender.mend(rows[1])))
    mended.report(tmp_path / "report.html", title="My <rows>")
    text = (tmp_path / "report.html").read_text("utf-8")
    assert "<title>My &lt;rows&gt;</title>" in text
    assert mended.summary()["headline"] in text


def test_notebooks_show_a_table(rows, mender):
    html = mender.mend(rows[1])._repr_html_()
    assert "repaired" in html
    assert "<script" not in html
