"""What the command line says: progress bars on terminals, plain lines elsewhere, nothing if it shall be quiet.

Enters: messages and shares of work done. Leaves: lines on standard error; standard output is for results.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from treemend.cli.failures import printable

__all__ = ["Talk"]

_SECONDS_BETWEEN_LINES = 5.0


def _silent(share: float, rows: int) -> None:
    del share, rows


class Talk:
    """A voice on standard error.

    Parameters
    ----------
    quiet : bool
        Say nothing but errors.
    """

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet

    def say(self, message: str) -> None:
        """Say one line."""
        if not self.quiet:
            print(printable(message), file=sys.stderr)

    @contextmanager
    def progress(self, what: str) -> Iterator[Callable[[float, int], None]]:
        """Show how far a piece of work is; yields a function of the share done and the number of rows."""
        if self.quiet:
            yield _silent
        elif sys.stderr.isatty():
            yield from self._bar(what)
        else:
            yield self._lines(what)

    def _bar(self, what: str) -> Iterator[Callable[[float, int], None]]:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[rows]:,} rows", markup=False),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task(printable(what), total=1.0, rows=0)
            yield lambda share, rows: progress.update(task, completed=share, rows=rows)

    def _lines(self, what: str) -> Callable[[float, int], None]:
        last = time.monotonic()

        def tell(share: float, rows: int) -> None:
            nonlocal last
            if time.monotonic() - last >= _SECONDS_BETWEEN_LINES:
                last = time.monotonic()
                self.say(f"{what}: {share:.0%}, {rows:,} rows")

        return tell
