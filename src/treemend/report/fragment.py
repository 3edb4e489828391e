"""A small piece of HTML for notebooks: no script, nothing to fetch, its style inside.

Enters: a summary. Leaves: text. The page has the rest: ``mended.report("report.html")``.
"""

from html import escape
from typing import Any

from treemend.report.listing import clipped, strip
from treemend.report.plain import counted

__all__ = ["fragment"]

_SHOWN_ROWS = 8
_SHOWN_ATTRIBUTES = 5
_CELL = "padding:2px 14px 2px 0;text-align:left;vertical-align:middle;background:none"


def fragment(summary: dict[str, Any]) -> str:
    """Return the summary as HTML that fits under a notebook's cell.

    Parameters
    ----------
    summary : dict
        From `summarise`.
    """
    told = escape(" ".join(summary["promise"]["words"][:2]))
    return (
        "<div style='max-width:52em;font:14px/1.5 system-ui,sans-serif'>"
        f"<div style='font-size:1.2em;font-weight:600'>{escape(summary['headline'])}</div>"
        f"<div style='opacity:.75'>{told}</div>{_table(summary)}{_attributes(summary)}</div>"
    )


def _table(summary: dict[str, Any]) -> str:
    touched = [record for record in summary["rows"] if record["n_found"] or record["n_missing"]]
    lines = "".join(_line(record, summary["totals"]["attributes"]) for record in touched[:_SHOWN_ROWS])
    if not lines:
        return ""
    titles = "".join(f"<th style='{_CELL}' scope='col'>{word}</th>" for word in ("row", "replaced", "filled", "where"))
    return f"<table style='border-collapse:collapse;margin:.6em 0'><tr>{titles}</tr>{lines}</table>"


def _line(record: dict[str, Any], n_features: int) -> str:
    where = (
        strip(record, n_features)
        .replace("class='strip'", "width='260' height='12' style='background:#8883;display:block'")
        .replace("class='found'", "fill='#D55E00'")
        .replace("class='missing'", "fill='#56B4E9'")
    )
    cells = (clipped(record["id"], 40), f"{record['n_found']:,}", f"{record['n_missing']:,}", where)
    return "<tr>" + "".join(f"<td style='{_CELL}'>{cell}</td>" for cell in cells) + "</tr>"


def _attributes(summary: dict[str, Any]) -> str:
    top = summary["attributes"]["most_hit"][:_SHOWN_ATTRIBUTES]
    if not top:
        return ""
    named = ", ".join(f"{clipped(one['name'], 40)} ({counted(one['found'], 'row')})" for one in top)
    return f"<div style='opacity:.75'>Hit most: {named}.</div>"
