import json
from dataclasses import replace

import numpy as np
import pytest
from tests.report.examples import NASTY, batches, nothing_found, some_findings

from treemend.exceptions import ParameterError
from treemend.report import KINDS, Findings, SummaryBuilder, findings_table, summarise
from treemend.report.summary import hit_together, plain_numbers


def test_totals_are_exact():
    findings = some_findings(50, 20)
    summary = summarise(findings)
    assert summary["totals"] == {
        "rows": 50,
        "columns": 20,
        "cells": 1000,
        "corrupted_rows": int(findings.mask.any(axis=1).sum()),
        "unusual_rows": int(findings.unusual.sum()),
        "corrupted_cells": int(findings.mask.sum()),
        "missing_cells": int((findings.missing & ~findings.mask).sum()),
    }
    for kind, name in enumerate(KINDS):
        cells = findings.kinds == kind
        assert summary["kinds"][name] == {"rows": int(cells.any(axis=1).sum()), "cells": int(cells.sum())}


def test_summary_is_json_and_always_the_same():
    findings = some_findings(names=[NASTY, *"abcdefghi"])
    text = json.dumps(summarise(findings), allow_nan=False)
    assert json.loads(text) == summarise(findings)
    assert text == json.dumps(summarise(findings), allow_nan=False)


@pytest.mark.parametrize("size", [7, 100, 1000])
def test_summary_is_the_same_for_any_batches(size):
    findings = some_findings(2500, 40, row_ids=[f"id{row}" for row in range(2500)], tree_depth=2, notes=("Drift.",))
    builder = SummaryBuilder()
    for batch in batches(findings, size):
        builder.add(batch)
    assert builder.summary() == summarise(findings)
    assert builder.summary()["warnings"] == ["Drift."]


def test_worst_rows_come_first():
    findings = some_findings(200, 10)
    rows = summarise(findings)["rows"]
    corrupted = [record["n_corrupted"] > 0 for record in rows]
    assert corrupted == sorted(corrupted, reverse=True)
    scores = [record["score"] for record in rows if record["n_corrupted"]]
    assert scores == sorted(scores)
    assert rows[0]["row"] == min(
        np.flatnonzero(findings.mask.any(axis=1)),
        key=lambda row: (findings.row_scores[row], -(findings.mask | findings.missing)[row].sum(), row),
    )


def test_rows_without_scores_are_ranked_by_p_value_or_by_what_was_found():
    rows = [record for record in summarise(some_findings(60, row_scores=None))["rows"] if record["n_corrupted"]]
    assert [record["p_value"] for record in rows] == sorted(record["p_value"] for record in rows)
    rows = summarise(some_findings(60, row_scores=None, p_values=None, kinds=None))["rows"]
    hit = [record["n_corrupted"] + record["n_missing"] for record in rows if record["n_corrupted"]]
    assert hit == sorted(hit, reverse=True)
    assert rows[0]["score"] is rows[0]["p_value"] is rows[0]["nodes"] is None
    assert rows[0]["why"] == ""


def test_unusual_rows_are_apart():
    findings = some_findings(200)
    summary = summarise(findings)
    assert {record["row"] for record in summary["unusual_rows"]} == set(np.flatnonzero(findings.unusual).tolist())
    assert not {record["row"] for record in summary["rows"]} & set(np.flatnonzero(findings.unusual).tolist())
    assert all(record["unusual"] and "left as it is" in record["why"] for record in summary["unusual_rows"])
    assert f"{findings.unusual.sum()} flagged as unusual and left alone" in summary["headline"]


def test_many_corrupted_rows_do_not_displace_unusual_ones():
    findings = some_findings(3000)
    summary = summarise(findings)
    assert len(summary["rows"]) == 1000
    assert len(summary["unusual_rows"]) == 250 < findings.unusual.sum()


@pytest.mark.parametrize("order", [None, [3, 1, 2, 0, 11, 10, 9, 4, 5, 6, 7, 8]])
def test_a_record_tells_the_row_in_layout_order(order):
    findings = some_findings(40, 12, order=None if order is None else np.array(order), tree_depth=3)
    order = np.arange(12) if order is None else np.array(order)
    summary = summarise(findings)
    assert (summary["columns"]["order"] or list(range(12))) == order.tolist()
    for record in summary["rows"] + summary["unusual_rows"]:
        row = record["row"]
        before = np.array(record["before"], dtype=float)
        np.testing.assert_allclose(before, findings.before[row, order], rtol=1e-5)
        after = before.copy()
        after[record["filled_at"]] = record["after"]
        np.testing.assert_allclose(after, findings.after[row, order], rtol=1e-5)
        np.testing.assert_allclose(record["spread"], findings.spread[row, order][record["filled_at"]], rtol=1e-5)
        np.testing.assert_allclose(record["evidence"], findings.cell_evidence[row, order], rtol=1e-2)
        np.testing.assert_allclose(record["nodes"], findings.node_scores(np.array([row]))[0])
        kinds = np.full(12, -1)
        for start, stop, kind in record["corrupted"]:
            kinds[start:stop] = kind
        assert np.array_equal(kinds, findings.kinds[row, order])
        missing = np.zeros(12, bool)
        for start, stop in record["missing"]:
            missing[start:stop] = True
        assert np.array_equal(missing, findings.only_missing[row, order])
        assert (record["n_corrupted"], record["n_missing"]) == ((kinds >= 0).sum(), missing.sum())


