"""The commands; everything heavy is imported when one runs."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Annotated

import typer

import treemend
from treemend import progress
from treemend.cli.options import CleanRows, FitOptions, Rate, SuspectOptions, SuspectRows, expanded

__all__ = ["app"]

_CODES = (
    "Exit codes: 0 done (check: no more than clean files hold); 1 check found more; 2 wrong command line or parameter; "
    "3 unusable input; 4 unusable model; 5 output cannot be written; 6 stopped, since the reference does not cover the "
    "rows; 70 internal error; 129, 130, 143 hung up, interrupted, terminated; 141 the reader of standard output has "
    "gone."
)

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Plain help: drawing frames around it would take longer than all the rest.
    rich_markup_mode=None,
    help="Find what was overwritten in rows of numbers, and put back what most likely stood there.",
    epilog=_CODES,
)


@contextmanager
def _followed(*, quiet: bool) -> Iterator[None]:
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
@expanded
def fit(
    clean: CleanRows,
    output: Annotated[str, typer.Option("--output", "-o", metavar="MODEL", help="The model file to write.")],
    options: FitOptions,
) -> None:
    """Learn what clean rows look like, and write a model file."""
    with _followed(quiet=options.quiet):
        from treemend.cli import run

        run.fit(tuple(clean), output, options)


@app.command(short_help="Repair rows.")
@expanded
def mend(
    suspect: SuspectRows,
    *,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="Where the repaired rows go; - for standard output. A folder is repaired file by file if this is a "
            "folder, too; started again, it continues.",
        ),
    ],
    mask: Annotated[
        str | None, typer.Option("--mask", metavar="FILE", help="Write which cells were found corrupted.")
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            "--dask",
            metavar="ADDRESS",
            help="Repair the files of a folder on a Dask cluster: tcp://HOST:PORT, or local for workers here.",
        ),
    ] = None,
    options: SuspectOptions,
) -> None:
    """Repair rows: with a model, with clean rows, or with neither (the table is then its own reference)."""
    with _followed(quiet=options.quiet):
        from treemend.cli import parts, run
        from treemend.cli.console import say

        paths = tuple(suspect)
        if dask is not None or parts.is_folder_to_folder(paths, output):
            closing = parts.mend(paths, output, mask, dask, options)
        else:
            outcome = run.mend(paths, output, mask, options)
            closing = f"{'standard output' if output == '-' else output}: {outcome.summary['headline']}"
    say(closing, quiet=options.quiet)


@app.command(short_help="Test whether rows hold more corruption than clean rows do; repairs nothing.")
@expanded
def check(
    suspect: SuspectRows,
    *,
    fail_above: Annotated[
        float | None,
        typer.Option(
            "--fail-above", metavar="SHARE", help="Fail if a larger share of the rows is corrupted or unusual."
        ),
    ] = None,
    options: SuspectOptions,
) -> None:
    """Test whether rows hold more corruption than clean rows do; nothing is repaired.

    The exit code is 1 if more rows are corrupted, or more are unusual, than in 99 of 100 clean files of this size,
    given the false-alarm rate and the size of the reference; or if the reference does not cover the rows. With
    --fail-above SHARE: if more than this share of the rows is corrupted or unusual. With --fdr SHARE alone: if any row
    is corrupted at this false discovery rate.
    """
    with _followed(quiet=options.quiet):
        from treemend.cli import run
        from treemend.cli.console import worst_rows
        from treemend.cli.errors import FOUND
        from treemend.params import check_share

        if fail_above is not None:
            check_share("--fail-above", fail_above, zero=True)
        outcome = run.mend(tuple(suspect), None, None, options)
        fails, verdict = run.verdict(outcome, fail_above=fail_above)
    if not options.quiet:
        for line in (outcome.summary["headline"], *worst_rows(outcome.summary), verdict):
            typer.echo(line, err="-" in (options.json, options.report, options.findings))
    if fails:
        raise typer.Exit(FOUND)


@app.command()
def inspect(model: Annotated[str, typer.Argument(metavar="MODEL", help="A model that fit wrote.")]) -> None:
    """Print what a model file holds."""
    with _followed(quiet=False):
        from treemend.cli.describe import describe

        lines = describe(model)
    for line in lines:
        typer.echo(line)


@app.command()
def demo(
    output: Annotated[str, typer.Option("--output", "-o", metavar="PNG", help="Where the picture goes.")] = "demo.png",
    false_alarm_rate: Rate = 0.05,
) -> None:
    """Repair occluded digits, and draw them."""
    from treemend.cli.errors import require

    require("matplotlib", "The demonstration", "plots")
    with _followed(quiet=False):
        from treemend.demo import run

        lines = run(output, 0.05 if false_alarm_rate is None else false_alarm_rate)
    for line in lines:
        typer.echo(line)


@app.command("compile")
def compile_() -> None:
    """Compile everything that is compiled at first use, for images and installers."""
    with _followed(quiet=False):
        from treemend.cli.run import compile_kernels

        compile_kernels()
