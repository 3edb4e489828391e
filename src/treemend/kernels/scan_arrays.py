"""The arrays of a scan for evidence: what it knows, and what it works in.

Enters: numbers of rows and windows. Leaves: the arrays that ``context_scan`` reads and the room it needs (section 10 of
the method).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemend.kernels.suspect_lanes import SUSPECTS

PANEL = 4


class ScanModel(NamedTuple):
    """The arrays of a scan: K components, d coordinates, C chains with V windows in all.

    Panels hold ``PANEL`` rows of a matrix, column by column; those of triangular factors end at the diagonal.
    """

    centre: NDArray[np.float64]  # K x d
    precision: NDArray[np.float32]  # K x panels of a d x d matrix
    given_rest: NDArray[np.float32]  # K x panels of each chain's inverse factor of the precision's block
    alone: NDArray[np.float32]  # K x panels of each chain's inverse factor of the covariance's block
    panel_start: NDArray[np.int64]  # C: where a chain's panels begin
    order: NDArray[np.int64]  # the coordinates of all chains, one chain after the other
    chain_start: NDArray[np.int64]  # C + 1, into order
    window_start: NDArray[np.int64]  # C + 1, into the windows
    size: NDArray[np.int64]  # V: coordinates in the window
    whole_level: NDArray[np.float64]  # K: log density of a row, but for its quadratic form
    rest_level: NDArray[np.float64]  # K x V: the same of a window's rest
    alone_level: NDArray[np.float64]  # K x V: the same of a window alone
    shifted_level: NDArray[np.float64]  # K x V: the same of a row whose window is shifted
    shift_gain: NDArray[np.float64]  # K x V: what a squared pull takes off the quadratic form
    tail: float  # degrees of freedom


class ScanSpace(NamedTuple):
    """What a scan works in, for B blocks of ``SUSPECTS`` rows; allocated by NumPy, which need not be compiled for it."""

    away: NDArray[np.float32]  # B x d
    force: NDArray[np.float32]  # B x (d + PANEL): the last panel may stand out
    whole: NDArray[np.float32]  # B
    quadratic: NDArray[np.float32]  # 3 x V
    # Running log-sum-exp over the components: the largest term, and the sum relative to it.
    full: NDArray[np.float64]  # B x 2
    terms: NDArray[np.float64]  # B x 3 x V x 2
    loudest: NDArray[np.float64]  # B x 3 x V: the component of the largest term
    form: NDArray[np.float64]  # the quadratic forms that are just taken in
    sums: NDArray[np.float64]  # 4: of a window, and the stretching up to its end
    nobody: NDArray[np.float64]  # takes the component of whole rows, which nobody asks for


def scan_space(n_rows: int, model: ScanModel) -> ScanSpace:
    """Return what ``scan_rows`` needs for so many rows."""
    n_blocks = (n_rows + SUSPECTS - 1) // SUSPECTS
    d, n_windows = model.centre.shape[1], len(model.size)
    return ScanSpace(
        np.empty((n_blocks, d, SUSPECTS), np.float32),
        np.empty((n_blocks, d + PANEL, SUSPECTS), np.float32),
        np.empty((n_blocks, SUSPECTS), np.float32),
        np.empty((3, n_windows, SUSPECTS), np.float32),
        _empty_sums(n_blocks),
        _empty_sums(n_blocks, 3, n_windows),
        np.zeros((n_blocks, 3, n_windows, SUSPECTS)),
        np.empty(SUSPECTS),
        np.empty((4, SUSPECTS)),
        np.zeros(SUSPECTS),
    )


def _empty_sums(*shape: int) -> NDArray[np.float64]:
    """Return log-sum-exps of nothing: whatever comes first is larger."""
    sums = np.zeros((*shape, 2, SUSPECTS))
    sums[..., 0, :] = -1e300
    return sums
