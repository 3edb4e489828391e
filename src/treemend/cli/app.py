"""The commands, and nothing else: everything heavy is imported when a command runs.

Enters: arguments. Leaves: calls of ``mending``, ``inspecting`` and the demonstration.
"""

from typing import Annotated

import typer

import treemend
from treemend.cli.options import CleanRows, Rate, Sources, Suspects, Ways, expanded

__all__ = ["app"]

_CODES = (
    "Exit codes: 0 done (check: nothing found); 1 check found something; 2 wrong command line or parameter; 3 unusable "
    "input; 4 unusable model; 5 output cannot be written; 70 a mistake in treemend; 129, 130, 143 hung up, "
    "interrupted, terminated; 141 whoever read standard output went away."
)

Cluster = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS",
        help="Repair a folder of Parquet files part by part on a Dask cluster: tcp://HOST:PORT, or local. Started "
        "again, it goes on.",
    ),
]

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Plain help: drawing frames around it would take longer than all the rest.
    rich_markup_mode=None,
    help="Find the overwritten stretches of numeric rows, and put back what most likely stood there.",
    epilog=_CODES,
)


@app.callback(invoke_without_command=True)
def _whole(version: Annotated[bool, typer.Option("--version", help="Tell the version.")] = False) -> None:
    if version:
        typer.echo(f"treemend {treemend.__version__}")
        raise typer.Exit


@app.command()
@expanded
def fit(
    clean: CleanRows,
    output: Annotated[str, typer.Option("--output", "-o", metavar="MODEL", help="The model file to write.")],
    ways: Ways,
) -> None:
    """Learn what is usual from clean rows, and write a model file."""
    from treemend.cli import mending

    mending.fit(tuple(clean), output, ways.asked, ways.reading, ways.talk, force=ways.force)


@app.command(short_help="Repair rows.")
@expanded
def mend(
    suspect: Suspects,
    *,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="OUT", help="Where the repaired rows go; - for standard output.")
    ],
    mask: Annotated[
        str | None, typer.Option("--mask", metavar="FILE", help="Write which cells were judged corrupted.")
    ] = None,
    dask: Cluster = None,
    sources: Sources,
    ways: Ways,
) -> None:
    """Repair rows: with a model, with clean rows, or with neither (the table is then its own reference)."""
    from treemend.cli import mending
    from treemend.cli.wording import sentence

    targets = mending.Targets(output, mask, sources.json, sources.report, ways.force)
    reference = sources.reference(ways.asked)
    if dask is not None:
        from treemend.cli import spreading

        ways.talk.say(spreading.mend(tuple(suspect), reference, targets, ways.reading, dask, ways.talk))
        return
    summary = mending.mend(tuple(suspect), reference, targets, ways.reading, ways.talk)
    ways.talk.say(f"{'standard output' if output == '-' else output}: {sentence(summary['totals'], filled=True)}")


@app.command(short_help="Look at rows and repair nothing; exit code 1 if something was found.")
@expanded
def check(suspect: Suspects, sources: Sources, ways: Ways) -> None:
    """Look at rows and repair nothing; the exit code is 1 if something was found."""
    from treemend.cli import mending
    from treemend.cli.failures import FOUND
    from treemend.cli.wording import sentence, worst_rows

    targets = mending.Targets(summary=sources.json, report=sources.report, force=ways.force)
    summary = mending.mend(tuple(suspect), sources.reference(ways.asked), targets, ways.reading, ways.talk)
    if not ways.quiet:
        for line in (sentence(summary["totals"], filled=False), *worst_rows(summary)):
            typer.echo(line, err="-" in (sources.json, sources.report))
    if summary["totals"]["touched_rows"]:
        raise typer.Exit(FOUND)


@app.command()
def inspect(model: Annotated[str, typer.Argument(metavar="MODEL", help="A model that fit wrote.")]) -> None:
    """Tell what a model file holds."""
    from treemend.cli.inspecting import described

    for line in described(model):
        typer.echo(line)


@app.command()
def demo(
    output: Annotated[str, typer.Option("--output", "-o", metavar="PNG", help="Where the picture goes.")] = "demo.png",
    false_alarm_rate: Rate = None,
) -> None:
    """Repair occluded digits, and draw them."""
    from treemend.cli.extras import need

    need("matplotlib", "The demonstration", "plots")
    from treemend.demo import main as demonstrate

    rate = 0.05 if false_alarm_rate is None else false_alarm_rate
    demonstrate(["--output", output, "--false-alarm-rate", str(rate)])
