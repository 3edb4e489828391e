"""The report: what was found, as one summary that people, programs and tests share.

Enters: `Findings`, plain arrays and the tree, at once or batch by batch. Leaves: a summary of plain lists, numbers and
words (`summarise`, `Gathering`).
"""

from treemend.report.findings import Findings
from treemend.report.gathering import Gathering, summarise

__all__ = ["Findings", "Gathering", "summarise"]
