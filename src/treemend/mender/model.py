"""The fitted model of the recommended method: the detector, and what fills, spreads and drift are measured by."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from treemend.mender.calibration import Calibration
from treemend.mender.density import Density
from treemend.mender.detector import Detector
from treemend.mender.drift import DriftReference
from treemend.mender.fill_calibration import FillCalibration
from treemend.mender.filling import soften
from treemend.mender.layout import Layout
from treemend.mender.spread import GRID
from treemend.model_file import check_shapes

__all__ = ["MenderModel"]


@dataclass(frozen=True, eq=False)
class MenderModel:
    """All that is kept of the reference; none of its rows.

    Attributes
    ----------
    detector : Detector
        Density, evidence and calibration.
    filling : FillCalibration
        How far off filled values are.
    drift : DriftReference
        Quantiles of the columns.
    reference_low, reference_high : ndarray of shape (n_features,)
        Smallest and largest value of each column, in the order of the columns.
    """

    detector: Detector
    filling: FillCalibration
    drift: DriftReference
    reference_low: NDArray[np.float64]
    reference_high: NDArray[np.float64]

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.reference_low)

    @property
    def layout(self) -> Layout:
        """How the columns lie."""
        return self.detector.layout

    @property
    def calibration(self) -> Calibration:
        """From statistics to p-values."""
        return self.detector.calibration

    @cached_property
    def softened(self) -> Density | None:
        """The density that fills stretches, where that is another one."""
        return soften(self.detector.density, self.filling.softening) if self.filling.softening else None

    def validate(self) -> None:
        """Check that all parts, read from a file, have the same sizes."""
        detector = self.detector
        sizes = {"d": self.layout.n_features}
        check_shapes(self, sizes, reference_low="d", reference_high="d")
        check_shapes(self.drift, sizes, quantiles="levels d")
        check_shapes(detector.columns, sizes, order="d", offset="d", width="d", centre="d", scale="d", low="d")
        check_shapes(detector.columns, sizes, high="d", step="d")
        check_shapes(detector.density, sizes, centre="k d", covariance="k d d", precision="k d d")
        check_shapes(detector.density, sizes, log_weight="k", log_det="k")
        sizes["kinds"] = 5
        check_shapes(detector.tails, sizes, edge="kinds", slope="kinds")
        check_shapes(detector.prices, sizes, extra="kinds")
        check_shapes(detector.calibration, sizes, statistics="n", raw="n")
        check_shapes(detector.rarity, sizes, rest_scores="n")
        check_shapes(detector.repeated, sizes, value="d v", share="d v k", tie="d")
        sizes.update(two=2, grid=len(GRID))
        check_shapes(self.filling.spread, sizes, factor="two grid", draw_factor="two grid", column="d", empty="d")
