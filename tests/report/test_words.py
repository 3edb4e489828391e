import re
from dataclasses import replace

import numpy as np
import pytest
from tests.report.examples import Intervals

from treemend.report import KINDS, Findings, Rule
from treemend.report.words import clip, name_columns, name_run, percent, rule_summary, why
from treemend.tables import counted

RATE = Rule("rate", 0.05, n_reference=1200, reference_rate=0.048)


def test_counts_shares_and_long_names():
    assert (counted(1, "row"), counted(1200, "row")) == ("1 row", "1,200 rows")
    assert (percent(0.05), percent(0.0123), percent(1 / 3)) == ("5%", "1.23%", "33.3%")
    assert (clip("temperature", 6), clip("short", 6)) == ("tempe…", "short")
    assert clip("a_long_name.csv, line 12", 16, tail=9) == "a_long…, line 12"
    assert (name_run("a", "b"), name_run("a", "a")) == ("a to b", "a")
    assert (name_run("column 3", "column 5"), name_run("column 3", "column 3")) == ("columns 3 to 5", "column 3")
    assert name_columns(np.array([6, 1, 2, 3]), list("abcdefgh")) == "b to d and g"


@pytest.mark.parametrize(
    ("n_corrupted", "words"),
    [
        (0, "None was found."),
        (25, "which mistakes alone could explain"),
        (200, "200 were found: about 170 more than mistakes explain"),
    ],
)
def test_a_false_alarm_rate_in_words(n_corrupted, words):
    told = rule_summary(RATE, 600, n_corrupted)
    assert told["rate"] == told["value"] == 0.05
    assert told["expected"] == pytest.approx(30)
    assert any(words in sentence for sentence in told["words"])
    assert "False-alarm rate 5%" in told["words"][0]
    assert "4.8%" in told["words"][-1]


def test_a_number_that_is_rarely_exceeded_is_not_found_and_called_too_many():
    for n_corrupted in range(30, 60):
        sentence = rule_summary(RATE, 600, n_corrupted)["words"][1]
        limit = int(re.search(r"rarely more than (\d+)", sentence)[1])
        assert (n_corrupted > limit) == ("more than mistakes explain" in sentence)


def test_a_false_discovery_rate_counts_among_what_was_found():
    told = rule_summary(Rule("fdr", 0.1, n_reference=300), 100_000, 500)
    assert told["expected"] == pytest.approx(50)
    assert told["rate"] == 0.1
    assert "False discovery rate 10%" in told["words"][0]
    assert "500 rows were declared: expect about 50 of them to be clean." in told["words"]


def test_nothing_at_a_false_discovery_rate_is_told():
    told = rule_summary(Rule("fdr", 0.1, n_reference=300), 400, 0)
    assert told["expected"] == 0
    assert told["words"][-1] == "No row was declared: no p-value is small enough."


def test_a_threshold_has_the_rate_of_the_reference():
    told = rule_summary(Rule("tau", 0.01, 1200, 0.048), 600, 40)
    assert "tau = 0.01" in told["words"][0]
    assert told["rate"] == 0.048
    assert told["expected"] == pytest.approx(600 * 0.048)


@pytest.mark.parametrize("rule", [RATE, Rule("fdr", 0.1), Rule("tau", 0.01), Rule("rate", 0.01, 20, powerless=True)])
def test_nothing_in_a_rule_is_null(rule):
    assert None not in rule_summary(rule, 10, 1).values()


def test_too_few_reference_rows_are_told():
    told = rule_summary(Rule("rate", 0.01, n_reference=20, powerless=True), 600, 0)
    assert "expected" not in told
    assert "20 reference rows are too few" in told["words"][1]
    assert rule_summary(None, 5, 1) is None


