"""What suspect rows are compared with: a model file, clean rows, or the table itself."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import numpy as np
import pyarrow as pa

from treemend import progress
from treemend.arrays import Floats
from treemend.cli.app import Options, say
from treemend.exceptions import ColumnsError, InputError, ParameterError
from treemend.files.arrow import Batch
from treemend.files.formats import ReadOptions
from treemend.files.table import FileTable, choose_columns, reasons
from treemend.loading import load
from treemend.mender import Mender
from treemend.mender.one_table import MOST_REFERENCE_ROWS
from treemend.params import check_count
from treemend.report.findings import Findings
from treemend.result import adjusted_p_values
from treemend.sampling import RowSample
from treemend.tables import Table, counted, listed, matching
from treemend.tcs import TCS

Estimator = Mender | TCS
# A fit learns from some thousand rows, however many it is given; this many are held in memory at most.
MOST_FITTED_ROWS = 100_000
ITSELF = "the table itself"


@dataclass(frozen=True, eq=False)
class Reference:
    """What judges rows, and how."""

    estimator: Estimator
    kind: str  # "model", "clean rows" or `ITSELF`
    columns: tuple[int, ...]  # positions of the estimator's columns in the suspect table, in the estimator's order
    rate: float | None = None  # instead of the estimator's own
    fdr: float | None = None  # instead of a rate
    largest: float | None = None  # the largest p-value of the table that is declared at that false discovery rate
    own: Findings | None = None  # of all rows, if the table is its own reference and was mended in memory

    def findings(self, values: Floats, first: int) -> Findings:
        """Mend rows, of which the first is row ``first`` of the table."""
        if self.own is not None:
            return self.own.take(np.arange(first, first + len(values)))
        rows = Table(values, values)
        if isinstance(self.estimator, TCS):
            return self.estimator._mend(rows, None).findings()
        # Whether the table has drifted is a matter of all its rows, not of a batch.
        mended = self.estimator._mend(rows, None, self.rate, self.fdr, on_drift="repair", largest=self.largest)
        return replace(mended.findings(), notes=())

    def at_fdr(self, fdr: float, table: FileTable) -> "Reference":
        """Return the same at the p-value that gives a false discovery rate on a table, which is read for it."""
        if isinstance(self.estimator, TCS):
            raise ParameterError("--fdr needs p-values, which the published method does not have. Leave it out.")
        batches = (batch.values for batch in read_batches(table, self.columns, "looking at") if len(batch))
        p_values = np.concatenate([np.empty(0), *(self.estimator._judge(rows, rate=fdr).p_values for rows in batches)])
        declared = p_values[adjusted_p_values(p_values) <= fdr]
        return replace(self, fdr=fdr, largest=float(declared.max(initial=0.0)))


def open_files(paths: list[str], options: Options) -> FileTable:
    """Open files as one table, and say what was recognised."""
    table = FileTable(paths, ReadOptions(**{one.name: getattr(options, one.name) for one in fields(ReadOptions)}))
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


def find_reference(table: FileTable, options: Options) -> Reference:
    """Load the model, learn from clean rows, or take the table as its own reference."""
    if options.model is not None:
        found = _load(table, options)
    elif options.clean:
        clean = open_files(options.clean, options)
        # Columns that are passed through need not be among the clean rows if the suspect rows have them.
        given = options.passthrough or ()
        there = [one for one in given if matching(clean.names, one) or not matching(table.names, one)]
        found, _ = learn(clean, Options(**vars(options) | {"passthrough": there}))
        found = replace(found, columns=_find_columns(found.estimator, table, options))
    else:
        found, _ = learn(table, options, ITSELF)
    return found if options.fdr is None or found.own is not None else found.at_fdr(options.fdr, table)


def _load(table: FileTable, options: Options) -> Reference:
    estimator = load(options.model)
    if options.n_jobs is not None:
        estimator.set_params(n_jobs=options.n_jobs)._check_params()
    if options.false_alarm_rate is not None and isinstance(estimator, TCS):
        raise ParameterError("The threshold of this model (TCS) was set by fit. Leave --false-alarm-rate out.")
    columns = _find_columns(estimator, table, options)
    kept_out = matching(table.names, *(options.passthrough or ()))
    asked = {*matching(table.names, *(options.columns or "*"))} - {*kept_out}
    if not asked.issuperset(columns) or (options.columns and len(asked) > len(columns)):
        problem = f"The model looks at columns of its own: {listed([table.names[column] for column in columns])}"
        raise ParameterError(f"{problem}. Leave --columns and --passthrough out, or fit a model to other columns.")
    return Reference(estimator, "model", columns, options.false_alarm_rate)


def learn(table: FileTable, options: Options, kind: str = "clean rows") -> tuple[Reference, int]:
    """Learn from the rows of a table; return also how many these were.

    A table that is its own reference is mended on the way if it is small; else a sample of its rows is learnt from.
    """
    named = ("false_alarm_rate", "layout", "contaminated", "imputation", "n_jobs")
    asked = {name: getattr(options, name) for name in named} | {"random_state": options.seed}
    given = {name: value for name, value in asked.items() if value is not None}
    mender = Mender(**{"contaminated": kind == ITSELF} | given)
    # Wrong parameters are refused before anything is read.
    mender._check_params()
    if options.reference_rows is not None:
        check_count("--reference-rows", options.reference_rows, least=5)
    if kind == ITSELF:
        say("no model and no clean rows given: the table is its own reference", quiet=options.quiet)
    columns = _choose(table, options)
    sample = RowSample(options.reference_rows or (MOST_REFERENCE_ROWS if kind == ITSELF else MOST_FITTED_ROWS))
    n_rows = 0
    for batch in read_batches(table, columns, "reading"):
        sample.add(batch.values, np.arange(n_rows, n_rows + len(batch)))
        n_rows += len(batch)
    if n_rows == 0:
        raise InputError(f"{table.label} has no rows. Give a table with rows.")
    values, _ = sample.result()
    if len(values) < n_rows:
        say(f"{table.label}: a random {len(values):,} of {n_rows:,} rows are the reference", quiet=options.quiet)
    names, own = [table.names[column] for column in columns], None
    rows = pa.table(list(values.T), names) if table.named else values
    with warnings.catch_warnings(record=True) as caught, progress.step(f"learning from {table.label}"):
        warnings.simplefilter("always", UserWarning)
        if kind == ITSELF and len(values) == n_rows:
            own = mender.fit_mend(rows, fdr=options.fdr).findings()
        else:
            mender.fit(rows)
    for note in (*(warning.message for warning in caught), *(own.notes if own else ())):
        say(f"note: {table.label}: {note}", quiet=options.quiet)
    if table.named:
        looked_at = set(names)
        mender.set_params(passthrough=[name for name in table.names if name not in looked_at])
    return Reference(mender, kind, columns, own=own), len(values)


def _choose(table: FileTable, options: Options) -> tuple[int, ...]:
    columns, passed = choose_columns(table, options.columns or (), options.passthrough or ())
    if passed:
        say(f"{table.label}: passed through: {reasons(passed)}", quiet=options.quiet)
    return columns


def _find_columns(estimator: Estimator, table: FileTable, options: Options) -> tuple[int, ...]:
    """Return where the columns of a fitted estimator are in a table."""
    if table.named and hasattr(estimator, "feature_names_in_"):
        return table.positions(list(estimator.feature_names_in_))
    columns, n_features = _choose(table, options), estimator.n_features_in_
    if len(columns) != n_features:
        problem = f"{counted(len(columns), 'column')} to look at, and the model has {n_features}"
        raise ColumnsError(f"{table.label}: {problem}. Choose them with --columns.")
    return columns
