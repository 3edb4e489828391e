"""Why a row was found: which explanation spoke loudest against it, in numbers and in words.

Enters: for each row the name of an explanation, the values it draws, and how many reference rows show as much evidence.
Leaves: sentences for a row, and short words for a count of rows.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemend.exceptions import InputError
from treemend.plots import stretches
from treemend.report.plain import clip, counted

__all__ = ["EXPLANATIONS", "Reasons", "told"]

EXPLANATIONS = {
    "search": "unusual as such",
    "noise": "like noise",
    "foreign": "as if from elsewhere",
    "shifted": "shifted together",
    "frozen": "standing still",
}
_SENTENCES = {
    "search": ("is unusual by itself", "are unusual by themselves", ", whatever the rest of the row says."),
    "noise": ("looks like noise", "look like noise", ", given the rest of the row."),
    "foreign": (
        "does not go with the rest of the row",
        "do not go with the rest of the row",
        ", as if taken from another one.",
    ),
    "shifted": ("is shifted", "are shifted together", ", against what the rest of the row suggests."),
    "frozen": ("stands still", "stand still", " at one value, which reference rows like this one do not have there."),
}
_MOST_STRETCHES = 2
_LONGEST_NAME = 40


@dataclass(frozen=True, eq=False, kw_only=True)
class Reasons:
    """What spoke against each row; of rows in which nothing was found, nothing is told.

    Attributes
    ----------
    explanation : ndarray of str, one a row
        Names out of `EXPLANATIONS`.
    explained : ndarray of bool, rows x attributes
        The values that the explanation speaks of, in the order of the columns; others were found after these had been
        repaired.
    as_much_evidence : ndarray of int, one a row
        How many reference rows show at least as much evidence.
    n_weighed : int
        Out of how many.
    """

    explanation: NDArray[np.str_]
    explained: NDArray[np.bool_]
    as_much_evidence: NDArray[np.int64]
    n_weighed: int

    def __post_init__(self) -> None:
        unknown = sorted(set(self.explanation.tolist()) - set(EXPLANATIONS))
        if unknown:
            raise InputError(f"Explanations must be of {', '.join(EXPLANATIONS)}, got {', '.join(unknown)}.")


def told(reasons: Reasons, row: int, found: NDArray[np.bool_], explained: NDArray[np.bool_], names: list[str]) -> str:
    """Say what spoke against one row.

    Parameters
    ----------
    reasons : Reasons
    row : int
    found, explained : ndarray of bool, one an attribute
        Of this row, in the order of the tree.
    names : list of str
        In the order of the tree.
    """
    shown = explained if explained.any() else found
    one, several, rest = _SENTENCES[str(reasons.explanation[row])]
    sentences = [f"{_part(shown, names)} {one if shown.sum() == 1 else several}{rest}"]
    sentences.append(_evidence(int(reasons.as_much_evidence[row]), reasons.n_weighed))
    if (found & ~shown).any():
        sentences.append("What else is marked was found after that had been repaired.")
    return " ".join(sentences)


def _part(shown: NDArray[np.bool_], names: list[str]) -> str:
    """Name the values: as one or two stretches, or by their number."""
    parts = stretches(shown)
    if len(parts) > _MOST_STRETCHES or any(names[place].startswith("pixel ") for place in np.flatnonzero(shown)):
        return counted(int(shown.sum()), "pixel" if names[0].startswith("pixel ") else "value")
    return " and ".join(_reach(names[start], names[stop - 1]) for start, stop in parts)


def _reach(first: str, last: str) -> str:
    first, last = clip(first, _LONGEST_NAME), clip(last, _LONGEST_NAME)
    return first if first == last else f"{first} to {last}"


def _evidence(count: int, n_weighed: int) -> str:
    if count == 0:
        return f"None of {counted(n_weighed, 'reference row')} shows as much evidence."
    only = "Only " if count <= n_weighed // 10 else ""
    show = "shows" if count == 1 else "show"
    return f"{only}{count:,} of {counted(n_weighed, 'reference row')} {show} as much evidence."
