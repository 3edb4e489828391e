"""The estimators that are measured: one place that constructs them, and the few things questions ask of them.

Any class will do that has ``fit(clean)`` and ``mend(suspect) -> .repaired, .mask, .corrupted`` and takes ``layout``,
``false_alarm_rate`` and ``contaminated``.
"""

import inspect
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.recording import Row, do_all
from experiments.robustness.cases import Case, Cases
from experiments.robustness.measures import Fill, Repair, measure_case
from experiments.robustness.settings import Settings

__all__ = ["RATE", "build", "filling", "measure_cases", "mend", "mend_table", "repairing", "row_scores"]

RATE = 0.05
Rows = NDArray[np.float64]


def build(settings: Settings, grid: tuple[int, int] | None = None, rate: float = RATE, **more: Any) -> Any:
    """Return an unfitted estimator that is told nothing but the rate and, for images, their shape."""
    module, name = settings.estimator.split(":")
    layout = {"layout": grid} if grid else {}
    return getattr(import_module(module), name)(false_alarm_rate=rate, **layout, **more)


def mend(mender: Any, rows: Rows, **options: Any) -> Any:
    """Mend rows as if they were part of a larger table: the check for drift of the table as a whole is off.

    Questions corrupt every row that they give, which no table would be: its drift would rightly be told, and all left.
    """
    if "on_drift" in inspect.signature(mender.mend).parameters:
        options = {"on_drift": "repair", **options}
    with quietly():
        return mender.mend(rows, **options)


def mend_table(settings: Settings, table: Rows, grid: tuple[int, int] | None = None) -> Any:
    """Mend one table without clean rows."""
    with quietly():
        return build(settings, grid, contaminated=True).fit_mend(table)


def repairing(mender: Any) -> Repair:
    """Return a function that mends rows and returns the mask and the repaired rows."""

    def repair(rows: Rows) -> tuple[NDArray[np.bool_], Rows]:
        mended = mend(mender, rows)
        return np.asarray(mended.mask), np.asarray(mended.repaired)

    return repair


def filling(mender: Any) -> Fill:
    """Return a function that fills masked cells as if they were missing, and replaces nothing else."""

    def fill(rows: Rows, masks: NDArray[np.bool_]) -> Rows:
        mended = mend(mender, np.where(masks, np.nan, rows), false_alarm_rate=0.0)
        return np.where(masks, np.asarray(mended.repaired), rows)

    return fill


def row_scores(mender: Any, rows: Rows) -> NDArray[np.float64]:
    """Return one score a row; higher is more suspect."""
    return -np.asarray(mender.score_samples(rows))


def measure_cases(question: str, settings: Settings, cases: Cases) -> None:
    """Measure the estimator on all cases of a question, and leave them as one CSV file."""
    do_all(question, settings, {name: lambda make=make: _measured(make(), settings) for name, make in cases.items()})


def _measured(case: Case, settings: Settings) -> Iterator[Row]:
    with quietly():
        mender = build(settings, case.grid).fit(case.reference)
    yield from measure_case(case, "treemend", repairing(mender), filling(mender))


@contextmanager
def quietly() -> Iterator[None]:
    """Leave out the warnings that few rows promise little and that nothing is declared at a rate of next to 0."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield
