"""Options that several commands share, as dataclasses whose fields are the options.

A command takes such a dataclass as one argument; `expanded` shows typer its fields instead. Nothing heavy is imported
here.
"""

import functools
import inspect
import tomllib
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Annotated, Any

import typer

from treemend.exceptions import ParameterError

__all__ = ["CleanRows", "FitOptions", "Rate", "SuspectOptions", "SuspectRows", "expanded", "parse_layout"]

_FILES = "CSV, TSV, Parquet, Feather, NPY or NPZ by ending; a folder of Parquet files; - for CSV on standard input."

SuspectRows = Annotated[list[str], typer.Argument(metavar="SUSPECT", help=f"Rows to look at. {_FILES}")]
CleanRows = Annotated[list[str], typer.Argument(metavar="CLEAN", help=f"Clean rows. {_FILES}")]
Rate = Annotated[
    float | None,
    typer.Option("--false-alarm-rate", "-r", metavar="RATE", help="Share of clean rows that may be declared [0.05]."),
]


def _character(value: str | None) -> str | None:
    return {"\\t": "\t", "tab": "\t", "space": " "}.get(value or "", value)


@dataclass(frozen=True)
class FitOptions:
    """How clean rows are read and learnt from."""

    false_alarm_rate: Rate = None
    layout: Annotated[
        str | None,
        typer.Option(
            metavar="LAYOUT",
            help="Which cells are neighbours: sequence, correlated, auto, the shape of images such as 16x16 or "
            "16x16x3, or a TOML file of groups, name = [columns] [auto].",
        ),
    ] = None
    contaminated: Annotated[bool, typer.Option("--contaminated", help="Some of the clean rows may be corrupted.")] = (
        False
    )
    imputation: Annotated[
        str | None, typer.Option(metavar="mean|mode|draw", help="What fills a corrupted or missing cell [mean].")
    ] = None
    seed: Annotated[int | None, typer.Option(metavar="N", help="Seed of all random choices [0].")] = None
    reference_rows: Annotated[
        int | None,
        typer.Option(
            min=5,
            metavar="N",
            help="Learn from a random N of the reference rows [100,000 clean rows, 5,000 of a table itself].",
        ),
    ] = None
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
    delimiter: Annotated[
        str | None,
        typer.Option(metavar="CHAR", callback=_character, help="Between the cells of text files, read and written."),
    ] = None
    decimal: Annotated[str | None, typer.Option(metavar="CHAR", help="Decimal point of text files, . or ,.")] = None
    thousands: Annotated[
        str | None,
        typer.Option(metavar="CHAR", callback=_character, help="Between groups of three digits in text files."),
    ] = None
    missing: Annotated[
        list[str] | None,
        typer.Option(
            "--missing", metavar="CODE", help="What stands for a missing value, such as -999; may be repeated."
        ),
    ] = None
    no_header: Annotated[bool, typer.Option("--no-header", help="Text files have no line of column names.")] = False
    array: Annotated[str | None, typer.Option("--array", metavar="NAME", help="Which array of NPZ files.")] = None
    n_jobs: Annotated[
        int | None, typer.Option("--n-jobs", "-j", metavar="N", help="Number of threads; -1 for all cores.")
    ] = None
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            "-f",
            help="Replace existing files; write even if the reference does not cover the rows, or most of them change.",
        ),
    ] = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False

    def parameters(self) -> dict[str, Any]:
        """Return what was asked of the estimator, by the names of its parameters."""
        given = {
            "false_alarm_rate": self.false_alarm_rate,
            "layout": None if self.layout is None else parse_layout(self.layout),
            "contaminated": self.contaminated or None,
            "imputation": self.imputation,
            "random_state": self.seed,
            "n_jobs": self.n_jobs,
        }
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True)
class SuspectOptions(FitOptions):
    """What suspect rows are compared with, which rows are declared, and where it is written what was found."""

    model: Annotated[str | None, typer.Option("--model", "-m", metavar="MODEL", help="A model that fit wrote.")] = None
    clean: Annotated[
        list[str] | None, typer.Option("--clean", metavar="FILE", help="Learn from these clean rows; may be repeated.")
    ] = None
    fdr: Annotated[
        float | None,
        typer.Option(
            "--fdr",
            metavar="SHARE",
            help="Declare rows at this false discovery rate instead: of the declared rows, about this share is clean.",
        ),
    ] = None
    findings: Annotated[
        str | None, typer.Option("--findings", metavar="FILE", help="Write a table with a line for each run of cells.")
    ] = None
    report: Annotated[
        str | None, typer.Option("--report", metavar="HTML", help="Write a page that shows what was found, and why.")
    ] = None
    json: Annotated[str | None, typer.Option("--json", metavar="FILE", help="Write what was found as JSON.")] = None


def parse_layout(text: str) -> Any:
    """Return a layout as `treemend.Mender` takes it.

    Examples
    --------
    >>> parse_layout("16x16x3"), parse_layout("sequence")
    ((16, 16, 3), 'sequence')
    """
    if text in ("auto", "sequence", "correlated"):
        return text
    sides = text.lower().replace("×", "x").split("x")
    if len(sides) in (2, 3) and all(side.isascii() and side.isdigit() for side in sides):
        return tuple(int(side) for side in sides)
    if not text.lower().endswith(".toml"):
        raise ParameterError(
            f"--layout must be auto, sequence, correlated, a shape such as 16x16 or 16x16x3, or a TOML file of groups; "
            f"got {text!r}."
        )
    try:
        with open(text, "rb") as file:
            groups = tomllib.load(file)
    except OSError as error:
        raise ParameterError(f"{text} cannot be read: {error.strerror}. Check the path.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ParameterError(f"{text} is not a TOML file: {error}. Correct it.") from None
    return groups.get("groups", groups)


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
