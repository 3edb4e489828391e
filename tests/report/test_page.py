"""The page and the notebook's piece: nothing from the data becomes markup, nothing is fetched, files are whole."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from tests.report.examples import NASTY, nothing_found, some_findings

from treemend.report import (
    Findings,
    Rule,
    SummaryBuilder,
    as_html,
    as_json,
    notebook_html,
    page,
    summarise,
    write_html,
)

NASTY_NAMES = [
    NASTY,
    "</script><script>alert(2)</script>",
    "<!--<script>",
    "'><img src=x onerror=alert(3)>",
    '"><svg onload=alert(4)>',
    "{{script}} {{data}}",
    "&lt;b&gt;",
    "%{x} <b>bold</b>",
    "a\u2028b\x00\ud800",
    "x" * 5000,
]


class Elements(HTMLParser):
    """Collects elements and the text of scripts."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.scripts, self.words = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data):
        if self.elements and self.elements[-1][0] == "script" and self.cdata_elem == "script":
            self.scripts[-1] += data
        else:
            self.words.append(data)


@pytest.fixture(scope="module")
def nasty_summary():
    findings = some_findings(30, 10, names=NASTY_NAMES, row_ids=(3 * NASTY_NAMES), notes=(NASTY,))
    return summarise(findings, labels={NASTY: f"{NASTY} label"}, units=NASTY)


@pytest.fixture(scope="module")
def nasty_page(nasty_summary):
    return as_html(nasty_summary, title=NASTY, earlier=nasty_summary)


def test_page_holds_its_own_three_scripts_and_no_more(nasty_page):
    elements = Elements(nasty_page).elements
    assert [attributes for tag, attributes in elements if tag == "script"] == [
        {"id": "summary", "type": "application/json"},
        {"id": "earlier", "type": "application/json"},
        {},
    ]
    assert not [tag for tag, _ in elements if tag in {"img", "iframe", "object", "embed"}]
    handlers = [name for _, attributes in elements for name in attributes if name.startswith("on")]
    assert handlers == []


def test_page_lets_only_its_own_script_run(nasty_page):
    parsed = Elements(nasty_page)
    policy = next(attributes["content"] for tag, attributes in parsed.elements if "http-equiv" in attributes)
    digest = base64.b64encode(hashlib.sha256(parsed.scripts[2].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe-eval" not in policy


def test_page_refers_to_nothing_outside(nasty_page):
    elements = Elements(nasty_page).elements
    links = [attributes[name] for _, attributes in elements for name in ("href", "src", "action") if name in attributes]
    assert links
    assert all(link.startswith(("#", "data:")) for link in links)
    assert not re.search(r"@import|url\(", (Path(page.__file__).parent / "page.css").read_text())


def test_page_carries_the_complete_summary(nasty_page, nasty_summary):
    data, earlier, _ = Elements(nasty_page).scripts
    assert not set("<>&") & set(data + earlier)
    assert json.loads(data) == nasty_summary
    assert json.loads(earlier)["totals"] == nasty_summary["totals"]
    assert "before" not in json.loads(earlier)["rows"][0]


def test_page_shows_names_as_text(nasty_page):
    assert any(NASTY in words for words in Elements(nasty_page).words)
    assert "{{" in nasty_page  # the nasty name stays as it is


def test_page_reads_without_a_script(nasty_page, nasty_summary):
    words = " ".join(Elements(nasty_page).words)
    assert nasty_summary["headline"] in words
    assert all(sentence in words for sentence in nasty_summary["rule"]["words"])
    assert "Kinds of corruption" in words
    assert "Columns hit most" in words
    assert words.count("replaced") >= len([record for record in nasty_summary["rows"] if record["n_corrupted"]])


def test_page_without_data_is_small():
    assert len(as_html(summarise(nothing_found(some_findings(3, 4))))) < 100_000


def test_largest_report_stays_small():
    findings = some_findings(400, 1000)
    worst = np.full(findings.before.shape, -12.34567)
    kinds = np.zeros(worst.shape, np.int8)
    findings = replace(
        findings, mask=worst < 0, missing=None, before=worst, after=worst, spread=-worst, kinds=kinds, unusual=None
    )
    assert len(as_html(summarise(findings))) < 12_000_000


def test_json_is_ascii_and_the_summary(nasty_summary):
    assert as_json(nasty_summary).isascii()
    assert json.loads(as_json(nasty_summary)) == nasty_summary


def test_files_are_complete_or_not_there(tmp_path, nasty_summary, monkeypatch):
    path = tmp_path / "report.html"
    write_html(nasty_summary, str(path))
    assert path.read_text("utf-8").rstrip().endswith("</html>")
    old = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="No space"):
        write_html(nasty_summary, path)
    assert path.read_bytes() == old
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_what_was_only_found_is_not_called_repaired():
    summary = SummaryBuilder(repaired=False).add(some_findings()).summary()
    assert summary["headline"].startswith("Corrupted values were found in 4 of 12 rows, ")
    text = as_html(summary)
    visible = text[text.index("<body>") : text.index("<script id=")]
    words = re.sub(r"<dl class=\"terms\">.*?</dl>|<[^>]*>", " ", visible, flags=re.DOTALL)
    assert not re.findall("repaired|replaced|filled", words)


def test_a_long_beginning_is_told_once():
    name = "a/very/long/folder/of/readings.csv"
    summary = summarise(some_findings(row_ids=[f"{name}, line {row}" for row in range(12)]))
    text = as_html(summary)
    assert f"title='{name}, line 3'>line 3<" in text
    assert f"<p class='shared'>All from {name}</p>" in text
    assert summary["rows"][0]["id"].startswith(name)
    short = [f"2024.csv, line {row}" for row in range(12)]
    assert "All from" not in as_html(summarise(some_findings(row_ids=short)))
    assert ">x, line 3<" in as_html(summarise(some_findings(row_ids=[f"x, line {row}" for row in range(12)])))


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (Rule("fdr", 0.1, 300), "expected among them by mistake"),
        (Rule("rate", 0.1, 300), "expected by mistake if all were clean"),
        (Rule("rate", 0.001, 30, powerless=True), "too few"),
        (None, "does not say which rule"),
    ],
)
def test_the_page_says_which_rule_decided(rule, words):
    assert words in as_html(summarise(some_findings(rule=rule)))


def test_notebook_piece_is_small_and_escaped(nasty_summary):
    text = notebook_html(nasty_summary)
    tags = {tag for tag, _ in Elements(text).elements}
    assert tags <= {"div", "table", "tr", "th", "td", "svg", "rect"}
    assert nasty_summary["headline"] in text
    assert "unusual, left alone" in text
    assert len(text) < 20_000


def test_notebook_piece_of_nothing():
    text = notebook_html(summarise(nothing_found(some_findings(4))))
    assert "No corrupted values were found in 4 rows." in text
    assert "<table" not in text


def test_bare_findings_make_a_page():
    full = some_findings()
    summary = summarise(Findings(before=full.before, after=full.after, mask=full.mask))
    assert "4 of 12 rows were repaired." in as_html(summary)
    assert "Hit most" in notebook_html(summary)
