"""Plain values for a summary: numbers that JSON can hold, and words for counts.

Enters: arrays. Leaves: lists, numbers and text.
"""

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["clip", "clip_middle", "counted", "percent", "plain_number", "plain_numbers"]

_DIGITS = 6
_WHOLE = 1e6


def plain_number(value: float) -> float | int | None:
    """Return a number with six digits, or None where there is none.

    Examples
    --------
    >>> [plain_number(value) for value in (1 / 3, 4.0, float("nan"), float("inf"))]
    [0.333333, 4, None, None]
    """
    if not math.isfinite(value):
        return None
    short = float(f"{value:.{_DIGITS}g}")
    return int(short) if abs(short) < _WHOLE and short.is_integer() else short


def plain_numbers(values: NDArray[np.float64]) -> list[float | int | None]:
    """Return numbers as `plain_number` does."""
    return [plain_number(value) for value in values.tolist()]


def clip(text: str, length: int) -> str:
    """Return the text, its end left out if it is long.

    Examples
    --------
    >>> clip("temperature", 6)
    'tempe…'
    """
    return text if len(text) <= length else text[: length - 1] + "…"


def clip_middle(text: str, length: int) -> str:
    """Return the text, its middle left out if it is long: a row's name ends with its number.

    Examples
    --------
    >>> clip_middle("a_long_name.csv, line 12", 16)
    'a_long…, line 12'
    """
    if len(text) <= length:
        return text
    tail = (length + 1) // 2 + 1
    return text[: length - 1 - tail] + "…" + text[-tail:]


def counted(count: int, word: str) -> str:
    """Return a count with its word.

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{count:,} {word}{'s' * (count != 1)}"


def percent(share: float) -> str:
    """Return a share in percent, short.

    Examples
    --------
    >>> percent(0.05), percent(0.0123), percent(1 / 3)
    ('5 %', '1.23 %', '33.3 %')
    """
    return f"{100 * share:.3g} %"
