"""Options that several commands share, told once.

Enters: what typer read from the command line. Leaves: `Ways` and `Sources`, which a command takes as one argument each;
`expanded` shows typer their fields in its place. Nothing heavy is imported before a command runs.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from treemend.cli.mending import Reading, Reference
    from treemend.cli.parameters import Asked
    from treemend.cli.talking import Talk

__all__ = ["CleanRows", "Rate", "Sources", "Suspects", "Ways", "expanded"]

_FILES = "CSV, TSV, Parquet, Feather, NPY or NPZ by ending; a folder of Parquet files; - for CSV on standard input."

Suspects = Annotated[list[str], typer.Argument(metavar="SUSPECT", help=f"Rows to look at. {_FILES}")]
CleanRows = Annotated[list[str], typer.Argument(metavar="CLEAN", help=f"Clean rows. {_FILES}")]
Rate = Annotated[
    float | None,
    typer.Option("--false-alarm-rate", "-r", metavar="RATE", help="Share of clean rows that may be touched [0.05]."),
]


@dataclass(frozen=True)
class Ways:
    """How tables are read, what is asked of the mender, and how much is said."""

    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--columns", "-c", metavar="NAME", help="Columns to look at, by name or pattern; may be repeated."
        ),
    ] = None
    passthrough: Annotated[
        list[str] | None,
        typer.Option(
            "--passthrough", "-p", metavar="NAME", help="Columns to leave alone, by name or pattern; may be repeated."
        ),
    ] = None
    false_alarm_rate: Rate = None
    grid: Annotated[str | None, typer.Option(metavar="16x16", help="Columns are the pixels of images, row by row.")] = (
        None
    )
    groups: Annotated[Path | None, typer.Option(metavar="TOML", help="Columns belong to groups: name = [columns].")] = (
        None
    )
    params: Annotated[Path | None, typer.Option("--params", metavar="TOML", help="Parameters of TreeMender.")] = None
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="One parameter; may be repeated.")
    ] = None
    reference_rows: Annotated[
        int | None, typer.Option(min=3, metavar="N", help="Learn from a random N of the reference rows.")
    ] = None
    delimiter: Annotated[
        str | None,
        typer.Option(metavar="CHAR", help="What stands between the cells of CSV and TSV, read and written."),
    ] = None
    no_header: Annotated[bool, typer.Option("--no-header", help="CSV and TSV have no line of column names.")] = False
    array: Annotated[str | None, typer.Option("--array", metavar="NAME", help="Which array of NPZ files.")] = None
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", metavar="N", help="Number of threads; -1 for all cores.")
    ] = None
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace files that are there already.")] = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")] = False

    @property
    def asked(self) -> "Asked":
        """What is asked of the mender."""
        from treemend.cli.parameters import Asked

        settings = tuple(self.settings or ())
        return Asked(self.false_alarm_rate, self.grid, self.groups, self.params, settings, self.jobs)

    @property
    def reading(self) -> "Reading":
        """How tables are read."""
        from treemend.cli.mending import Reading

        delimiter = {"\\t": "\t", "tab": "\t"}.get(self.delimiter or "", self.delimiter)
        if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
            raise typer.BadParameter("--delimiter must be one character, and neither a quote nor a line end")
        columns, passthrough = tuple(self.columns or ()), tuple(self.passthrough or ())
        return Reading(columns, passthrough, delimiter, not self.no_header, self.array, self.reference_rows)

    @property
    def talk(self) -> "Talk":
        """A voice."""
        from treemend.cli.talking import Talk

        return Talk(quiet=self.quiet)


@dataclass(frozen=True)
class Sources:
    """What suspect rows are held against, and where it is told what was found."""

    model: Annotated[str | None, typer.Option("--model", "-m", metavar="MODEL", help="A model that fit wrote.")] = None
    clean: Annotated[
        list[str] | None, typer.Option("--clean", metavar="FILE", help="Learn from these clean rows; may be repeated.")
    ] = None
    report: Annotated[
        str | None, typer.Option("--report", metavar="HTML", help="Write a page that shows what was found, and why.")
    ] = None
    json: Annotated[str | None, typer.Option("--json", metavar="FILE", help="Write what was found as JSON.")] = None

    def reference(self, asked: "Asked") -> "Reference":
        """Return what suspect rows are held against."""
        from treemend.cli.mending import Reference

        return Reference(self.model, tuple(self.clean or ()), asked)


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """Let typer see the fields of dataclasses in the place of the arguments that take these."""
    taken: dict[str, Any] = {
        name: kind for name, kind in inspect.get_annotations(command).items() if is_dataclass(kind)
    }
    shown: dict[str, inspect.Parameter] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        if name not in taken:
            shown[name] = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            continue
        for option in fields(taken[name]):
            default = inspect.Parameter.empty if option.default is MISSING else option.default
            kind = inspect.Parameter.KEYWORD_ONLY
            shown[option.name] = inspect.Parameter(option.name, kind, default=default, annotation=option.type)

    @functools.wraps(command)
    def run(**given: Any) -> None:
        for name, kind in taken.items():
            given[name] = kind(**{option.name: given.pop(option.name) for option in fields(kind)})
        command(**given)

    run.__annotations__ = {name: parameter.annotation for name, parameter in shown.items()} | {"return": None}
    vars(run)["__signature__"] = inspect.Signature(list(shown.values()))
    return run
