"""The commands, their options, and which function each one runs; everything heavy is imported when one does."""

import argparse
import difflib
import sys
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import treemend
from treemend import progress
from treemend.cli.errors import FOUND, USAGE, printable, require
from treemend.exceptions import ParameterError
from treemend.params import check_share

Options = argparse.Namespace

COMMANDS = {
    "fit": "Learn what clean rows look like, and write a model file.",
    "mend": "Repair rows: with a model, with clean rows, or with neither (the table is then its own reference).",
    "check": "Test whether rows hold more corruption than clean rows do; nothing is repaired.",
    "inspect": "Print what a model file holds.",
    "demo": "Repair occluded digits, and draw them.",
    "compile": "Compile ahead of time what is otherwise compiled at first use, for container images and installers.",
}
_EXIT_CODES = """Exit codes: 0 done (check: no more than clean files hold); 1 check found more; 2 wrong command line or
parameter; 3 unusable input; 4 unusable model; 5 output cannot be written; 6 stopped, since the reference does not cover
the rows; 70 internal error; 129, 130, 143 hung up, interrupted, terminated; 141 the reader of standard output has gone.
"""
_WHEN_CHECK_FAILS = """The exit code is 1 if more rows are corrupted, or more are unusual, than in 99 of 100 clean files
of this size, given the false-alarm rate and the size of the reference; or if the reference does not cover the rows.
With --fail-above SHARE: if more than this share of the rows is corrupted or unusual. With --fdr SHARE alone: if any row
is corrupted at this false discovery rate.
"""
_FILES = "CSV, TSV, Parquet, Feather, NPY or NPZ by ending; a folder of Parquet files; - for CSV on standard input"
_LAYOUTS = "auto, sequence, correlated, a shape such as 16x16 or 16x16x3, or a TOML file of groups, name = [columns]"
_ALL, _SUSPECT = ("fit", "mend", "check"), ("mend", "check")
# Options that are looked up for commands that do not have them, too.
_OF_SOME = ("quiet", "output", "mask", "json", "report", "findings", "fail_above")
_USAGES = {"fit": "%(prog)s CLEAN... -o MODEL [options]", "mend": "%(prog)s SUSPECT... -o OUT [options]"}
_USAGES["check"] = "%(prog)s SUSPECT... [options]"
# Commands, names, value and help of each option; one without a value is a flag.
_OPTIONS = (
    (("fit",), "paths", "CLEAN", f"clean rows: {_FILES}"),
    (_SUSPECT, "paths", "SUSPECT", f"suspect rows: {_FILES}"),
    (("inspect",), "model", "MODEL", "a model that fit wrote"),
    (("demo",), "-o --output", "PNG", "the picture [demo.png]"),
    (("fit",), "-o --output", "MODEL", "the model file to write"),
    (("mend",), "-o --output", "OUT", "where repaired rows go; - for standard output; a folder if the input is one"),
    (_SUSPECT, "-m --model", "MODEL", "a model that fit wrote"),
    (_SUSPECT, "--clean", "FILE", "learn from these clean rows; may be repeated"),
    ((*_ALL, "demo"), "-r --false-alarm-rate", "RATE", "share of clean rows that may be declared [0.05]"),
    (_SUSPECT, "--fdr", "SHARE", "instead of a rate: about this share of the declared rows may be clean"),
    (("check",), "--fail-above", "SHARE", "fail if a larger share of the rows is corrupted or unusual"),
    (_SUSPECT, "--report", "HTML", "write a page that shows what was found, and why"),
    (_SUSPECT, "--label", "NAME=LABEL", "what the report calls a column; may be repeated"),
    (_SUSPECT, "--unit", "NAME=UNIT", "in which unit columns are, by name or pattern, such as *=mV; may be repeated"),
    (_SUSPECT, "--findings", "FILE", "write a table with a line for each run of cells"),
    (("mend",), "--mask", "FILE", "write which cells were found corrupted"),
    (_SUSPECT, "--json", "FILE", "write what was found as JSON"),
    (("mend",), "--dask", "ADDRESS", "mend a folder on a Dask cluster: tcp://HOST:PORT, or local for workers here"),
    (_ALL, "-c --columns", "NAME", "columns to look at, by name or pattern; may be repeated"),
    (_ALL, "-p --passthrough", "NAME", "columns to leave alone, by name or pattern; may be repeated"),
    (_ALL, "--layout", "LAYOUT", f"which cells are neighbours: {_LAYOUTS} [auto]"),
    (_ALL, "--contaminated", "", "some of the clean rows may be corrupted"),
    (_ALL, "--imputation", "mean|mode|draw", "what fills a corrupted or missing cell [mean]"),
    (_ALL, "--seed", "N", "seed of all random choices [0]"),
    (_ALL, "--reference-rows", "N", "learn from N random rows [100,000 clean rows, 3,000 of the table itself]"),
    (_ALL, "--delimiter", "CHAR", "between the cells of text files, read and written; also tab, space"),
    (_ALL, "--decimal", "CHAR", "decimal point of text files, . or ,"),
    (_ALL, "--thousands", "CHAR", "between groups of three digits in text files, . or , or ' or space"),
    (_ALL, "--missing", "CODE", "what stands for a missing value, such as -999; may be repeated"),
    (_ALL, "--no-header", "", "text files have no line of column names"),
    (_ALL, "-j --n-jobs", "N", "number of threads; -1 for all cores"),
    (_ALL, "-f --force", "", "replace files; write even if the reference does not cover the rows, or most change"),
    (_ALL, "-q --quiet", "", "print nothing but errors"),
)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ParameterError(f"{message[0].upper()}{message[1:].rstrip('.')}. See {self.prog} --help.")


