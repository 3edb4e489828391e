"""fit, mend and check: batches of rows through an estimator and into files."""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, overload

import numpy as np

import treemend
from treemend import progress
from treemend.cli.console import say
from treemend.cli.errors import NotCoveredError, printable, require
from treemend.cli.options import FitOptions, SuspectOptions
from treemend.cli.outputs import Outputs
from treemend.cli.reference import Estimator, Reference, find_reference, fit_to
from treemend.exceptions import ParameterError
from treemend.files import STANDARD_STREAM, Batch, FileTable, ReadOptions, Writer, format_of, open_table, open_writer
from treemend.mender import Mender
from treemend.mender.drift import DriftTest
from treemend.report import Findings, SummaryBuilder, as_html, as_json, findings_table
from treemend.report.words import counted, percent

__all__ = ["Outcome", "check_options", "compile_kernels", "fit", "mend", "mend_table", "open_suspects", "verdict"]

# More than this share of the rows declared is not what repairing is for, even if the reference covers the rows.
MOST_DECLARED = 0.7
FEWEST_ROWS_TO_STOP = 20
# `check` fails a clean file with this probability.
CHECK_LEVEL = 0.01


@dataclass(frozen=True, eq=False)
class Outcome:
    """What was found in a table: the report's summary, and one sentence for each sign of drift."""

    summary: dict[str, Any]
    drift: tuple[str, ...]

    @property
    def n_declared(self) -> int:
        """Number of rows that are repaired or unusual."""
        totals = self.summary["totals"]
        return int(totals["corrupted_rows"] + totals["unusual_rows"])


def fit(paths: tuple[str, ...], model: str, options: FitOptions) -> None:
    """Learn from clean rows and write a model file."""
    table = open_suspects(paths, options)
    with Outputs(table.paths, force=options.force) as outputs:
        outputs.claim(model)
    mender, n_rows = fit_to(table, options)
    mender.save(model)
    size = f"{counted(n_rows, 'row')} of {counted(mender.n_features_in_, 'column')}"
    say(f"{model}: learnt from {size}", quiet=options.quiet)


def mend(paths: tuple[str, ...], output: str | None, mask: str | None, options: SuspectOptions) -> Outcome:
    """Judge all rows, write what is to be written, and return what was found."""
    check_options(paths, options)
    for target in (output, mask, options.findings):
        if target is not None:
            format_of(target)
    read_twice = options.fdr is not None or (options.model is None and not options.clean)
    with _spooled(paths) if read_twice else nullcontext() as standard_input:
        table = open_suspects(paths, options, standard_input)
        return mend_table(table, None, output, mask, options, replace_files=options.force)
