"""What suspect rows are compared with: a model file, clean rows, or the table itself."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import treemend
from treemend import progress
from treemend.cli.console import say, warnings_said
from treemend.cli.options import FitOptions, SuspectOptions
from treemend.exceptions import ColumnsError, InputError, ParameterError
from treemend.files import FileTable
from treemend.mender import Mender
from treemend.mender.one_table import MOST_REFERENCE_ROWS
from treemend.report.findings import Findings, Rule
from treemend.report.words import counted
from treemend.result import adjusted_p_values
from treemend.tables import columns_difference
from treemend.tcs import TCS

__all__ = ["Reference", "find_reference", "fit_to", "model_columns"]


@dataclass(frozen=True, eq=False)
class Reference:
    """Who judges rows, and how.

    Attributes
    ----------
    estimator : Mender or TCS
    kind : str
        "model", "clean rows" or "the table itself".
    columns : tuple of int
        Positions of the estimator's columns in the suspect table, in its order.
    rate : float or None
        The false-alarm rate instead of the estimator's own.
    fdr : float or None
        The false discovery rate that `rate` was chosen for.
    own : Findings or None
        Of the table, if it is its own reference and was mended in memory.
    """

    estimator: Mender | TCS
    kind: str
    columns: tuple[int, ...]
    rate: float | None = None
    fdr: float | None = None
    own: Findings | None = None

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the estimator's columns, if it knows any."""
        return names_of(self.estimator)

    def findings(self, values: NDArray[np.float64], first: int) -> Findings:
        """Mend rows, of which the first is row ``first`` of the table."""
        if self.own is not None:
            return self.own.take(np.arange(first, first + len(values)))
        rows = named_rows(values, self.names)
        if isinstance(self.estimator, TCS):
            return self.estimator.mend(rows).findings()
        # Whether the table has drifted is a matter of all its rows: see `run`.
        found = self.estimator.mend(rows, false_alarm_rate=self.rate, on_drift="repair").findings()
        if self.fdr is None:
            return found
        n_reference = None if found.rule is None else found.rule.n_reference
        return replace(found, rule=Rule("fdr", self.fdr, n_reference))

    def at_fdr(self, fdr: float, table: FileTable) -> "Reference":
        """Return the same at the rate that gives a false discovery rate on a table, which is read for it."""
        if isinstance(self.estimator, TCS):
            raise ParameterError("--fdr needs p-values, which the published method has not. Leave it out.")
        p_values = [np.empty(0)]
        n_rows = 0
        with progress.step(f"looking at {table.label}", 1.0):
            for batch in _advancing(table, self.columns):
                p_values.append(self.estimator.p_values(named_rows(batch, self.names)))
                n_rows += len(batch)
        all_p_values = np.concatenate(p_values)
        declared = all_p_values[adjusted_p_values(all_p_values) <= fdr]
        return replace(self, rate=float(declared.max(initial=0.0)), fdr=fdr)


def find_reference(table: FileTable, options: SuspectOptions) -> Reference:
    """Load the model, learn from clean rows, or take the table as its own reference."""
    if options.model is not None:
        estimator = treemend.load(options.model)
        if options.n_jobs is not None:
            estimator.set_params(n_jobs=options.n_jobs)
        if options.false_alarm_rate is not None and isinstance(estimator, TCS):
            raise ParameterError("The threshold of this model (TCS) was set by fit. Leave --false-alarm-rate out.")
        return Reference(estimator, "model", model_columns(estimator, table, options), options.false_alarm_rate)
    if options.clean:
        ...
    ...
