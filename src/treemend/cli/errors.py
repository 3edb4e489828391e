"""Exit codes: errors and signals in one line each, with the next step; docs/command_line.md lists the codes."""

import errno
import importlib.util
import os
import signal
import sys
from types import FrameType
from typing import Any, Self

from treemend.exceptions import InputError, ModelFileError, OutputError, ParameterError, TreemendError

__all__ = ["FOUND", "NotCoveredError", "Signals", "main", "printable", "require", "run"]

FOUND, USAGE, INPUT, MODEL, OUTPUT, NOT_COVERED, INTERNAL, INTERRUPTED, PIPE = 1, 2, 3, 4, 5, 6, 70, 130, 141
_INTERRUPTED = "interrupted; no unfinished output was left."
_CANNOT_WRITE = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO, errno.EROFS}


class NotCoveredError(TreemendError):
    """The reference does not cover the rows, or too many of them would change; nothing was written."""


_CODES: tuple[tuple[type[TreemendError], int], ...] = (
    (ParameterError, USAGE),
    (InputError, INPUT),
    (ModelFileError, MODEL),
    (OutputError, OUTPUT),
    (NotCoveredError, NOT_COVERED),
)


def require(package: str, purpose: str, extra: str) -> None:
    """Refuse to begin if an optional package is missing."""
    if importlib.util.find_spec(package) is None:
        raise ParameterError(f"{purpose} needs {package}, which is missing. pip install 'treemend[{extra}]'.")


class Signals:
    """Turns signals that end the process into exceptions, so that a command can discard its files.

    An extension module that is interrupted while it is imported may raise an error of its own instead; `received` says
    what happened.
    """

    received: int | None = None

    def __enter__(self) -> Self:
        self._before = {
            number: signal.signal(number, self._receive)
            for number in (getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP"))
            # One that is ignored, as by nohup, stays ignored.
            if number is not None and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler)
        }
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        del frame
        self.received = number
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + number)


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit with its code."""
    with Signals() as signals:
        code = run(arguments, signals)
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            code = _reader_has_gone()
        sys.exit(code)


def run(arguments: list[str] | None = None, signals: Signals | None = None) -> int:
    """Run a command and return its exit code; errors were printed by then."""
    try:
        from treemend.cli.app import app

        code = int(app(arguments, standalone_mode=False) or 0)
    except BrokenPipeError:
        return _reader_has_gone()
    except SystemExit as error:
        # The parser turns a broken pipe into exit code 1.
        if isinstance(error.__context__, BrokenPipeError):
            return _reader_has_gone()
        raise
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Exception as error:
        if signals is None or signals.received is None:
            return _explain(error)
        code = 128 + signals.received
    if code == INTERRUPTED:
        _print(_INTERRUPTED)
    return code


def printable(text: str) -> str:
    """Return a text on one line, without control characters.

    Examples
    --------
    >>> printable("a" + chr(10) + "b")
    'a; b'
    """
    return "".join(
        character if character.isprintable() else repr(character)[1:-1] for character in text.replace("\n", "; ")
    )


def _explain(error: Exception) -> int:
    """Print an error in one line, and return its exit code."""
    if type(error).__name__ == "NoArgsIsHelpError":
        print(error, file=sys.stderr)
        return USAGE
    code, message = _code_and_message(error)
    if code == INTERNAL:
        import traceback

        traceback.print_exception(error)
    _print(message)
    return code


def _code_and_message(error: Any) -> tuple[int, str]:
    unwritten = "no output was written"
    if isinstance(error, TreemendError):
        found = next(code for kind, code in _CODES if isinstance(error, kind)), str(error)
    elif isinstance(error, MemoryError):
        found = INPUT, f"out of memory; {unwritten}. Learn from fewer rows with --reference-rows."
    elif isinstance(error, OSError) and error.errno in _CANNOT_WRITE:
        found = OUTPUT, f"{error.strerror}: {unwritten}, and nothing was left behind. Free some space and try again."
    elif isinstance(error, OSError):
        found = INPUT, f"{error.filename or 'a file'}: {error.strerror or error}. Check the path and its permissions."
    elif type(error).__name__ == "Abort":
        found = INTERRUPTED, _INTERRUPTED
    elif hasattr(error, "format_message") and hasattr(error, "exit_code"):
        # What the parser of the command line refused.
        message = str(error.format_message()).rstrip(".")
        found = int(error.exit_code), f"{message}. See treemend --help, or treemend COMMAND --help."
    else:
        found = INTERNAL, f"internal error ({type(error).__name__}). Please report the lines above."
    return found


def _print(message: str) -> None:
    print(f"treemend: {printable(message)}", file=sys.stderr)


def _reader_has_gone() -> int:
    """End quietly when the reader of standard output stopped, as ``head`` does."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return PIPE
