"""Commands and options, and nothing else: everything heavy is imported when a command runs.

Enters: arguments. Leaves: calls of ``mending``, ``inspecting`` and the demonstration.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import treemend

if TYPE_CHECKING:
    from treemend.cli.mending import Reading
    from treemend.cli.parameters import Asked
    from treemend.cli.talking import Talk

__all__ = ["app"]

_CODES = (
    "Exit codes: 0 done (check: nothing found); 1 check found something; 2 wrong command line or parameter; 3 unusable "
    "input; 4 unusable model; 5 output cannot be written; 70 a mistake in treemend; 129, 130, 143 hung up, "
    "interrupted, terminated; 141 whoever read standard output went away."
)
_FILES = "CSV, TSV, Parquet, Feather, NPY or NPZ by ending; a folder of Parquet files; - for CSV on standard input."

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Plain help: drawing frames around it would take longer than all the rest.
    rich_markup_mode=None,
    help="Find the overwritten stretches of numeric rows, and put back what most likely stood there.",
    epilog=_CODES,
)

Suspects = Annotated[list[str], typer.Argument(metavar="SUSPECT...", help=f"Rows to look at. {_FILES}")]
CleanRows = Annotated[list[str], typer.Argument(metavar="CLEAN...", help=f"Clean rows. {_FILES}")]
Model = Annotated[str | None, typer.Option("--model", "-m", metavar="MODEL", help="A model that fit wrote.")]
Clean = Annotated[
    list[str] | None, typer.Option("--clean", metavar="FILE", help="Learn from these clean rows; may be repeated.")
]
Columns = Annotated[
    list[str] | None,
    typer.Option("--columns", "-c", metavar="NAME", help="Columns to look at, by name or pattern; may be repeated."),
]
Passthrough = Annotated[
    list[str] | None,
    typer.Option(
        "--passthrough", "-p", metavar="NAME", help="Columns to leave alone, by name or pattern; may be repeated."
    ),
]
Delimiter = Annotated[
    str | None, typer.Option(metavar="CHAR", help="What stands between the cells of CSV and TSV, read and written.")
]
NoHeader = Annotated[bool, typer.Option("--no-header", help="Texts have no line of column names.")]
ArrayName = Annotated[str | None, typer.Option("--array", metavar="NAME", help="Which array of NPZ files.")]
ReferenceRows = Annotated[
    int | None, typer.Option(min=3, metavar="N", help="Learn from a random N of the reference rows.")
]
Rate = Annotated[
    float | None,
    typer.Option("--false-alarm-rate", "-r", metavar="RATE", help="Share of clean rows that may be touched [0.05]."),
]
Grid = Annotated[str | None, typer.Option(metavar="16x16", help="Columns are the pixels of images, row by row.")]
Groups = Annotated[Path | None, typer.Option(metavar="TOML", help="Columns belong to groups: name = [columns].")]
Parameters = Annotated[Path | None, typer.Option("--params", metavar="TOML", help="Parameters of TreeMender.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="One parameter; may be repeated.")
]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", metavar="N", help="Number of threads; -1 for all cores.")]
Force = Annotated[bool, typer.Option("--force", "-f", help="Replace files that are there already.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]
SummaryFile = Annotated[str | None, typer.Option("--json", metavar="FILE", help="Write what was found as JSON.")]
ReportFile = Annotated[
    str | None, typer.Option("--report", metavar="HTML", help="Write a page that shows what was found, and why.")
]


@app.callback(invoke_without_command=True)
def _whole(version: Annotated[bool, typer.Option("--version", help="Tell the version.")] = False) -> None:
    if version:
        typer.echo(f"treemend {treemend.__version__}")
        raise typer.Exit


@app.command()
def fit(
    clean: CleanRows,
    output: Annotated[str, typer.Option("--output", "-o", metavar="MODEL", help="The model file to write.")],
    columns: Columns = None,
    passthrough: Passthrough = None,
    false_alarm_rate: Rate = None,
    grid: Grid = None,
    groups: Groups = None,
    params: Parameters = None,
    settings: Settings = None,
    reference_rows: ReferenceRows = None,
    delimiter: Delimiter = None,
    no_header: NoHeader = False,
    array: ArrayName = None,
    jobs: Jobs = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Learn what is usual from clean rows, and write a model file."""
    from treemend.cli import mending

    asked = _asked(false_alarm_rate, grid, groups, params, settings, jobs)
    reading = _reading(columns, passthrough, delimiter, no_header, array, reference_rows)
    mending.fit(tuple(clean), output, asked, reading, _talk(quiet), force=force)


