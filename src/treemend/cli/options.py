"""The options of the commands, as dataclasses whose fields are the options; nothing heavy is imported here."""

# ruff: noqa: RUF009 - the functions in the place of defaults return fields.

import tomllib
from dataclasses import dataclass, field
from typing import Any

import typer

from treemend.exceptions import ParameterError

_FILES = "CSV, TSV, Parquet, Feather, NPY or NPZ by ending; a folder of Parquet files; - for CSV on standard input."


def _option(metavar: str | None, what: str, *names: str, default: Any = None, **more: Any) -> Any:
    """Return a field that is an option of the command line, called as the field if it has no other names."""
    return field(default=default, metadata={"typer": typer.Option(*names, metavar=metavar, help=what, **more)})


def _argument(metavar: str, what: str) -> Any:
    return field(default=..., metadata={"typer": typer.Argument(metavar=metavar, help=f"{what} {_FILES}")})


def _character(value: str | None) -> str | None:
    return {"\\t": "\t", "tab": "\t", "space": " "}.get(value or "", value)


@dataclass(frozen=True)
class CommonOptions:
    """How rows are read and learnt from."""

    false_alarm_rate: float | None = _option(
        "RATE", "Share of clean rows that may be declared [0.05].", "--false-alarm-rate", "-r"
    )
    layout: str | None = _option(
        "LAYOUT",
        "Which cells are neighbours: sequence, correlated, auto, the shape of images such as 16x16 or 16x16x3, or a "
        "TOML file of groups, name = [columns] [auto].",
    )
    contaminated: bool = _option(None, "Some of the clean rows may be corrupted.", "--contaminated", default=False)
    imputation: str | None = _option("mean|mode|draw", "What fills a corrupted or missing cell [mean].")
    seed: int | None = _option("N", "Seed of all random choices [0].")
    reference_rows: int | None = _option(
        "N", "Learn from a random N of the reference rows [100,000 clean rows, 5,000 of a table itself].", min=5
    )
    columns: list[str] | None = _option(
        "NAME", "Columns to look at, by name or pattern; repeatable.", "--columns", "-c"
    )
    passthrough: list[str] | None = _option(
        "NAME", "Columns to leave alone, by name or pattern; repeatable.", "--passthrough", "-p"
    )
    delimiter: str | None = _option("CHAR", "Between the cells of text files, read and written.", callback=_character)
    decimal: str | None = _option("CHAR", "Decimal point of text files, . or ,.")
    thousands: str | None = _option("CHAR", "Between groups of three digits in text files.", callback=_character)
    missing: list[str] | None = _option("CODE", "What stands for a missing value, such as -999; repeatable.")
    no_header: bool = _option(None, "Text files have no line of column names.", "--no-header", default=False)
    array: str | None = _option("NAME", "Which array of NPZ files.")
    n_jobs: int | None = _option("N", "Number of threads; -1 for all cores.", "--n-jobs", "-j")
    force: bool = _option(
        None,
        "Replace existing files; write even if the reference does not cover the rows, or most of them change.",
        "--force",
        "-f",
        default=False,
    )
    quiet: bool = _option(None, "Print nothing but errors.", "--quiet", "-q", default=False)

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
class FitOptions(CommonOptions):
    """Clean rows, and the model file to write."""

    paths: list[str] = _argument("CLEAN...", "Clean rows.")
    output: str = _option("MODEL", "The model file to write.", "--output", "-o", default=...)


@dataclass(frozen=True)
class SuspectOptions(CommonOptions):
    """Suspect rows, what they are compared with, which are declared, and where it is written what was found."""

    paths: list[str] = _argument("SUSPECT...", "Rows to look at.")
    model: str | None = _option("MODEL", "A model that fit wrote.", "--model", "-m")
    clean: list[str] | None = _option("FILE", "Learn from these clean rows; repeatable.")
    fdr: float | None = _option(
        "SHARE", "Declare rows at this false discovery rate instead: of the declared rows, about this share is clean."
    )
    findings: str | None = _option("FILE", "Write a table with a line for each run of cells.")
    report: str | None = _option("HTML", "Write a page that shows what was found, and why.")
    json: str | None = _option("FILE", "Write what was found as JSON.")
    output: str | None = None
    mask: str | None = None


@dataclass(frozen=True)
class MendOptions(SuspectOptions):
    """Where repaired rows go, and who repairs them."""

    output: str | None = _option(
        "OUT",
        "Where the repaired rows go; - for standard output. A folder is repaired file by file if this is a folder, "
        "too; started again, it continues.",
        "--output",
        "-o",
        default=...,
    )
    mask: str | None = _option("FILE", "Write which cells were found corrupted.")
    dask: str | None = _option(
        "ADDRESS", "Repair the files of a folder on a Dask cluster: tcp://HOST:PORT, or local for workers here."
    )


@dataclass(frozen=True)
class CheckOptions(SuspectOptions):
    """When to fail."""

    fail_above: float | None = _option("SHARE", "Fail if a larger share of the rows is corrupted or unusual.")


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
