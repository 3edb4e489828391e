"""What the command line prints: notes on standard error, what was found in a few lines, and what a model file holds."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from treemend import progress
from treemend.cli.errors import printable
from treemend.loading import read_estimator
from treemend.model_file import checksum_of
from treemend.report.words import name_run, percent
from treemend.tables import counted, shortened
from treemend.tcs import TCS

_ROWS_LISTED = 10
_RUNS_LISTED = 3


def say(message: str, *, quiet: bool) -> None:
    """Print one line on standard error."""
    if not quiet:
        progress.say(printable(message))


@contextmanager
def compilation_said(*, quiet: bool) -> Iterator[None]:
    """Print a line when the block compiles something, which is then stored on disk."""
    from numba.core import event

    class Listener(event.Listener):
        said = quiet

        def on_start(self, _: Any) -> None:
            if not self.said:
                self.said = True
                progress.say("compiling, once on this machine")

        on_end = on_start

    with event.install_listener("numba:compile", Listener()):
        yield


def worst_rows(summary: dict[str, Any]) -> list[str]:
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
    in_order = layout.order.tolist() == list(range(layout.n_features))
    return "the columns in their order" if in_order else "similar columns side by side"
