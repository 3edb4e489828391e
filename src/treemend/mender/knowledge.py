"""Knowledge: what was learnt from the reference, and the tools made from it.

Enters: reference rows and settings. Leaves: `Knowledge`, the least that has to be kept to mend rows later, and a
`Workshop`, with everything that can be made again from it laid out for work.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemend import progress
from treemend.calibration import Calibration, Threshold, calibrate, largest_tau, rate_at
from treemend.imputation import Filler, Reconstruction, learn_reconstruction
from treemend.mender.settings import Settings
from treemend.mender.weighing import Bench, Scales, learn_scales
from treemend.reference import HeldReference, Means, Reference, Rows
from treemend.tables import Scaling, learn_scaling
from treemend.tree import AttributeTree, Part, build_tree

__all__ = ["Knowledge", "Workshop", "learn", "open_workshop"]

_MOST_FOR_THE_LAYOUT = 5_000


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What was learnt.

    Attributes
    ----------
    scaling : Scaling
    tree : AttributeTree
    calibrated : ndarray of int
        Numbers of the reference rows that set the thresholds, ascending.
    radii : ndarray, those rows x nodes
        Their left-out K-th radii.
    threshold : Threshold
        Of the search.
    reconstruction : Reconstruction or None
        For ``imputation="reconstruct"``.
    grid : tuple of int or None
        Height, width and channels, if the layout is a grid.
    scales : Scales or None
        For ``refine=True``.
    """

    scaling: Scaling
    tree: AttributeTree
    calibrated: NDArray[np.int64]
    radii: NDArray[np.float64]
    threshold: Threshold
    reconstruction: Reconstruction | None
    grid: tuple[int, int, int] | None
    scales: Scales | None


@dataclass(frozen=True, eq=False)
class Workshop:
    """The reference, what was learnt from it, and the tools made from both."""

    reference: Reference
    knowledge: Knowledge
    settings: Settings
    calibration: Calibration
    filler: Filler
    bench: Bench

    @property
    def tree(self) -> AttributeTree:
        """The attribute tree."""
        return self.knowledge.tree

    def to_tree(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scale values in the order of the columns, and put them into the order of the tree."""
        return np.ascontiguousarray(self.knowledge.scaling.apply(values)[:, self.tree.order])

    def to_columns(self, in_tree_order: NDArray[Any]) -> NDArray[Any]:
        """Put attributes back into the order of the columns."""
        in_columns = np.empty_like(in_tree_order)
        in_columns[:, self.tree.order] = in_tree_order
        return in_columns

    def by_means_of(self, means: Means) -> "Workshop":
        """Return the same workshop with other means, which change no result."""
        reference = self.reference
        if isinstance(reference, HeldReference):
            reference = replace(reference, means=means)
        return _laid_out(reference, self.knowledge, replace(self.settings, means=means), self.calibration)

    def level(self) -> int:
        """Return how many calibration rows may be at least as unusual while a node still counts as anomalous."""
        return int(np.floor(self.knowledge.threshold.tau * self.calibration.n_rows + 1e-9))


def learn(
    rows: Rows,
    part_of: Callable[[NDArray[np.float64]], Part],
    grid: tuple[int, int, int] | None,
    settings: Settings,
) -> Workshop:
    """Learn from reference rows.

    Parameters
    ----------
    rows : Rows
        Finite.
    part_of : callable
        Gives the layout of all attributes, from some reference rows.
    grid : tuple of int or None
        Height, width and channels, if the layout is a grid.
    settings : Settings
    """
    looked_at = _sample(rows.n_rows, _MOST_FOR_THE_LAYOUT, settings.seed)
    tree = build_tree(part_of(rows.some(looked_at)), settings.depth)
    scaling = learn_scaling(np.array(rows.extremes()), settings.scale)
    reference = rows.prepared(scaling, tree, grid, settings.alpha, settings.means)
    numbers = _sample(rows.n_rows, settings.calibration_rows, settings.seed)
    with progress.step(f"Comparing {len(numbers):,} reference rows with all others"):
        calibration = calibrate(numbers, reference.left_out_radii(numbers, settings.n_neighbors))
    reconstruction = None
    if settings.imputation == "reconstruct":
        with progress.step("Learning how to fill gaps"):
            reconstruction = learn_reconstruction(reference, seed=settings.seed, n_jobs=settings.means.n_jobs)
    threshold = _choose_threshold(calibration, tree, settings)
    knowledge = Knowledge(scaling, tree, numbers, calibration.radii, threshold, reconstruction, grid, scales=None)
    workshop = _laid_out(reference, knowledge, settings, calibration)
    if not settings.refine or tree.n_features == 1:
        return workshop
    with progress.step("Learning how the parts of a row go together"):
        scales = learn_scales(workshop.bench, seed=settings.seed)
    return replace(workshop, knowledge=replace(knowledge, scales=scales))


def open_workshop(rows: Rows, knowledge: Knowledge, settings: Settings) -> Workshop:
    """Make the tools again from the reference and what was learnt."""
    reference = rows.prepared(knowledge.scaling, knowledge.tree, knowledge.grid, settings.alpha, settings.means)
    return _laid_out(reference, knowledge, settings, calibrate(knowledge.calibrated, knowledge.radii))


def _sample(n_rows: int, most: int, seed: int) -> NDArray[np.int64]:
    """Return the numbers of all rows, or of a random sample of them, ascending."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(seed).permutation(n_rows)[:most])


def _laid_out(reference: Reference, knowledge: Knowledge, settings: Settings, calibration: Calibration) -> Workshop:
    tree, scaling = knowledge.tree, knowledge.scaling
    filler = Filler(
        reference=reference,
        offset=scaling.offset[tree.order],
        width=scaling.width[tree.order],
        calibration=calibration,
        tree=tree,
        reconstruction=knowledge.reconstruction,
        donors=settings.donors,
        imputation=settings.imputation,
        n_neighbors=settings.n_neighbors,
    )
    bench = Bench(
        reference=reference,
        calibration=calibration,
        filler=filler,
        tree=tree,
        grid=knowledge.grid,
        tau=knowledge.threshold.tau,
        stop_at_root=settings.stop_at_root,
        n_jobs=settings.means.n_jobs,
    )
    return Workshop(reference, knowledge, settings, calibration, filler, bench)


def _choose_threshold(calibration: Calibration, tree: AttributeTree, settings: Settings) -> Threshold:
    if settings.tau is not None:
        return rate_at(calibration, tree, settings.tau, stop_at_root=settings.stop_at_root)
    rate = settings.false_alarm_rate or 0.0
    return largest_tau(calibration, tree, rate, stop_at_root=settings.stop_at_root)
