"""The one way to fill: whatever was asked for, gaps go in and values with their spread come out.

Enters: suspect rows as they came (scaled, in the order of the tree), the gaps, the declared nodes, and the `Filler`
that was learnt from the reference. Leaves: a `Filled`, in the user's units. Rows without gaps cost nothing.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemend.calibration import Calibration, own_radii
from treemend.imputation.chance import row_generators
from treemend.imputation.donors import CHOICES, clean_donors, donate, sibling_donors
from treemend.imputation.reconstruction import Estimate, Reconstruction, reconstruct
from treemend.reference import Reference
from treemend.tree import AttributeTree

__all__ = ["DONORS", "IMPUTATIONS", "Filled", "Filler", "fill"]

IMPUTATIONS = ("reconstruct", *CHOICES)
DONORS = ("clean", "sibling")
_ROWS_AT_A_TIME = 256


@dataclass(frozen=True, eq=False)
class Filler:
    """The reference as donors see it.

    Attributes
    ----------
    reference : Reference
    offset, width : ndarray, one an attribute, in the order of the tree
        User's units are ``scaled * width + offset``, but for rounding.
    calibration : Calibration
        Left-out radii; the row with the smallest is the most usual.
    tree : AttributeTree
    reconstruction : Reconstruction or None
        What "reconstruct" needs.
    donors : "clean" or "sibling"
    imputation : str
        One of `IMPUTATIONS`.
    n_neighbors : int
        Number of donors, except for "reconstruct".
    """

    reference: Reference
    offset: NDArray[np.float64]
    width: NDArray[np.float64]
    calibration: Calibration
    tree: AttributeTree
    reconstruction: Reconstruction | None
    donors: str
    imputation: str
    n_neighbors: int

    def usual(self, donors: NDArray[np.int64], node: int) -> NDArray[np.float64]:
        """Return the donors' own left-out radii at a node."""
        if self.imputation != "map":
            return np.zeros(donors.shape)
        numbers, places = np.unique(donors, return_inverse=True)
        radii = own_radii(self.reference, self.calibration, numbers, self.n_neighbors)
        return np.asarray(radii[places.reshape(donors.shape), node])


@dataclass(frozen=True, eq=False)
class Filled:
    """Values for gaps and their spread, rows x attributes; draws x rows x attributes. NaN outside of gaps."""

    values: NDArray[np.float64]
    spread: NDArray[np.float64]
    draws: NDArray[np.float64]


def fill(
    filler: Filler,
    rows: NDArray[np.float64],
    gaps: NDArray[np.bool_],
    declared: NDArray[np.bool_],
    *,
    left_out: NDArray[np.int64] | None = None,
    n_draws: int = 0,
    seed: int = 0,
    n_jobs: int | None = None,
) -> Filled:
    """Fill the gaps of rows.

    Parameters
    ----------
    filler : Filler
    rows : ndarray, rows x attributes
        As they came, NaN where missing.
    gaps : ndarray of bool, rows x attributes
        What is to be filled: judged corrupted, or missing.
    declared : ndarray of bool, rows x nodes
        Nodes that make up the gaps, for donors by the sibling. Rows with missing values are filled from their clean
        attributes, since a sibling may have none.
    left_out : ndarray of int, one a row, optional
        Reference row that must not serve as a donor: the row's own copy.
    n_draws : int
        Number of random completions, for multiple imputation.
    seed : int
    n_jobs : int, optional
    """
    shape = rows.shape
    filled = Filled(np.full(shape, np.nan), np.full(shape, np.nan), np.full((n_draws, *shape), np.nan))
    by_sibling = filler.donors == "sibling"
    whole: NDArray[np.bool_] = np.any(gaps, axis=1) & (np.any(np.isnan(rows), axis=1) | (not by_sibling))
    picks = _Picks(rows, gaps, n_draws, seed, needed=n_draws > 0 or filler.imputation == "draw")
    wanted = np.flatnonzero(whole)
    for first in range(0, len(wanted), _ROWS_AT_A_TIME):
        part = wanted[first : first + _ROWS_AT_A_TIME]
        own = None if left_out is None else left_out[part]
        _fill_from_clean(filler, filled, picks, part, rows, gaps, own, n_jobs)
    if by_sibling:
        _fill_from_siblings(filler, filled, picks, declared & ~whole[:, None], rows, left_out)
    return filled


