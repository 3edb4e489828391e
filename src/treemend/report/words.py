"""What the numbers of a summary mean, in words.

Enters: counts and rates. Leaves: sentences. The mistakes to expect follow the promise: each clean row is touched with
the asked probability. Fresh rows share one threshold that was learnt from N reference rows, so their number varies more
than that of independent tosses: by the factor 1 + (n - 1) / (N + 2) of a beta-binomial distribution.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemend.report.plain import counted, percent

__all__ = ["headline", "promise", "sampling", "why"]


def headline(totals: dict[str, int], *, repaired: bool = True) -> str:
    """Say in one sentence what was done, or only found."""
    if totals["rows"] == 0:
        return "There was no row to look at."
    filled = ""
    if totals["missing_cells"]:
        filled = f"{counted(totals['missing_cells'], 'missing value')} {'filled in' if repaired else 'seen'}"
    if totals["touched_rows"] == 0:
        found = f"Nothing was found in {counted(totals['rows'], 'row')}"
    elif not repaired:
        found = f"Overwritten values were found in {totals['touched_rows']:,} of {counted(totals['rows'], 'row')}"
    else:
        were = "was" if totals["touched_rows"] == 1 else "were"
        found = f"{totals['touched_rows']:,} of {counted(totals['rows'], 'row')} {were} repaired"
    return f"{found}, {filled}." if filled else f"{found}."


def promise(
    n_rows: int,
    n_touched: int,
    *,
    asked_rate: float | None,
    tau: float | None,
    n_reference: int | None,
    reference_rate: float | None,
) -> dict[str, Any]:
    """Tell what the false-alarm rate means for these rows.

    Returns
    -------
    dict
        The rates, how many rows would be touched by mistake if all were clean (``expected``), how many rarely are
        exceeded (``rarely_above``, two standard deviations), and sentences (``words``).
    """
    told: dict[str, Any] = {
        "asked_rate": asked_rate,
        "tau": tau,
        "reference_rows": n_reference,
        "reference_rate": reference_rate,
        "expected": None,
        "rarely_above": None,
    }
    rate = reference_rate if asked_rate is None else asked_rate
    words = [_asked(asked_rate, tau)]
    if tau is not None and tau < 0:
        words.append(
            f"{counted(n_reference or 0, 'reference row')} are too few for that promise, so nothing was declared. Give "
            "more clean rows, a shallower tree, or ask for a higher rate."
        )
    elif rate is not None:
        told["expected"] = rate * n_rows
        told["rarely_above"] = _rarely_above(n_rows, rate, n_reference)
        words.append(_compared(n_rows, n_touched, told["expected"], told["rarely_above"]))
    if n_reference is not None and reference_rate is not None and (tau is None or tau >= 0):
        words.append(
            f"The threshold comes from {counted(n_reference, 'reference row')}: each was judged by the others, and "
            f"{percent(reference_rate)} of them were touched."
        )
    return {**told, "words": [sentence for sentence in words if sentence]}


def _asked(asked_rate: float | None, tau: float | None) -> str:
    if asked_rate is not None:
        return f"The promise: of rows that are clean, at most {percent(asked_rate)} are touched, on average."
    if tau is not None and tau >= 0:
        return f"No rate was asked for: each part of a row was tested at the threshold {tau:g}."
    return ""


def _rarely_above(n_rows: int, rate: float, n_reference: int | None) -> float:
    shared = 1 + (n_rows - 1) / (n_reference + 2) if n_reference else 1.0
    return rate * n_rows + 2 * math.sqrt(n_rows * rate * (1 - rate) * shared)


def _compared(n_rows: int, n_touched: int, expected: float, rarely_above: float) -> str:
    about = f"about {expected:,.0f}" if expected >= 1 else "fewer than one"
    if_clean = (
        f"If all {counted(n_rows, 'row')} were clean, {about} would be touched by mistake, rarely more than "
        f"{math.ceil(rarely_above):,}."
    )
    if n_touched == 0:
        return f"{if_clean} None was."
    if n_touched > rarely_above:
        more = max(1, round(n_touched - expected))
        return f"{if_clean} {n_touched:,} were: about {more:,} more than mistakes explain."
    return f"{if_clean} {n_touched:,} were, which mistakes alone could explain: look at each before you believe it."


def sampling(
    n_rows: int,
    n_shown: int,
    n_features: int,
    n_shown_features: int,
    rows_per_cell: int,
    features_per_cell: int,
    *,
    drawn: bool,
) -> list[str]:
    """Say what the report leaves out; ``drawn`` is False if rows are pictures too large to be drawn."""
    notes = []
    if n_shown < n_rows:
        notes.append(
            f"Counts and the map cover all {counted(n_rows, 'row')}; the list and the charts the {n_shown:,} worst."
        )
    if n_shown_features < n_features:
        notes.append(
            f"Charts show {n_shown_features:,} of {n_features:,} attributes, evenly spaced; shaded stretches are exact."
        )
    if not drawn:
        notes.append(f"Rows are pictures of {n_features:,} values; pictures as large as that are not drawn.")
    if rows_per_cell > 1 or features_per_cell > 1:
        size = f"{counted(rows_per_cell, 'row')} x {counted(features_per_cell, 'attribute')}"
        notes.append(f"Each cell of the map stands for {size}; the deeper its colour, the more of them were found.")
    return notes


def why(
    scores: NDArray[np.float64] | None,
    found: NDArray[np.bool_],
    start: NDArray[np.int64],
    stop: NDArray[np.int64],
    names: list[str],
    n_reference: int | None,
) -> str:
    """Point to the part of a row that speaks most against it.

    Parameters
    ----------
    scores : ndarray, one a node, or None
    found : ndarray of bool, one an attribute, in the order of the tree
    start, stop : ndarray of int, one a node
    names : list of str, in the order of the tree
    n_reference : int or None
    """
    if scores is None or not np.isfinite(scores).any():
        return ""
    before = np.concatenate(([0], np.cumsum(found)))
    inside = before[stop] - before[start] == stop - start
    candidates = inside if inside.any() else np.ones(len(scores), dtype=bool)
    node = int(np.lexsort((start - stop, np.where(candidates & np.isfinite(scores), scores, np.inf)))[0])
    first, last = names[start[node]], names[stop[node] - 1]
    part = first if first == last else f"{first} to {last}"
    if n_reference is None:
        return f"Most unusual: {part}, with a score of {scores[node]:.3g}."
    count = round(float(scores[node]) * n_reference)
    rows = "no reference row is" if count == 0 else f"only {counted(count, 'reference row')} {_be(count)}"
    if count > n_reference // 10:
        rows = f"{counted(count, 'reference row')} {_be(count)}"
    return f"Most unusual: {part}. Of {n_reference:,}, {rows} as unusual there."


def _be(count: int) -> str:
    return "is" if count == 1 else "are"
