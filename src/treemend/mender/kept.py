"""What of a fitted mender is kept in a model file, as schemas: the one place that decides it.

Enters: nothing. Leaves: `KNOWLEDGE`, the schema of `Knowledge`. What can be made again from the rest (lanes, sorted
radii, windows, the arrays of the scan) is not kept; see `open_workshop`. Values that kernels use as indices are checked
here, so that no file can lead them astray.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemend.calibration import Threshold
from treemend.exceptions import ModelFileError
from treemend.imputation import Reconstruction
from treemend.mender.knowledge import Knowledge
from treemend.mender.weighing import SEARCH, Scales
from treemend.refinement import Context, Tails
from treemend.refinement.coordinates import Coordinates, lay_cells
from treemend.refinement.mixture import Mixture
from treemend.refinement.scan import learn_scan
from treemend.refinement.windows import lay_windows
from treemend.storage import Array, Integers, Number, Optional, Record, Series
from treemend.tables import Scaling
from treemend.tree import AttributeTree
from treemend.tree.validity import tree_problem

__all__ = ["KNOWLEDGE"]

_LARGEST_SIDE = 2**31


def _floats(*sizes: str) -> Array:
    return Array("float64", sizes)


def _finite(*arrays: NDArray[Any]) -> bool:
    return all(bool(np.isfinite(array).all()) for array in arrays)


def _scaling_problem(scaling: Scaling) -> str | None:
    good = _finite(scaling.offset, scaling.width) and (scaling.width > 0).all()
    return None if good else "has an offset or a width that cannot be one"


def _reconstruction_problem(learnt: Reconstruction) -> str | None:
    good = _finite(learnt.mean, learnt.scale, learnt.relevance, learnt.spread_base)
    return None if good else "has values that are not finite"


def _context(grid: tuple[int, ...] | None, coordinates: Coordinates, mixture: Mixture) -> Context:
    """Lay cells and windows again, and work out the scan."""
    n_attributes = len(coordinates.centre)
    shape = None if grid is None else _grid(grid, n_attributes)
    cells = lay_cells(n_attributes, shape)
    if mixture.centre.shape[1] != cells.n_cells * cells.per_cell:
        raise ModelFileError("knowledge.scales.context.mixture does not have the coordinates that the cells ask for.")
    if not _finite(coordinates.centre, coordinates.scale, coordinates.axes, *vars(mixture).values()):
        raise ModelFileError("knowledge.scales.context has values that are not finite.")
    windows = lay_windows(cells)
    return Context(shape, cells, windows, coordinates, mixture, learn_scan(mixture, windows, cells.per_cell))


def _grid(sides: tuple[int, ...], n_attributes: int) -> tuple[int, int, int]:
    if len(sides) != 3 or math.prod(sides) != n_attributes:
        raise ModelFileError(f"knowledge.scales.context.grid must have {n_attributes} places, is {sides}.")
    return sides[0], sides[1], sides[2]


def _knowledge_problem(knowledge: Knowledge) -> str | None:
    n_attributes = knowledge.tree.n_features
    if not _finite(knowledge.radii) or (knowledge.radii < 0).any():
        return "has radii that are not finite, or negative"
    if (np.diff(knowledge.calibrated, prepend=-1) <= 0).any() or not len(knowledge.calibrated):
        return "has calibration rows that are not in ascending order"
    if knowledge.grid is not None and (len(knowledge.grid) != 3 or math.prod(knowledge.grid) != n_attributes):
        return f"has a grid {knowledge.grid}, and {n_attributes} attributes"
    scales = knowledge.scales
    if scales is None:
        return None
    if scales.context.grid != knowledge.grid or scales.evidence.shape[1] != SEARCH + 1:
        return "has scales that belong to something else"
    inside = np.isin(scales.rows, knowledge.calibrated).all()
    return None if inside and len(scales.rows) else "has scales of rows that are no calibration rows"


_SIDES = Optional(Series(Number(least=1, most=_LARGEST_SIDE, whole=True)))
_TREE = Record(
    AttributeTree,
    {
        **{name: Integers("nodes") for name in ("start", "stop", "parent", "left", "right", "depth")},
        "order": Integers("attributes"),
    },
    problem=tree_problem,
)
_SCALING = Record(Scaling, {"offset": _floats("attributes"), "width": _floats("attributes")}, problem=_scaling_problem)
_RECONSTRUCTION = Record(
    Reconstruction,
    {
        "mean": _floats("attributes"),
        "scale": _floats("attributes"),
        "relevance": Array("float32", ("attributes", "attributes")),
        "ridge": Number(),
        "share": Number(),
        "spread_local": Number(),
        "spread_base": _floats("attributes"),
    },
    problem=_reconstruction_problem,
)
_CONTEXT = Record(
    Context,
    {
        "grid": _SIDES,
        "coordinates": Record(
            Coordinates,
            {"centre": _floats("attributes"), "scale": _floats("attributes"), "axes": _floats("attributes", "axes")},
        ),
        "mixture": Record(
            Mixture,
            {
                "centre": _floats("components", "coordinates"),
                "covariance": _floats("components", "coordinates", "coordinates"),
                "precision": _floats("components", "coordinates", "coordinates"),
                "log_weight": _floats("components"),
                "log_det": _floats("components"),
            },
        ),
    },
    build=_context,
)
_SCALES = Record(
    Scales,
    {
        "context": _CONTEXT,
        "tails": Record(Tails, {"edge": _floats("explanations"), "slope": _floats("explanations")}),
        "rows": Array("int64", ("weighed rows",)),
        "evidence": _floats("weighed rows", "explanations"),
        "usual_density": Number(),
        "n_lost": Number(least=0),
    },
)

KNOWLEDGE = Record(
    Knowledge,
    {
        "scaling": _SCALING,
        "tree": _TREE,
        "calibrated": Array("int64", ("calibration rows",)),
        "radii": _floats("calibration rows", "nodes"),
        "threshold": Record(Threshold, {"tau": Number(least=-1, most=1), "rate": Number(least=0, most=1)}),
        "reconstruction": Optional(_RECONSTRUCTION),
        "grid": _SIDES,
        "scales": Optional(_SCALES),
    },
    problem=_knowledge_problem,
)
"""What was learnt, as it is kept."""
