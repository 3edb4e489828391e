"""Cases: reference rows, fresh clean rows, and the same fresh rows damaged in one or several ways.

A case depends on the set, the number of the split and the seed only, and its fingerprint tells whether two environments
have drawn the same rows. This module needs NumPy and scikit-learn only, so that the peers' environment can use it.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.robustness.sets import SUBJECTS, load_rows
from experiments.robustness.settings import Settings

__all__ = ["Case", "Cases", "Damage", "Drawn", "draw_rows", "to_unit_scales"]

Rows = NDArray[np.float64]
Masks = NDArray[np.bool_]

_QUICK_ROWS = 400


@dataclass(frozen=True, eq=False)
class Damage:
    """One way in which the true rows of a case are damaged.

    Attributes
    ----------
    labels : mapping
        What tells it from the case's other damages, such as its kind.
    masks : ndarray of bool of shape (n_true, n_features)
    corrupted : ndarray of shape (n_true, n_features)
    """

    labels: Mapping[str, object]
    masks: Masks
    corrupted: Rows


@dataclass(frozen=True, eq=False)
class Split:
    """Rows of one split of a set.

    Attributes
    ----------
    name : str
        The set.
    split : int
    grid : tuple of int or None
    reference : ndarray
        Clean rows to learn from.
    clean : ndarray
        Fresh clean rows; the cells that are swapped in come from here.
    true : ndarray
        Other fresh clean rows, before they are damaged.
    """

    name: str
    split: int
    grid: tuple[int, int] | None
    reference: Rows
    clean: Rows
    true: Rows


@dataclass(frozen=True, eq=False)
class Case(Split):
    """A split, and its damages."""

    damages: Sequence[Damage]

    @property
    def fresh(self) -> Rows:
        """All test rows while they were clean, on which false alarms are counted."""
        return np.vstack([self.clean, self.true])

    @property
    def fingerprint(self) -> str:
        """Eight hexadecimal digits of all rows, rounded."""
        digest = hashlib.sha256()
        for rows in (self.reference, self.clean, *(damage.corrupted for damage in self.damages)):
            digest.update((np.round(rows, 9) + 0.0).tobytes())
        return digest.hexdigest()[:8]


Cases = dict[str, Callable[[], Case]]
"""Cases by name, drawn when they are called for."""


@dataclass(frozen=True, eq=False)
class Drawn(Split):
    """A split, and the generator that drew it, for the damage to go on with."""

    rng: np.random.Generator

    def case(self, damages: Sequence[Damage]) -> Case:
        """Return these rows as a case."""
        return Case(self.name, self.split, self.grid, self.reference, self.clean, self.true, damages)


def draw_rows(
    name: str,
    split: int,
    settings: Settings,
    *,
    stream: int = 0,
    most_test: int = 500,
    most_reference: int | None = None,
    scale: Callable[[Rows], Rows] | None = None,
) -> Drawn:
    """Draw a split of a set: 2/3 reference up to its limit, of the rest up to ``most_test`` rows, half of them clean.

    Parameters
    ----------
    name : str
        One of `SUBJECTS`.
    split : int
    settings : Settings
    stream : int
        Another number gives other rows: each question has its own.
    most_test, most_reference : int
    scale : callable, optional
        What is done to all rows of the set; each column scaled to [0, 1] by default.
    """
    subject = SUBJECTS[name]
    rows = (scale or to_unit_scales)(load_rows(subject, settings.data))
    rng = np.random.default_rng([settings.seed, list(SUBJECTS).index(name), split, *([stream] if stream else [])])
    drawn = rng.permutation(len(rows))
    if settings.quick:
        drawn = drawn[:_QUICK_ROWS]
        most_test = min(most_test, 120)
    cut = len(drawn) * 2 // 3
    reference = rows[drawn[:cut][: most_reference or subject.most_reference]]
    test = rows[drawn[cut:][:most_test]]
    half = len(test) // 2
    return Drawn(name, split, subject.grid, reference, test[:half], test[half : 2 * half], rng)


def to_unit_scales(rows: Rows) -> Rows:
    """Scale every column to [0, 1], as the paper does; what is constant becomes 0."""
    width = np.ptp(rows, axis=0)
    return np.asarray((rows - rows.min(axis=0)) / np.where(width > 0, width, 1.0))
