"""A small piece of HTML for notebooks: no script, nothing to fetch, its style inside."""

from html import escape
from typing import Any

from treemend.report.page import row_strip
from treemend.report.words import clip, counted

__all__ = ["notebook_html"]

_SHOWN_ROWS = 8
_SHOWN_COLUMNS = 5
_CELL = "padding:2px 14px 2px 0;text-align:left;vertical-align:middle;background:none"


def notebook_html(summary: dict[str, Any]) -> str:
    """Return the summary as HTML that fits below a notebook's cell.

    Parameters
    ----------
    summary : dict
        From `treemend.report.SummaryBuilder`.
    """
    words = summary["warnings"] + (summary["rule"]["words"][:2] if summary["rule"] else [])
    return (
        "<div style='max-width:52em;font:14px/1.5 system-ui,sans-serif'>"
        f"<div style='font-size:1.2em;font-weight:600'>{escape(summary['headline'])}</div>"
        f"<div style='opacity:.75'>{escape(' '.join(words))}</div>{_table(summary)}{_most_hit(summary)}</div>"
    )


def _table(summary: dict[str, Any]) -> str:
    touched = [record for record in summary["rows"] if record["n_corrupted"] or record["n_missing"]][:_SHOWN_ROWS]
    lines = [_line(record, summary) for record in touched]
    lines += [_line(record, summary) for record in summary["unusual_rows"][: _SHOWN_ROWS // 2]]
    if not lines:
        return ""
    words = ("row", "what", "where")
    titles = "".join(f"<th style='{_CELL}' scope='col'>{word}</th>" for word in words)
    return f"<table style='border-collapse:collapse;margin:.6em 0'><tr>{titles}</tr>{''.join(lines)}</table>"


def _line(record: dict[str, Any], summary: dict[str, Any]) -> str:
    done = ("replaced", "filled") if summary["repaired"] else ("found", "missing")
    counts = zip((record["n_corrupted"], record["n_missing"]), done, strict=True)
    what = ["unusual, left alone"] if record["unusual"] else []
    what += [f"{count:,} {word}" for count, word in counts if count]
    strip = (
        row_strip(record, summary["totals"]["columns"])
        .replace("class='strip'", "width='260' height='12' style='background:#8883;display:block'")
        .replace("class='corrupted'", "fill='#D55E00'")
        .replace("class='missing'", "fill='#56B4E9'")
    )
    cells = (escape(clip(record["id"], 40)), ", ".join(what), "" if summary["grid"] else strip)
    return "<tr>" + "".join(f"<td style='{_CELL}'>{cell}</td>" for cell in cells) + "</tr>"


def _most_hit(summary: dict[str, Any]) -> str:
    top = summary["columns"]["most_hit"][:_SHOWN_COLUMNS]
    if not top:
        return ""
    named = ", ".join(f"{escape(one['name'])} ({counted(one['rows'], 'row')})" for one in top)
    return f"<div style='opacity:.75'>Hit most: {named}.</div>"
