"""The commands; everything heavy is imported when one runs."""

import functools
import inspect as inspection
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import fields
from typing import Annotated, Any

import typer

import treemend
from treemend import progress
from treemend.cli.options import CheckOptions, FitOptions, MendOptions

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Plain help: drawing frames around it would take longer than all the rest.
    rich_markup_mode=None,
    help="Find what was overwritten in rows of numbers, and put back what most likely stood there.",
    epilog="Exit codes: 0 done (check: no more than clean files hold); 1 check found more; 2 wrong command line or "
    "parameter; 3 unusable input; 4 unusable model; 5 output cannot be written; 6 stopped, since the reference does "
    "not cover the rows; 70 internal error; 129, 130, 143 hung up, interrupted, terminated; 141 the reader of standard "
    "output has gone.",
)


def _with_fields_as_options(command: Callable[[Any], None]) -> Callable[..., None]:
    """Let typer see the fields of the dataclass that a command takes, its own ones before those it inherits."""
    kind = inspection.get_annotations(command)["options"]
    names = dict.fromkeys(name for base in kind.__mro__ for name in inspection.get_annotations(base))
    shown = {option.name: option for option in fields(kind) if "typer" in option.metadata}
    parameters = [
        inspection.Parameter(
            name,
            inspection.Parameter.KEYWORD_ONLY,
            default=inspection.Parameter.empty if shown[name].default is ... else shown[name].default,
            annotation=Annotated[shown[name].type, shown[name].metadata["typer"]],
        )
        for name in names
        if name in shown
    ]

    @functools.wraps(command)
    def run(**given: Any) -> None:
        command(kind(**given))

    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    vars(run)["__signature__"] = inspection.Signature(parameters)
    return run


@contextmanager
def _followed(*, quiet: bool = False) -> Iterator[None]:
    """Show progress from the first second on: loading libraries takes one already."""
    with ExitStack() as stack:
        stack.enter_context(progress.silenced(quiet))
        stack.enter_context(progress.lines_to(progress.say))
        stack.enter_context(progress.step(""))
        from treemend.cli.console import compilation_said

        stack.enter_context(compilation_said(quiet=quiet))
        yield


@app.callback(invoke_without_command=True)
def _main(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        typer.echo(f"treemend {treemend.__version__}")
        raise typer.Exit


@app.command()
@_with_fields_as_options
def fit(options: FitOptions) -> None:
    """Learn what clean rows look like, and write a model file."""
    with _followed(quiet=options.quiet):
        from treemend.cli import run

        run.fit(options)


@app.command(short_help="Repair rows.")
@_with_fields_as_options
def mend(options: MendOptions) -> None:
    """Repair rows: with a model, with clean rows, or with neither (the table is then its own reference)."""
    with _followed(quiet=options.quiet):
        from treemend.cli import parts, run
        from treemend.cli.console import say

        if options.dask is not None or parts.is_folder_to_folder(options):
            closing = parts.mend(options)
        else:
            target = "standard output" if options.output == "-" else options.output
            closing = f"{target}: {run.mend(options)[0]['headline']}"
    say(closing, quiet=options.quiet)


@app.command(short_help="Test whether rows hold more corruption than clean rows do; repairs nothing.")
@_with_fields_as_options
def check(options: CheckOptions) -> None:
    """Test whether rows hold more corruption than clean rows do; nothing is repaired.

    The exit code is 1 if more rows are corrupted, or more are unusual, than in 99 of 100 clean files of this size,
    given the false-alarm rate and the size of the reference; or if the reference does not cover the rows. With
    --fail-above SHARE: if more than this share of the rows is corrupted or unusual. With --fdr SHARE alone: if any row
    is corrupted at this false discovery rate.
    """
    with _followed(quiet=options.quiet):
        from treemend.cli import run
        from treemend.cli.errors import FOUND

        fails, lines = run.check(options)
    if not options.quiet:
        for line in lines:
            typer.echo(line, err="-" in (options.json, options.report, options.findings))
    if fails:
        raise typer.Exit(FOUND)


@app.command()
def inspect(model: Annotated[str, typer.Argument(metavar="MODEL", help="A model that fit wrote.")]) -> None:
    """Print what a model file holds."""
    with _followed():
        from treemend.cli.console import model_lines

        lines = model_lines(model)
    for line in lines:
        typer.echo(line)


@app.command()
def demo(
    output: Annotated[str, typer.Option("--output", "-o", metavar="PNG", help="Where the picture goes.")] = "demo.png",
    false_alarm_rate: Annotated[
        float, typer.Option("--false-alarm-rate", "-r", metavar="RATE", help="Share of clean digits declared.")
    ] = 0.05,
) -> None:
    """Repair occluded digits, and draw them."""
    from treemend.cli.errors import require

    require("matplotlib", "The demonstration", "plots")
    with _followed():
        from treemend.demo import run

        lines = run(output, false_alarm_rate)
    for line in lines:
        typer.echo(line)


@app.command("compile")
def compile_() -> None:
    """Compile everything that is compiled at first use, for images and installers."""
    with _followed():
        from treemend.cli.run import compile_kernels

        compile_kernels()
