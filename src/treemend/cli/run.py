"""What the commands do: batches of rows through an estimator and into files, and lines that say what was found."""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import treemend
from treemend import progress
from treemend.atomic import atomic_file
from treemend.cli.app import Options, say
from treemend.cli.errors import NotCoveredError, printable
from treemend.cli.reference import ITSELF, Reference, find_reference, learn, open_files, read_batches
from treemend.exceptions import OutputError, ParameterError
from treemend.files.arrow import NpyWriter
from treemend.files.formats import STANDARD_STREAM
from treemend.files.table import FileTable, Writer, open_writer
from treemend.loading import read_estimator
from treemend.mender import Mender
from treemend.mender.drift import DriftTest
from treemend.model_file import checksum_of
from treemend.report import SummaryBuilder, as_html, as_json, by_column, findings_table
from treemend.report.words import name_run, percent
from treemend.synthetic import waves
from treemend.tables import counted, listed, shortened
from treemend.tcs import TCS

# More than this share of the rows declared is not what repairing is for, even if no column has drifted.
MOST_DECLARED = 0.7
FEWEST_ROWS_TO_STOP = 20
# The probability that `check` fails a clean file.
CHECK_LEVEL = 0.01
_ROWS_LISTED, _RUNS_LISTED = 10, 3
_OUTPUTS = ("output", "mask", "findings", "report", "json")
# The types of columns of findings that are not floats: a batch without any finding has those of the others.
_TYPES = {"row": pa.int64(), "n_cells": pa.int64()}
_TYPES |= dict.fromkeys(("place", "first_column", "last_column", "kind"), pa.string())


def fit(options: Options) -> str:
    """Learn from clean rows and write a model file; return a line that says of how many."""
    table = open_files(options.paths, options)
    _check_outputs([options.output], table.paths, replace=options.force)
    learnt, n_rows = learn(table, options)
    learnt.estimator.save(options.output)
    return f"learnt from {counted(n_rows, 'row')} of {counted(learnt.estimator.n_features_in_, 'column')}"


def mend(
    options: Options, table: FileTable | None = None, reference: Reference | None = None, *, overwrite: bool = False
) -> dict[str, Any]:
    """Send all batches of a table through the reference and into files; the options say what is not given.

    Returns what the JSON output holds.
    """
    begun, replace_files = time.monotonic(), bool(options.force or overwrite)
    table = table or open_files(options.paths, options)
    inputs = [*table.paths, *(options.clean or ()), *filter(None, [options.model])]
    # What is opened first appears last: standard output, or else the rows, so that where they are, the others are.
    targets = {name: path for name in _OUTPUTS if (path := getattr(options, name)) is not None}
    targets = dict(sorted(targets.items(), key=lambda target: target[1] != STANDARD_STREAM))
    _check_outputs(targets.values(), inputs, replace=replace_files)
    words = [_words("--label", options.label, table), table.units | _words("--unit", options.unit, table)]
    where = f"{options.findings} has" if options.findings else "The option --findings writes"
    with ExitStack() as stack:
        files = {name: stack.enter_context(_opened(path, replace=replace_files)) for name, path in targets.items()}
        how: dict[str, Any] = {"output": {"like": table}, "mask": {"named": table.named}, "findings": {}}
        writers = {
            name: open_writer(targets[name], files[name], delimiter=options.delimiter, **how[name])
            for name in how
            if name in files
        }
        reference = reference or find_reference(table, options)
        places = list(enumerate(reference.columns))
        labels, units = ({place: given[column] for place, column in places if column in given} for given in words)
        rest = f"{where} the findings of every row."
        builder = SummaryBuilder(repaired=options.output is not None, labels=labels, units=units, rest=rest)
        _walk(table, reference, writers, builder, options)
        summary = builder.summary()
        found = {
            "treemend": treemend.__version__,
            "input": [source.label for source in table.sources],
            "output": options.output,
            "method": type(reference.estimator).__name__,
            "reference": reference.kind,
            "parameters": reference.estimator.get_params(deep=False),
            "drift": [] if reference.kind == ITSELF else summary["warnings"],
            "seconds": round(time.monotonic() - begun, 3),
            "summary": summary,
        }
        _stop_if_not_covered(table.label, found, options)
        if "report" in files:
            page = as_html(summary, f"treemend report: {printable(table.label)}")
            files["report"].write(page.encode("utf-8", "backslashreplace"))
        if "json" in files:
            files["json"].write(as_json(found).encode("ascii") + b"\n")
    return found


def _check_outputs(outputs: Iterable[str], inputs: Iterable[str], *, replace: bool) -> None:
    """Refuse an output that is an input or another output, by their real paths, or that exists."""
    taken = {os.path.realpath(path): "an input" for path in inputs if path != STANDARD_STREAM}
    for path in outputs:
        real = path if path == STANDARD_STREAM else os.path.realpath(path)
        if real in taken:
            raise OutputError(f"{path} is already {taken[real]} and cannot be an output. Choose another name.")
        taken[real] = "an output"
        if real != STANDARD_STREAM and os.path.exists(real) and not replace:
            raise OutputError(f"{path} already exists; not overwritten. Choose another name, or give --force.")


@contextmanager
def _opened(path: str, *, replace: bool) -> Iterator[BinaryIO]:
    """Open a file, or what is copied to standard output when the block has ended."""
    if path != STANDARD_STREAM:
        with atomic_file(path, replace=replace) as file:
            yield file
        return
    with tempfile.TemporaryFile() as file:
        yield file
        file.seek(0)
        shutil.copyfileobj(file, sys.stdout.buffer)


def _words(option: str, texts: list[str] | None, table: FileTable) -> dict[int, str]:
    """Return the words for columns that are given as NAME=TEXT, by position; columns that are not there are refused."""
    pairs = [text.rpartition("=") for text in texts or ()]
    for _, is_given, word in pairs:
        if not is_given:
            raise ParameterError(f"{option} must be NAME={option[2:].upper()}, got {word!r}. Name the column first.")
    return by_column(option, {pattern: word for pattern, _, word in pairs}, table.names)


def _walk(
    table: FileTable, reference: Reference, writers: dict[str, Writer], builder: SummaryBuilder, options: Options
) -> None:
    """Judge and write every batch, in memory that does not grow with the table."""
    columns, n_rows = reference.columns, 0
    others = tuple(sorted({*range(len(table.names))} - {*columns})) if table.named else ()
    # Chosen columns of an array keep their numbers.
    chosen = table.named or len(columns) < len(table.names)
    names = tuple(f"{'' if table.named else 'column '}{table.names[column]}" for column in columns) if chosen else None
    drift = None
    if isinstance(reference.estimator, Mender) and reference.kind != ITSELF:
        drift = DriftTest(reference.estimator._model.drift)
    touched = np.zeros(len(columns), dtype=bool)
    for batch in read_batches(table, columns, "mending" if "output" in writers else "checking"):
        found = reference.findings(batch.values, n_rows)
        put_in = found.mask | found.only_missing
        found = replace(found, names=names, row_ids=batch.places, after=batch.rounded(found.after, put_in))
        builder.add(found)
        if "output" in writers:
            touched |= put_in.any(axis=0)
            writers["output"].write(batch, found.after, put_in)
        beside = batch.table.select(others)
        if "mask" in writers:
            # An array cannot hold the columns that were passed through.
            passed = beside.select([]) if isinstance(writers["mask"], NpyWriter) else beside
            writers["mask"].write_table(_joined(passed, dict(zip(found.column_names, found.mask.T, strict=True))))
        if "findings" in writers:
            lines = findings_table(found, first_row=n_rows)
            lines["place"] = lines.pop("id")
            typed = {name: pa.array(values, _TYPES.get(name, pa.float64())) for name, values in lines.items()}
            writers["findings"].write_table(_joined(beside.take(pc.subtract(typed["row"], n_rows)), typed))
        if drift is not None:
            drift.add(found.before, found.mask, found.left_alone)
        n_rows += len(batch)
    for writer in writers.values():
        writer.close()
    changed = [table.columns[column] for column in np.array(columns)[touched]]
    rounded = [column.name for column in changed if column.decimals == 0]
    if rounded:
        say(f"note: {table.label}: rounded in columns of integers: {listed(rounded)}", quiet=options.quiet)
    if drift is not None:
        builder.add(replace(found.take(np.arange(0)), notes=drift.notes(names)))


def _joined(passed: Any, columns: dict[str, Any]) -> Any:
    """Return a table of columns, after those that were passed through."""
    return pa.table({name: passed[name] for name in passed.column_names if name not in columns} | columns)


def _stop_if_not_covered(label: str, found: dict[str, Any], options: Options) -> None:
    """Leave the table as it is if what was found looks like another kind of rows rather than corruption."""
    totals, reasons = found["summary"]["totals"], list(found["drift"])
    share = (totals["corrupted_rows"] + totals["unusual_rows"]) / max(1, totals["rows"])
    if share > MOST_DECLARED and totals["rows"] >= FEWEST_ROWS_TO_STOP:
        reasons.append(f"{percent(share)} of the rows are corrupted or unusual.")
    if not reasons or options.output is None:
        return
    told = f"The reference does not seem to cover {label}: {' '.join(reasons)}"
    if not options.force:
        raise NotCoveredError(f"{told} Nothing was written. Fit to rows of this kind, or give --force.")
    say(f"note: {told}", quiet=options.quiet)


def check(options: Options) -> tuple[bool, list[str]]:
    """Tell whether rows hold more than clean rows do, and return lines that say what was found."""
    found = mend(options)
    fails, verdict = _verdict(found["summary"], found["drift"], options.fail_above)
    lines = [found["summary"]["headline"], *_worst_rows(found["summary"])]
    return fails, [*lines, f"{'fails' if fails else 'passes'}: {verdict}"]


