"""What the command line prints: notes on standard error, and what was found in a few lines."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from treemend import progress
from treemend.cli.errors import printable
from treemend.report.words import counted, name_run

__all__ = ["compilation_said", "say", "warnings_said", "worst_rows"]

_ROWS_LISTED = 10
_RUNS_LISTED = 3


def say(message: str, *, quiet: bool) -> None:
    """Print one line on standard error."""
    if not quiet:
        progress.say(printable(message))


@contextmanager
def warnings_said(*, quiet: bool) -> Iterator[None]:
    """Print what the block warns of as notes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for warning in caught:
        say(f"note: {warning.message}", quiet=quiet)


@contextmanager
def compilation_said(*, quiet: bool) -> Iterator[None]:
    """Print a line when the block compiles something, which is then stored on disk."""
    from numba.core import event

    class Listener(event.Listener):
        said = quiet

        def on_start(self, event: Any) -> None:
            del event
            if not self.said:
                self.said = True
                progress.say("compiling, once on this machine")

        def on_end(self, event: Any) -> None:
            del event

    with event.install_listener("numba:compile", Listener()):
        yield


def worst_rows(summary: dict[str, Any]) -> list[str]:
    """Name the rows with the strongest evidence and what was found there; unusual ones after the corrupted ones."""
    rows = [row for row in summary["rows"] if row["corrupted"]] + summary["unusual_rows"]
    lines = [f"  {row['id']}: {_found(summary, row)}" for row in rows[:_ROWS_LISTED]]
    n_declared = summary["totals"]["corrupted_rows"] + summary["totals"]["unusual_rows"]
    if n_declared > len(lines):
        lines.append(f"  and {counted(n_declared - len(lines), 'row')} more")
    return [printable(line) for line in lines]


def _found(summary: dict[str, Any], row: dict[str, Any]) -> str:
    """Name the runs of columns and their kinds; if there are many, or columns are pixels, by the number of cells."""
    if not row["corrupted"]:
        return "unusual as a whole"
    names, found = summary["columns"]["names"], row["corrupted"]
    kinds = list(dict.fromkeys(_kind(summary, kind) for _, _, kind in found))
    if len(found) > _RUNS_LISTED or summary["columns"]["places"] is not None or summary["grid"] is not None:
        return f"{counted(sum(stop - start for start, stop, _ in found), 'cell')}, {' and '.join(kinds)}"
    return ", ".join(
        f"{name_run(names[start], names[stop - 1])}, {_kind(summary, kind)}" for start, stop, kind in found
    )


def _kind(summary: dict[str, Any], kind: int) -> str:
    return "corrupted" if kind < 0 else list(summary["kinds"])[kind]
