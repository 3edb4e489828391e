"""The fitted model of the recommended method: the detector, and what fills, spreads and drift are measured by."""

from dataclasses import dataclass, fields

import numpy as np

from treemend.exceptions import ModelFileError
from treemend.mender.calibration import MISSING_SHARES
from treemend.mender.columns import Columns
from treemend.mender.detector import Detector
from treemend.mender.drift import N_QUANTILES, DriftReference
from treemend.mender.layout import Layout
from treemend.mender.spread import GRID, Spread
from treemend.model_file import check_shapes


@dataclass(frozen=True, eq=False)
class MenderModel:
    """All that is kept of the reference; none of its rows."""

    layout: Layout
    detector: Detector  # of the cells: the columns, or the blocks of wide rows
    spread: Spread
    drift: DriftReference

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.layout.n_features

    def validate(self) -> None:
        """Check that all parts, read from a file, have the same sizes."""
        detector = self.detector
        sizes = {"columns": self.n_features, "d": detector.layout.n_features, "levels": N_QUANTILES}
        sizes.update(kinds=5, two=2, grid=len(GRID))
        check_shapes(self.drift, sizes, quantiles="levels columns")
        columns = [field.name for field in fields(Columns)]
        check_shapes(detector.columns, sizes, **dict.fromkeys(columns, "d"))
        sizes["triangle"] = sizes["d"] * (sizes["d"] + 1) // 2
        check_shapes(detector.density, sizes, centre="k d", lower="k triangle", log_weight="k")
        try:
            detector.density.precision  # noqa: B018 - works out the inverses
        except np.linalg.LinAlgError as error:
            raise ModelFileError(str(error)) from None
        check_shapes(detector.tails, sizes, edge="kinds", slope="kinds")
        check_shapes(detector.prices, sizes, extra="kinds")
        sizes["shares"] = len(MISSING_SHARES)
        calibration = {"statistics": "n", "raw": "n", "log_density": "complete", "incomplete": "shares incomplete"}
        check_shapes(detector.calibration, sizes, **calibration)
        check_shapes(detector.rarity, sizes, rest_scores="rests")
        check_shapes(detector.repeated, sizes, value="d v", share="d v k", tie="d")
        check_shapes(self.spread, sizes, factor="two grid", draw_factor="two grid", column="columns", empty="columns")
        wide = detector.wide
        if wide is None:
            if sizes["columns"] != sizes["d"]:
                raise ModelFileError(f"{sizes['columns']} columns need as many cells, got {sizes['d']}.")
            return
        blocks = wide.blocks
        check_shapes(blocks, sizes, block="columns", unit="columns", level="columns")
        check_shapes(wide.columns, sizes, **dict.fromkeys(columns, "columns"))
        check_shapes(wide.density, sizes, centre="columns", factor="columns r", noise="columns")
        check_shapes(wide.residuals, sizes, scale="columns")
        if blocks.block.min() < 0 or blocks.block.max() >= sizes["d"]:
            raise ModelFileError("Columns are in blocks that are not there.")
