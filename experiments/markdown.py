"""Markdown tables, numbers with signs, and pages made of a template's sections."""

import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

__all__ = ["signed", "table", "write_sections"]


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


def write_sections(template: Path, target: Path, results: Path, filled: Callable[[str, str], str]) -> None:
    """Write a page section by section; ``filled`` takes one and the folder to which pictures are linked."""
    target.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(os.path.relpath(results, target.parent)).as_posix()
    target.write_text("".join(filled(section, folder) for section in re.split(r"(?m)^(?=## )", template.read_text())))
