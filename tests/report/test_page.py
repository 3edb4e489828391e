"""The forms of a summary: nothing from the data becomes markup, nothing is fetched, files are whole."""

import base64
import builtins
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from tests.report.examples import NASTY, some_findings

from treemend.report import as_json, forms, fragment, summarise, write_html, write_json

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
    return summarise(some_findings(30, 10, names=NASTY_NAMES, row_ids=(3 * NASTY_NAMES)))


@pytest.fixture(scope="module")
def nasty_page(nasty_summary):
    return forms.as_html(nasty_summary, title=NASTY)


def test_page_holds_its_own_three_scripts_and_no_more(nasty_page):
    page = Elements(nasty_page)
    assert [attributes for tag, attributes in page.elements if tag == "script"] == [
        {"id": "summary", "type": "application/json"},
        {},
        {},
    ]
    assert not [tag for tag, _ in page.elements if tag in {"img", "iframe", "object", "embed"}]
    handlers = [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert handlers == []


def test_page_lets_only_its_own_scripts_run(nasty_page):
    page = Elements(nasty_page)
    policy = next(attributes["content"] for tag, attributes in page.elements if "http-equiv" in attributes)
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in page.scripts[1:]]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    assert f"script-src {allowed};" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe-eval" not in policy


def test_page_refers_to_nothing_outside(nasty_page):
    page = Elements(nasty_page)
    links = [
        attributes[name] for _, attributes in page.elements for name in ("href", "src", "action") if name in attributes
    ]
    assert links
    assert all(link.startswith(("#", "data:")) for link in links)
    assert not re.search(r"@import|url\(", (Path(forms.__file__).parent / "page.css").read_text())


def test_page_carries_the_whole_summary(nasty_page, nasty_summary):
    data = Elements(nasty_page).scripts[0]
    assert not set("<>&") & set(data)
    assert json.loads(data) == nasty_summary


def test_page_shows_names_as_text(nasty_page):
    assert any(NASTY in words for words in Elements(nasty_page).words)
    assert "{{" in nasty_page  # the nasty name stays as it is
    assert len(nasty_page) < 8_000_000


def test_page_reads_without_a_script(nasty_page, nasty_summary):
    words = " ".join(Elements(nasty_page).words)
    assert nasty_summary["headline"] in words
    assert all(sentence in words for sentence in nasty_summary["promise"]["words"])


def test_largest_report_stays_small():
    findings = some_findings(700, 300, depth=7)
    worst = np.full(findings.before.shape, -12.34567)
    summary = summarise(replace(findings, mask=worst < 0, missing=None, before=worst, after=worst, spread=-worst))
    assert len(as_json(summary)) < 3_000_000
    assert len(forms.as_html(summary)) < 8_000_000


def test_json_file_is_the_summary(tmp_path, nasty_summary):
    write_json(nasty_summary, tmp_path / "summary.json")
    assert json.loads((tmp_path / "summary.json").read_text("ascii")) == nasty_summary


def test_files_are_whole_or_not_there(tmp_path, nasty_summary, monkeypatch):
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


def test_without_plotly_the_next_step_is_told(nasty_summary, monkeypatch):
    known = builtins.__import__

    def without_plotly(name, *rest):
        if name.startswith("plotly"):
            raise ImportError(name)
        return known(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_plotly)
    with pytest.raises(ImportError, match=r"pip install 'treemend\[report\]'"):
        forms.as_html(nasty_summary)


def test_fragment_is_small_and_escaped(nasty_summary):
    text = fragment(nasty_summary)
    tags = {tag for tag, _ in Elements(text).elements}
    assert tags <= {"div", "table", "tr", "th", "td", "svg", "rect"}
    assert nasty_summary["headline"] in text
    assert len(text) < 20_000


def test_fragment_of_nothing():
    findings = some_findings(4)
    empty = replace(findings, mask=np.zeros_like(findings.mask), missing=None)
    assert "Nothing was found in 4 rows." in fragment(summarise(empty))
    assert "<table" not in fragment(summarise(empty))
