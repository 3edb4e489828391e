"""Gaps filled from K donors: which rows donate, and what is made of their values (method, sections 6 and 10).

Enters: rows with gaps, the reference, and who donates: for a declared node the reference rows nearest on its sibling's
attributes (the published way), or for a whole row those nearest on all of its clean attributes. Leaves: values, their
spread among the donors, and draws.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemend.calibration import Calibration
from treemend.reference import Reference
from treemend.tree import AttributeTree

__all__ = ["CHOICES", "Donated", "clean_donors", "donate", "sibling_donors"]

CHOICES = ("map", "nearest", "mean", "draw")
_FEWEST_CLEAN = 0.05


@dataclass(frozen=True, eq=False)
class Donated:
    """What donors give for gaps: the value taken and the donors' spread around it, both gaps x attributes."""

    values: NDArray[np.float64]
    spread: NDArray[np.float64]


def donate(
    offered: NDArray[np.float64],
    usual: NDArray[np.float64],
    picked: NDArray[np.int64],
    imputation: str,
) -> Donated:
    """Make one value of K donors' values.

    Parameters
    ----------
    offered : ndarray, gaps x donors x attributes
        The donors' values, nearest donor first.
    usual : ndarray, gaps x donors
        The donors' radii; the smallest is the most usual. Of equally usual ones the nearest is taken.
    picked : ndarray of int, one a gap
        A random donor, for "draw".
    imputation : "map", "nearest", "mean" or "draw"
    """
    gap = np.arange(len(offered))
    if imputation == "mean":
        values = offered.mean(axis=1)
    elif imputation == "map":
        values = offered[gap, np.argmin(usual, axis=1)]
    elif imputation == "draw":
        values = offered[gap, picked]
    else:
        values = offered[:, 0]
    return Donated(values=values, spread=np.sqrt(np.mean((offered - values[:, None]) ** 2, axis=1)))


def sibling_donors(
    reference: Reference,
    rows: NDArray[np.float64],
    row: NDArray[np.intp],
    node: NDArray[np.intp],
    tree: AttributeTree,
    n_neighbors: int,
    *,
    left_out: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """Return the K reference rows nearest on the sibling's attributes, declared nodes x donors."""
    parent = tree.parent[node]
    sibling = tree.left[parent] + tree.right[parent] - node
    return reference.nearest_at_nodes(rows[row], sibling, n_neighbors, None if left_out is None else left_out[row])


def clean_donors(
    reference: Reference,
    rows: NDArray[np.float64],
    gaps: NDArray[np.bool_],
    calibration: Calibration,
    n_neighbors: int,
    *,
    left_out: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """Return the K reference rows nearest on the attributes outside the gaps, rows x donors.

    Where less than a twentieth of the attributes is left, nearness on them would mean little: the most usual of the
    calibration rows donate.
    """
    donors = reference.nearest_on(np.where(gaps, 0.0, rows), ~gaps, n_neighbors, left_out)
    blind = np.flatnonzero((~gaps).mean(axis=1) < _FEWEST_CLEAN)
    ranked = calibration.numbers[np.argsort(calibration.radii[:, 0], kind="stable")] if len(blind) else blind
    for row in blind:
        own = -1 if left_out is None else left_out[row]
        donors[row] = ranked[ranked != own][:n_neighbors]
    return donors
