"""Cases: reference rows, clean rows that nobody has seen, and the same fresh rows corrupted in six ways.

Enters: a set, the number of a split, a seed. Leaves: a `Case`. It depends on these three only, and its fingerprint
tells whether two environments have drawn the same rows.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.robustness.kinds import KINDS, corrupt, square_masks, stretch_masks
from experiments.robustness.sets import SUBJECTS, Subject, load_rows

__all__ = ["Case", "draw_case", "to_unit_scales"]

_MOST_TEST = 500
_QUICK_ROWS = 400


@dataclass(frozen=True, eq=False)
class Case:
    """Rows, every attribute of the set scaled to [0, 1].

    Attributes
    ----------
    subject : Subject
    reference : ndarray
        Clean rows to learn from.
    clean : ndarray
        Clean rows, which serve as the other rows whose stretches are swapped in.
    true : ndarray
        As many other clean rows, before they are corrupted.
    masks : ndarray of bool
        Where they are corrupted; the same for every kind.
    corrupted : dict of str to ndarray
        The corrupted rows, by kind.
    """

    subject: Subject
    reference: NDArray[np.float64]
    clean: NDArray[np.float64]
    true: NDArray[np.float64]
    masks: NDArray[np.bool_]
    corrupted: dict[str, NDArray[np.float64]]

    @property
    def fresh(self) -> NDArray[np.float64]:
        """All test rows while they were clean, on which false alarms are counted."""
        return np.vstack([self.clean, self.true])

    @property
    def fingerprint(self) -> str:
        """Eight hexadecimal digits of all rows, rounded."""
        digest = hashlib.sha256()
        for rows in (self.reference, self.clean, *self.corrupted.values()):
            digest.update((np.round(rows, 9) + 0.0).tobytes())
        return digest.hexdigest()[:8]


def draw_case(name: str, split: int, folder: Path, *, seed: int = 0, quick: bool = False) -> Case:
    """Draw split ``split`` of a set: 2/3 reference up to its limit, of the rest up to 500 rows, half of them clean."""
    subject = SUBJECTS[name]
    rows = to_unit_scales(load_rows(subject, folder))
    rng = np.random.default_rng([seed, list(SUBJECTS).index(name), split])
    drawn = rng.permutation(len(rows))
    if quick:
        drawn = drawn[:_QUICK_ROWS]
    cut = len(drawn) * 2 // 3
    reference, test = rows[drawn[:cut][: subject.most_reference]], rows[drawn[cut:][:_MOST_TEST]]
    half = len(test) // 2
    clean, true = test[:half], test[half : 2 * half]
    masks = _draw_masks(subject, *true.shape, rng)
    corrupted = {kind: corrupt(kind, true, masks, clean, rng) for kind in KINDS}
    return Case(subject, reference, clean, true, masks, corrupted)


def _draw_masks(subject: Subject, n_rows: int, n_features: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    if subject.grid:
        return square_masks(n_rows, subject.grid, rng)
    return stretch_masks(n_rows, n_features, rng)


def to_unit_scales(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale every attribute to [0, 1], as the paper does; what is constant becomes 0."""
    width = np.ptp(rows, axis=0)
    return np.asarray((rows - rows.min(axis=0)) / np.where(width > 0, width, 1.0))
