"""What is measured on a case: false alarms, harm, detection, localisation, quality, and what limits it.

- Quality: mean over the damaged rows of the share of the distance to the truth that repair takes away.
- Mask known: the quality of the same method when it is told which cells are damaged (they are missing).
- Limit: the quality of the mean of the 8 reference rows nearest on the undamaged cells, mask known; for every method
  the same.
- Harm: mean squared change of clean cells, in fresh clean rows and in the undamaged cells of damaged rows.

Rows that damage left as they were (a stretch of zeros set to zero), or within a millionth of the range, do not count:
some sets hold values that differ in the eighth digit, and there the quality of a touched row is minus several millions.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from experiments.recording import Row
from experiments.robustness.cases import Case, Damage

__all__ = ["Fill", "Repair", "distance_quality", "f1_score", "fill_from_nearest", "measure", "measure_case"]

Rows = NDArray[np.float64]
Masks = NDArray[np.bool_]
Repair = Callable[[Rows], tuple[Masks, Rows]]
"""Takes rows; returns what was replaced, and the repaired rows."""
Fill = Callable[[Rows, Masks], Rows]
"""Takes rows and masks; returns the rows with masked cells filled."""

_DONORS = 8
_LEAST_CHANGE = 1e-6


def distance_quality(true: Rows, corrupted: Rows, repaired: Rows) -> NDArray[np.float64]:
    """Return, row by row, the share of the distance to the truth that repair took away."""
    before = np.linalg.norm(corrupted - true, axis=1)
    return np.asarray((before - np.linalg.norm(repaired - true, axis=1)) / before)


def f1_score(truth: Masks, found: Masks) -> float:
    """Return the F1 of found cells, over all rows together."""
    return float(2 * np.sum(truth & found) / max(np.sum(truth) + np.sum(found), 1))


def fill_from_nearest(reference: Rows) -> Fill:
    """Return a filler that takes the mean of the 8 reference rows nearest on the known cells."""

    def fill(rows: Rows, masks: Masks) -> Rows:
        filled = rows.copy()
        for row, mask in zip(filled, masks, strict=True):
            distances = np.square(reference[:, ~mask] - row[~mask]).sum(axis=1)
            nearest = np.argsort(distances, kind="stable")[:_DONORS]
            row[mask] = reference[nearest][:, mask].mean(axis=0)
        return filled

    return fill


def measure(case: Case, damage: Damage, repair: Repair, fill: Fill | None) -> Row:
    """Return a method's figures on one damage; without ``fill`` those with the mask known are left out."""
    changed = _changed(case, damage)
    truth, corrupted, true = damage.masks[changed], damage.corrupted[changed], case.true[changed]
    found, repaired = repair(corrupted)
    both = float(np.sum(truth & found))

    def quality(rows: Rows) -> float:
        return float(np.mean(distance_quality(true, corrupted, rows)))

    row = {
        "n_corrupted": int(changed.sum()),
        "detection": float(np.mean(found.any(axis=1))),
        "precision": both / float(found.sum()) if found.any() else float("nan"),
        "recall": both / float(truth.sum()),
        "f1": f1_score(truth, found),
        "harm_inside": float(np.mean(np.square(repaired - corrupted)[~truth])) if np.any(~truth) else 0.0,
        "quality": quality(repaired),
    }
    if fill is not None:
        row["mask_known"] = quality(fill(corrupted, truth))
        row["limit"] = quality(fill_from_nearest(case.reference)(corrupted, truth))
    return row


def _changed(case: Case, damage: Damage) -> Masks:
    """Return which rows are damaged at all."""
    return np.asarray(np.linalg.norm(damage.corrupted - case.true, axis=1) > _LEAST_CHANGE)


def measure_case(case: Case, method: str, repair: Repair, fill: Fill | None = None) -> Iterator[Row]:
    """Let a method mend the test rows while they were clean, then damaged in every way, and measure it."""
    touched, repaired = repair(case.fresh)
    here = {"set": case.name, "split": case.split, "rows": case.fingerprint, "method": method}
    clean = {
        "false_alarms": float(np.mean(touched.any(axis=1))),
        "n_clean": len(touched),
        "harm": float(np.mean(np.square(repaired - case.fresh))),
    }
    for damage in case.damages:
        if not _changed(case, damage).any():
            continue
        yield {**here, **damage.labels, **clean, **measure(case, damage, repair, fill)}
