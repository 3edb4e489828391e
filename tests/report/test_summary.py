import json
import re
from dataclasses import replace

import numpy as np
import pytest
from tests.report.examples import NASTY, batches, some_findings, some_reasons

from treemend.exceptions import InputError
from treemend.report import Findings, Gathering, Reasons, as_html, summarise
from treemend.report.found_map import FoundMap
from treemend.report.listing import list_rows
from treemend.report.reasons import told
from treemend.report.words import promise, why


def test_totals_are_exact():
    findings = some_findings(50, 20)
    totals = summarise(findings)["totals"]
    assert totals == {
        "rows": 50,
        "attributes": 20,
        "cells": 1000,
        "touched_rows": int(findings.mask.any(axis=1).sum()),
        "found_cells": int(findings.mask.sum()),
        "missing_cells": int((findings.missing & ~findings.mask).sum()),
    }


def test_summary_is_json_and_always_the_same():
    findings = some_findings(names=[NASTY, *"abcdefghi"])
    text = json.dumps(summarise(findings), allow_nan=False)
    assert json.loads(text) == summarise(findings)
    assert text == json.dumps(summarise(findings), allow_nan=False)


@pytest.mark.parametrize("size", [1, 7, 100, 1000])
def test_summary_is_the_same_for_any_batches(size):
    findings = some_findings(1000, 40, row_ids=[f"id{row}" for row in range(1000)])
    findings = replace(findings, reasons=some_reasons(findings))
    gathering = Gathering()
    for batch in batches(findings, size):
        gathering.add(batch)
    assert gathering.summary() == summarise(findings)


def test_worst_rows_come_first():
    findings = some_findings(200, 10)
    rows = summarise(findings)["rows"]
    found = [record["n_found"] > 0 for record in rows]
    assert found == sorted(found, reverse=True)
    scores = [record["score"] for record in rows if record["n_found"]]
    assert scores == sorted(scores)
    assert rows[0]["row"] == min(
        np.flatnonzero(findings.mask.any(axis=1)),
        key=lambda row: (findings.row_scores[row], -(findings.mask | findings.missing)[row].sum(), row),
    )


def test_rows_without_scores_are_ranked_by_what_was_found():
    rows = summarise(some_findings(60, row_scores=None, node_scores=None))["rows"]
    hit = [record["n_found"] + record["n_missing"] for record in rows if record["n_found"]]
    assert hit == sorted(hit, reverse=True)
    assert rows[0]["score"] is None
    assert rows[0]["nodes"] is None
    assert rows[0]["why"] == ""


@pytest.mark.parametrize("layout", ["sequence", (3, 4), [[3, 1, 2], [0, 11, 10, 9], [4, 5, 6, 7, 8]]])
def test_a_record_tells_the_row_in_the_order_of_the_tree(layout):
    findings = some_findings(20, 12, layout=layout, grid=layout if isinstance(layout, tuple) else None)
    order = findings.tree.order
    summary = summarise(findings)
    columns = summary["attributes"]["columns"] or list(range(12))
    assert columns == order.tolist()
    for record in summary["rows"]:
        row = record["row"]
        before = np.array(record["before"], dtype=float)
        np.testing.assert_allclose(before, findings.before[row, order], rtol=1e-5)
        after = before.copy()
        after[record["filled_at"]] = record["after"]
        np.testing.assert_allclose(after, findings.after[row, order], rtol=1e-5)
        np.testing.assert_allclose(record["spread"], findings.spread[row, order][record["filled_at"]], rtol=1e-5)
        np.testing.assert_allclose(record["nodes"], findings.node_scores[row])
        for kind, cells in (("found", findings.mask), ("missing", findings.missing & ~findings.mask)):
            drawn = np.zeros(12, bool)
            for start, stop in record[kind]:
                drawn[start:stop] = True
            assert np.array_equal(drawn, cells[row, order])
            assert record[f"n_{kind}"] == drawn.sum()


def test_node_scores_are_asked_for_shown_rows_only():
    asked = []

    def node_scores(rows):
        asked.extend(rows.tolist())
        return np.zeros((len(rows), tree.n_nodes))

    findings = some_findings(3000, 10)
    tree = findings.tree
    summary = summarise(replace(findings, node_scores=node_scores))
    assert sorted(asked) == sorted(record["row"] for record in summary["rows"])
    assert len(asked) < 3000


def test_large_inputs_are_sampled_and_it_is_said():
    summary = summarise(some_findings(3000, 30))
    assert len(summary["rows"]) == 400
    assert len(summary["map"]["found_percent"]) <= 256
    assert any("3,000 rows" in note and "400 worst" in note for note in summary["notes"])
    assert any("16 rows x 1 attribute" in note for note in summary["notes"])
    assert summarise(some_findings(20, 30))["notes"] == []


