"""The forms of a summary: a JSON file, and one HTML file that holds all it needs.

Enters: a summary. Leaves: files, whole or not at all. The page carries its script, its style, Plotly and the data; its
security policy lets exactly these scripts run, and lets nothing be fetched. Whatever comes from the data is escaped: as
text in the page, as escapes in the data block, and by the page's script before Plotly sees it.
"""

import base64
import hashlib
import json
import os
import re
import tempfile
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from treemend.report.listing import (
    list_explanations,
    list_notes,
    list_promise,
    list_rows,
    list_tiles,
    list_top_attributes,
    shared_beginning,
)

__all__ = ["as_html", "as_json", "write_html", "write_json"]

_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
_REPAIRED = {
    "found_words": "found and replaced",
    "missing_words": "missing and filled",
    "hit_words": "in how many rows a value was replaced",
    "values_words": "Replaced values as a table",
    "put_back_words": "put back",
}
_ONLY_FOUND = {
    "found_words": "found",
    "missing_words": "missing",
    "hit_words": "in how many rows a value was found to be overwritten",
    "values_words": "What was found, and what would be put back, as a table",
    "put_back_words": "would be put back",
}


def as_json(summary: dict[str, Any]) -> str:
    """Return the summary as JSON text, in ASCII."""
    return json.dumps(summary, allow_nan=False, separators=(",", ":"))


def as_html(summary: dict[str, Any], title: str = "treemend report") -> str:
    """Return the report as a page of its own.

    Parameters
    ----------
    summary : dict
        From `summarise`.
    title : str
        Stands in the browser's bar and above the page.
    """
    here = files("treemend.report")
    scripts = {"plotly": _plotly(), "script": (here / "page.js").read_text("utf-8")}
    parts = {
        "title": escape(title),
        "headline": escape(summary["headline"]),
        "tiles": list_tiles(summary),
        "promise": list_promise(summary),
        "notes": list_notes(summary),
        "explanations": list_explanations(summary),
        "top_attributes": list_top_attributes(summary),
        "shared": _shared(summary),
        "rows": list_rows(summary),
        "style": (here / "page.css").read_text("utf-8"),
        "policy": " ".join(f"'{_digest(script)}'" for script in scripts.values()),
        "data": _in_script(as_json(summary)),
        **scripts,
        **(_REPAIRED if summary["repaired"] else _ONLY_FOUND),
    }
    return _PLACEHOLDER.sub(lambda found: parts[found[1]], (here / "page.html").read_text("utf-8"))


def write_html(summary: dict[str, Any], path: str | os.PathLike[str], title: str = "treemend report") -> None:
    """Write the report as one HTML file.

    Parameters
    ----------
    summary : dict
        From `summarise`.
    path : path
        Where to; an existing file is replaced.
    title : str
        Stands in the browser's bar and above the page.
    """
    _write_whole(as_html(summary, title), path)


def write_json(summary: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Write the summary as JSON; an existing file is replaced."""
    _write_whole(as_json(summary) + "\n", path)


def _shared(summary: dict[str, Any]) -> str:
    """Return the line above the list that names what its rows have in common."""
    beginning = shared_beginning([record["id"] for record in summary["rows"]]).rstrip(", ")
    return f"<p class='shared'>All of {escape(beginning)}</p>" if beginning else ""


def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise ImportError(
            "The HTML report needs plotly, which is not installed: pip install 'treemend[report]'."
        ) from None
    return str(get_plotlyjs())


def _digest(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _in_script(data: str) -> str:
    """Make JSON harmless inside a script element: it cannot end the element or open a comment."""
    return data.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _write_whole(text: str, path: str | os.PathLike[str]) -> None:
    """Write beside and rename, so that a reader sees the old file or the whole new one."""
    path = Path(path)
    handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8", errors="backslashreplace"))
        os.chmod(beside, 0o666 & ~_umask())
        os.replace(beside, path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
