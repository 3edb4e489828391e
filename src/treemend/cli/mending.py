"""The commands' work: fit, mend, check, each a walk over batches.

Enters: what was asked, as plain values. Leaves: files, and a summary, from which ``--json`` and ``--report`` are made.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import treemend
from treemend.cli.extras import need
from treemend.cli.failures import printable
from treemend.cli.learning import (
    OWN_REFERENCE_ROWS,
    Judge,
    from_table_itself,
    learnt,
    model_columns,
    names_of,
    read_reference,
)
from treemend.cli.outputs import Outputs
from treemend.cli.parameters import Asked, gathered
from treemend.cli.talking import Talk
from treemend.cli.walking import Targets, walk
from treemend.exceptions import ParameterError
from treemend.files import FileTable, any_matches, choose_columns, kind_of, open_table
from treemend.files.kinds import STANDARD_STREAM
from treemend.mender import TreeMender
from treemend.mender.one_table import OWN_REFERENCE
from treemend.report import as_html, as_json
from treemend.report.plain import counted

__all__ = ["Reading", "Reference", "Targets", "fit", "mend"]


@dataclass(frozen=True)
class Reading:
    """How tables are read."""

    columns: tuple[str, ...] = ()
    passthrough: tuple[str, ...] = ()
    delimiter: str | None = None
    header: bool = True
    array: str | None = None
    reference_rows: int | None = None

    def table(self, paths: tuple[str, ...], spooled: Path | None = None) -> FileTable:
        """Open files as one table; standard input from a copy, if there is one."""
        return open_table(
            paths,
            delimiter=self.delimiter,
            header=self.header,
            array=self.array,
            standard_input=None if spooled is None else lambda: open(spooled, "rb"),
        )

    def chosen(self, table: FileTable) -> tuple[int, ...]:
        """Return the positions of the columns to look at."""
        return choose_columns(table.names, self.columns, self.passthrough)

    def without_strangers(self, clean: FileTable, suspect: FileTable) -> "Reading":
        """Return the same for clean rows: columns left alone need not be there if the suspect rows have them."""
        there = [
            pattern
            for pattern in self.passthrough
            if any_matches(clean.names, pattern) or not any_matches(suspect.names, pattern)
        ]
        return replace(self, passthrough=tuple(there))


@dataclass(frozen=True)
class Reference:
    """What suspect rows are held against: a model, clean rows, or neither (the table itself)."""

    model: str | None = None
    clean: tuple[str, ...] = ()
    asked: Asked = field(default_factory=Asked)


def fit(paths: tuple[str, ...], model: str, asked: Asked, reading: Reading, talk: Talk, *, force: bool) -> None:
    """Learn from clean rows and write a model file."""
    parameters = _parameters(asked)
    table = reading.table(paths)
    with Outputs(table.paths, force=force) as outputs:
        outputs.claim(model)
    mender = _learn_from(table, parameters, reading, talk)
    mender.save(model)
    size = f"{counted(len(mender.reference_), 'row')} of {counted(mender.n_features_in_, 'column')}"
    talk.say(f"{model}: learnt from {size}; each judged by the others, {mender.reference_rate_:.1%} are touched")


def mend(
    paths: tuple[str, ...], reference: Reference, targets: Targets, reading: Reading, talk: Talk
) -> dict[str, Any]:
    """Judge all rows, write what is to be written, and return the report's summary of what was found."""
    begun = time.monotonic()
    _check_reference(reference, paths)
    if targets.report:
        need("plotly", "The report", "report")
    for target in (targets.output, targets.mask):
        if target is not None:
            kind_of(target, reading.delimiter)
    itself = reference.model is None and not reference.clean
    with ExitStack() as stack:
        spooled = stack.enter_context(_spooled(paths)) if itself else None
        table = reading.table(paths, spooled)
        inputs = [*table.paths, *reference.clean, *([reference.model] if reference.model else [])]
        outputs = stack.enter_context(Outputs(inputs, force=targets.force))
        files = {path: outputs.open(path) for path in targets.paths}
        judge, chosen, kind = _judge(table, reference, reading, talk)
        summary = walk(table, chosen, judge, targets, files, reading.delimiter, talk)
        if targets.report:
            page = as_html(summary, f"treemend report: {printable(table.label)}")
            files[targets.report].write(page.encode("utf-8", "backslashreplace"))
        if targets.summary:
            told = {
                "treemend": treemend.__version__,
                "input": list(paths),
                "output": targets.output,
                "reference": {
                    "kind": kind,
                    "rows": len(judge.mender.reference_),
                    "set_aside": len(judge.mender.set_aside_),
                },
                "tau": judge.mender.tau_,
                "reference_rate": judge.mender.reference_rate_,
                "parameters": judge.mender.get_params(deep=False),
                "seconds": round(time.monotonic() - begun, 3),
                "summary": summary,
            }
            files[targets.summary].write(as_json(told).encode("ascii") + b"\n")
        outputs.publish()
    return summary


