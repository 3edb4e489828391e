"""The report: what was found, as one summary that people, programs and tests share.

`Findings` go into a `SummaryBuilder`, batch by batch; its summary is one plain dict, from which the HTML page
(`write_html`) and the notebook's piece of HTML (`notebook_html`) are made. `findings_table` is the same as a table.
"""

from treemend.report.findings import KINDS, Findings, Rule, findings_table
from treemend.report.page import as_html, as_json, notebook_html, write_html
from treemend.report.summary import SummaryBuilder, by_column, summarise

__all__ = ["KINDS", "Findings", "Rule", "SummaryBuilder", "as_html", "as_json", "by_column"]
__all__ += ["findings_table", "notebook_html", "summarise", "write_html"]
