"""The report as one HTML file that holds all it needs and reads without a script, too.

The page carries its script, its style and the summary. Its security policy allows exactly this script and no request.
Whatever comes from the data is escaped here, or reaches the page as text only.
"""

import base64
import hashlib
import json
import os
import re
from html import escape
from importlib.resources import files
from typing import Any

from treemend.atomic import AtomicFile
from treemend.report.words import clip, clip_middle, counted, percent

__all__ = ["as_html", "as_json", "row_strip", "write_html"]

_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
_REPAIRED = {"corrupted": "replaced", "expected": "put in its place", "values": "Replaced values"}
_ONLY_FOUND = {"corrupted": "found", "expected": "expected instead", "values": "Values found"}
_LONGEST, _LONGEST_SHARED = 80, 20


def as_json(summary: dict[str, Any]) -> str:
    """Return the summary as JSON text, in ASCII."""
    return json.dumps(summary, allow_nan=False, separators=(",", ":"))


def as_html(summary: dict[str, Any], title: str = "treemend report", *, earlier: dict[str, Any] | None = None) -> str:
    """Return the report as a page of its own.

    Parameters
    ----------
    summary : dict
        From `treemend.report.SummaryBuilder`.
    title : str
        Shown in the browser's bar and above the page.
    earlier : dict, optional
        The summary of an earlier table, before a fix for example, that this one is compared with.
    """
    here = files("treemend.report")
    script = "\n".join((here / name).read_text("utf-8") for name in ("axes.js", "drawings.js", "page.js"))
    parts = {
        "title": escape(title),
        "headline": escape(summary["headline"]),
        "tiles": _tiles(summary),
        "rule": _rule(summary),
        "warnings": _notes(summary["warnings"], "warning"),
        "notes": _notes([*summary["notes"], *([summary["rest"]] if summary["rest"] else [])], "notes"),
        "kinds": _kinds(summary),
        "most_hit": _most_hit(summary),
        "shared": _shared_line(summary),
        "rows": _rows(summary),
        "style": (here / "page.css").read_text("utf-8"),
        "policy": f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'",
        "data": _in_script(as_json(summary)),
        "earlier": _in_script(as_json(_for_comparison(earlier)) if earlier else "null"),
        "script": script,
        **{f"{name}_words": text for name, text in _words(summary).items()},
    }
    return _PLACEHOLDER.sub(lambda found: parts[found[1]], (here / "page.html").read_text("utf-8"))


def write_html(
    summary: dict[str, Any],
    path: str | os.PathLike[str],
    title: str = "treemend report",
    *,
    earlier: dict[str, Any] | None = None,
) -> None:
    """Write the report as one HTML file; an existing file is replaced.

    Parameters
    ----------
    summary, title, earlier
        As in `as_html`.
    path : path
    """
    with AtomicFile(path, replace=True) as output:
        output.file.write(as_html(summary, title, earlier=earlier).encode("utf-8", errors="backslashreplace"))


def _words(summary: dict[str, Any]) -> dict[str, str]:
    return _REPAIRED if summary["repaired"] else _ONLY_FOUND


def _in_script(data: str) -> str:
    """Make JSON harmless inside a script element: it cannot end the element or open a comment."""
    return data.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _for_comparison(summary: dict[str, Any]) -> dict[str, Any]:
    """Leave out what a comparison does not need: the values of the rows, the map, an earlier comparison."""
    of_row = ("row", "id", "unusual", "n_corrupted")
    listed = {
        name: [{key: record[key] for key in of_row} for record in summary[name]] for name in ("rows", "unusual_rows")
    }
    kept = ("format", "headline", "totals", "rule", "kinds", "columns", "rest")
    return {name: summary[name] for name in kept} | listed


def _tiles(summary: dict[str, Any]) -> str:
    totals, repaired = summary["totals"], summary["repaired"]
    tiles = [
        (totals["rows"], "row{s} examined", counted(totals["columns"], "column") + " each"),
        (
            totals["corrupted_rows"],
            "row{s} repaired" if repaired else "corrupted row{s}",
            _share(totals["corrupted_rows"], totals["rows"], "all rows"),
        ),
        (
            totals["corrupted_cells"],
            "value{s} replaced" if repaired else "corrupted value{s}",
            _share(totals["corrupted_cells"], totals["cells"], "all values"),
        ),
    ]
    if totals["unusual_rows"]:
        tiles.append((totals["unusual_rows"], "unusual row{s}", "flagged and left alone"))
    if totals["missing_cells"]:
        tiles.append((totals["missing_cells"], "missing value{s}" + " filled" * repaired, "gaps in the input"))
    return "\n".join(
        f"<div class='tile'><dt>{label.format(s='s' * (value != 1))}</dt>"
        f"<dd><b>{value:,}</b><span>{detail}</span></dd></div>"
        for value, label, detail in tiles
    )


def _share(count: int, of: int, word: str) -> str:
    return f"{percent(count / of)} of {word}" if of else ""


