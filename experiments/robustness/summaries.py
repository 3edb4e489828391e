"""From rows of results to figures and tables: means by keys, tables with the earlier figure beside, judged figures."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from experiments.markdown import table
from experiments.recording import Row
from experiments.robustness.sets import SUBJECTS

__all__ = ["Figure", "at_least", "at_most", "mean", "means_by", "number", "pivot", "titled"]

Value = str | Callable[[Row], float]
"""A column of the results, or what to compute from a row."""


@dataclass(frozen=True)
class Figure:
    """A statement, what was asked, reached and reached earlier, and the question that measures it."""

    statement: str
    asked: str
    reached: str
    met: bool
    question: str
    earlier: str = ""


def mean(rows: Sequence[Row], value: Value) -> float:
    """Return the mean of what is a number; NaN where nothing is."""
    read = value if callable(value) else lambda row: row.get(value, "")
    found = [read(row) for row in rows]
    known = [one for one in found if isinstance(one, int | float) and np.isfinite(one)]
    return float(np.mean(known)) if known else float("nan")


def means_by(rows: Sequence[Row], key: Callable[[Row], Hashable], value: Value) -> dict[Hashable, float]:
    """Return the mean for each key, in the order of first appearance."""
    keys = dict.fromkeys(key(row) for row in rows)
    return {one: mean([row for row in rows if key(row) == one], value) for one in keys}


def at_least(
    bound: float, statement: str, question: str, rows: Sequence[Row], earlier: Sequence[Row], value: Value
) -> Iterator[Figure]:
    """Yield a figure on a mean that must not be below a bound; none where there are no rows."""
    if rows:
        yield _judged(f"≥ {number(bound)}", mean(rows, value) >= bound, statement, question, rows, earlier, value)


def at_most(
    bound: float, statement: str, question: str, rows: Sequence[Row], earlier: Sequence[Row], value: Value
) -> Iterator[Figure]:
    """Yield a figure on a mean that must not exceed a bound; none where there are no rows."""
    if rows:
        yield _judged(f"≤ {number(bound)}", mean(rows, value) <= bound, statement, question, rows, earlier, value)


def _judged(
    asked: str, met: bool, statement: str, question: str, rows: Sequence[Row], earlier: Sequence[Row], value: Value
) -> Figure:
    before = number(mean(earlier, value)) if earlier else ""
    return Figure(statement, asked, number(mean(rows, value)), met, question, before)


def number(value: float, digits: int = 2) -> str:
    """Return a number with a true minus; small ones with more digits; nothing for what is not a number."""
    if not np.isfinite(value):
        return ""
    if value != 0 and abs(value) < 0.1**digits:
        return f"{value:.2g}".replace("-", "−")
    digits = 3 if 0 < abs(value) < 0.1 else digits
    return f"{value:.{digits}f}".replace("-", "−")


def titled(name: str) -> str:
    """Return the title of a set, or the name itself."""
    return SUBJECTS[name].title if name in SUBJECTS else name


def pivot(
    rows: Sequence[Row],
    earlier: Sequence[Row],
    line: str,
    column: Callable[[Row], Hashable] | str,
    value: Value,
    title: str = "",
) -> Iterator[str]:
    """Yield a table of means, the earlier figure behind in brackets, and the mean over the lines in the last line.

    A title stands above it, an empty line below.
    """
    place = column if callable(column) else lambda row: row[column]

    def means(own: Sequence[Row]) -> dict[Hashable, float]:
        return means_by(own, lambda row: (row[line], place(row)), value)

    now, before = means(rows), means(earlier)
    lines = list(dict.fromkeys(row[line] for row in rows))
    columns = list(dict.fromkeys(place(row) for row in rows))

    def cell(one: Hashable, other: Hashable) -> str:
        text, old = number(now.get((one, other), np.nan)), number(before.get((one, other), np.nan))
        return f"{text} ({old})" if old else text

    def overall(other: Hashable) -> str:
        shown = [now[one, other] for one in lines if np.isfinite(now.get((one, other), np.nan))]
        old = [before[one, other] for one in lines if np.isfinite(before.get((one, other), np.nan))]
        text = number(float(np.mean(shown))) if shown else ""
        return f"{text} ({number(float(np.mean(old)))})" if old else text

    body = [(titled(str(one)), *(cell(one, other) for other in columns)) for one in lines]
    last = [("**mean**", *(overall(other) for other in columns))] if len(lines) > 1 and line != "method" else []
    yield from (f"{title}:", "") if title else ()
    yield from table((line, *(str(other) for other in columns)), body + last)
    yield ""