def _judge(table: FileTable, reference: Reference, reading: Reading, talk: Talk) -> tuple[Judge, tuple[int, ...], str]:
    """Return who judges, which columns, and what the reference is called."""
    if reference.model is not None:
        mender = TreeMender.load(reference.model)
        if reference.asked.jobs is not None:
            mender.set_params(n_jobs=reference.asked.jobs)
        wanted = reading.chosen(table) if reading.columns or reading.passthrough else None
        return Judge(mender, names_of(mender)), model_columns(mender, table, wanted), "model"
    parameters = _parameters(reference.asked)
    if reference.clean:
        clean = reading.table(reference.clean)
        mender = _learn_from(clean, parameters, reading.without_strangers(clean, table), talk)
        wanted = None if table.named else reading.chosen(table)
        return Judge(mender, names_of(mender)), model_columns(mender, table, wanted), "clean rows"
    chosen = reading.chosen(table)
    names = tuple(table.names[column] for column in chosen) if table.named else None
    talk.say("no model and no clean rows given: the table serves as its own reference, each row judged by the others")
    limit = reading.reference_rows or OWN_REFERENCE_ROWS
    drop = _drops_incomplete(OWN_REFERENCE | parameters)
    values, rows = read_reference(table, chosen, limit, talk, drop_incomplete=drop)
    return from_table_itself(parameters, values, rows, names, talk), chosen, "the table itself"


def _learn_from(table: FileTable, parameters: dict[str, Any], reading: Reading, talk: Talk) -> TreeMender:
    """Learn from the chosen columns; the others are remembered as passed through."""
    chosen = reading.chosen(table)
    drop = _drops_incomplete(parameters)
    values, _ = read_reference(table, chosen, reading.reference_rows, talk, drop_incomplete=drop)
    names = tuple(table.names[column] for column in chosen) if table.named else None
    mender = learnt(parameters, values, names, talk)
    others = [name for position, name in enumerate(table.names) if position not in set(chosen)]
    return mender.set_params(passthrough=others) if names is not None else mender


def _parameters(asked: Asked) -> dict[str, Any]:
    known = [name for name in TreeMender().get_params(deep=False) if name != "passthrough"]
    return gathered(asked, known)


def _drops_incomplete(parameters: dict[str, Any]) -> bool:
    return bool(parameters.get("incomplete_reference") == "drop")


def _check_reference(reference: Reference, paths: tuple[str, ...]) -> None:
    if reference.model and reference.clean:
        raise ParameterError("Give --model or --clean, not both.")
    if reference.model and reference.asked.anything_to_learn:
        raise ParameterError("A model has its parameters already. Give them to treemend fit, or give --clean.")
    if STANDARD_STREAM in reference.clean and STANDARD_STREAM in paths:
        raise ParameterError("Standard input can be the suspect rows or the clean ones, not both.")


@contextmanager
def _spooled(paths: tuple[str, ...]) -> Iterator[Path | None]:
    """Copy standard input into a file if it is among the paths: it will be read twice."""
    if STANDARD_STREAM not in paths:
        yield None
        return
    import sys

    descriptor, name = tempfile.mkstemp(suffix=".csv")
    try:
        with os.fdopen(descriptor, "wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy, 2**20)
        yield Path(name)
    finally:
        os.unlink(name)
