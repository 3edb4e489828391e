"""The report's summary in a few lines for a terminal.

Enters: the summary that ``--json`` and ``--report`` tell, too. Leaves: lines of text.
"""

from typing import Any

from treemend.cli.failures import printable

__all__ = ["sentence", "worst_rows"]

_ROWS_LISTED = 10
_COLUMNS_LISTED = 6


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
    gaps = f"; {missing} {words}" if missing else ""
    if totals["touched_rows"] == 0:
        return f"nothing found in {totals['rows']} rows{gaps}"
    return (
        f"{totals['touched_rows']} of {totals['rows']} rows hold something overwritten, "
        f"{totals['found_cells']} cells in all{gaps}"
    )


def worst_rows(summary: dict[str, Any]) -> list[str]:
    """Name the rows in which most was found, the worst first, and what was found there."""
    found = [row for row in summary["rows"] if row["n_found"]]
    return [printable(f"  {row['id']}: {_columns(summary, row)}") for row in found[:_ROWS_LISTED]]


def _columns(summary: dict[str, Any], row: dict[str, Any]) -> str:
    if summary["attributes"]["places"] is not None:
        return f"{row['n_found']} cells"
    names = summary["attributes"]["names"]
    places = [place for start, stop in row["found"] for place in range(start, stop)]
    more = f" and {len(places) - _COLUMNS_LISTED} more" if len(places) > _COLUMNS_LISTED else ""
    return ", ".join(names[place] for place in places[:_COLUMNS_LISTED]) + more
