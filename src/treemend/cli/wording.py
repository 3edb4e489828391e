"""The report's summary in a few lines for a terminal.

Enters: the summary that ``--json`` and ``--report`` tell, too. Leaves: lines of text.
"""

from typing import Any

from treemend.cli.failures import printable
from treemend.report.plain import counted
from treemend.report.reasons import EXPLANATIONS

__all__ = ["sentence", "worst_rows"]

_ROWS_LISTED = 10
_STRETCHES_LISTED = 3


def sentence(totals: dict[str, int], *, filled: bool) -> str:
    """Say what was found in one line.

    Parameters
    ----------
    totals : dict
        ``summary["totals"]``.
    filled : bool
        Whether missing values have been filled, or were only seen.

    Examples
    --------
    >>> sentence({"rows": 20, "touched_rows": 2, "found_cells": 16, "missing_cells": 1}, filled=True)
    '2 of 20 rows hold something overwritten, 16 cells in all; 1 missing cell filled'
    """
    missing = totals["missing_cells"]
    words = "missing cell" + "s" * (missing != 1) + " filled" * filled
    gaps = f"; {missing:,} {words}" if missing else ""
    if totals["touched_rows"] == 0:
        return f"nothing found in {counted(totals['rows'], 'row')}{gaps}"
    hold = "holds" if totals["touched_rows"] == 1 else "hold"
    return (
        f"{totals['touched_rows']:,} of {counted(totals['rows'], 'row')} {hold} something overwritten, "
        f"{counted(totals['found_cells'], 'cell')} in all{gaps}"
    )


def worst_rows(summary: dict[str, Any]) -> list[str]:
    """Name the rows in which most was found, the worst first, and what was found there."""
    found = [row for row in summary["rows"] if row["n_found"]]
    lines = [f"  {row['id']}: {_reach(summary, row)}{_looks(row)}" for row in found[:_ROWS_LISTED]]
    if summary["totals"]["touched_rows"] > len(lines):
        lines.append(f"  and {counted(summary['totals']['touched_rows'] - len(lines), 'row')} more")
    return [printable(line) for line in lines]


def _looks(row: dict[str, Any]) -> str:
    return f", {EXPLANATIONS[row['explanation']]}" if row["explanation"] else ""


def _reach(summary: dict[str, Any], row: dict[str, Any]) -> str:
    """Name the columns, as stretches; if these are many, or pixels, by their number."""
    names, found = summary["attributes"]["names"], row["found"]
    many = len(found) > _STRETCHES_LISTED or summary["attributes"]["places"] is not None
    if many or summary["grid"] is not None:
        return counted(row["n_found"], "cell")
    ends = [(names[start], names[stop - 1]) for start, stop in found]
    return ", ".join(first if first == last else f"{first} to {last}" for first, last in ends)
