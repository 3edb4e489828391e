"""What the columns of a table hold, recognised from a sample of its rows.

Text, times, ids and columns without values say nothing about what a number should be. They are recognised by their
type, their values and, for integers that could as well be measurements, by their name.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from treemend.arrays import Floats
from treemend.files.formats import NumberFormat
from treemend.tables import ALMOST_ALL, LARGEST_EXACT, ROWS_TO_TELL

_CELLS_IN_SAMPLE = 200_000
_MOST_DECIMALS = 9
_ID_TEXT = r"^\S{1,40}$"
_TIME_TEXT = r"^\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[ T].*)?$|^\d{1,2}:\d{2}(?::\d{2}.*)?$"
_ID_NAME = re.compile(r"(?:^|[\W_])(?i:id|uuid|guid)$|[a-z](?:Id|ID)$")
_ID_NAME_IF_DISTINCT = re.compile(r"(?:^|[\W_])(?:index|idx|nr|row|serial)$|^Unnamed: ", re.IGNORECASE)
_TIME_NAME = re.compile(r"(?:^|[\W_])(?:timestamp|datetime|epoch|unixtime)$", re.IGNORECASE)
_TIME_NAME_IF_SORTED = re.compile(r"(?:^|[\W_])(?:t|ts|time|date|day|month|year)$", re.IGNORECASE)
_CODE = re.compile(r"-9{2,6}(?:\.9+|\.25)?|9{4,6}")


@dataclass(frozen=True)
class Column:
    """What a column holds."""

    name: str
    kind: str  # number, text, time, id, empty or other
    reason: str  # why it is not a number
    numeric: bool = True  # whether it can be looked at if that is asked for
    decimals: int | None = None  # with how many the values of the sample are written, at most; 0 for integers
    code: float | None = None  # a number such as -999 that stands for a missing value


def sample_length(n_columns: int) -> int:
    """Return how many rows make a sample."""
    return min(1_000, max(50, _CELLS_IN_SAMPLE // max(1, n_columns)))


def is_numeric(kind: Any) -> bool:
    """Tell whether a type of pyarrow is one of floats, integers or booleans."""
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind))


def recognise_columns(sample: Any, names: Sequence[str], numbers: NumberFormat | None) -> tuple[Column, ...]:
    """Tell what the columns of a sample hold; ``numbers`` is how numbers are written, if all columns are texts."""
    columns = zip(names, sample.columns, strict=True)
    return tuple(_recognised(name, column.combine_chunks(), numbers) for name, column in columns)


def _recognised(name: str, column: Any, numbers: NumberFormat | None) -> Column:
    kind = column.type
    if numbers is not None and pa.types.is_string(kind):
        values, wrong = numbers.numbers(column)
        is_number = ~np.isnan(values)
        if wrong.sum() > is_number.sum():
            return _of_text(name, column.filter(pa.array(wrong)))
        return _of_numbers(name, values, _count_decimals(column.filter(pa.array(is_number)), numbers))
    if is_numeric(kind) or pa.types.is_null(kind):
        values = np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
        return _of_numbers(name, values, None if pa.types.is_floating(kind) else 0)
    if pa.types.is_dictionary(kind) or pa.types.is_large_string(kind) or pa.types.is_string(kind):
        return _of_text(name, column.cast(pa.string()).drop_null())
    found = ("time", "time") if pa.types.is_temporal(kind) else ("other", str(kind))
    return Column(name, *found, numeric=False)


def _of_text(name: str, texts: Any) -> Column:
    texts, kind = pc.utf8_trim_whitespace(texts), "text"
    distinct = len(texts) >= ROWS_TO_TELL and len(texts.unique()) == len(texts)
    if not len(texts):
        kind = "empty"
    elif pc.mean(pc.match_substring_regex(texts, _TIME_TEXT)).as_py() > 0.5:
        kind = "time"
    elif _ID_NAME.search(name) or (distinct and pc.all(pc.match_substring_regex(texts, _ID_TEXT)).as_py()):
        kind = "id"
    return Column(name, kind, kind, numeric=False)


def _count_decimals(texts: Any, numbers: NumberFormat) -> int | None:
    """Return the most decimals of numbers; None if these are too many, or if numbers have exponents."""
    texts = pc.utf8_trim_whitespace(texts)
    if not len(texts) or pc.any(pc.match_substring_regex(texts, "[eE]")).as_py():
        return None
    point, length = pc.find_substring(texts, numbers.decimal).to_numpy(), pc.binary_length(texts).to_numpy()
    most = int(np.where(point < 0, 0, length - point - 1).max())
    return most if most <= _MOST_DECIMALS else None


def _of_numbers(name: str, values: Floats, decimals: int | None) -> Column:
    present = values[np.isfinite(values)]
    if len(values) and not len(present):
        return Column(name, "empty", "empty", decimals=decimals)
    share = 1 - len(present) / max(1, len(values))
    if share > ALMOST_ALL and len(values) >= ROWS_TO_TELL:
        return Column(name, "empty", f"{int(100 * share)}% empty", decimals=decimals)
    reason = _identifier(name, values, present) if decimals == 0 and len(present) else ""
    if reason:
        return Column(name, "id", reason, decimals=decimals)
    if _is_time(name, values):
        # Its values are numbers, but they only grow: what is usual for them in one file is not in the next.
        return Column(name, "time", "time", decimals=decimals)
    return Column(name, "number", "", decimals=decimals, code=_missing_code(present))


def _identifier(name: str, values: Floats, present: Floats) -> str:
    """Return why integers only name the rows; nothing if they do not."""
    if np.abs(present).max() > LARGEST_EXACT:
        return "integers beyond 2**53"
    distinct = len(np.unique(present)) == len(present)
    if _ID_NAME.search(name) or (distinct and _ID_NAME_IF_DISTINCT.search(name)):
        return "id"
    steps = np.diff(values)
    # Not all are equal where the sample has gaps.
    regular = len(values) >= 2 * ROWS_TO_TELL and steps[0] != 0 and np.mean(steps == steps[0]) > ALMOST_ALL
    return "numbers the rows" if distinct and regular else ""


def _is_time(name: str, values: Floats) -> bool:
    if not _TIME_NAME_IF_SORTED.search(name) or len(values) < ROWS_TO_TELL:
        return _TIME_NAME.search(name) is not None
    return bool((np.diff(values) >= 0).all() and values[0] < values[-1])


def _missing_code(present: Floats) -> float | None:
    """Return an outermost number of nines that is there several times, further from the others than they reach."""
    for code in (float(present.min()), float(present.max())) if len(present) else ():
        others = present[present != code]
        repeated = len(present) - len(others) >= 2 and len(others) >= ROWS_TO_TELL
        if repeated and _CODE.fullmatch(f"{code:g}") and np.abs(others - code).min() > np.ptp(others):
            return code
    return None
