"""Knowledge: what was learnt from the reference, and the tools made from it.

Enters: reference rows and settings. Leaves: `Knowledge`, the least that has to be kept to mend rows later, and a
`Workshop`, with everything that can be made again from it laid out for work.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemend.calibration import Calibration, Threshold, calibrate, largest_tau, rate_at
from treemend.imputation import Filler, Reconstruction, learn_reconstruction
from treemend.kernels import PackedReference, left_out_radii, pack
from treemend.mender.settings import Settings
from treemend.mender.weighing import Bench, Scales, learn_scales
from treemend.tables import Scaling, learn_scaling
from treemend.tree import AttributeTree, Part, build_tree

__all__ = ["Knowledge", "Workshop", "learn", "open_workshop"]


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What was learnt.

    Attributes
    ----------
    reference : ndarray, reference rows x attributes
        As they came, in the order of the columns.
    scaling : Scaling
    tree : AttributeTree
    radii : ndarray, reference rows x nodes
        Left-out K-th radii.
    threshold : Threshold
        Of the search.
    reconstruction : Reconstruction or None
        For ``imputation="reconstruct"``.
    grid : tuple of int or None
        Height, width and channels, if the layout is a grid.
    scales : Scales or None
        For ``refine=True``.
    """

    reference: NDArray[np.float64]
    scaling: Scaling
    tree: AttributeTree
    radii: NDArray[np.float64]
    threshold: Threshold
    reconstruction: Reconstruction | None
    grid: tuple[int, int, int] | None
    scales: Scales | None


@dataclass(frozen=True, eq=False)
class Workshop:
    """Knowledge, and the tools made from it."""

    knowledge: Knowledge
    settings: Settings
    packed: PackedReference
    calibration: Calibration
    filler: Filler
    bench: Bench

    @property
    def tree(self) -> AttributeTree:
        """The attribute tree."""
        return self.knowledge.tree

    def to_tree(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scale values in the order of the columns, and put them into the order of the tree."""
        return _to_tree(values, self.knowledge.scaling, self.tree)

    def to_columns(self, in_tree_order: NDArray[Any]) -> NDArray[Any]:
        """Put attributes back into the order of the columns."""
        in_columns = np.empty_like(in_tree_order)
        in_columns[:, self.tree.order] = in_tree_order
        return in_columns

    def level(self) -> int:
        """Return how many reference rows may be at least as unusual while a node still counts as anomalous."""
        return int(np.floor(self.knowledge.threshold.tau * self.calibration.n_rows + 1e-9))


def learn(values: NDArray[np.float64], part: Part, grid: tuple[int, int, int] | None, settings: Settings) -> Workshop:
    """Learn from reference rows.

    Parameters
    ----------
    values : ndarray, reference rows x attributes
        Finite.
    part : Part
        All attributes, as they lie.
    grid : tuple of int or None
        Height, width and channels, if the layout is a grid.
    settings : Settings
    """
    tree = build_tree(part, settings.depth)
    scaling = learn_scaling(values, settings.scale)
    scaled = _to_tree(values, scaling, tree)
    packed = pack(scaled, tree, settings.alpha)
    radii = left_out_radii(packed, settings.n_neighbors, n_jobs=settings.n_jobs)
    calibration = calibrate(radii)
    reconstruction = None
    if settings.imputation == "reconstruct":
        reconstruction = learn_reconstruction(scaled, seed=settings.seed, n_jobs=settings.n_jobs)
    threshold = _choose_threshold(calibration, tree, settings)
    knowledge = Knowledge(values, scaling, tree, radii, threshold, reconstruction, grid, scales=None)
    workshop = _laid_out(knowledge, settings, scaled, packed, calibration)
    if not settings.refine or tree.n_features == 1:
        return workshop
    scales = learn_scales(workshop.bench, calibration.left_out_counts(), seed=settings.seed)
    return replace(workshop, knowledge=replace(knowledge, scales=scales))


def open_workshop(knowledge: Knowledge, settings: Settings) -> Workshop:
    """Make the tools again from what was learnt."""
    scaled = _to_tree(knowledge.reference, knowledge.scaling, knowledge.tree)
    packed = pack(scaled, knowledge.tree, settings.alpha)
    return _laid_out(knowledge, settings, scaled, packed, calibrate(knowledge.radii))


def _laid_out(
    knowledge: Knowledge,
    settings: Settings,
    scaled: NDArray[np.float64],
    packed: PackedReference,
    calibration: Calibration,
) -> Workshop:
    tree, scaling = knowledge.tree, knowledge.scaling
    filler = Filler(
        reference=scaled,
        donated=np.ascontiguousarray(knowledge.reference[:, tree.order]),
        offset=scaling.offset[tree.order],
        width=scaling.width[tree.order],
        packed=packed,
        radii=knowledge.radii,
        tree=tree,
        reconstruction=knowledge.reconstruction,
        donors=settings.donors,
        imputation=settings.imputation,
        n_neighbors=settings.n_neighbors,
    )
    low = scaled.min(axis=0)
    span = scaled.max(axis=0) - low
    bench = Bench(
        filler=filler,
        tree=tree,
        grid=knowledge.grid,
        tau=knowledge.threshold.tau,
        stop_at_root=settings.stop_at_root,
        n_reference=calibration.n_rows,
        unit_offset=low,
        unit_width=np.where(span > 0, span, 1.0),
        n_jobs=settings.n_jobs,
    )
    return Workshop(knowledge, settings, packed, calibration, filler, bench)


def _to_tree(values: NDArray[np.float64], scaling: Scaling, tree: AttributeTree) -> NDArray[np.float64]:
    return np.ascontiguousarray(scaling.apply(values)[:, tree.order])


def _choose_threshold(calibration: Calibration, tree: AttributeTree, settings: Settings) -> Threshold:
    if settings.tau is not None:
        return rate_at(calibration, tree, settings.tau, stop_at_root=settings.stop_at_root)
    rate = settings.false_alarm_rate or 0.0
    return largest_tau(calibration, tree, rate, stop_at_root=settings.stop_at_root)