def _rule(summary: dict[str, Any]) -> str:
    """Return which rule decided: a bar to look at where mistakes can be counted, and sentences."""
    rule, totals = summary["rule"], summary["totals"]
    if rule is None:
        return "<p>The result does not say which rule declared rows.</p>"
    words = "".join(f"<p>{escape(sentence)}</p>" for sentence in rule["words"])
    if "expected" not in rule or not totals["rows"]:
        return words
    found, expected = (100 * count / totals["rows"] for count in (totals["corrupted_rows"], rule["expected"]))
    done = "repaired" if summary["repaired"] else "corrupted"
    mistakes = "expected among them by mistake" if rule["name"] == "fdr" else "expected by mistake if all were clean"
    label = f"{totals['corrupted_rows']:,} of {totals['rows']:,} rows {done}; about {rule['expected']:,.1f} {mistakes}"
    return (
        f"<svg class='gauge' viewBox='0 0 100 5' preserveAspectRatio='none' role='img' aria-label='{label}'>"
        "<rect class='all' width='100' height='5'/>"
        f"<rect class='corrupted' width='{found:.3f}' height='5'/>"
        f"<rect class='mistakes' width='{expected:.3f}' height='5'/></svg>"
        f"<p class='key'><span class='item'><i class='swatch mistakes'></i>{mistakes}</span>"
        f"<span class='item'><i class='swatch corrupted'></i>{done}</span>"
        f"<span class='item'><i class='swatch all'></i>unchanged</span></p>{words}"
    )


def _notes(notes: list[str], kind: str) -> str:
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f"<ul class='{kind}'>{items}</ul>" if items else ""


def _most_hit(summary: dict[str, Any]) -> str:
    """Return the columns hit most; images show that as an image."""
    top = summary["columns"]["most_hit"]
    if not top or summary["grid"]:
        return ""
    ranked = _ranked([(one["name"], one["rows"], f"data-column='{escape(one['peak'])}'") for one in top], summary)
    key = f"in how many rows a value was {_words(summary)['corrupted']}; adjacent columns hit together share a line"
    return f"<h3>Columns hit most</h3><p class='key'>{key}</p>{ranked}"


def _kinds(summary: dict[str, Any]) -> str:
    counts = [(name, one["rows"]) for name, one in (summary["kinds"] or {}).items() if one["rows"]]
    if not counts:
        return ""
    counts.sort(key=lambda one: -one[1])
    ranked = _ranked([(name, rows, f"data-kind='{name}'") for name, rows in counts], summary)
    return f"<h3>Kinds of corruption</h3><p class='key'>in how many rows each kind was found</p>{ranked}"


def _ranked(lines: list[tuple[str, int, str]], summary: dict[str, Any]) -> str:
    """Return a ranked list with bars; each name is a button by which the script filters the rows."""
    most, n_rows = max(count for _, count, _ in lines), summary["totals"]["rows"]
    items = "".join(
        f"<li><button type='button' class='name' title='{escape(clip(name, 400))}' {data}>{escape(clip(name, 90))}"
        "</button><svg viewBox='0 0 100 10' preserveAspectRatio='none' aria-hidden='true'>"
        f"<rect width='{100 * count / most:.1f}' height='10'/></svg>"
        f"<span class='count'>{count:,} <small>{percent(count / n_rows)}</small></span></li>"
        for name, count, data in lines
    )
    return f"<ol class='top'>{items}</ol>"


def _rows(summary: dict[str, Any]) -> str:
    """Return the list of rows, unusual ones after the others; a long beginning that all names share is left out."""
    listed = [*summary["rows"], *summary["unusual_rows"]]
    shared = len(_shared_beginning([record["id"] for record in listed]))
    return "\n".join(_option(index, record, summary, shared) for index, record in enumerate(listed))


def _option(index: int, record: dict[str, Any], summary: dict[str, Any], shared: int) -> str:
    parts = ["unusual, left alone"] if record["unusual"] else []
    if record["n_corrupted"]:
        parts.append(f"{record['n_corrupted']:,} {_words(summary)['corrupted']}")
    if record["n_missing"]:
        parts.append(f"{record['n_missing']:,} {'filled' if summary['repaired'] else 'missing'}")
    return (
        f"<li role='option' id='row-{record['row']}' data-index='{index}' aria-selected='false' tabindex='-1'>"
        f"<span class='thumb'></span><span class='name' title='{escape(clip(record['id'], 400))}'>"
        f"{escape(clip_middle(record['id'][shared:], _LONGEST))}</span>"
        f"<span class='what'>{', '.join(parts) or 'unchanged'}</span>"
        f"{'' if summary['grid'] else row_strip(record, summary['totals']['columns'])}</li>"
    )


def row_strip(record: dict[str, Any], n_columns: int) -> str:
    """Draw where in the row something was found."""
    marks = "".join(
        f"<rect class='{kind}' x='{100 * run[0] / n_columns:.2f}' "
        f"width='{max(100 * (run[1] - run[0]) / n_columns, 0.6):.2f}' height='6'/>"
        for kind in ("missing", "corrupted")
        for run in record[kind][:200]
    )
    return f"<svg class='strip' viewBox='0 0 100 6' preserveAspectRatio='none' aria-hidden='true'>{marks}</svg>"


def _shared_line(summary: dict[str, Any]) -> str:
    beginning = _shared_beginning([record["id"] for record in [*summary["rows"], *summary["unusual_rows"]]])
    return f"<p class='shared'>All from {escape(beginning.rstrip(', '))}</p>" if beginning else ""


def _shared_beginning(names: list[str]) -> str:
    """Return the folder or file that precedes all names, if it is long.

    Examples
    --------
    >>> _shared_beginning(["rows/of/the/year/2024.csv, line 7", "rows/of/the/year/2024.csv, line 12"])
    'rows/of/the/year/2024.csv, '
    >>> _shared_beginning(["2024.csv, line 7", "2024.csv, line 12"])
    ''
    """
    if len(names) < 2:
        return ""
    beginning = os.path.commonprefix(names)  # noqa: RUF071 - characters are wanted, names are not all paths
    end = max(beginning.rfind(mark) + len(mark) if mark in beginning else 0 for mark in ("/", ", "))
    return beginning[:end] if end > _LONGEST_SHARED else ""
