"""The way out: exit codes, and errors in one line with the next step.

Enters: arguments. Leaves: an exit code.

======  =====================================================================
code    meaning
======  =====================================================================
0       done; for ``check``: nothing found
1       ``check`` found overwritten rows
2       the command line or a parameter is wrong
3       an input file cannot be used
4       a model file cannot be used
5       an output cannot be written
70      a mistake in treemend itself; the traceback is shown
129     hung up: the terminal was closed
130     interrupted (Ctrl-C)
141     whoever read standard output went away
143     terminated
======  =====================================================================
"""

import errno
import os
import signal
import sys
from types import FrameType
from typing import Self

from treemend.exceptions import InputError, ModelFileError, OutputError, ParameterError, TreemendError

__all__ = ["main", "printable"]

FOUND, USAGE, INPUT, MODEL, OUTPUT, INTERNAL, INTERRUPTED = 1, 2, 3, 4, 5, 70, 130
_CODES: tuple[tuple[type[TreemendError], int], ...] = (
    (ParameterError, USAGE),
    (InputError, INPUT),
    (ModelFileError, MODEL),
    (OutputError, OUTPUT),
)
_WRITING = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO, errno.EROFS}


class Signals:
    """Signals that end a command, which may clear its files away before.

    An extension module that is interrupted while it is imported may report an error of its own instead: what
    was `received` tells.
    """

    received: int | None = None

    def __enter__(self) -> Self:
        self._before = {
            number: signal.signal(number, self._receive)
            for number in (getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP"))
            if number is not None and _ends_the_process(number)
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
    """Run a command and leave with its exit code."""
    with Signals() as signals:
        code = run(arguments, signals)
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            code = _reader_went_away()
        sys.exit(code)


def run(arguments: list[str] | None = None, signals: Signals | None = None) -> int:
    """Run a command and return its exit code; errors have been told by then."""
    try:
        from treemend.cli.app import app

        code = int(app(arguments, standalone_mode=False) or 0)
    except BrokenPipeError:
        return _reader_went_away()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Exception as error:
        if signals is None or signals.received is None:
            return _told(error)
        code = 128 + signals.received
    if code == INTERRUPTED:
        _tell("interrupted: no unfinished output was left.")
    return code


def _told(error: Exception) -> int:
    """Tell an error in one line, and return its exit code."""
    if isinstance(error, TreemendError):
        _tell(str(error))
        return next(code for kind, code in _CODES if isinstance(error, kind))
    if isinstance(error, MemoryError):
        _tell("memory ran out: no output was written. Learn from fewer rows with --reference-rows.")
        return INPUT
    if isinstance(error, OSError) and error.errno in _WRITING:
        _tell(f"{error.strerror}: the output was not written, and nothing was left behind. Make room and try again.")
        return OUTPUT
    if isinstance(error, OSError):
        _tell(f"{error.filename or 'a file'}: {error.strerror or error}. Check the path and its permissions.")
        return INPUT
    return _from_the_command_line(error)


def printable(text: str) -> str:
    """Return a text on one line, without characters that would command a terminal.

    Examples
    --------
    >>> printable("a" + chr(10) + "b")
    'a; b'
    """
    return "".join(
        character if character.isprintable() else repr(character)[1:-1] for character in text.replace("\n", "; ")
    )


def _from_the_command_line(error: Exception) -> int:
    """Tell what the parser of arguments had to complain about; anything else is a mistake in treemend."""
    if type(error).__name__ == "Abort":
        _tell("interrupted: no unfinished output was left.")
        return INTERRUPTED
    if type(error).__name__ == "NoArgsIsHelpError":
        print(error, file=sys.stderr)
        return USAGE
    if hasattr(error, "format_message") and hasattr(error, "exit_code"):
        message = str(error.format_message()).rstrip(".")
        _tell(f"{message}. See treemend --help, or treemend COMMAND --help.")
        return int(error.exit_code)
    import traceback

    traceback.print_exception(error)
    _tell(f"this is a mistake in treemend ({type(error).__name__}), not yours. Please report the lines above.")
    return INTERNAL


def _tell(message: str) -> None:
    print(f"treemend: {printable(message)}", file=sys.stderr)


def _reader_went_away() -> int:
    """Leave quietly when whoever read our output stopped, as ``head`` does."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 128 + 13


def _ends_the_process(number: signal.Signals) -> bool:
    """Return whether a signal does what it does by default; one that is ignored, as by nohup, stays ignored."""
    return signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler)
