"""fit, mend and check: batches of rows through an estimator and into files."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

import treemend
from treemend import progress
from treemend.cli.console import say
from treemend.cli.errors import NotCoveredError, printable
from treemend.cli.options import FitOptions, SuspectOptions
from treemend.cli.outputs import Outputs
from treemend.cli.reference import Reference, find_reference, fit_to, open_files, read_batches
from treemend.exceptions import ParameterError
from treemend.files import STANDARD_STREAM, Batch, FileTable, Writer, format_of, open_writer
from treemend.mender import Mender
from treemend.mender.drift import DriftTest
from treemend.params import check_share
from treemend.report import Findings, SummaryBuilder, as_html, as_json, findings_table
from treemend.report.words import counted, percent
from treemend.synthetic import waves
from treemend.tcs import TCS

__all__ = ["Outcome", "check_options", "compile_kernels", "fit", "mend", "mend_table", "verdict"]

# More than this share of the rows declared is not what repairing is for, even if no column has drifted.
MOST_DECLARED = 0.7
FEWEST_ROWS_TO_STOP = 20
# The probability that `check` fails a clean file.
CHECK_LEVEL = 0.01
_TEXTS = ("place", "first_column", "last_column", "kind")


@dataclass(frozen=True, eq=False)
class Outcome:
    """What was found in a table: the report's summary, and one sentence for each sign of drift."""

    summary: dict[str, Any]
    drift: tuple[str, ...]

    @property
    def n_declared(self) -> int:
        """Number of rows that are corrupted or unusual."""
        totals = self.summary["totals"]
        return int(totals["corrupted_rows"] + totals["unusual_rows"])

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.summary["totals"]["rows"])


def fit(paths: tuple[str, ...], model: str, options: FitOptions) -> None:
    """Learn from clean rows and write a model file."""
    table = open_files(paths, options)
    with Outputs(table.paths, force=options.force) as outputs:
        outputs.claim(model)
    mender, n_rows = fit_to(table, options)
    mender.save(model)
    size = f"{counted(n_rows, 'row')} of {counted(mender.n_features_in_, 'column')}"
    say(f"{model}: learnt from {size}", quiet=options.quiet)


def mend(paths: tuple[str, ...], output: str | None, mask: str | None, options: SuspectOptions) -> Outcome:
    """Judge all rows, write what is to be written, and return what was found."""
    check_options(paths, options)
    for target in (output, mask, options.findings):
        if target is not None:
            format_of(target)
    reread = options.fdr is not None or (options.model is None and not options.clean)
    table = open_files(paths, options, reread=reread)
    return mend_table(table, None, output, mask, options)


def check_options(paths: tuple[str, ...], options: SuspectOptions) -> None:
    """Refuse options that contradict each other, before anything is read."""
    if options.model and options.clean:
        raise ParameterError("Give --model or --clean, not both.")
    learning = ("layout", "contaminated", "imputation", "seed", "reference_rows")
    if options.model and any(getattr(options, name) for name in learning):
        raise ParameterError("A model has its parameters already. Give them to treemend fit, or give --clean.")
    if options.fdr is not None:
        check_share("--fdr", options.fdr, zero=True)
    if options.fdr is not None and options.false_alarm_rate is not None:
        raise ParameterError("Give --fdr or --false-alarm-rate, not both: they are two rules for the same decision.")
    if STANDARD_STREAM in (options.clean or ()) and STANDARD_STREAM in paths:
        raise ParameterError("Standard input can be the suspect rows or the clean ones, not both.")


def mend_table(
    table: FileTable,
    reference: Reference | None,
    output: str | None,
    mask: str | None,
    options: SuspectOptions,
    *,
    is_part: bool = False,
) -> Outcome:
    """Send all batches of a table through the reference, which is found first if there is none, and into files.

    With ``is_part`` the table is one of several whose outputs must have the same types, and an existing output is
    replaced: whether it may be was decided for all of them.
    """
    begun = time.monotonic()
    wanted = {"output": output, "mask": mask, "findings": options.findings, "report": options.report}
    targets = {name: path for name, path in {**wanted, "json": options.json}.items() if path is not None}
    inputs = [*table.paths, *(options.clean or ()), *([options.model] if options.model else [])]
    with Outputs(inputs, force=options.force or is_part) as outputs:
        files = {name: outputs.open(path) for name, path in targets.items()}
        reference = reference or find_reference(table, options)
        if options.fdr is not None and reference.own is None:
            reference = reference.at_fdr(options.fdr, table)
        outcome = _walk(table, reference, targets, files, options, is_part=is_part)
        _stop_if_not_covered(table.label, outcome, options)
        if "report" in files:
            page = as_html(outcome.summary, f"treemend report: {printable(table.label)}")
            files["report"].write(page.encode("utf-8", "backslashreplace"))
        if "json" in files:
            told = {
                "treemend": treemend.__version__,
                "input": [source.label for source in table.sources],
                "output": output,
                "method": type(reference.estimator).__name__,
                "reference": reference.kind,
                "parameters": reference.estimator.get_params(deep=False),
                "drift": list(outcome.drift),
                "seconds": round(time.monotonic() - begun, 3),
                "summary": outcome.summary,
            }
            files["json"].write(as_json(told).encode("ascii") + b"\n")
        outputs.publish()
    return outcome


