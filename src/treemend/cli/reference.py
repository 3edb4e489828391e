"""What suspect rows are compared with: a model file, clean rows, or the table itself."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import treemend
from treemend import progress
from treemend.cli.console import say, warnings_said
from treemend.cli.options import FitOptions, SuspectOptions
from treemend.exceptions import ColumnsError, InputError, ParameterError
from treemend.files import Batch, FileTable, ReadOptions, any_matches, choose_columns, open_table
from treemend.mender import Mender
from treemend.mender.one_table import MOST_REFERENCE_ROWS
from treemend.report.findings import Findings, Rule
from treemend.report.words import counted
from treemend.result import adjusted_p_values
from treemend.sampling import RowSample
from treemend.tcs import TCS

__all__ = ["Estimator", "Reference", "find_reference", "fit_to", "open_files", "read_batches"]

Estimator = Mender | TCS
# A fit learns from some thousand rows, however many it is given; this many are held in memory at most.
MOST_FITTED_ROWS = 100_000


@dataclass(frozen=True, eq=False)
class Reference:
    """What judges rows, and how.

    Attributes
    ----------
    kind : str
        "model", "clean rows" or "the table itself".
    columns : tuple of int
        Positions of the estimator's columns in the suspect table, in its order.
    rate, fdr : float or None
        The false-alarm rate instead of the estimator's own, and the false discovery rate that it was chosen for.
    own : Findings or None
        Of all rows, if the table is its own reference and was mended in memory.
    """

    estimator: Estimator
    kind: str
    columns: tuple[int, ...]
    rate: float | None = None
    fdr: float | None = None
    own: Findings | None = None

    def findings(self, values: NDArray[np.float64], first: int) -> Findings:
        """Mend rows, of which the first is row ``first`` of the table."""
        if self.own is not None:
            return self.own.take(np.arange(first, first + len(values)))
        rows = _named(values, _names(self.estimator))
        if isinstance(self.estimator, TCS):
            return self.estimator.mend(rows).findings()
        # Whether the table has drifted is a matter of all its rows, not of a batch.
        found = self.estimator.mend(rows, false_alarm_rate=self.rate, on_drift="repair").findings()
        if self.fdr is None or found.rule is None:
            return found
        return replace(found, rule=Rule("fdr", self.fdr, found.rule.n_reference))

    def at_fdr(self, fdr: float, table: FileTable) -> "Reference":
        """Return the same at the rate that gives a false discovery rate on a table, which is read for it."""
        if isinstance(self.estimator, TCS):
            raise ParameterError("--fdr needs p-values, which the published method does not have. Leave it out.")
        p_values = np.concatenate(
            [
                self.estimator.p_values(_named(batch.values, _names(self.estimator))) if len(batch) else np.empty(0)
                for batch in read_batches(table, self.columns, "looking at")
            ]
        )
        declared = p_values[adjusted_p_values(p_values) <= fdr]
        return replace(self, rate=float(declared.max(initial=0.0)), fdr=fdr)


def open_files(paths: tuple[str, ...], options: FitOptions, *, reread: bool = False) -> FileTable:
    """Open files as one table, and say what was recognised."""
    reading = ReadOptions(
        delimiter=options.delimiter,
        decimal=options.decimal,
        thousands=options.thousands,
        header=not options.no_header,
        missing=None if options.missing is None else tuple(options.missing),
        array=options.array,
    )
    table = open_table(paths, reading, reread=reread)
    for note in table.notes:
        say(f"note: {note}", quiet=options.quiet)
    return table


def read_batches(table: FileTable, columns: tuple[int, ...], doing: str) -> Iterator[Batch]:
    """Read a table, and show how far that is."""
    n_rows, done = 0, 0.0
    with progress.step(f"{doing} {table.label}", 1.0):
        for batch in table.batches(columns):
            yield batch
            n_rows += len(batch)
            progress.advance(batch.done - done, f"{n_rows:,} rows")
            done = batch.done


def find_reference(table: FileTable, options: SuspectOptions) -> Reference:
    """Load the model, learn from clean rows, or take the table as its own reference."""
    if options.model is not None:
        estimator = treemend.load(options.model)
        if options.n_jobs is not None:
            estimator.set_params(n_jobs=options.n_jobs)
        if options.false_alarm_rate is not None and isinstance(estimator, TCS):
            raise ParameterError("The threshold of this model (TCS) was set by fit. Leave --false-alarm-rate out.")
        return Reference(estimator, "model", _model_columns(estimator, table, options), options.false_alarm_rate)
    if options.clean:
        clean = open_files(tuple(options.clean), options)
        # Columns that are passed through need not be among the clean rows if the suspect rows have them.
        there = [
            pattern
            for pattern in options.passthrough or ()
            if any_matches(clean.names, pattern) or not any_matches(table.names, pattern)
        ]
        mender, _ = fit_to(clean, replace(options, passthrough=there))
        return Reference(mender, "clean rows", _model_columns(mender, table, options))
    return _table_itself(table, options)


def fit_to(table: FileTable, options: FitOptions) -> tuple[Mender, int]:
    """Learn from the rows of a table; return also how many these were."""
    mender = _new_mender(options)
    columns = _chosen(table, options)
    values, _ = _read_sample(table, columns, options.reference_rows or MOST_FITTED_ROWS, options)
    names = tuple(table.names[column] for column in columns) if table.named else None
    with warnings_said(quiet=options.quiet), progress.step(f"learning from {table.label}"):
        mender.fit(_named(values, names))
    if names is not None:
        mender.set_params(passthrough=[name for name in table.names if name not in set(names)])
    return mender, len(values)


def _table_itself(table: FileTable, options: SuspectOptions) -> Reference:
    """Mend the table in memory if it is small; otherwise learn from a sample of its rows."""
    mender = _new_mender(options, contaminated=True)
    columns = _chosen(table, options)
    say("no model and no clean rows given: the table is its own reference", quiet=options.quiet)
    values, n_rows = _read_sample(table, columns, options.reference_rows or MOST_REFERENCE_ROWS, options)
    names = tuple(table.names[column] for column in columns) if table.named else None
    rows = _named(values, names)
    with warnings_said(quiet=options.quiet), progress.step(f"learning from {table.label}"):
        if len(values) == n_rows:
            own = mender.fit_mend(rows, fdr=options.fdr).findings()
            return Reference(mender, "the table itself", columns, fdr=options.fdr, own=own)
        mender.fit(rows)
    return Reference(mender, "the table itself", columns)


def _new_mender(options: FitOptions, **defaults: Any) -> Mender:
    """Make an estimator, and refuse wrong parameters before anything is read."""
    mender = Mender(**defaults | options.parameters())
    mender._check_params()
    return mender


def _read_sample(
    table: FileTable, columns: tuple[int, ...], most: int, options: FitOptions
) -> tuple[NDArray[np.float64], int]:
    """Read a random sample of at most ``most`` rows, in the order of the table; return also how many there are."""
    sample, n_rows = RowSample(most), 0
    for batch in read_batches(table, columns, "reading"):
        sample.add(batch.values, np.arange(n_rows, n_rows + len(batch)))
        n_rows += len(batch)
    if n_rows == 0:
        raise InputError(f"{table.label} has no rows. Give a table with rows.")
    values, _ = sample.result()
    if len(values) < n_rows:
        say(f"{table.label}: a random {len(values):,} of {n_rows:,} rows are the reference", quiet=options.quiet)
    return values, n_rows


def _chosen(table: FileTable, options: FitOptions) -> tuple[int, ...]:
    choice = choose_columns(table, options.columns or (), options.passthrough or ())
    if choice.note:
        say(f"{table.label}: {choice.note}", quiet=options.quiet)
    return choice.columns


def _model_columns(estimator: Estimator, table: FileTable, options: FitOptions) -> tuple[int, ...]:
    """Return where the estimator's columns are in a table, in the order of the estimator."""
    names = _names(estimator)
    if names is not None and table.named:
        return table.positions(names)
    chosen = _chosen(table, options)
    if len(chosen) != estimator.n_features_in_:
        raise ColumnsError(
            f"{table.label}: {counted(len(chosen), 'column')} to look at, and the model has "
            f"{estimator.n_features_in_}. Choose them with --columns."
        )
    return chosen


def _names(estimator: Estimator) -> tuple[str, ...] | None:
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else tuple(names)


def _named(values: NDArray[np.float64], names: tuple[str, ...] | None) -> Any:
    """Return rows as a table with names, or as an array if there are none."""
    if names is None:
        return values
    import pyarrow

    return pyarrow.table(dict(zip(names, np.ascontiguousarray(values.T), strict=True)))
