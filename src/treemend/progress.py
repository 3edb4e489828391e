"""Progress of long work: one line that moves, on terminals and in notebooks.

Steps may be nested: the line names the outermost and the innermost one, and measures the outermost one that knows how
much there is to do. It appears after half a second and is gone when the outermost step ends. Nothing is shown where
standard error is neither a terminal nor a notebook (but for ``in_lines``), in other threads than the main one, and in
processes that joblib or Dask started.
"""

import multiprocessing
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

PATIENCE = 0.5
SECONDS_BETWEEN_FRAMES = 0.2
SECONDS_BETWEEN_LINES = 5.0
_BAR_WIDTH = 24

Write = Callable[[str], None]


@dataclass
class _Step:
    title: str
    total: float | None
    done: float = 0
    note: str = ""
    begun: float = field(default_factory=time.monotonic)

    def share(self) -> float:
        return min(1.0, self.done / (self.total or 1))


class _Display:
    """The steps in work, outermost first, and what shows them: one line that moves and is cleared by "", or lines."""

    def __init__(self, write: Write, *, moves: bool) -> None:
        self.steps: list[_Step] = []
        self.write, self.moves = write, moves
        self.interval = SECONDS_BETWEEN_FRAMES if moves else SECONDS_BETWEEN_LINES
        self.due = time.monotonic() + (PATIENCE if moves else self.interval)
        self.lock, self.ended = threading.RLock(), threading.Event()
        if moves:
            threading.Thread(target=self._tick, daemon=True).start()

    def draw(self) -> None:
        with self.lock:
            if self.steps and time.monotonic() >= self.due:
                self.due = time.monotonic() + self.interval
                self.write(_described(self.steps, bar=self.moves))

    def clear(self) -> None:
        if self.moves:
            self.write("")

    def _tick(self) -> None:
        while not self.ended.wait(self.interval):
            self.draw()


_display: ContextVar[_Display | None] = ContextVar("treemend_display", default=None)
_silent: ContextVar[bool] = ContextVar("treemend_silent", default=False)


@contextmanager
def step(title: str, total: float | None = None, *, in_lines: bool = False) -> Iterator[None]:
    """Show a step while the block runs; ``total`` is how much there is, which `advance` counts.

    Without a title, it only measures a step around it that counts nothing. With ``in_lines``, it prints a line every
    few seconds where there is no terminal and no notebook.
    """
    outer, display = _display.get(), None
    if not _silent.get():
        display = outer or (_new_display(in_lines) if title or in_lines else None)
    if display is None:
        yield
        return
    display.steps.append(_Step(title, total))
    token = _display.set(display)
    try:
        yield
    finally:
        _display.reset(token)
        with display.lock:
            display.steps.pop()
            if outer is None:
                display.ended.set()
                display.clear()


def advance(amount: float = 1, note: str = "") -> None:
    """Say that so much more of the innermost step is done; the note is shown beside it."""
    display = None if _silent.get() else _display.get()
    if display is not None:
        display.steps[-1].done += amount
        display.steps[-1].note = note
        display.draw()


@contextmanager
def silenced(silent: bool = True) -> Iterator[None]:
    """Show nothing of the steps that begin while the block runs."""
    token = _silent.set(silent or _silent.get())
    try:
        yield
    finally:
        _silent.reset(token)


def say(message: str) -> None:
    """Print a line on standard error, above the line that moves."""
    display = _display.get()
    with nullcontext() if display is None else display.lock:
        if display is not None:
            display.clear()
        _print_line(message)


def _new_display(in_lines: bool) -> _Display | None:
    if threading.current_thread() is not threading.main_thread() or multiprocessing.parent_process() is not None:
        return None
    if "ipykernel" in sys.modules:
        return _Display(_notebook_writer(), moves=True)
    if sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        return _Display(_write_on_terminal, moves=True)
    return _Display(_print_line, moves=False) if in_lines else None


def _print_line(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _write_on_terminal(text: str) -> None:
    width = shutil.get_terminal_size().columns - 1
    print(f"\r\x1b[K{text[:width]}", end="", file=sys.stderr, flush=True)


def _notebook_writer() -> Write:
    shown: Any = None

    def write(text: str) -> None:
        nonlocal shown
        if shown is not None:
            shown.update({"text/plain": text}, raw=True)
        elif text:
            shown = import_module("IPython.display").display({"text/plain": text}, raw=True, display_id=True)

    return write


def _described(steps: list[_Step], *, bar: bool) -> str:
    """Return the line: titles, bar, share and note, and the seconds left or passed."""
    measured = next((one for one in steps if one.total), steps[0])
    titled = [one for one in steps if one.title]
    last = titled[-1] if titled and titled[-1].total else steps[-1]
    names = [one.title for one in titled] or ["starting"]
    if last.total and last is not measured:
        names[-1] += f" ({last.share():.0%})"
    titles = ": ".join(names[:1] + names[1:][-1:])
    seconds = time.monotonic() - measured.begun
    if not measured.total:
        return f"{titles}, {seconds:.0f} s"
    share = measured.share()
    told = f"{share:.0%}" + f", {measured.note}" * bool(measured.note)
    if not bar:
        return f"{titles}: {told}, {seconds:.0f} s"
    marks = "━─" if (sys.stderr.encoding or "").lower().startswith("utf") else "#-"
    full = round(share * _BAR_WIDTH)
    left = f", {seconds / share - seconds:.0f} s left" if share > 0.02 else ""
    return f"{titles} {marks[0] * full}{marks[1] * (_BAR_WIDTH - full)} {told}{left}"