def _walk(
    table: FileTable,
    reference: Reference,
    targets: dict[str, str],
    files: dict[str, BinaryIO],
    options: SuspectOptions,
    *,
    is_part: bool,
) -> Outcome:
    """Judge and write every batch, in memory that does not grow with the table."""
    columns = reference.columns
    names = tuple(table.names[column] for column in columns) if table.named else None
    others = tuple(column for column in range(len(table.names)) if column not in set(columns)) if table.named else ()
    writers: dict[str, Writer] = {
        name: open_writer(
            targets[name],
            files[name],
            like=table if name == "output" else None,
            named=table.named or name == "findings",
            delimiter=options.delimiter,
            keep_integers=not is_part,
        )
        for name in ("output", "mask", "findings")
        if name in targets
    }
    where = f"{targets['findings']} has" if "findings" in targets else "The option --findings writes"
    builder = SummaryBuilder(repaired="output" in targets, rest=f"{where} the findings of every row.")
    drift = _drift_test(reference)
    n_rows = 0
    for batch in read_batches(table, columns, "mending" if "output" in targets else "checking"):
        found = replace(_findings(reference, batch, n_rows), names=names, row_ids=_Places(batch))
        if reference.own is None:
            # Signs of drift in a single batch; those in the table come last.
            found = replace(found, notes=())
        builder.add(found)
        if "output" in writers:
            writers["output"].write(batch, found.after, found.mask | found.only_missing)
        if "mask" in writers:
            writers["mask"].write_table(_mask_table(batch, found, others, table, targets["mask"]))
        if "findings" in writers:
            writers["findings"].write_table(_findings_table(batch, found, others, table, n_rows))
        if drift is not None and found.unusual is not None:
            drift.add(found.before, found.mask, found.unusual)
        n_rows += len(batch)
    for writer in writers.values():
        writer.close()
    notes = () if drift is None else drift.notes(names)
    builder.add(replace(found.take(np.empty(0, dtype=np.int64)), notes=notes))
    return Outcome(builder.summary(), notes)


def _findings(reference: Reference, batch: Batch, first: int) -> Findings:
    if len(batch) or reference.own is not None:
        return reference.findings(batch.values, first)
    # Any row tells names, layout and rule.
    example = reference.findings(np.zeros((1, len(reference.columns))), 0)
    return example.take(np.empty(0, dtype=np.int64))


def _drift_test(reference: Reference) -> DriftTest | None:
    """Return what tells over all batches whether the reference covers the rows, where that is a question."""
    if isinstance(reference.estimator, TCS) or reference.kind == "the table itself":
        return None
    return DriftTest(reference.estimator._model.drift)


def _stop_if_not_covered(label: str, outcome: Outcome, options: SuspectOptions) -> None:
    """Leave the table as it is if what was found looks like another kind of rows rather than corruption."""
    share = outcome.n_declared / max(1, outcome.n_rows)
    reasons = list(outcome.drift)
    if share > MOST_DECLARED and outcome.n_rows >= FEWEST_ROWS_TO_STOP:
        reasons.append(f"{percent(share)} of the rows are corrupted or unusual.")
    if not reasons or not outcome.summary["repaired"]:
        return
    told = f"The reference does not seem to cover {label}: {' '.join(reasons)}"
    if not options.force:
        raise NotCoveredError(f"{told} Nothing was written. Fit to rows of this kind, or give --force.")
    say(f"note: {told}", quiet=options.quiet)


def _mask_table(batch: Batch, found: Findings, others: tuple[int, ...], table: FileTable, path: str) -> Any:
    """Return the mask, after the columns that were passed through where the format can hold them."""
    columns = dict(zip(found.column_names, np.ascontiguousarray(found.mask.T), strict=True))
    if format_of(path).family in ("npy", "npz"):
        return pa.table(columns)
    return _with_others(batch, np.arange(len(batch)), others, table, columns)


