"""The commands; everything heavy is imported when one runs."""

import sys

import treemend
from treemend import progress
from treemend.cli.errors import FOUND, USAGE, printable, require
from treemend.cli.options import Options, overview, parse


def command_line(arguments: list[str]) -> int:
    """Run the command that was asked for, and return the exit code."""
    name = arguments[0] if arguments else ""
    if name in ("", "-h", "--help"):
        print(overview(), end="", file=sys.stdout if name else sys.stderr)
        return 0 if name else USAGE
    if name == "--version":
        print(f"treemend {treemend.__version__}")
        return 0
    options = parse(name, arguments[1:])
    if name == "demo":
        require("matplotlib", "The demonstration", "plots")
    # Loading libraries takes a second already. What is found is printed when the line of progress is gone.
    with progress.silenced(options.quiet), progress.step("", in_lines=True):
        from treemend.cli.console import compilation_said

        with compilation_said(quiet=options.quiet):
            code, lines = _run(name, options)
    to_error = name == "mend" or "-" in (options.json, options.report, options.findings)
    for line in [] if options.quiet else lines:
        print(printable(line), file=sys.stderr if to_error else sys.stdout)
    return code


def _run(name: str, options: Options) -> tuple[int, list[str]]:
    """Run a command; return its exit code, and lines that say what was found."""
    from treemend.cli import console, parts, run

    if name == "mend":
        in_parts = options.dask is not None or parts.is_folder_to_folder(options)
        target = "standard output" if options.output == "-" else options.output
        return 0, [f"{target}: {parts.mend(options) if in_parts else run.mend(options)[0]['headline']}"]
    if name == "check":
        fails, lines = run.check(options)
        return FOUND * fails, lines
    if name == "inspect":
        return 0, console.model_lines(options.model)
    if name == "demo":
        from treemend.demo import run as run_demo

        return 0, run_demo(options.output, options.false_alarm_rate)
    if name == "fit":
        run.fit(options)
    else:
        run.compile_kernels()
    return 0, []