def _verdict(summary: dict[str, Any], drift: list[str], fail_above: float | None) -> tuple[bool, str]:
    """Tell whether `check` fails, and why, in one line.

    If all rows are clean, the number of corrupted rows follows a beta-binomial distribution, and so does that of
    unusual ones: each threshold is an order statistic of the reference, and fresh rows exceed it independently given
    where it is. The larger number is tested at half the level, so that clean files fail at most as often as stated.
    """
    from scipy.stats import betabinom, binom

    rule, n_rows = summary["rule"], summary["totals"]["rows"]
    corrupted, unusual = summary["totals"]["corrupted_rows"], summary["totals"]["unusual_rows"]
    found = f"{corrupted:,} of {counted(n_rows, 'row')} corrupted, {unusual:,} unusual"
    if drift:
        return True, f"the reference does not cover the rows. {' '.join(drift)}"
    if fail_above is not None:
        return corrupted + unusual > fail_above * n_rows, f"{found}; {percent(fail_above)} allowed"
    if rule["name"] == "fdr":
        return corrupted > 0, f"{found}; at a false discovery rate of {percent(rule['value'])}"
    n_ranks = rule["reference_rows"] + 1
    n_above = int(rule["rate"] * n_ranks)
    clean = betabinom(n_rows, n_above, n_ranks - n_above) if n_above else binom(n_rows, rule["rate"])
    usual = int(clean.ppf(1 - CHECK_LEVEL / 2))
    told = f"{found}; {1 - CHECK_LEVEL:.0%} of clean files of this size have at most {usual:,} of each"
    return max(corrupted, unusual) > usual, told


def _worst_rows(summary: dict[str, Any]) -> list[str]:
    """Name the rows with the strongest evidence and what was found there; unusual ones after the corrupted ones."""
    rows = [row for row in summary["rows"] if row["corrupted"]] + summary["unusual_rows"]
    lines = [f"  {row['id']}: {_found(summary, row)}" for row in rows[:_ROWS_LISTED]]
    n_declared = summary["totals"]["corrupted_rows"] + summary["totals"]["unusual_rows"]
    if n_declared > len(lines):
        lines.append(f"  and {counted(n_declared - len(lines), 'more row')}")
    return lines


def _found(summary: dict[str, Any], row: dict[str, Any]) -> str:
    """Name the runs of columns and their kinds; if there are many, or columns are pixels, by the number of cells."""
    if not row["n_corrupted"]:
        return "unusual as a whole"
    found = [line for line in row["findings"] if line[3] != "missing"]
    if len(found) > _RUNS_LISTED or summary["grid"] is not None:
        return f"{counted(row['n_corrupted'], 'cell')} ({' and '.join(dict.fromkeys(line[3] for line in found))})"
    return ", ".join(f"{name_run(first, last)} ({kind})" for first, last, _, kind, *_ in found)


def model_lines(path: str) -> list[str]:
    """Describe a model file, which is loaded completely: one that can be described can be used."""
    stored, estimator = read_estimator(path)
    model: Any = estimator._model
    if isinstance(estimator, TCS):
        declared = f"{percent(estimator.reference_rate_)} of the reference rows are declared"
        learnt = {
            "reference": counted(len(model.rows), "row"),
            "threshold": f"tau = {estimator.tau_:g}; {declared}",
            "tree": counted(len(estimator.tree_.start), "node"),
        }
    else:
        learnt = {"reference": counted(model.detector.calibration.n_rows, "row"), "layout": _layout_words(model.layout)}
    told = {
        "file": f"{path}, {os.path.getsize(path):,} bytes, checksum matches",
        "SHA-256": checksum_of(path),
        "written by": stored.written_by,
        "method": stored.estimator,
        "columns": f"{estimator.n_features_in_}: {shortened(stored.names or ['no names'], most=12)}",
        **learnt,
        "parameters": "",
        **{f"  {name}": repr(value) for name, value in sorted(estimator.get_params(deep=False).items())},
    }
    return [f"{name:{20 if name.startswith(' ') else 13}}{value}".rstrip() for name, value in told.items()]


def _layout_words(layout: Any) -> str:
    if layout.grid is not None:
        return f"images of {'x'.join(map(str, layout.grid))}"
    if layout.groups is not None:
        return f"{counted(len(set(layout.groups.tolist())), 'group')} of columns"
    in_order = layout.order.tolist() == list(range(len(layout.order)))
    return "the columns in their order" if in_order else "similar columns side by side"


def compile_kernels() -> str:
    """Call every kernel once, so that the compiled code is stored on disk; return a line that says how long it took."""
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
    return f"everything is compiled ({time.monotonic() - begun:.0f} s)"