def test_rarely_above_is_rare():
    """Fresh clean rows against a threshold learnt from N others: the bound fails seldom."""
    rng = np.random.default_rng(0)
    n_rows, n_reference, rate = 300, 200, 0.05
    bound = rule_summary(Rule("rate", rate, n_reference), n_rows, 0)["rarely_above"]
    kth = int(np.floor(rate * n_reference))
    exceeded = 0
    for _ in range(2000):
        threshold = np.sort(rng.random(n_reference))[kth - 1]
        exceeded += (rng.random(n_rows) <= threshold).sum() > bound
    assert exceeded / 2000 < 0.05


def one_row(*, unknown=(), unusual=False, p_value=None, n_reference=100, **of_kind):
    """Return the findings of one row with nine cells, given the columns of each kind."""
    kinds = np.full((1, 9), -1, np.int8)
    for kind, columns in of_kind.items():
        kinds[0, columns] = KINDS.index(kind)
    mask = kinds >= 0
    mask[0, list(unknown)] = True
    return Findings(
        before=np.ones((1, 9)),
        after=np.zeros((1, 9)),
        mask=mask,
        kinds=kinds,
        unusual=np.array([unusual]),
        p_values=None if p_value is None else np.array([p_value]),
        rule=Rule("rate", 0.05, n_reference),
    )


NAMES = [f"s{k}" for k in range(9)]


@pytest.mark.parametrize(
    ("found", "p_value", "words"),
    [
        (
            {"noise": [4, 5, 6]},
            1 / 101,
            "s4 to s6 look like noise, given the rest of the row. None of 100 reference rows shows as much evidence "
            "(p-value 0.0099).",
        ),
        (
            {"foreign": [4]},
            2 / 101,
            "s4 does not fit the rest of the row, as if taken from another row. 1 ",
        ),
        (
            {"shifted": [1, 2, 7]},
            1e-5,
            "s1 to s2 and s7 are shifted together, compared with what the rest of the row suggests. Hardly any of 100 "
            "reference rows shows as much evidence (p-value 1e-05, extrapolated).",
        ),
        ({"stuck": [0, 2, 4, 6, 8]}, 0.5, "s0, s2, s4 and 2 more are stuck at one value, which"),
        ({"noise": [0], "stuck": [3]}, 0.5, "s0 looks like noise, given the rest of the row. s3 is stuck,"),
        ({"unknown": [0, 1]}, 0.02, "1 of 100 reference rows shows as much evidence (p-value 0.02)."),
    ],
)
def test_why_a_row_was_declared(found, p_value, words):
    assert why(one_row(**found, p_value=p_value), NAMES).startswith(words)


def test_why_of_pixels_and_of_unusual_and_untouched_rows():
    assert why(replace(one_row(noise=[0, 4]), grid=(3, 3)), NAMES).startswith("2 values look like")
    assert "left as it is. None of 100" in why(one_row(unusual=True, p_value=1 / 101), NAMES)
    assert why(one_row(p_value=0.5), NAMES) == ""
    assert why(one_row(noise=[0], p_value=0.01, n_reference=None), NAMES).endswith("p-value 0.01.")


def test_the_strongest_node_is_the_largest_inside_what_was_found():
    tree = Intervals(np.array([0, 0, 4, 4, 6]), np.array([8, 4, 8, 6, 8]), np.array([0, 1, 1, 2, 2]))
    row = replace(one_row(unknown=range(4, 8)), tree=tree)
    told = why(row, NAMES, np.array([0.0, 0.5, 0.0, 0.0, 0.0]))
    assert told == "Lowest score: s4 to s7. Of 100, no reference row is as far from the others there."
    told = why(row, NAMES, np.array([0.5, 0.5, 0.3, 0.01, 0.3]))
    assert told == "Lowest score: s4 to s5. Of 100, 1 reference row is as far from the others there."
    assert why(row, NAMES, np.full(5, np.nan)) == ""
    row = replace(row, order=np.array([0, 1, 2, 3, 7, 5, 4, 6, 8]))
    assert why(row, NAMES, np.array([0.5, 0.5, 0.3, 0.01, 0.3])).startswith("Lowest score: s5 and s7. Of 100")
