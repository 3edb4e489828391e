"""Markdown tables, and numbers with signs."""

import math
from collections.abc import Iterable, Iterator, Sequence

__all__ = ["signed", "table"]


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield the lines of a table."""
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(str(cell) for cell in row) + " |"


def signed(value: float, digits: int = 1) -> str:
    """Return a number with its sign, a true minus, and nothing for what is not a number."""
    if math.isnan(value):
        return ""
    text = f"{value:+z.{digits}f}"
    return text.replace("-", "−")
