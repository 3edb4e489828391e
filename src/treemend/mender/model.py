"""The fitted model of the recommended method: what judges rows, and what fills, spreads and drift are measured by."""

from dataclasses import dataclass, fields

import numpy as np

from treemend.arrays import Floats
from treemend.exceptions import ModelFileError
from treemend.mender.calibration import MISSING_SHARES, Calibration, Rarity, Tails
from treemend.mender.columns import Columns
from treemend.mender.density import Density
from treemend.mender.drift import N_QUANTILES, DriftReference
from treemend.mender.layout import Layout
from treemend.mender.spread import GRID, Spread
from treemend.mender.stuck import RepeatedValues
from treemend.mender.wide import WideRows
from treemend.model_file import check_shapes


@dataclass(frozen=True, eq=False)
class CleanRows:
    """What clean rows look like; a cell is a column, or a block of columns of wide rows."""

    layout: Layout  # of the cells
    columns: Columns  # of the cells
    density: Density
    repeated: RepeatedValues
    wide: WideRows | None = None  # of rows whose cells are blocks of columns


@dataclass(frozen=True)
class Prices:
    """What sets cost beyond the Markov prior, since no density is right; learnt on clean rows.

    ``single``: the first of several single cells, in a row's statistic; ``run``: the first run of a set; ``extra``
    (5,): each kind of start, beyond noise.
    """

    single: float
    run: float
    extra: Floats


@dataclass(frozen=True, eq=False)
class Detector:
    """All that judges rows. What follows clean rows is learnt from rows that they have not been learnt from."""

    clean: CleanRows
    prices: Prices
    tails: Tails
    rarity: Rarity
    calibration: Calibration


@dataclass(frozen=True, eq=False)
class MenderModel:
    """All that is kept of the reference; none of its rows."""

    layout: Layout
    detector: Detector
    spread: Spread
    drift: DriftReference

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.layout.order)

    def validate(self) -> None:
        """Check that all parts, read from a file, have the same sizes."""
        detector, clean = self.detector, self.detector.clean
        sizes = {"columns": self.n_features, "d": len(clean.layout.order), "levels": N_QUANTILES}
        sizes.update(kinds=5, two=2, grid=len(GRID))
        check_shapes(self.drift, sizes, quantiles="levels columns")
        columns = [one.name for one in fields(Columns)]
        check_shapes(clean.columns, sizes, **dict.fromkeys(columns, "d"))
        sizes["triangle"] = sizes["d"] * (sizes["d"] + 1) // 2
        check_shapes(clean.density, sizes, centre="k d", lower="k triangle", log_weight="k")
        try:
            clean.density.mix  # noqa: B018 - works out the inverses
        except np.linalg.LinAlgError as error:
            raise ModelFileError(str(error)) from None
        check_shapes(detector.tails, sizes, edge="kinds", slope="kinds")
        check_shapes(detector.prices, sizes, extra="kinds")
        sizes["shares"] = len(MISSING_SHARES)
        calibration = {"statistics": "n", "raw": "n", "log_density": "complete", "incomplete": "shares incomplete"}
        check_shapes(detector.calibration, sizes, **calibration)
        check_shapes(detector.rarity, sizes, rest_scores="rests")
        check_shapes(clean.repeated, sizes, value="d v", share="d v k", tie="d")
        check_shapes(self.spread, sizes, factor="two grid", draw_factor="two grid", column="columns", empty="columns")
        wide = clean.wide
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
