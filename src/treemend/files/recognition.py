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
from numpy.typing import NDArray

from treemend.files.cells import NumberFormat
from treemend.tables import LARGEST_EXACT

__all__ = ["Column", "Sample", "is_numeric", "recognise_columns", "sample_length"]

NUMBER, TEXT, TIME, ID, EMPTY, OTHER = "number", "text", "time", "id", "empty", "other"
_CELLS_IN_SAMPLE = 200_000
_ALMOST_EMPTY = 0.9
_ROWS_TO_TELL = 10
_ID_TEXT = r"^\S{1,40}$"
_TIME_TEXT = r"^\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[ T].*)?$|^\d{1,2}:\d{2}(?::\d{2}.*)?$"
_ID_NAME = re.compile(r"(?:^|[\W_])(?i:id|uuid|guid)$|[a-z](?:Id|ID)$")
_ID_NAME_IF_DISTINCT = re.compile(r"(?:^|[\W_])(?:index|idx|nr|row|serial)$|^Unnamed: ", re.IGNORECASE)
_TIME_NAME = re.compile(r"(?:^|[\W_])(?:timestamp|datetime|epoch|unixtime)$", re.IGNORECASE)
_TIME_NAME_IF_SORTED = re.compile(r"(?:^|[\W_])(?:t|ts|time|date|day|month|year)$", re.IGNORECASE)
_CODE = re.compile(r"-9{2,6}(?:\.9+|\.25)?|9{4,6}")


@dataclass(frozen=True)
class Column:
    """What a column holds.

    Attributes
    ----------
    position : int
    name : str
    kind : {"number", "text", "time", "id", "empty", "other"}
    reason : str
        Why it is of this kind; empty for numbers.
    numeric : bool
        Whether its values are numbers, so that it can be looked at if that is asked for.
    integer : bool
        Whether all numbers of the sample are integers.
    code : float or None
        A number such as -999 that stands for a missing value.
    """

    position: int
    name: str
    kind: str
    reason: str = ""
    numeric: bool = True
    integer: bool = False
    code: float | None = None


@dataclass(frozen=True, eq=False)
class Sample:
    """Some rows of a table, of which ``n_first`` are its first rows and the others come from further on."""

    rows: Any
    n_first: int


def sample_length(n_columns: int) -> int:
    """Return how many rows make a sample."""
    return min(1_000, max(50, _CELLS_IN_SAMPLE // max(1, n_columns)))


def is_numeric(kind: Any) -> bool:
    """Tell whether a type of pyarrow is one of floats, integers or booleans."""
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind))


def recognise_columns(sample: Sample, names: Sequence[str], numbers: NumberFormat | None) -> tuple[Column, ...]:
    """Tell what the columns of a sample hold; ``numbers`` is how numbers are written, if all columns are texts."""
    return tuple(
        _recognised(position, name, column, sample.n_first, numbers)
        for position, (name, column) in enumerate(zip(names, sample.rows.columns, strict=True))
    )


def _recognised(position: int, name: str, column: Any, n_first: int, numbers: NumberFormat | None) -> Column:
    kind = column.type
    if numbers is not None and pa.types.is_string(kind):
        values, wrong = numbers.numbers(pc.coalesce(column.combine_chunks(), ""))
        n_present = int(np.count_nonzero(wrong | ~np.isnan(values)))
        if np.count_nonzero(wrong) * 2 > n_present:
            return _of_text(position, name, column.combine_chunks().filter(pa.array(wrong)))
        integers = pc.match_substring_regex(pc.utf8_trim_whitespace(column), r"^[+-]?\d+$").to_numpy()
        integer = bool(integers[~np.isnan(values)].all()) and n_present > 0
        return _of_numbers(position, name, values, integer, n_first)
    if is_numeric(kind) or pa.types.is_null(kind):
        values = np.asarray(column.to_numpy(), dtype=np.float64)
        return _of_numbers(position, name, values, not pa.types.is_floating(kind), n_first)
    if pa.types.is_temporal(kind):
        return Column(position, name, TIME, TIME, numeric=False)
    if pa.types.is_dictionary(kind) or pa.types.is_large_string(kind) or pa.types.is_string(kind):
        return _of_text(position, name, column.cast(pa.string()).combine_chunks().drop_null())
    return Column(position, name, OTHER, str(kind), numeric=False)


def _of_text(position: int, name: str, texts: Any) -> Column:
    if not len(texts):
        return Column(position, name, EMPTY, EMPTY, numeric=False)
    texts = pc.utf8_trim_whitespace(texts)
    distinct = len(texts) >= _ROWS_TO_TELL and len(texts.unique()) == len(texts)
    kind = TEXT
    if _ID_NAME.search(name) or (distinct and pc.all(pc.match_substring_regex(texts, _ID_TEXT)).as_py()):
        kind = ID
    if pc.mean(pc.match_substring_regex(texts, _TIME_TEXT)).as_py() > 0.5:
        kind = TIME
    return Column(position, name, kind, kind, numeric=False)


def _of_numbers(position: int, name: str, values: NDArray[np.float64], integer: bool, n_first: int) -> Column:
    present = values[np.isfinite(values)]
    share = 1 - len(present) / max(1, len(values))
    if len(values) and (len(present) == 0 or (share > _ALMOST_EMPTY and len(values) >= _ROWS_TO_TELL)):
        return Column(position, name, EMPTY, EMPTY if len(present) == 0 else f"{share:.0%} empty", integer=integer)
    reason = _identifier(name, values[:n_first], present, integer)
    if reason:
        return Column(position, name, ID, reason, integer=integer)
    if _is_time(name, values[:n_first]):
        # Its values are numbers, but they only grow: what is usual for them in one file is not in the next.
        return Column(position, name, TIME, TIME, integer=integer)
    return Column(position, name, NUMBER, integer=integer, code=_missing_code(present))


def _identifier(name: str, first: NDArray[np.float64], present: NDArray[np.float64], integer: bool) -> str:
    """Return why integers only name the rows; nothing if they do not."""
    if not integer or not len(present):
        return ""
    if np.abs(present).max() > LARGEST_EXACT:
        return "integers beyond 2**53"
    distinct = len(np.unique(present)) == len(present)
    if _ID_NAME.search(name) or (distinct and _ID_NAME_IF_DISTINCT.search(name)):
        return "id"
    steps = np.diff(first)
    regular = len(first) >= 2 * _ROWS_TO_TELL and steps[0] != 0 and bool((steps == steps[0]).all())
    return "numbers the rows" if regular else ""


def _is_time(name: str, first: NDArray[np.float64]) -> bool:
    if _TIME_NAME.search(name):
        return True
    if not _TIME_NAME_IF_SORTED.search(name) or len(first) < _ROWS_TO_TELL:
        return False
    return bool((np.diff(first) >= 0).all()) and first[0] < first[-1]


def _missing_code(present: NDArray[np.float64]) -> float | None:
    """Return an outermost number of nines that is there several times, further from the others than they reach."""
    for code in (float(present.min()), float(present.max())) if len(present) else ():
        others = present[present != code]
        if not _CODE.fullmatch(f"{code:g}") or len(present) - len(others) < 2 or len(others) < _ROWS_TO_TELL:
            continue
        gap = float(np.abs(others - code).min())
        if gap > np.ptp(others):
            return code
    return None