def test_very_wide_rows_are_thinned_and_it_is_said():
    findings = some_findings(6, 50_000, names=[f"n{k}" for k in range(50_000)])
    summary = summarise(findings)
    assert len(summary["attributes"]["names"]) == len(summary["rows"][0]["before"]) == 20_000
    assert any("20,000 of 50,000 attributes" in note for note in summary["notes"])
    assert summary["rows"][0]["n_found"] == findings.mask[summary["rows"][0]["row"]].sum()
    assert len(json.dumps(summary)) < 3_000_000


def test_most_hit_attributes():
    findings = some_findings(90, 12, names=list("abcdefghijkl"))
    hits = findings.mask.sum(axis=0)
    top = summarise(findings)["attributes"]["most_hit"]
    assert [one["found"] for one in top] == sorted(hits[hits > 0], reverse=True)
    assert all(hits["abcdefghijkl".index(one["name"])] == one["found"] for one in top)


def test_names_default_to_pixels_or_numbers():
    assert summarise(some_findings(4, 6, grid=(2, 3)))["attributes"]["names"][5] == "pixel 1, 2"
    assert summarise(some_findings(4, 6))["attributes"]["names"][5] == "attribute 5"


def test_nothing_found():
    clean = some_findings(8)
    clean = replace(clean, mask=np.zeros_like(clean.mask), missing=None)
    summary = summarise(clean)
    assert summary["headline"] == "Nothing was found in 8 rows."
    assert summary["attributes"]["most_hit"] == []
    assert all(record["n_found"] == 0 for record in summary["rows"])


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"after": np.zeros((2, 2))}, "after must have the shape of before"),
        ({"row_ids": ["a"]}, "row_ids must have one entry for each row, 12, got 1"),
        ({"names": ["a"]}, "names must have one entry for each attribute, 10, got 1"),
        ({"grid": (3, 3)}, "grid must be"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(wrong, words):
    with pytest.raises(InputError, match=words):
        some_findings(**wrong)


def test_batches_of_other_tables_are_refused():
    with pytest.raises(InputError, match="10 attributes as the first one has, got 9"):
        Gathering().add(some_findings()).add(some_findings(n_features=9))
    with pytest.raises(InputError, match="nothing to summarise"):
        Gathering().summary()


@pytest.mark.parametrize(("n_rows", "n_features"), [(1, 1), (256, 400), (257, 401), (5000, 3)])
def test_map_counts_every_mark_once(n_rows, n_features):
    mask = np.random.default_rng(0).random((n_rows, n_features)) < 0.1
    drawn = FoundMap(n_features)
    drawn.add(mask)
    tall, wide = drawn.rows_per_cell, drawn.features_per_cell
    cells = drawn.percent()
    assert len(cells) <= 256
    assert len(cells[0]) <= 400
    for line, shares in enumerate(cells):
        for column, share in enumerate(shares):
            part = mask[line * tall : (line + 1) * tall, column * wide : (column + 1) * wide]
            assert share == int(np.ceil(100 * part.sum() / part.size - 1e-9))


REFERENCE = {"asked_rate": 0.05, "tau": 0.01, "n_reference": 1200, "reference_rate": 0.048}


@pytest.mark.parametrize(
    ("n_touched", "words"),
    [
        (0, "None was."),
        (25, "which mistakes alone could explain"),
        (200, "200 were: about 170 more than mistakes explain"),
    ],
)
def test_the_promise_in_words(n_touched, words):
    told = promise(600, n_touched, **REFERENCE)
    assert told["expected"] == pytest.approx(30)
    assert any(words in sentence for sentence in told["words"])
    assert "at most 5 % are touched" in told["words"][0]
    assert "4.8 %" in told["words"][-1]


def test_rarely_above_is_rare():
    """Fresh clean rows against a threshold learnt from N others: the bound fails seldom."""
    rng = np.random.default_rng(0)
    n_rows, n_reference, rate = 300, 200, 0.05
    bound = promise(n_rows, 0, asked_rate=rate, tau=0.1, n_reference=n_reference, reference_rate=rate)["rarely_above"]
    kth = int(np.floor(rate * n_reference))
    exceeded = 0
    for _ in range(2000):
        threshold = np.sort(rng.random(n_reference))[kth - 1]
        exceeded += (rng.random(n_rows) <= threshold).sum() > bound
    assert exceeded / 2000 < 0.05


def test_the_promise_without_a_rate_or_with_too_few_rows():
    told = promise(600, 40, **(REFERENCE | {"asked_rate": None}))
    assert "tested at the threshold 0.01" in told["words"][0]
    assert told["expected"] == pytest.approx(600 * 0.048)
    told = promise(600, 0, **(REFERENCE | {"tau": -1.0, "reference_rate": 0.0}))
    assert told["expected"] is None
    assert "too few for that promise" in told["words"][1]
    assert promise(5, 1, asked_rate=None, tau=None, n_reference=None, reference_rate=None)["words"] == []


def test_why_points_to_the_largest_part_inside_what_was_found():
    start, stop = np.array([0, 0, 4, 4, 6]), np.array([8, 4, 8, 6, 8])
    found = np.array([0, 0, 0, 0, 1, 1, 1, 1], bool)
    names = [f"s{k}" for k in range(8)]
    told = why(np.array([0.0, 0.5, 0.0, 0.0, 0.0]), found, start, stop, names, 100)
    assert told == "Most unusual: s4 to s7. Of 100, no reference row is as unusual there."
    told = why(np.array([0.5, 0.5, 0.3, 0.01, 0.3]), found, start, stop, names, 100)
    assert told == "Most unusual: s4 to s5. Of 100, only 1 reference row is as unusual there."
    assert why(np.full(5, np.nan), found, start, stop, names, 100) == ""


def test_the_explanation_that_spoke_is_told():
    findings = some_findings(60, 12, names=[f"s{k}" for k in range(12)])
    reasons = some_reasons(findings)
    summary = summarise(replace(findings, reasons=reasons))
    touched = np.flatnonzero(findings.mask.any(axis=1))
    assert summary["explanations"] == {
        name: int((reasons.explanation[touched] == name).sum())
        for name in ("search", "noise", "foreign", "shifted", "frozen")
    }
    for record in summary["rows"]:
        row = record["row"]
        if not record["n_found"]:
            assert record["explanation"] is None
            continue
        assert record["explanation"] == reasons.explanation[row]
        assert f"{row} of 100 reference rows show" in record["why"] or row < 2
        assert ("found after that had been repaired" in record["why"]) == (record["n_found"] > 1)
        assert ("Most unusual" in record["why"]) == (record["explanation"] == "search")
    without = summarise(findings)
    assert without["explanations"] is None
    assert without["rows"][0]["explanation"] is None


@pytest.mark.parametrize(
    ("name", "places", "count", "words"),
    [
        (
            "noise",
            [4, 5, 6],
            0,
            "s4 to s6 look like noise, given the rest of the row. None of 100 reference rows shows",
        ),
        ("foreign", [4], 1, "s4 does not go with the rest of the row, as if"),
        ("shifted", [1, 2, 7], 30, "s1 to s2 and s7 are shifted together, against"),
        ("frozen", [0, 2, 4], 4, "3 values stand still at one value, which"),
        ("search", [0], 11, "s0 is unusual by itself, whatever"),
    ],
)
def test_reasons_in_words(name, places, count, words):
    found = np.zeros((1, 8), bool)
    found[0, places] = True
    given = {"explained": found, "as_much_evidence": np.array([count]), "n_weighed": 100}
    reasons = Reasons(explanation=np.array([name]), **given)
    said = told(reasons, 0, found[0], found[0], [f"s{k}" for k in range(8)])
    assert said.startswith(words)
    assert ("Only" in said) == (0 < count <= 10)
    assert "pixel" in told(reasons, 0, found[0], found[0], [f"pixel 0, {k}" for k in range(8)])
    with pytest.raises(InputError, match=r"must be of search, noise, .* got oddness"):
        Reasons(explanation=np.array(["oddness"]), **given)


def test_what_was_only_found_is_not_called_repaired():
    summary = Gathering(repaired=False).add(some_findings()).summary()
    assert summary["headline"] == "Overwritten values were found in 4 of 12 rows, 3 missing values seen."
    page = as_html(summary)
    words = re.sub(r"<[^>]*>", " ", page[page.index("<body>") : page.index("<script id=")])
    assert not re.findall("repaired|replaced|filled", words)


def test_pictures_too_large_to_be_drawn_are_missed():
    summary = summarise(some_findings(3, 20_100, grid=(100, 201)))
    assert summary["grid"] is None
    assert any("pictures of 20,100 values" in note for note in summary["notes"])


def test_a_long_beginning_is_told_once():
    name = "a/very/long/folder/of/readings.csv"
    ids = [f"{name}, line {row}" for row in range(12)]
    summary = summarise(some_findings(row_ids=ids))
    rows = list_rows(summary)
    assert f"title='{name}, line 3'>line 3<" in rows
    assert f"<p class='shared'>All of {name}</p>" in as_html(summary)
    assert summary["rows"][0]["id"].startswith(name)
    assert ">x, line 3<" in list_rows(summarise(some_findings(row_ids=[f"x, line {row}" for row in range(12)])))


def test_findings_need_only_the_rows_the_mask_and_the_tree():
    full = some_findings()
    bare = Findings(before=full.before, after=full.after, mask=full.mask, tree=full.tree)
    assert summarise(bare)["totals"]["missing_cells"] == 0
