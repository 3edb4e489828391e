"""The parts of the page that are there without a script: figures, words, the list of rows.

Enters: a summary. Leaves: pieces of HTML in which everything from the data is escaped.
"""

from html import escape
from typing import Any

from treemend.report.plain import counted, percent

__all__ = ["clipped", "list_notes", "list_promise", "list_rows", "list_tiles", "list_top_attributes", "strip"]

_LONGEST = 80


def clipped(text: str, length: int = _LONGEST) -> str:
    """Return the text, shortened if it is long, escaped for HTML.

    Examples
    --------
    >>> clipped("<b>" + "x" * 100, length=6)
    '&lt;b&gt;xx…'
    """
    return escape(text if len(text) <= length else text[: length - 1] + "…")


def list_tiles(summary: dict[str, Any]) -> str:
    """Return the great figures at the top."""
    totals = summary["totals"]
    share = f"{percent(totals['found_cells'] / totals['cells'])} of all values" if totals["cells"] else ""
    tiles = [
        (totals["rows"], "rows looked at", counted(totals["attributes"], "attribute") + " each"),
        (totals["touched_rows"], "rows repaired", _share_of_rows(totals)),
        (totals["found_cells"], "values replaced", share),
    ]
    if totals["missing_cells"]:
        tiles.append((totals["missing_cells"], "missing values filled", "gaps, not faults"))
    return "\n".join(
        f"<div class='tile'><dt>{label}</dt><dd><b>{value:,}</b><span>{detail}</span></dd></div>"
        for value, label, detail in tiles
    )


def _share_of_rows(totals: dict[str, int]) -> str:
    return f"{percent(totals['touched_rows'] / totals['rows'])} of all rows" if totals["rows"] else ""


def list_promise(summary: dict[str, Any]) -> str:
    """Return what the false-alarm rate means here: a bar to look at, and sentences."""
    promise, totals = summary["promise"], summary["totals"]
    words = "".join(f"<p>{escape(sentence)}</p>" for sentence in promise["words"])
    if promise["expected"] is None or not totals["rows"]:
        return words
    touched = 100 * totals["touched_rows"] / totals["rows"]
    expected = 100 * promise["expected"] / totals["rows"]
    legend = (
        f"{totals['touched_rows']:,} of {totals['rows']:,} rows repaired; about {promise['expected']:,.1f} expected by "
        "mistake if all were clean"
    )
    return (
        f"<svg class='gauge' viewBox='0 0 100 5' preserveAspectRatio='none' role='img' aria-label='{legend}'>"
        "<rect class='all' width='100' height='5'/>"
        f"<rect class='touched' width='{touched:.3f}' height='5'/>"
        f"<rect class='mistakes' width='{expected:.3f}' height='5'/></svg>"
        "<p class='key'><span class='item'><i class='swatch mistakes'></i>expected by mistake, were all clean</span>"
        "<span class='item'><i class='swatch touched'></i>repaired</span>"
        "<span class='item'><i class='swatch all'></i>left as they were</span></p>"
        f"{words}"
    )


def list_notes(summary: dict[str, Any]) -> str:
    """Return what was left out, as a list; empty if nothing was."""
    notes = "".join(f"<li>{escape(note)}</li>" for note in summary["notes"])
    return f"<ul class='notes'>{notes}</ul>" if notes else ""


def list_top_attributes(summary: dict[str, Any]) -> str:
    """Return the attributes hit most, as a ranked list with bars."""
    top, n_rows = summary["attributes"]["most_hit"], summary["totals"]["rows"]
    if not top:
        return "<p class='quiet'>No attribute was hit.</p>"
    most = top[0]["found"]
    items = "".join(
        f"<li><span class='name' title='{clipped(one['name'], 400)}'>{clipped(one['name'], 40)}</span>"
        f"<svg viewBox='0 0 100 10' preserveAspectRatio='none' aria-hidden='true'>"
        f"<rect width='{100 * one['found'] / most:.1f}' height='10'/></svg>"
        f"<span class='count'>{one['found']:,} <small>{percent(one['found'] / n_rows)}</small></span></li>"
        for one in top
    )
    return f"<ol class='top'>{items}</ol>"


def list_rows(summary: dict[str, Any]) -> str:
    """Return the list of rows, the worst first, one option each."""
    n_features = summary["totals"]["attributes"]
    return "\n".join(_option(index, record, n_features) for index, record in enumerate(summary["rows"]))


def _option(index: int, record: dict[str, Any], n_features: int) -> str:
    parts = []
    if record["n_found"]:
        parts.append(f"{counted(record['n_found'], 'value')} replaced")
    if record["n_missing"]:
        parts.append(f"{record['n_missing']:,} filled")
    kind = "found" if record["n_found"] else "filled" if record["n_missing"] else "clean"
    return (
        f"<li role='option' id='row-{record['row']}' data-index='{index}' class='{kind}' aria-selected='false' "
        f"tabindex='{0 if index == 0 else -1}'><span class='thumb'></span>"
        f"<span class='name'>{clipped(record['id'])}</span>"
        f"<span class='what'>{', '.join(parts) or 'left as it was'}</span>{strip(record, n_features)}</li>"
    )


def strip(record: dict[str, Any], n_features: int) -> str:
    """Draw where in the row something was found."""
    marks = "".join(
        f"<rect class='{kind}' x='{100 * start / n_features:.3f}' "
        f"width='{max(100 * (stop - start) / n_features, 0.6):.3f}' height='6'/>"
        for kind in ("missing", "found")
        for start, stop in record[kind][:200]
    )
    return f"<svg class='strip' viewBox='0 0 100 6' preserveAspectRatio='none' aria-hidden='true'>{marks}</svg>"
