"""What mending returns, for both methods: tables of the caller's kind, one flag and one p-value a row, and a report."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from treemend import report
from treemend.arrays import Booleans, Floats
from treemend.plots import ResultPlots
from treemend.report import Findings
from treemend.tables import columns_beside


@dataclass(frozen=True, eq=False, repr=False)
class Result(ResultPlots):
    """The result of mending rows; tables are of the input's kind.

    Attributes
    ----------
    repaired : table
        The rows, with corrupted and missing values replaced and all others bit for bit as they came.
    mask : table of bool
        True where a value was replaced because it was found corrupted; without the columns that were passed through.
    corrupted : ndarray of bool of shape (n_samples,)
        True where a row holds a replaced value.
    unusual : ndarray of bool of shape (n_samples,)
        True where a row is odd as a whole, or no set of its cells explains how odd it is: it was left as it is.
    p_values : ndarray of shape (n_samples,) or None
        Share of clean rows with at least as much evidence against them; None for the published method.
    missing : table of bool
        True where a value was missing (NaN) and has been filled; never True where ``mask`` is.
    spread : table or None
        Standard deviation of the error of every filled value, NaN elsewhere; None for the published method.
    draws : list of tables
        Random completions for multiple imputation, as many as were asked for.
    """

    repaired: Any
    mask: Any
    corrupted: Booleans
    unusual: Booleans
    p_values: Floats | None
    missing: Any
    spread: Any
    draws: list[Any]
    _findings: Findings | Callable[[], Findings]

    @property
    def q_values(self) -> Floats | None:
        """The smallest false discovery rate at which each row would be declared, given the other rows of the table."""
        return None if self.p_values is None else adjusted_p_values(self.p_values)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the caller should know of the table as a whole, such as that it drifted away from the reference."""
        return self._made_findings.notes

    @cached_property
    def _made_findings(self) -> Findings:
        return self._findings() if callable(self._findings) else self._findings

    def findings(self) -> Findings:
        """Return what was found as plain arrays in the order of the columns.

        Returns
        -------
        Findings
        """
        return self._made_findings

    def findings_table(self) -> dict[str, list[Any]]:
        """Return one line for each run of replaced cells, as columns for a data frame.

        The columns that were passed through come first; ``id`` is the index of a pandas data frame, if none of them is.

        Returns
        -------
        dict of str to list
        """
        found = self.findings()
        lines = report.findings_table(found)
        passed = columns_beside(self.repaired, found.names or (), lines["row"])
        return {**passed, **{name: column for name, column in lines.items() if name != "id" or "id" not in passed}}

    def summary(self) -> dict[str, Any]:
        """Return what was found as plain numbers, words and lists, as the report and its JSON form tell it.

        Returns
        -------
        dict
        """
        return report.summarise(self.findings())

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str = "treemend report",
        labels: Mapping[Any, str] | None = None,
        units: Mapping[Any, str] | str | None = None,
        earlier: dict[str, Any] | None = None,
    ) -> None:
        """Write a report: one HTML file that needs nothing else.

        Parameters
        ----------
        path : path
            Where to; an existing file is replaced.
        title : str
            The heading of the page.
        labels : mapping of str to str, optional
            What to call columns, by their names, patterns such as ``s*``, or numbers if they have no names.
        units : mapping of str to str, or str, optional
            In which units columns are, by the same, or the unit of all of them.
        earlier : dict, optional
            The `summary` of an earlier result, to compare with.
        """
        summary = report.summarise(self.findings(), labels=labels, units=units)
        report.write_html(summary, path, title, earlier=earlier)

    def _repr_html_(self) -> str:
        return report.notebook_html(self.summary())

    def __repr__(self) -> str:
        n_cells = int(self.findings().mask.sum())
        noted = ", see notes" if self.notes else ""
        return f"Result({int(self.corrupted.sum())} of {len(self.corrupted)} rows repaired, {n_cells} cells{noted})"


def adjusted_p_values(p_values: Floats) -> Floats:
    """Return Benjamini and Hochberg's adjusted p-values (q-values)."""
    from scipy.stats import false_discovery_control

    # Rounding must not make a q-value smaller than its p-value.
    return np.asarray(np.maximum(false_discovery_control(p_values), p_values))
