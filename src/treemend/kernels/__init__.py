"""Distances from rows to a reference at every node of the attribute tree, and the search over the tree.

Enters: reference rows in the tree's attribute order, packed once by ``pack``; suspect rows. Leaves: radii
of all nodes (section 4 of the method), nearest rows (section 6), declared nodes (section 5) and alarm
counts (section 7).

The way through: ``packing`` lays the reference out in lanes and ``networks`` builds the comparators for
``alpha < 1``; ``euclidean`` and ``ranked_lists`` find each node's nearest rows in float32, all nodes in
one pass, and ``exact`` settles them in float64 by the literal definition, so that results do not depend on
how they were found; ``node_scans`` runs them in portions. ``labels`` stops as soon as a threshold decides. ``door`` and
``door_neighbors`` are what others call. Nothing is compiled, and Numba is not imported, before the first
call.
"""

from treemend.kernels.door import (
    alarm_curve,
    declared_nodes,
    left_out_radii,
    node_distances,
    node_labels,
    node_radii,
)
from treemend.kernels.door_neighbors import masked_neighbors, neighbors_outside, node_neighbors
from treemend.kernels.packing import LANES, PackedReference, TreeLike, kept, pack

__all__ = [
    "LANES",
    "PackedReference",
    "TreeLike",
    "alarm_curve",
    "declared_nodes",
    "kept",
    "left_out_radii",
    "masked_neighbors",
    "neighbors_outside",
    "node_distances",
    "node_labels",
    "node_neighbors",
    "node_radii",
    "pack",
]
