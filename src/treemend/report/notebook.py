"""A small piece of HTML for notebooks: no script, nothing to fetch, its style inside."""

from html import escape
from typing import Any

from treemend.report.page import row_strip
from treemend.report.words import clip, counted, row_words

__all__ = ["notebook_html"]

_SHOWN_ROWS, _SHOWN_UNUSUAL, _SHOWN_COLUMNS = 8, 4, 5
_CELL = "style='padding:2px 14px 2px 0;text-align:left;vertical-align:middle;background:none'"
_STYLES = {
    "class='strip'": "width='260' height='12' style='background:#8883;display:block'",
    "class='corrupted'": "fill='#D55E00'",
    "class='missing'": "fill='#56B4E9'",
}


def notebook_html(summary: dict[str, Any]) -> str:
    """Return the summary as HTML that fits below a notebook's cell.

    Parameters
    ----------
    summary : dict
        From `treemend.report.SummaryBuilder`.
    """
    words = summary["warnings"] + (summary["rule"]["words"][:2] if summary["rule"] else [])
    top = summary["columns"]["most_hit"][:_SHOWN_COLUMNS]
    most_hit = ", ".join(f"{escape(one['name'])} ({counted(one['rows'], 'row')})" for one in top)
    return (
        "<div style='max-width:52em;font:14px/1.5 system-ui,sans-serif'>"
        f"<div style='font-size:1.2em;font-weight:600'>{escape(summary['headline'])}</div>"
        f"<div style='opacity:.75'>{escape(' '.join(words))}</div>{_table(summary)}"
        + (f"<div style='opacity:.75'>Hit most: {most_hit}.</div></div>" if top else "</div>")
    )


def _table(summary: dict[str, Any]) -> str:
    touched = [record for record in summary["rows"] if record["n_corrupted"] or record["n_missing"]]
    lines = "".join(
        "<tr>"
        f"<td {_CELL}>{escape(clip(record['id'], 40))}</td>"
        f"<td {_CELL}>{row_words(record, repaired=summary['repaired'])}</td>"
        f"<td {_CELL}>{row_strip(record, summary)}</td>"
        "</tr>"
        for record in [*touched[:_SHOWN_ROWS], *summary["unusual_rows"][:_SHOWN_UNUSUAL]]
    )
    for name, style in _STYLES.items():
        lines = lines.replace(name, style)
    titles = "".join(f"<th {_CELL} scope='col'>{word}</th>" for word in ("row", "what", "where"))
    return f"<table style='border-collapse:collapse;margin:.6em 0'><tr>{titles}</tr>{lines}</table>" if lines else ""
