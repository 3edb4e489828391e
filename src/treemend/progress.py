"""Progress, for whatever lasts longer than a second and is watched on a terminal.

Enters: the title of a step, and how much of it is done. Leaves: a bar on standard error that goes when the step ends.
Nothing is printed where standard error is no terminal. Steps are told by whoever runs them; the kernels' threads tell
how far they are, if nobody above them counts.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

__all__ = ["advance", "chunks_done", "current_step", "silenced", "step"]

PATIENCE = 1.0


class _Step:
    """One step: its bar appears after a second."""

    def __init__(self, title: str, total: int | None) -> None:
        self.title = title
        self.counted = total is not None
        self.total = total
        self.done = 0
        self.begun = time.monotonic()
        self.bar: Any = None
        self.task: Any = None

    def show(self) -> None:
        """Draw the bar as things stand, unless it is too early."""
        if self.bar is None:
            if time.monotonic() - self.begun < PATIENCE:
                return
            from rich.console import Console
            from rich.progress import Progress

            self.bar = Progress(console=Console(stderr=True), transient=True)
            self.task = self.bar.add_task(self.title, total=self.total)
            self.bar.start()
        self.bar.update(self.task, completed=self.done, total=self.total)

    def end(self) -> None:
        """Take the bar away."""
        if self.bar is not None:
            self.bar.stop()


_SILENT = object()
current_step: ContextVar[Any] = ContextVar("treemend_progress", default=None)
"""The step that is followed in this block; None where nobody watches."""


@contextmanager
def step(title: str, total: int | None = None) -> Iterator[None]:
    """Follow a step while the block runs.

    Parameters
    ----------
    title : str
        What is being done.
    total : int, optional
        How much there is to do, if the block itself calls `advance`; else the kernels' chunks are followed.
    """
    if current_step.get() is _SILENT or not sys.stderr.isatty():
        yield
        return
    outer = current_step.get()
    if outer is not None and outer.counted:
        yield
        return
    following = _Step(title, total)
    token = current_step.set(following)
    try:
        yield
    finally:
        following.end()
        current_step.reset(token)


@contextmanager
def silenced(silent: bool = True) -> Iterator[None]:
    """Show nothing while the block runs."""
    token = current_step.set(_SILENT if silent else current_step.get())
    try:
        yield
    finally:
        current_step.reset(token)


def advance(amount: int) -> None:
    """Tell the step of this block that so much more is done."""
    following = current_step.get()
    if isinstance(following, _Step) and following.counted:
        following.done += amount
        following.show()


def chunks_done(done: int, total: int) -> None:
    """Tell the step of this block how far the kernels are, if it does not count for itself."""
    following = current_step.get()
    if isinstance(following, _Step) and not following.counted:
        following.done, following.total = done, total
        following.show()