@app.command()
def mend(
    suspect: Suspects,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="OUT", help="Where the repaired rows go; - for standard output.")
    ],
    model: Model = None,
    clean: Clean = None,
    mask: Annotated[
        str | None, typer.Option("--mask", metavar="FILE", help="Write which cells were judged corrupted.")
    ] = None,
    report: ReportFile = None,
    json: SummaryFile = None,
    columns: Columns = None,
    passthrough: Passthrough = None,
    false_alarm_rate: Rate = None,
    grid: Grid = None,
    groups: Groups = None,
    params: Parameters = None,
    settings: Settings = None,
    reference_rows: ReferenceRows = None,
    delimiter: Delimiter = None,
    no_header: NoHeader = False,
    array: ArrayName = None,
    jobs: Jobs = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Repair rows: with a model, with clean rows, or with neither (the table is then its own reference)."""
    from treemend.cli import mending
    from treemend.cli.wording import sentence

    talk = _talk(quiet)
    summary = mending.mend(
        tuple(suspect),
        mending.Reference(model, tuple(clean or ()), _asked(false_alarm_rate, grid, groups, params, settings, jobs)),
        mending.Targets(output, mask, json, report, force),
        _reading(columns, passthrough, delimiter, no_header, array, reference_rows),
        talk,
    )
    talk.say(f"{'standard output' if output == '-' else output}: {sentence(summary['totals'], filled=True)}")


@app.command()
def check(
    suspect: Suspects,
    model: Model = None,
    clean: Clean = None,
    report: ReportFile = None,
    json: SummaryFile = None,
    columns: Columns = None,
    passthrough: Passthrough = None,
    false_alarm_rate: Rate = None,
    grid: Grid = None,
    groups: Groups = None,
    params: Parameters = None,
    settings: Settings = None,
    reference_rows: ReferenceRows = None,
    delimiter: Delimiter = None,
    no_header: NoHeader = False,
    array: ArrayName = None,
    jobs: Jobs = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Look at rows and repair nothing; the exit code is 1 if something was found."""
    from treemend.cli import mending
    from treemend.cli.failures import FOUND
    from treemend.cli.wording import sentence, worst_rows

    summary = mending.mend(
        tuple(suspect),
        mending.Reference(model, tuple(clean or ()), _asked(false_alarm_rate, grid, groups, params, settings, jobs)),
        mending.Targets(summary=json, report=report, force=force),
        _reading(columns, passthrough, delimiter, no_header, array, reference_rows),
        _talk(quiet),
    )
    if not quiet:
        for line in (sentence(summary["totals"], filled=False), *worst_rows(summary)):
            typer.echo(line, err="-" in (json, report))
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


def _asked(
    rate: float | None,
    grid: str | None,
    groups: Path | None,
    params: Path | None,
    settings: list[str] | None,
    jobs: int | None,
) -> "Asked":
    from treemend.cli.parameters import Asked

    return Asked(rate, grid, groups, params, tuple(settings or ()), jobs)


def _reading(
    columns: list[str] | None,
    passthrough: list[str] | None,
    delimiter: str | None,
    no_header: bool,
    array: str | None,
    reference_rows: int | None,
) -> "Reading":
    from treemend.cli.mending import Reading

    character = {"\\t": "\t", "tab": "\t"}.get(delimiter or "", delimiter)
    if character is not None and (len(character) != 1 or character in '"\r\n'):
        raise typer.BadParameter("--delimiter must be one character, and neither a quote nor a line end")
    return Reading(tuple(columns or ()), tuple(passthrough or ()), character, not no_header, array, reference_rows)


def _talk(quiet: bool) -> "Talk":
    from treemend.cli.talking import Talk

    return Talk(quiet=quiet)