def _findings_table(batch: Batch, found: Findings, others: tuple[int, ...], table: FileTable, first: int) -> Any:
    """Return one line for each run of cells, after the columns that were passed through."""
    lines = findings_table(found, first_row=first)
    rows = np.array(lines["row"], dtype=np.int64) - first
    lines["place"] = lines.pop("id")
    # A batch without any line has the types of the others.
    types = {"row": pa.int64(), "n_cells": pa.int64()} | dict.fromkeys(_TEXTS, pa.string())
    columns = {name: pa.array(values, types.get(name, pa.float64())) for name, values in lines.items()}
    return _with_others(batch, rows, others, table, columns)


def _with_others(batch: Batch, rows: Any, others: tuple[int, ...], table: FileTable, columns: dict[str, Any]) -> Any:
    if not others:
        return pa.table(columns)
    passed = batch.cells(rows, others)
    taken = {table.names[column]: passed.column(place) for place, column in enumerate(others)}
    return pa.table({**{name: values for name, values in taken.items() if name not in columns}, **columns})


class _Places(Sequence[Any]):
    """Where the rows of a batch are, by file and line, told only of those that are asked for."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch

    def __len__(self) -> int:
        return len(self._batch)

    def __getitem__(self, row: Any) -> Any:
        return self._batch.place(int(row))


def verdict(outcome: Outcome, *, fail_above: float | None) -> tuple[bool, str]:
    """Tell whether `check` fails, and why, in one line.

    If all rows are clean, the number of corrupted rows follows a beta-binomial distribution, and so does that of
    unusual ones: each threshold is an order statistic of the reference, and fresh rows exceed it independently given
    where it is. The larger number is tested at half the level, so that clean files fail at most as often as stated.
    """
    n_rows, totals, rule = outcome.n_rows, outcome.summary["totals"], outcome.summary["rule"] or {}
    found = f"{totals['corrupted_rows']:,} of {counted(n_rows, 'row')} corrupted, {totals['unusual_rows']:,} unusual"
    if outcome.drift:
        return True, f"fails: the reference does not cover the rows. {' '.join(outcome.drift)}"
    if fail_above is not None:
        fails, limit = outcome.n_declared > fail_above * n_rows, f"{percent(fail_above)} allowed"
    elif rule.get("name") == "fdr":
        fails, limit = totals["corrupted_rows"] > 0, f"at a false discovery rate of {percent(rule['value'])}"
    else:
        usual = _usual_number(n_rows, rule.get("rate") or 0.0, rule.get("reference_rows") or 0)
        fails = max(totals["corrupted_rows"], totals["unusual_rows"]) > usual
        limit = f"{1 - CHECK_LEVEL:.0%} of clean files of this size have at most {usual:,} of each"
    return fails, f"{'fails' if fails else 'passes'}: {found}; {limit}"


def _usual_number(n_rows: int, rate: float, n_reference: int) -> int:
    """Return a number of declared rows that is rarely exceeded if all rows are clean."""
    from scipy.stats import betabinom, binom

    n_above = int(rate * (n_reference + 1))
    if n_above == 0:
        return int(binom.ppf(1 - CHECK_LEVEL / 2, n_rows, rate))
    return int(betabinom.ppf(1 - CHECK_LEVEL / 2, n_rows, n_above, n_reference + 1 - n_above))


def compile_kernels() -> None:
    """Call every kernel once, so that the compiled code is stored on disk."""
    begun = time.monotonic()
    rows = waves(60, 36, rng=0, noise=0.1)
    rows[::3, 4:12] = np.random.default_rng(0).uniform(-2, 2, (20, 8))
    rows[2, 8:20] = 0.5
    gaps = np.where(waves(60, 36, rng=1) > 1.5, np.nan, rows)
    for what, estimator in (
        ("sequences", Mender(layout="sequence", contaminated=True, false_alarm_rate=0.3)),
        ("images", Mender(layout=(6, 6), false_alarm_rate=0.3)),
        ("the published method", TCS(false_alarm_rate=0.3)),
    ):
        with progress.step(f"kernels for {what}"):
            estimator.fit(rows).mend(gaps)
    Mender().fit(gaps).mend(rows)
    say(f"everything is compiled ({time.monotonic() - begun:.0f} s)", quiet=False)
