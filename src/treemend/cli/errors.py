"""Exit codes: errors and signals in one line each, with the next step; docs/command_line.md lists the codes."""

import errno
import importlib.util
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from treemend.exceptions import InputError, ModelFileError, OutputError, ParameterError, TreemendError

FOUND, USAGE, INPUT, MODEL, OUTPUT, NOT_COVERED, INTERNAL, INTERRUPTED, PIPE = 1, 2, 3, 4, 5, 6, 70, 130, 141
_STOPPED = "stopped; no unfinished output was left."
_CANNOT_WRITE = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO, errno.EROFS}


class NotCoveredError(TreemendError):
    """The reference does not cover the rows, or too many of them would change; nothing was written."""


class Stopped(KeyboardInterrupt):
    """A signal that ends the process was received.

    A KeyboardInterrupt itself, raised inside an ``exec`` of a string, as a dataclass or Numba does it, makes Python
    kill the process by SIGINT in the end, whatever was caught on the way.
    """


def require(package: str, purpose: str, extra: str) -> None:
    """Refuse to begin if an optional package is missing."""
    if importlib.util.find_spec(package) is None:
        raise ParameterError(f"{purpose} needs {package}, which is missing. pip install 'treemend[{extra}]'.")


@contextmanager
def signals_caught() -> Iterator[list[int]]:
    """Turn signals that end the process into exceptions, so that a command can discard its files; yield the received.

    An extension module that is interrupted while it is imported may raise an error of its own instead.
    """
    received: list[int] = []

    def receive(number: int, _: object) -> None:
        received.append(number)
        raise Stopped

    numbers = (getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP"))
    # One that is ignored, as by nohup, stays ignored.
    usual = (signal.SIG_DFL, signal.default_int_handler)
    caught = [number for number in numbers if number and signal.getsignal(number) in usual]
    before = {number: signal.signal(number, receive) for number in caught}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit with its code."""
    with signals_caught() as received:
        sys.exit(run(arguments, received))


def run(arguments: list[str] | None = None, received: Sequence[int] = ()) -> int:
    """Run a command and return its exit code; errors were printed by then."""
    try:
        from treemend.cli.app import command_line

        try:
            code = command_line(sys.argv[1:] if arguments is None else arguments)
        except SystemExit as help_printed:
            code = int(help_printed.code or 0)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # The reader of standard output stopped, as ``head`` does. What is left is flushed into nothing.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE
    except BaseException as error:
        # A signal may have become another error on its way.
        code, message = (128 + received[0], _STOPPED) if received else _code_and_message(error)
    with suppress(OSError):  # A terminal that was closed takes no more lines.
        print(f"treemend: {printable(message)}", file=sys.stderr)
    return code


def printable(text: str) -> str:
    """Return a text on one line, without control characters."""
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in text.replace("\n", "; "))


def _code_and_message(error: BaseException) -> tuple[int, str]:
    codes = {ParameterError: USAGE, InputError: INPUT, ModelFileError: MODEL}
    codes |= {OutputError: OUTPUT, NotCoveredError: NOT_COVERED}
    unwritten = "no output was written"
    if isinstance(error, TreemendError):
        return next(code for known, code in codes.items() if isinstance(error, known)), str(error)
    if isinstance(error, MemoryError):
        return INPUT, f"out of memory; {unwritten}. Learn from fewer rows with --reference-rows."
    if isinstance(error, OSError) and error.errno in _CANNOT_WRITE:
        return OUTPUT, f"{error.strerror}: {unwritten}, and nothing was left behind. Free some space and try again."
    if isinstance(error, OSError):
        return INPUT, f"{error.filename or 'a file'}: {error.strerror or error}. Check the path and its permissions."
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, _STOPPED
    import traceback

    traceback.print_exception(error)
    return INTERNAL, f"internal error ({type(error).__name__}). Please report the lines above."
