"""Distances of rows with missing values (method, section 4).

Enters: scaled rows in the order of the tree, NaN where a value is missing, and a way to measure complete rows. Leaves:
distances at every node. Missing attributes are ignored: the distance is taken over the observed ones and stretched to
the number of attributes that would have counted, so that it can be compared with the reference's. A node of which
nothing was observed is at distance 0 from everything: nothing can be said against it.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemend.kernels import PackedReference, kept, pack
from treemend.tree import AttributeTree, restrict

__all__ = ["observed_distances"]

Measure = Callable[[PackedReference, NDArray[np.float64], NDArray[np.intp]], NDArray[np.float64]]


def observed_distances(
    rows: NDArray[np.float64],
    tree: AttributeTree,
    packed: PackedReference,
    reference: NDArray[np.float64],
    extremes: tuple[NDArray[np.float64], NDArray[np.float64]],
    measure: Measure,
    trailing: tuple[int, ...] = (),
) -> NDArray[np.float64]:
    """Measure rows at every node, over what was observed of them.

    Parameters
    ----------
    rows : ndarray, rows x attributes
        Scaled, in the order of the tree; NaN where missing.
    tree : AttributeTree
    packed : PackedReference
        The reference for complete rows.
    reference : ndarray, reference rows x attributes
        The same reference rows, scaled, in the order of the tree.
    extremes : pair of ndarray, one an attribute
        Smallest and largest values of the whole reference, of which these rows may be a part.
    measure : callable
        ``measure(packed, rows, places)`` gives distances of complete rows, which stand at ``places`` of ``rows``:
        rows x nodes x ``trailing``.
    trailing : tuple of int

    Returns
    -------
    ndarray, rows x nodes x ``trailing``
    """
    missing = np.isnan(rows)
    if not missing.any():
        return measure(packed, rows, np.arange(len(rows)))
    found = np.zeros((len(rows), tree.n_nodes, *trailing))
    patterns, pattern_of = np.unique(missing, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        alike = np.flatnonzero(pattern_of.ravel() == number)
        if not pattern.any():
            found[alike] = measure(packed, rows[alike], alike)
        elif not pattern.all():
            narrowed = _narrowed(~pattern, tree, reference, extremes, packed.alpha)
            found[alike] = _stretched(
                measure(narrowed.packed, np.ascontiguousarray(rows[alike][:, ~pattern]), alike),
                ~pattern,
                tree,
                narrowed.node_of,
                packed.alpha,
            )
    return found


class _Narrowed(NamedTuple):
    """A reference with fewer attributes, and for each node of the whole tree the one that it has become."""

    packed: PackedReference
    node_of: NDArray[np.int64]


def _narrowed(
    observed: NDArray[np.bool_],
    tree: AttributeTree,
    reference: NDArray[np.float64],
    extremes: tuple[NDArray[np.float64], NDArray[np.float64]],
    alpha: float,
) -> _Narrowed:
    """Pack the observed attributes of the reference."""
    restriction = restrict(tree, observed)
    low, high = (extreme[observed] for extreme in extremes)
    packed = pack(np.ascontiguousarray(reference[:, observed]), restriction.tree, alpha, extremes=(low, high))
    return _Narrowed(packed, restriction.node_of)


def _stretched(
    found: NDArray[np.float64],
    observed: NDArray[np.bool_],
    tree: AttributeTree,
    node_of: NDArray[np.int64],
    alpha: float,
) -> NDArray[np.float64]:
    """Return distances over what was observed as if all had been."""
    before = np.concatenate(([0], np.cumsum(observed)))
    n_observed = before[tree.stop] - before[tree.start]
    stretch = np.array(
        [
            np.sqrt(kept(int(width), alpha) / kept(int(left), alpha)) if left else 0.0
            for width, left in zip(tree.stop - tree.start, n_observed, strict=True)
        ]
    )
    by_node = found[:, node_of]
    factor = stretch.reshape(-1, *[1] * (by_node.ndim - 2))
    # Where nothing was observed, distances may be infinite in a part of the reference: no product.
    return np.asarray(np.multiply(by_node, factor, out=np.zeros_like(by_node), where=factor > 0), dtype=np.float64)
