"""robpy's cellMCD: its cellwise robust mean and covariance, and the Gaussian handler's path with them.

Set: defaults, fitted to the reference, whose columns must have a median absolute deviation and at least five times as
many rows; sets that do not are left out.
"""

import numpy as np
from benchmarks.peers.gaussian_cells import GaussianCells
from benchmarks.peers.peer import Rows
from robpy.covariance.cellmcd import CellMCD

__all__ = ["CellMCDCells"]


class CellMCDCells(GaussianCells):
    """Judges cells by cellMCD's Gaussian for whole rows."""

    title = "robpy cellMCD"

    def fit(self, reference: Rows) -> "CellMCDCells":
        """Estimate the Gaussian robustly."""
        estimate = CellMCD().fit(reference)
        self._mean, self._deviation = estimate.location_, np.sqrt(np.diag(estimate.covariance_))
        self._covariance = estimate.covariance_ / np.outer(self._deviation, self._deviation)
        self._precision = np.linalg.inv(self._covariance)
        return self