def test_records_carry_their_lines_of_the_findings_table():
    findings = some_findings(60, names=list("abcdefghij"), order=np.arange(10)[::-1].copy())
    table = findings_table(findings)
    summary = summarise(findings)
    lines = {record["row"]: record["findings"] for record in summary["rows"] + summary["unusual_rows"]}
    for row in range(60):
        own = [at for at, number in enumerate(table["row"]) if number == row]
        assert [line[:4] for line in lines[row]] == [
            list(line) for line in zip(*([table[name][at] for at in own] for name in list(table)[2:6]), strict=True)
        ]
        after = [np.nan if line[5] is None else line[5] for line in lines[row]]
        np.testing.assert_allclose(after, [table["after_mean"][at] for at in own], rtol=1e-5)


def test_node_scores_are_asked_for_shown_rows_only():
    asked = []
    findings = some_findings(3000, 10, tree_depth=3)

    def node_scores(rows):
        asked.extend(rows.tolist())
        return np.zeros((len(rows), len(findings.tree.start)))

    summary = summarise(replace(findings, node_scores=node_scores))
    shown = summary["rows"] + summary["unusual_rows"]
    assert sorted(asked) == sorted(record["row"] for record in shown)
    assert len(asked) < 3000


def test_rows_left_out_are_said_and_where_they_are():
    summary = summarise(some_findings(5000, 30))
    assert summary["rest"].startswith("The 1,250 worst of 5,000 rows are listed with their values; counts and the map")
    assert "mended.findings_table()" in summary["rest"]
    assert any("stands for 32 rows x 1 column" in note for note in summary["notes"])
    assert len(summary["map"]["corrupted"]) <= 256
    assert len(json.dumps(summary)) < 4_000_000
    assert summarise(some_findings(20))["rest"] == ""
    builder = SummaryBuilder(rest="See findings.csv.").add(some_findings(5000))
    assert builder.summary()["rest"].endswith("See findings.csv.")


