"""The report: what was found, as one summary that people, programs and tests share.

Enters: `Findings`, plain arrays and the tree, at once or batch by batch. Leaves: a summary of plain lists, numbers and
words (`summarise`, `Gathering`), and its forms: one HTML file that needs nothing else (`write_html`), the same as JSON
(`write_json`), a small piece of HTML for notebooks (`fragment`).
"""

from treemend.report.findings import Findings
from treemend.report.forms import as_html, as_json, write_html, write_json
from treemend.report.fragment import fragment
from treemend.report.gathering import Gathering, summarise
from treemend.report.reasons import Reasons

__all__ = [
    "Findings",
    "Gathering",
    "Reasons",
    "as_html",
    "as_json",
    "fragment",
    "summarise",
    "write_html",
    "write_json",
]
