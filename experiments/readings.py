"""The readings of Table 1 that the paper's text leaves open, and how each chooses its parameters on split 1.

Enters: what was measured on split 1, the accuracy of the linear SVM on the mended rows by alpha, tau, root rule, C and
longest stretch. Leaves: for each reading one `Choice`. A reading is one rule for all sets; none looks at a published
value when it chooses.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

__all__ = [
    "ALPHAS",
    "C_GRID",
    "DEFAULT_C",
    "LITERAL",
    "MAIN",
    "MILDER",
    "READINGS",
    "STRETCHES",
    "TAUS",
    "Accuracies",
    "Cell",
    "Choice",
    "Reading",
    "choose",
    "readings_of",
]

ALPHAS = (0.375, 0.5, 0.75, 1.0)
TAUS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128)
C_GRID = tuple(2.0**power for power in (-5, -3, -1, 0, 1, 3, 5, 7, 9))
DEFAULT_C = 1.0
LITERAL, MILDER = 0.5, 0.3
STRETCHES = (LITERAL, MILDER)
"""Longest stretch that is overwritten, as a share of the attributes: what the text says, and what fits better."""


class Cell(NamedTuple):
    """Where a mended test part stands in the grid."""

    alpha: float
    tau: float
    root: str
    C: float
    longest: float


class Choice(NamedTuple):
    """Parameters for the ten splits that count."""

    alpha: float
    tau: float
    root: str
    C: float
    longest: float


@dataclass(frozen=True)
class Accuracies:
    """What split 1 tells: accuracies in per cent.

    Parameters
    ----------
    mended : mapping of Cell to float
        On the mended test part, TCS-MAP.
    on_test_part, cross_validated : mapping of float to float
        On the clean test part, and five-fold on the reference part.
    """

    mended: Mapping[Cell, float]
    on_test_part: Mapping[float, float]
    cross_validated: Mapping[float, float]


@dataclass(frozen=True)
class Reading:
    """One consistent reading.

    Parameters
    ----------
    title : str
    C : "default", "test part" or "cross-validated"
        The SVM's C: LIBSVM's default, 1, or the best on split 1.
    tau : float or None
        Fixed, or None if split 1 chooses it together with alpha.
    root : "continue" or "stop"
        What the search does if the root and both its children are anomalous.
    longest : float
        Longest stretch, one of `STRETCHES`.
    """

    title: str
    C: str = "default"
    tau: float | None = 0.016
    root: str = "continue"
    longest: float = LITERAL

    @property
    def taus(self) -> tuple[float, ...]:
        """Return what tau may be."""
        return TAUS if self.tau is None else (self.tau,)


MAIN = {
    LITERAL: "C = 1, tau = .016, alpha on split 1",
    MILDER: "stretches of 10 to 30 %, C = 1, tau = .016, alpha on split 1",
}
"""Title of the reading that is shown in full, by its longest stretch."""
READINGS = (
    Reading(MAIN[LITERAL]),
    Reading("the same, tau = .008", tau=0.008),
    Reading("the same, tau = .032", tau=0.032),
    Reading("C = 1, alpha and tau on split 1", tau=None),
    Reading("C on split 1's test part, alpha and tau on split 1", C="test part", tau=None),
    Reading("C by 5 folds of split 1's reference, alpha and tau on split 1", C="cross-validated", tau=None),
    Reading("C on split 1's test part, tau = .016, alpha on split 1", C="test part"),
    Reading("as the first, search stops at an anomalous root", root="stop"),
    Reading(MAIN[MILDER], longest=MILDER),
    Reading("stretches of 10 to 30 %, tau = .008", tau=0.008, longest=MILDER),
    Reading("stretches of 10 to 30 %, tau = .032", tau=0.032, longest=MILDER),
)


def readings_of(longest: float) -> list[Reading]:
    """Return the readings with this longest stretch."""
    return [reading for reading in READINGS if reading.longest == longest]


def choose(reading: Reading, seen: Accuracies) -> Choice:
    """Choose parameters: the best accuracy on the mended test part of split 1; of equals the first in the grid."""
    C = {
        "default": lambda: DEFAULT_C,
        "test part": lambda: _best(seen.on_test_part),
        "cross-validated": lambda: _best(seen.cross_validated),
    }[reading.C]()
    rest = (reading.root, C, reading.longest)
    candidates = {
        Choice(alpha, tau, *rest): seen.mended[Cell(alpha, tau, *rest)] for alpha in ALPHAS for tau in reading.taus
    }
    return max(candidates, key=candidates.__getitem__)


def _best(accuracies: Mapping[float, float]) -> float:
    return max(accuracies, key=accuracies.__getitem__)