def parse_layout(text: str) -> Any:
    """Return a layout as `treemend.Mender` takes it."""
    if text in ("auto", "sequence", "correlated"):
        return text
    sides = text.lower().replace("×", "x").split("x")
    if len(sides) in (2, 3) and all(side.isascii() and side.isdigit() for side in sides):
        return tuple(int(side) for side in sides)
    if not text.lower().endswith(".toml"):
        raise argparse.ArgumentTypeError(f"must be one of {_LAYOUTS}; got {text!r}")
    try:
        with open(text, "rb") as file:
            groups = tomllib.load(file)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{text} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise argparse.ArgumentTypeError(f"{text} is not a TOML file: {error}") from None
    return groups.get("groups", groups)


_CHARACTERS = {"\\t": "\t", "tab": "\t", "space": " "}
_TYPES = {"RATE": float, "SHARE": float, "N": int, "LAYOUT": parse_layout}
_TYPES["CHAR"] = lambda text: _CHARACTERS.get(text, text)


def _overview() -> str:
    """Return the help that lists the commands."""
    parser = _Parser(
        usage="treemend COMMAND ...",
        description="Find what was overwritten in rows of numbers, and put back what most likely stood there. "
        "treemend COMMAND --help lists the options of a command; treemend --version prints the version.",
        epilog=_EXIT_CODES,
        add_help=False,
    )
    commands = parser.add_argument_group("commands")
    for name, text in COMMANDS.items():
        commands.add_argument(name, help=text)
    return parser.format_help()


def _parse(command: str, arguments: list[str]) -> Options:
    """Return the options of a command; those that were not given are None."""
    if command not in COMMANDS:
        raise ParameterError(f"There is no command {command!r}{_meant(command, COMMANDS)}. See treemend --help.")
    epilog = _WHEN_CHECK_FAILS if command == "check" else None
    parser = _Parser(f"treemend {command}", _USAGES.get(command), COMMANDS[command], epilog, allow_abbrev=False)
    parser.set_defaults(**dict.fromkeys(_OF_SOME))
    for commands, names, value, text in _OPTIONS:
        if command in commands:
            how: dict[str, Any] = {"action": "store_const", "const": True}
            if value:
                how = {"metavar": value, "type": _TYPES.get(value, str)}
            if text.endswith("may be repeated"):
                how["action"] = "append"
            if names == "paths":
                how["nargs"] = "+"
            if names.endswith("--output") and command != "demo":
                how["required"] = True
            parser.add_argument(*names.split(), help=text, **how)
    options, unknown = parser.parse_known_intermixed_args(arguments)
    if unknown:
        hint = _meant(unknown[0].split("=")[0], parser._option_string_actions)
        raise ParameterError(f"There is no option {unknown[0]!r}{hint}. See {parser.prog} --help.")
    if command in _SUSPECT:
        _check(options)
    return options


def _check(options: Options) -> None:
    """Refuse options that contradict each other."""
    if options.model and options.clean:
        raise ParameterError("Give --model or --clean, not both.")
    learning = ("layout", "contaminated", "imputation", "seed", "reference_rows")
    given = [name for name in learning if getattr(options, name) is not None]
    if options.model and given:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        remedy = "Give it to treemend fit, or give --clean instead of --model."
        raise ParameterError(f"The model is fitted already, so {names} would have no effect. {remedy}")
    for name in ("fdr", "fail_above"):
        if getattr(options, name) is not None:
            check_share(f"--{name.replace('_', '-')}", getattr(options, name), zero=True)
    if options.fdr is not None and options.false_alarm_rate is not None:
        raise ParameterError("Give --fdr or --false-alarm-rate, not both: they are two rules for one decision.")
    if "-" in (options.clean or ()) and "-" in options.paths:
        raise ParameterError("Standard input can be the suspect rows or the clean ones, not both.")


def _meant(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, known, 1)
    return f"; the nearest is {close[0]}" if close else ""


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


def command_line(arguments: list[str]) -> int:
    """Run the command that was asked for, and return the exit code."""
    name = arguments[0] if arguments else ""
    if name in ("", "-h", "--help"):
        print(_overview(), end="", file=sys.stdout if name else sys.stderr)
        return 0 if name else USAGE
    if name == "--version":
        print(f"treemend {treemend.__version__}")
        return 0
    options = _parse(name, arguments[1:])
    if name == "demo":
        require("matplotlib", "The demonstration", "plots")
    # Loading libraries takes a second already. What is found is printed when the line of progress is gone.
    with progress.silenced(options.quiet), progress.step("", in_lines=True), compilation_said(quiet=options.quiet):
        code, lines = _run(name, options)
    to_error = name in ("fit", "mend", "compile") or "-" in (options.json, options.report, options.findings)
    for line in [] if options.quiet else lines:
        print(printable(line), file=sys.stderr if to_error else sys.stdout)
    return code


def _run(name: str, options: Options) -> tuple[int, list[str]]:
    """Run a command; return its exit code, and lines that say what was found."""
    from treemend.cli import parts, run

    if name == "check":
        fails, lines = run.check(options)
        return FOUND * fails, lines
    if name == "inspect":
        return 0, run.model_lines(options.model)
    if name == "demo":
        from treemend.demo import run as run_demo

        asked = {"output": options.output, "rate": options.false_alarm_rate}
        return 0, run_demo(**{name: value for name, value in asked.items() if value is not None})
    if name == "compile":
        return 0, [run.compile_kernels()]
    if name == "fit":
        done = run.fit(options)
    elif options.dask is not None or parts.is_folder_to_folder(options):
        done = parts.mend(options)
    else:
        done = run.mend(options)["summary"]["headline"]
    return 0, [f"{'standard output' if options.output == '-' else options.output}: {done}"]
