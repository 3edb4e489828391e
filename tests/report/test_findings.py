import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.report.examples import BY_ROW, some_findings

from treemend.report import KINDS, Findings, findings_table
from treemend.report.findings import row_runs

LABELS = arrays(np.int64, st.tuples(st.integers(0, 5), st.integers(1, 12)), elements=st.integers(-1, 2))


@given(LABELS)
def test_runs_hold_every_label_once_and_are_as_long_as_can_be(labels):
    again = np.full_like(labels, -1)
    found = list(zip(*row_runs(labels), strict=True))
    for row, start, stop in found:
        part = labels[row, start:stop]
        assert (part == part[0]).all()
        assert (again[row, start:stop] == -1).all()
        assert start == 0 or labels[row, start - 1] != part[0]
        assert stop == labels.shape[1] or labels[row, stop] != part[0]
        again[row, start:stop] = part[0]
    assert np.array_equal(again, labels)
    assert found == sorted(found)


def test_runs_of_one_row():
    by_row = [found.tolist() for found in row_runs(np.array([[0, 0, 2, -1], [-1, 1, 1, 1]]))]
    assert by_row == [[0, 0, 1], [0, 2, 1], [2, 3, 4]]
    assert len(row_runs(np.full((2, 4), -1))[0]) == 0


def test_rows_can_be_taken():
    findings = some_findings(20, tree_depth=2, row_ids=[f"r{row}" for row in range(20)])
    rows = np.array([7, 3])
    taken = findings.take(rows)
    for name in BY_ROW:
        np.testing.assert_array_equal(getattr(taken, name), getattr(findings, name)[rows])
    assert taken.row_ids == ["r7", "r3"]
    np.testing.assert_array_equal(taken.node_scores(np.array([1])), findings.node_scores(np.array([3])))
    assert taken.rule == findings.rule


@pytest.mark.parametrize("seed", range(3))
def test_the_table_has_a_line_for_each_run_of_one_kind(seed):
    names = list("abcdefghij")
    findings = some_findings(40, names=names, row_ids=[f"r{row}" for row in range(40)], seed=seed)
    table = findings_table(findings, first_row=1000)
    assert len({len(column) for column in table.values()}) == 1
    seen = np.zeros(findings.mask.shape, int)
    for line in zip(*table.values(), strict=True):
        one = dict(zip(table, line, strict=True))
        row, start, stop = one["row"] - 1000, names.index(one["first_column"]), names.index(one["last_column"]) + 1
        seen[row, start:stop] += 1
        assert one["id"] == f"r{row}"
        assert one["n_cells"] == stop - start
        assert one["p_value"] == findings.p_values[row]
        np.testing.assert_allclose(one["after_mean"], np.nanmean(findings.after[row, start:stop]))
        if one["kind"] == "unusual":
            assert findings.unusual[row]
            assert (start, stop) == (0, 10)
        elif one["kind"] == "missing":
            assert np.isnan(one["before_mean"])
        else:
            assert (findings.kinds[row, start:stop] == KINDS.index(one["kind"])).all()
            np.testing.assert_allclose(one["before_mean"], np.nanmean(findings.before[row, start:stop]))
            np.testing.assert_allclose(one["spread_mean"], np.mean(findings.spread[row, start:stop]))
            np.testing.assert_allclose(one["evidence_max"], np.max(findings.cell_evidence[row, start:stop]))
    assert np.array_equal(seen > 0, findings.mask | findings.only_missing | findings.unusual[:, None])
    assert seen.max() == 1


def test_a_table_of_two_runs():
    before = np.array([[1.0, 9.0, 9.0], [1.0, 2.0, np.nan]])
    after = np.array([[1.0, 2.1, 3.1], [1.0, 2.0, 3.0]])
    mask, missing = np.array([[False, True, True], [False] * 3]), np.isnan(before)
    table = findings_table(Findings(before=before, after=after, mask=mask, missing=missing, names=list("abc")))
    told = [table[name] for name in ("row", "first_column", "last_column", "kind", "after_mean")]
    assert list(zip(*told, strict=True)) == [(0, "b", "c", "corrupted", 2.6), (1, "c", "c", "missing", 3.0)]


def test_the_table_without_kinds_or_findings():
    bare = some_findings(kinds=None, p_values=None, spread=None, cell_evidence=None, unusual=None)
    table = findings_table(bare)
    assert set(table["kind"]) == {"corrupted", "missing"}
    assert np.isnan(table["p_value"]).all()
    assert np.isnan(table["evidence_max"]).all()
    empty = findings_table(bare.take(np.zeros(0, np.int64)))
    assert list(empty) == list(table)
    assert all(len(column) == 0 for column in empty.values())
