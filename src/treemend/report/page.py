"""The report as one HTML file that holds all it needs and reads without a script, too.

The page carries its script, its style and the summary. Its security policy allows exactly this script and no request.
Whatever comes from the data is escaped here, or reaches the page as text only.
"""

import base64
import hashlib
import json
import os
import re
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import Any, TypeAlias

from treemend.atomic import atomic_file
from treemend.report.words import clip, percent, row_words
from treemend.tables import counted

Summary: TypeAlias = Mapping[str, Any]
_REPAIRED = {"corrupted": "replaced", "expected": "put in its place", "values": "Replaced values"}
_ONLY_FOUND = {"corrupted": "found", "expected": "expected instead", "values": "Values found"}
_CELL = "style='padding:2px 14px 2px 0;text-align:left;vertical-align:middle;background:none'"


def as_json(summary: Summary | None) -> str:
    """Return the summary as JSON text in ASCII that cannot end an HTML element or open a comment in it."""
    text = json.dumps(summary, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def as_html(summary: Summary, title: str = "treemend report", *, earlier: Summary | None = None) -> str:
    """Return the report as a page of its own, compared with the summary of an earlier table, if there is one."""
    here = files("treemend.report")
    script = "\n".join((here / name).read_text("utf-8") for name in ("axes.js", "drawings.js", "page.js"))
    words = _REPAIRED if summary["repaired"] else _ONLY_FOUND
    beginning = _shared_beginning([record["id"] for record in [*summary["rows"], *summary["unusual_rows"]]])
    parts = {
        "title": escape(title),
        "headline": escape(summary["headline"]),
        "tiles": _tiles(summary),
        "rule": _rule(summary),
        "warnings": _list(summary["warnings"], "warning"),
        "notes": _list([*summary["notes"], *filter(None, [summary["rest"]])], "notes"),
        "rankings": _rankings(summary, words["corrupted"]),
        "shared": f"<p class='shared'>All from {escape(beginning.rstrip(', '))}</p>" if beginning else "",
        "rows": _rows(summary, len(beginning)),
        "style": (here / "page.css").read_text("utf-8"),
        "policy": f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'",
        "data": as_json(summary),
        "earlier": as_json(_for_comparison(earlier) if earlier else None),
        "script": script,
        **{f"{name}_words": text for name, text in words.items()},
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], (here / "page.html").read_text("utf-8"))


def write_html(
    summary: Summary, path: str | os.PathLike[str], title: str = "treemend report", *, earlier: Summary | None = None
) -> None:
    """Write the report as one HTML file; an existing file is replaced."""
    with atomic_file(path, replace=True) as file:
        file.write(as_html(summary, title, earlier=earlier).encode("utf-8", errors="backslashreplace"))


def _for_comparison(summary: Summary) -> dict[str, Any]:
    """Leave out what a comparison does not need: the values of the rows, the map, an earlier comparison."""
    kept = {name: summary[name] for name in ("format", "headline", "totals", "rule", "kinds", "columns", "rest")}
    for name in ("rows", "unusual_rows"):
        kept[name] = [{key: one[key] for key in ("row", "id", "unusual", "n_corrupted")} for one in summary[name]]
    return kept


def _tiles(summary: Summary) -> str:
    totals, labels = summary["totals"], ("corrupted row{s}", "corrupted value{s}", "missing value{s}")
    if summary["repaired"]:
        labels = ("row{s} repaired", "value{s} replaced", "missing value{s} filled")
    shares = [f"{percent(totals[f'corrupted_{of}'] / max(totals[of], 1))} of all" for of in ("rows", "cells")]
    tiles = [
        (totals["rows"], "row{s} examined", f"{counted(totals['columns'], 'column')} each"),
        (totals["corrupted_rows"], labels[0], f"{shares[0]} rows"),
        (totals["corrupted_cells"], labels[1], f"{shares[1]} values"),
        (totals["unusual_rows"], "unusual row{s}", "flagged and left alone"),
        (totals["missing_cells"], labels[2], "gaps in the input"),
    ]
    return "\n".join(
        f"<div class='tile'><dt>{label.format(s='s' * (value != 1))}</dt>"
        f"<dd><b>{value:,}</b><span>{detail}</span></dd></div>"
        for value, label, detail in tiles[:3] + [tile for tile in tiles[3:] if tile[0]]
    )


def _rule(summary: Summary) -> str:
    """Return which rule decided: a bar to look at where mistakes can be counted, and sentences."""
    rule, totals = summary["rule"], summary["totals"]
    if rule is None:
        return "<p>The result does not say which rule declared rows.</p>"
    words = "".join(f"<p>{escape(sentence)}</p>" for sentence in rule["words"])
    if "expected" not in rule or not totals["rows"]:
        return words
    n_rows, n_corrupted, expected = totals["rows"], totals["corrupted_rows"], rule["expected"]
    mistakes = "expected among them by mistake" if rule["name"] == "fdr" else "expected by mistake if all were clean"
    done = "repaired" if summary["repaired"] else "corrupted"
    label = f"{n_corrupted:,} of {n_rows:,} rows {done}; about {expected:,.1f} {mistakes}"
    bars = (("all", "unchanged", n_rows), ("corrupted", done, n_corrupted), ("mistakes", mistakes, expected))
    drawn = [
        f"<rect class='{name}' width='{100 * count / n_rows:.3f}' height='5'/>"
        for name, _, count in sorted(bars, key=lambda bar: -bar[2])
    ]
    key = [f"<span class='item'><i class='swatch {name}'></i>{word}</span>" for name, word, _ in reversed(bars)]
    return (
        f"<svg class='gauge' viewBox='0 0 100 5' preserveAspectRatio='none' role='img' aria-label='{label}'>"
        f"{''.join(drawn)}</svg><p class='key'>{''.join(key)}</p>{words}"
    )