@pytest.mark.parametrize(("n_rows", "n_columns"), [(1, 2), (256, 400), (257, 401), (5000, 3)])
def test_map_counts_every_mark_once(n_rows, n_columns):
    mask = np.random.default_rng(0).random((n_rows, n_columns)) < 0.1
    values = np.zeros(mask.shape)
    drawn = summarise(Findings(before=values, after=values, mask=mask))["map"]
    tall, wide, counts = drawn["rows_per_cell"], drawn["columns_per_cell"], np.array(drawn["corrupted"])
    assert counts.shape == (-(-n_rows // tall), -(-n_columns // wide))
    assert counts.shape[0] <= 256
    assert counts.shape[1] <= 400
    for (line, column), count in np.ndenumerate(counts):
        assert count == mask[line * tall : (line + 1) * tall, column * wide : (column + 1) * wide].sum()


def test_columns_hit_together_are_one_line():
    mask = np.zeros((100, 12), bool)
    mask[:40, 3:7] = True
    mask[40:60, 9] = True
    mask[60:70, 10] = True
    values = np.zeros(mask.shape)
    names = list("abcdefghijkl")
    top = summarise(Findings(before=values, after=values, mask=mask, names=names))["columns"]["most_hit"]
    assert [(one["name"], one["rows"]) for one in top] == [("d to g", 40), ("j", 20), ("k", 10)]


def test_columns_hit_as_often_but_in_other_rows_stay_apart():
    hits = np.array([5, 5, 5])
    assert hit_together(hits, np.array([0, 5])) == [(0, 1, 0), (1, 3, 1)]
    assert hit_together(np.array([9, 3, 0]), np.array([3, 0])) == [(0, 1, 0), (1, 2, 1)]
    several = hit_together(np.array([0, 8, 9, 9, 1, 5]), np.array([0, 8, 9, 1, 1]))
    assert several == [(1, 4, 2), (5, 6, 5), (4, 5, 4)]


def test_labels_and_units():
    findings = some_findings(30, names=list("abcdefghij"))
    summary = summarise(findings, labels={"b": "Inlet"}, units={"b": "°C"})
    assert summary["columns"]["names"][:3] == ["a", "Inlet", "c"]
    assert summary["columns"]["units"][:3] == ["", "°C", ""]
    assert all(line[0] in "abcdefghij" for record in summary["rows"] for line in record["findings"])
    assert set(summarise(findings, units="mV")["columns"]["units"]) == {"mV"}
    assert summarise(findings)["columns"]["units"] is None


def test_labels_and_units_of_columns_without_names():
    for keys in ({2: "Outlet"}, {"2": "Outlet"}, {"column 2": "Outlet"}):
        columns = summarise(some_findings(30), labels=keys, units="mV")["columns"]
        assert (columns["names"][2], columns["named"], set(columns["units"])) == ("Outlet", True, {"mV"})
    pixels = some_findings(4, 6, grid=(2, 3))
    assert set(summarise(pixels, units="grey")["columns"]["units"]) == {"grey"}
    columns = summarise(pixels, units={"pixel 1, *": "V", 5: "A"})["columns"]
    assert columns["units"] == ["", "", "", "V", "V", "A"]


def test_words_for_a_column_that_is_not_there_are_refused():
    with pytest.raises(
        ParameterError, match="units: no column is called 'x'. Give names.* are a, b, c, d, e and 5 more"
    ):
        summarise(some_findings(3, names=list("abcdefghij")), units={"a": "V", "x": "V"})
    with pytest.raises(ParameterError, match="labels: no column is called 10. "):
        summarise(some_findings(3), labels={10: "V"})


def test_columns_are_named_in_the_order_of_the_table():
    mask = np.zeros((30, 6), dtype=bool)
    mask[:20, [1, 2, 5]] = True
    kinds, order = np.where(mask, 0, -1).astype(np.int8), np.array([0, 5, 1, 2, 3, 4])
    found = Findings(before=1.0 * mask, after=0.0 * mask, mask=mask, kinds=kinds, names=list("abcdef"), order=order)
    summary = summarise(found)
    assert summary["rows"][0]["corrupted"] == [[1, 4, 0]]
    assert summary["rows"][0]["why"].startswith("b to c and f look like noise")
    assert [one["name"] for one in summary["columns"]["most_hit"]] == ["b to c and f"]


def test_names_default_to_pixels_or_numbers():
    assert summarise(some_findings(4, 6, grid=(2, 3)))["columns"]["names"][5] == "pixel 1, 2"
    assert summarise(some_findings(4, 6))["columns"]["names"][5] == "column 5"


def test_pixels_are_counted_in_words_not_listed():
    why = [record["why"] for record in summarise(some_findings(9, 6, grid=(2, 3)))["rows"] if record["n_corrupted"]]
    assert why
    assert not any("pixel" in words for words in why)
    assert all(" value" in words for words in why)


def test_nothing_found():
    summary = summarise(nothing_found(some_findings(8)))
    assert summary["headline"] == "No corrupted values were found in 8 rows."
    assert summary["columns"]["most_hit"] == []
    assert summary["kinds"] is None
    assert all(record["n_corrupted"] == 0 for record in summary["rows"])


def test_no_rows():
    assert summarise(some_findings().take(np.zeros(0, np.int64)))["headline"] == "There are no rows."


def test_images_too_large_to_be_drawn_are_said():
    summary = summarise(some_findings(3, 20_100, grid=(100, 201)))
    assert summary["grid"] is None
    assert any("images of 20,100 values" in note for note in summary["notes"])


def test_a_single_repaired_value():
    before, after = np.array([[1.0, 2.0, 9.0], [1.0, 2.0, 3.0]]), np.array([[1.0, 2.0, 3.1], [1.0, 2.0, 3.0]])
    summary = summarise(Findings(before=before, after=after, mask=before != after))
    assert summary["headline"] == "1 of 2 rows was repaired."
    assert (summary["rows"][0]["corrupted"], summary["rows"][0]["after"]) == ([[2, 3, -1]], [3.1])


def test_only_rows_and_mask_are_needed():
    full = some_findings()
    summary = summarise(Findings(before=full.before, after=full.after, mask=full.mask))
    assert summary["totals"]["missing_cells"] == 0
    assert summary["rule"] is None


def test_numbers_are_rounded_to_digits():
    values = np.array([123.456, -0.0012345, 0.0, 1e300 / 3, np.nan, np.inf])
    assert plain_numbers(np.array([1 / 3, 4.0, 123456789.0])) == [0.333333, 4.0, 123457000.0]
    assert plain_numbers(values, 3) == [123.0, -0.00123, 0.0, 3.33e299, None, None]
