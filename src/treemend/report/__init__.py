"""The report: what was found, as one summary that people, programs and tests share."""

from treemend.report.findings import KINDS, Findings, Rule, runs

__all__ = ["KINDS", "Findings", "Rule", "runs"]
