"""The parts of the page that are there without a script: figures, words, the list of rows.

Enters: a summary. Leaves: pieces of HTML in which everything from the data is escaped.
"""

from html import escape
from typing import Any

from treemend.report.plain import clip, clip_middle, counted, percent
from treemend.report.reasons import EXPLANATIONS

__all__ = [
    "clipped",
    "list_explanations",
    "list_notes",
    "list_promise",
    "list_rows",
    "list_tiles",
    "list_top_attributes",
    "shared_beginning",
    "strip",
]

_LONGEST = 80
_LONGEST_SHARED = 20


def clipped(text: str, length: int = _LONGEST) -> str:
    """Return the text, shortened if it is long, escaped for HTML.

    Examples
    --------
    >>> clipped("<b>" + "x" * 100, length=6)
    '&lt;b&gt;xx…'
    """
    return escape(clip(text, length))


def list_tiles(summary: dict[str, Any]) -> str:
    """Return the great figures at the top."""
    totals, repaired = summary["totals"], summary["repaired"]
    share = f"{percent(totals['found_cells'] / totals['cells'])} of all values" if totals["cells"] else ""
    tiles = [
        (totals["rows"], "row{s} looked at", counted(totals["attributes"], "attribute") + " each"),
        (
            totals["touched_rows"],
            "row{s} repaired" if repaired else "row{s} partly overwritten",
            _share_of_rows(totals),
        ),
        (totals["found_cells"], "value{s} replaced" if repaired else "value{s} overwritten", share),
    ]
    if totals["missing_cells"]:
        words = "missing value{s} filled" if repaired else "missing value{s}"
        tiles.append((totals["missing_cells"], words, "gaps, not faults"))
    return "\n".join(
        f"<div class='tile'><dt>{label.format(s='s' * (value != 1))}</dt>"
        f"<dd><b>{value:,}</b><span>{detail}</span></dd></div>"
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
    done = "repaired" if summary["repaired"] else "found"
    legend = (
        f"{totals['touched_rows']:,} of {totals['rows']:,} rows {done}; about {promise['expected']:,.1f} expected by "
        "mistake if all were clean"
    )
    return (
        f"<svg class='gauge' viewBox='0 0 100 5' preserveAspectRatio='none' role='img' aria-label='{legend}'>"
        "<rect class='all' width='100' height='5'/>"
        f"<rect class='touched' width='{touched:.3f}' height='5'/>"
        f"<rect class='mistakes' width='{expected:.3f}' height='5'/></svg>"
        "<p class='key'><span class='item'><i class='swatch mistakes'></i>expected by mistake, were all clean</span>"
        f"<span class='item'><i class='swatch touched'></i>{done}</span>"
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
    return _ranked([(one["name"], one["found"]) for one in top], n_rows)


def list_explanations(summary: dict[str, Any]) -> str:
    """Return what spoke against the rows, as a ranked list with bars; empty if nobody knows."""
    counts = summary["explanations"]
    if not counts or not any(counts.values()):
        return ""
    spoken = sorted(((EXPLANATIONS[name], count) for name, count in counts.items() if count), key=lambda one: -one[1])
    return (
        "<h3>What it looks like</h3><p class='key'>which explanation speaks loudest, in how many of the rows found</p>"
        f"{_ranked(spoken, summary['totals']['touched_rows'], 'top wordy')}"
    )


def _ranked(counts: list[tuple[str, int]], n_rows: int, kind: str = "top") -> str:
    most = counts[0][1]
    items = "".join(
        f"<li><span class='name' title='{clipped(name, 400)}'>{clipped(name, 40)}</span>"
        f"<svg viewBox='0 0 100 10' preserveAspectRatio='none' aria-hidden='true'>"
        f"<rect width='{100 * count / most:.1f}' height='10'/></svg>"
        f"<span class='count'>{count:,} <small>{percent(count / n_rows)}</small></span></li>"
        for name, count in counts
    )
    return f"<ol class='{kind}'>{items}</ol>"


def list_rows(summary: dict[str, Any]) -> str:
    """Return the list of rows, the worst first, one option each; a long beginning that all share is left out."""
    shared = len(shared_beginning([record["id"] for record in summary["rows"]]))
    return "\n".join(_option(index, record, summary, shared) for index, record in enumerate(summary["rows"]))


def shared_beginning(names: list[str]) -> str:
    """Return the folder or the file that stands before all names, if it is long.

    Examples
    --------
    >>> shared_beginning(["rows/of/the/year/2024.csv, line 7", "rows/of/the/year/2024.csv, line 12"])
    'rows/of/the/year/2024.csv, '
    >>> shared_beginning(["2024.csv, line 7", "2024.csv, line 12"])
    ''
    """
    if len(names) < 2:
        return ""
    first, last = min(names), max(names)
    same = next((place for place, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    beginning = first[:same]
    end = max(beginning.rfind(mark) + len(mark) if mark in beginning else 0 for mark in ("/", ", "))
    return beginning[:end] if end > _LONGEST_SHARED else ""


def _option(index: int, record: dict[str, Any], summary: dict[str, Any], shared: int) -> str:
    parts, repaired = [], summary["repaired"]
    if record["n_found"]:
        parts.append(f"{counted(record['n_found'], 'value')} {'replaced' if repaired else 'found'}")
    if record["n_missing"]:
        parts.append(f"{record['n_missing']:,} {'filled' if repaired else 'missing'}")
    name = record["id"][shared:]
    kind = "found" if record["n_found"] else "filled" if record["n_missing"] else "clean"
    return (
        f"<li role='option' id='row-{record['row']}' data-index='{index}' class='{kind}' aria-selected='false' "
        f"tabindex='{0 if index == 0 else -1}'><span class='thumb'></span>"
        f"<span class='name' title='{clipped(record['id'], 400)}'>{escape(clip_middle(name, _LONGEST))}</span>"
        f"<span class='what'>{', '.join(parts) or 'left as it was'}</span>"
        f"{strip(record, summary['totals']['attributes'])}</li>"
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