def _list(sentences: list[str], name: str) -> str:
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return f"<ul class='{name}'>{items}</ul>" if items else ""


def _rankings(summary: Summary, corrupted: str) -> str:
    """Return the kinds found most and the columns hit most; images show the latter as an image."""
    kinds = [(name, one["rows"], f"data-kind='{name}'") for name, one in (summary["kinds"] or {}).items()]
    kinds = sorted((line for line in kinds if line[1]), key=lambda line: -line[1])
    top = [] if summary["grid"] else summary["columns"]["most_hit"]
    columns = [(one["name"], one["rows"], f"data-column='{escape(one['peak'])}'") for one in top]
    key = f"in how many rows a value was {corrupted}; adjacent columns hit together share a line"
    n_rows = summary["totals"]["rows"]
    of_kinds = _ranked("Kinds of corruption", "in how many rows each kind was found", kinds, n_rows)
    return f"{of_kinds}\n{_ranked('Columns hit most', key, columns, n_rows)}"


def _ranked(title: str, key: str, lines: list[tuple[str, int, str]], n_rows: int) -> str:
    """Return a ranked list with bars; each name is a button by which the script filters the rows."""
    items = "".join(
        f"<li><button type='button' class='name' title='{escape(clip(name, 400))}' {data}>{escape(clip(name, 90))}"
        "</button><svg viewBox='0 0 100 10' preserveAspectRatio='none' aria-hidden='true'>"
        f"<rect width='{100 * count / lines[0][1]:.1f}' height='10'/></svg>"
        f"<span class='count'>{count:,} <small>{percent(count / n_rows)}</small></span></li>"
        for name, count, data in lines
    )
    return f"<h3>{title}</h3><p class='key'>{key}</p><ol class='top'>{items}</ol>" if items else ""


def _rows(summary: Summary, n_shared: int) -> str:
    """Return the list of rows, unusual ones after the others; the beginning that all names share is left out."""
    return "\n".join(
        f"<li role='option' id='row-{record['row']}' data-index='{index}' aria-selected='false' tabindex='-1'>"
        f"<span class='thumb'></span><span class='name' title='{escape(clip(record['id'], 400))}'>"
        f"{escape(clip(record['id'][n_shared:], 80, tail=41))}</span>"
        f"<span class='what'>{row_words(record, repaired=summary['repaired'])}</span>{_row_strip(record, summary)}</li>"
        for index, record in enumerate([*summary["rows"], *summary["unusual_rows"]])
    )


def _row_strip(record: dict[str, Any], summary: Summary) -> str:
    """Draw where in the row something was found; nothing if rows are images."""
    if summary["grid"]:
        return ""
    scale = 100 / summary["totals"]["columns"]
    marks = "".join(
        f"<rect class='{kind}' x='{scale * run[0]:.2f}' width='{max(scale * (run[1] - run[0]), 0.6):.2f}' height='6'/>"
        for kind in ("missing", "corrupted")
        for run in record[kind][:200]
    )
    return f"<svg class='strip' viewBox='0 0 100 6' preserveAspectRatio='none' aria-hidden='true'>{marks}</svg>"


def _shared_beginning(names: list[str]) -> str:
    """Return the folder or file that precedes all names, if it has more than 20 characters."""
    beginning = os.path.commonprefix(names) if len(names) > 1 else ""  # noqa: RUF071 - names are not all paths
    end = max(beginning.rfind(mark) + len(mark) if mark in beginning else 0 for mark in ("/", ", "))
    return beginning[:end] if end > 20 else ""


def notebook_html(summary: Summary) -> str:
    """Return the summary as HTML that fits below a notebook's cell."""
    words = summary["warnings"] + (summary["rule"]["words"][:2] if summary["rule"] else [])
    touched = [record for record in summary["rows"] if record["n_corrupted"] or record["n_missing"]]
    lines = "".join(
        f"<tr><td {_CELL}>{escape(clip(record['id'], 40))}</td>"
        f"<td {_CELL}>{row_words(record, repaired=summary['repaired'])}</td>"
        f"<td {_CELL}>{_row_strip(record, summary)}</td></tr>"
        for record in [*touched[:8], *summary["unusual_rows"][:4]]
    )
    lines = lines.replace("class='strip'", "width='260' height='12' style='background:#8883;display:block'")
    lines = lines.replace("class='corrupted'", "fill='#D55E00'").replace("class='missing'", "fill='#56B4E9'")
    titles = "".join(f"<th {_CELL} scope='col'>{word}</th>" for word in ("row", "what", "where"))
    table = f"<table style='border-collapse:collapse;margin:.6em 0'><tr>{titles}</tr>{lines}</table>" if lines else ""
    top = [f"{escape(one['name'])} ({counted(one['rows'], 'row')})" for one in summary["columns"]["most_hit"][:5]]
    most_hit = f"<div style='opacity:.75'>Hit most: {', '.join(top)}.</div>" if top else ""
    return (
        "<div style='max-width:52em;font:14px/1.5 system-ui,sans-serif'>"
        f"<div style='font-size:1.2em;font-weight:600'>{escape(summary['headline'])}</div>"
        f"<div style='opacity:.75'>{escape(' '.join(words))}</div>{table}{most_hit}</div>"
    )
