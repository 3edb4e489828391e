"""What is measured: false alarms, detection, localisation, distance quality, and the limit of repair.

Enters: a `Case`, and what some method judged and repaired. Leaves: one row of figures. Rows that corruption left as
they were (a stretch of zeros set to zero), or within a millionth of the range, are not corrupted and do not count: some
sets hold values that differ in the eighth digit, and there the quality of a touched row is minus several millions.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from experiments.recording import Row
from experiments.robustness.cases import Case

__all__ = ["distance_quality", "limit_repair", "mean_of_nearest", "measure", "measure_case"]

Rows = NDArray[np.float64]
Masks = NDArray[np.bool_]
Repair = Callable[[Rows], tuple[Masks, Rows]]

_DONORS = 8
_LEAST_CHANGE = 1e-6


def distance_quality(true: Rows, corrupted: Rows, repaired: Rows) -> NDArray[np.float64]:
    """Return, row by row, the share of the distance to the truth that repair took away."""
    before = np.linalg.norm(corrupted - true, axis=1)
    return np.asarray((before - np.linalg.norm(repaired - true, axis=1)) / before)


def mean_of_nearest(reference: Rows, row: Rows, known: Masks) -> Rows:
    """Return the mean of the 8 reference rows that are nearest on the known attributes."""
    distances = np.square(reference[:, known] - row[known]).sum(axis=1)
    nearest = np.argsort(distances, kind="stable")[:_DONORS]
    return np.asarray(reference[nearest].mean(axis=0))


def limit_repair(reference: Rows, rows: Rows, masks: Masks) -> Rows:
    """Repair with the true masks known: the limit to which methods that must find them are held."""
    repaired = rows.copy()
    for row, mask in zip(repaired, masks, strict=True):
        row[mask] = mean_of_nearest(reference, row, ~mask)[mask]
    return repaired


def measure(case: Case, kind: str, touched_clean: NDArray[np.bool_], found: Masks, repaired: Rows) -> Row:
    """Return a method's figures on one kind of corruption.

    Parameters
    ----------
    case : Case
    kind : str
    touched_clean : ndarray of bool, one a clean row
        Clean rows in which something was declared corrupted.
    found : ndarray of bool, rows x attributes
        What was declared corrupted in the corrupted rows.
    repaired : ndarray, rows x attributes
    """
    corrupted = case.corrupted[kind]
    changed = np.linalg.norm(corrupted - case.true, axis=1) > _LEAST_CHANGE
    truth, found = case.masks[changed], found[changed]
    both = float(np.sum(truth & found))
    quality = distance_quality(case.true[changed], corrupted[changed], repaired[changed])
    return {
        "false_alarms": float(np.mean(touched_clean)),
        "n_clean": len(touched_clean),
        "n_corrupted": int(changed.sum()),
        "detection": float(np.mean(found.any(axis=1))),
        "precision": both / float(found.sum()) if found.any() else float("nan"),
        "recall": both / float(truth.sum()),
        "quality": float(np.mean(quality)),
    }


def measure_case(case: Case, method: str, repair: Repair) -> list[Row]:
    """Let a method judge the test rows while they were clean, then corrupted in every way, and measure it."""
    touched = repair(case.fresh)[0].any(axis=1)
    return [
        {"kind": kind, "method": method, **measure(case, kind, touched, *repair(rows))}
        for kind, rows in case.corrupted.items()
    ]