class _Picks:
    """Random donors of each row with a gap: the first for "draw", the others for draws."""

    def __init__(
        self, rows: NDArray[np.float64], gaps: NDArray[np.bool_], n_draws: int, seed: int, *, needed: bool
    ) -> None:
        self._shares = np.zeros((len(rows), n_draws + 1))
        with_gap = np.flatnonzero(gaps.any(axis=1)) if needed else np.empty(0, dtype=np.intp)
        for row, chance in zip(with_gap, row_generators(rows[with_gap], seed), strict=True):
            self._shares[row] = chance.random(n_draws + 1)

    def of(self, rows: NDArray[np.intp], n_donors: int) -> NDArray[np.int64]:
        """Return donor numbers, picks x rows."""
        return (self._shares[rows].T * n_donors).astype(np.int64)


def _fill_from_clean(
    filler: Filler,
    filled: Filled,
    picks: _Picks,
    part: NDArray[np.intp],
    rows: NDArray[np.float64],
    gaps: NDArray[np.bool_],
    left_out: NDArray[np.int64] | None,
    n_jobs: int | None,
) -> None:
    gap = gaps[part]
    if filler.imputation == "reconstruct" and filler.reconstruction is not None:
        estimate = reconstruct(
            filler.reconstruction, filler.reference, rows[part], gap, left_out=left_out, n_jobs=n_jobs
        )
        filled.values[part] = np.where(gap, _in_units(filler, estimate.values), np.nan)
        filled.spread[part] = np.where(gap, estimate.spread * filler.width, np.nan)
        for number, picked in enumerate(picks.of(part, 1 << 30)[1:]):
            drawn = _in_units(filler, _drawn(estimate, picked))
            filled.draws[number, part] = np.where(gap, drawn, np.nan)
        return
    donors = clean_donors(filler.reference, rows[part], gap, filler.calibration, filler.n_neighbors, left_out=left_out)
    offered = filler.reference.given(donors)
    picked, *others = picks.of(part, filler.n_neighbors)
    given = donate(offered, filler.usual(donors, 0), picked, filler.imputation)
    filled.values[part] = np.where(gap, given.values, np.nan)
    filled.spread[part] = np.where(gap, given.spread, np.nan)
    for number, other in enumerate(others):
        filled.draws[number, part] = np.where(gap, offered[np.arange(len(part)), other], np.nan)


def _drawn(estimate: Estimate, picked: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the estimates plus one donor's residual each, scaled to the spread.

    One donor serves the whole gap, so that neighbouring values err together as real ones do.
    """
    there = estimate.donors >= 0
    donors = np.where(there, estimate.donors, 0)
    count = np.maximum(there.sum(axis=1), 1)[:, None]
    values = estimate.table[donors]
    mean = np.sum(values * there[:, :, None], axis=1) / count
    residual = (values - mean[:, None]) * there[:, :, None]
    size = np.sqrt(np.sum(residual**2, axis=1) / count)
    chosen = residual[np.arange(len(donors)), (picked * count[:, 0]) >> 30]
    scaled = chosen * np.divide(estimate.spread, size, out=np.zeros_like(size), where=size > 0)
    return np.asarray(estimate.values + scaled, dtype=np.float64)


def _in_units(filler: Filler, scaled: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values in the user's units, within the reference's range."""
    return np.clip(scaled * filler.width + filler.offset, filler.reference.low, filler.reference.high)


def _fill_from_siblings(
    filler: Filler,
    filled: Filled,
    picks: _Picks,
    declared: NDArray[np.bool_],
    rows: NDArray[np.float64],
    left_out: NDArray[np.int64] | None,
) -> None:
    tree = filler.tree
    row, node = np.nonzero(declared)
    if len(row) == 0:
        return
    donors = sibling_donors(filler.reference, rows, row, node, tree, filler.n_neighbors, left_out=left_out)
    for one in np.unique(node):
        here = np.flatnonzero(node == one)
        at, stretch = row[here], slice(int(tree.start[one]), int(tree.stop[one]))
        offered = np.ascontiguousarray(filler.reference.given(donors[here])[:, :, stretch])
        picked, *others = picks.of(at, filler.n_neighbors)
        usual = filler.usual(donors[here], int(tree.parent[one]))
        given = donate(offered, usual, picked, filler.imputation)
        filled.values[at, stretch] = given.values
        filled.spread[at, stretch] = given.spread
        for number, other in enumerate(others):
            filled.draws[number, at, stretch] = offered[np.arange(len(here)), other]
