"""How the columns lie beside each other: which cells form a run, or a box of a grid."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemend.exceptions import ModelFileError, ParameterError

__all__ = ["Layout", "correlated_order", "grid_shape", "neighbors_belong_together", "resolve_layout"]

Floats = NDArray[np.float64]

_EXPECTED = (
    "layout must be 'auto', 'sequence', 'correlated', a grid shape such as (16, 16) or (16, 16, 3), or groups of "
    "columns such as [[0, 1, 2], [3, 4]] or {'left': ['a', 'b'], 'right': ['c']}"
)
# Ordering columns compares all pairs: beyond this many columns the given order is kept.
_MOST_ORDERED = 2_000
# How far, in standard deviations of random orders, close columns must be more alike than others for the given order
# to count as meaningful. Ordered sets of `experiments/robustness` exceed 3, shuffled ones stay below 1.
_SURELY_ORDERED = 2.5
_RANDOM_ORDERS = 200
_FARTHEST_NEIGHBOR = 5
# Columns are put in another order only if adjacent ones become more alike by this much in mean absolute correlation.
_LEAST_GAIN = 0.1


@dataclass(frozen=True, eq=False)
class Layout:
    """Order of the columns, and what bounds a run.

    Attributes
    ----------
    order : ndarray of int of shape (n_features,)
        The column at each position.
    grid : tuple of int or None
        Height, width and channels; positions go row by row, channels last.
    groups : ndarray of int of shape (n_features,) or None
        Number of the group at each position; a run ends where the group changes.
    """

    order: NDArray[np.int64]
    grid: tuple[int, int, int] | None = None
    groups: NDArray[np.int64] | None = None

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.order)

    def to_columns(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Put arrays of shape (n, n_features) from layout order back into the order of the columns."""
        columns = np.empty_like(rows)
        columns[:, self.order] = rows
        return columns

    def validate(self) -> None:
        """Check what was read from a file."""
        d = self.n_features
        if self.order.ndim != 1 or not np.array_equal(np.sort(self.order), np.arange(d)):
            raise ModelFileError("The order of the columns is not a permutation of them.")
        if self.grid is not None and (min(self.grid) < 1 or prod(self.grid) != d):
            raise ModelFileError(f"A grid of {self.grid} does not have {d} cells.")
        if self.groups is not None and self.groups.shape != (d,):
            raise ModelFileError(f"There must be one group number for each of {d} columns.")


def resolve_layout(layout: object, values: Floats, names: Sequence[str] | None = None) -> Layout:
    """Turn the parameter ``layout`` into a `Layout`.

    Parameters
    ----------
    layout : "auto", "sequence", "correlated", tuple of int, or groups
        See `treemend.Mender`.
    values : ndarray of shape (n_samples, n_features)
        Reference rows, for "auto" and "correlated"; NaN where missing.
    names : sequence of str, optional
        Names of the columns, for groups given by name.
    """
    n_features = values.shape[1]
    given = np.arange(n_features)
    if isinstance(layout, str) and layout == "sequence":
        return Layout(given)
    if isinstance(layout, str) and layout in {"auto", "correlated"}:
        keep = n_features > _MOST_ORDERED or (layout == "auto" and _order_matters(values))
        return Layout(given if keep else correlated_order(values))
    shape = grid_shape(layout)
    if shape is not None:
        if prod(shape) != n_features:
            shown = " x ".join(str(size) for size in (shape if shape[2] > 1 else shape[:2]))
            raise ParameterError(f"A grid of {shown} has {prod(shape)} cells, but the rows have {n_features} columns.")
        return Layout(given, grid=shape)
    groups = list(layout.values()) if isinstance(layout, dict) else layout
    if isinstance(groups, list | tuple) and groups and all(isinstance(group, list | tuple) for group in groups):
        numbered = _numbered(groups, n_features, names)
        sizes = [len(group) for group in numbered]
        return Layout(np.concatenate(numbered).astype(np.int64), groups=np.repeat(np.arange(len(sizes)), sizes))
    raise ParameterError(f"{_EXPECTED}; got {layout!r}.")


def grid_shape(layout: object) -> tuple[int, int, int] | None:
    """Return height, width and channels if the layout is a grid.

    Examples
    --------
    >>> grid_shape((16, 16)), grid_shape("sequence")
    ((16, 16, 1), None)
    """
    if not isinstance(layout, list | tuple) or len(layout) not in (2, 3):
        return None
    sizes = [int(size) for size in layout if isinstance(size, int | np.integer) and not isinstance(size, bool)]
    if len(sizes) != len(layout) or min(sizes) < 1:
        return None
    height, width, channels = (*sizes, 1)[:3]
    return height, width, channels


def neighbors_belong_together(values: Floats) -> bool:
    """Tell whether close columns are more alike than they are in random orders.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> walks = rng.normal(size=(100, 20)).cumsum(axis=1)
    >>> neighbors_belong_together(walks), neighbors_belong_together(walks[:, rng.permutation(20)])
    (True, False)
    """
    n_features = values.shape[1]
    if n_features <= 3:
        return True
    strength = _strength(values)
    rng = np.random.default_rng(0)
    orders = np.array([rng.permutation(n_features) for _ in range(_RANDOM_ORDERS)])
    random = _closeness(strength, orders)
    given = _closeness(strength, np.arange(n_features)[None])[0]
    return bool(given > random.mean() + _SURELY_ORDERED * random.std())


def _order_matters(values: Floats) -> bool:
    """Tell whether the given order should be kept: it means something, or no other would be better."""
    if neighbors_belong_together(values):
        return True
    strength, order = _strength(values), correlated_order(values)
    gain = np.diagonal(strength[np.ix_(order, order)], 1).mean() - np.diagonal(strength, 1).mean()
    return bool(gain < _LEAST_GAIN)


def _closeness(strength: Floats, orders: NDArray[np.int64]) -> Floats:
    """Return the mean strength between columns a few positions apart, near ones counting more, for each order."""
    lags = range(1, 1 + min(_FARTHEST_NEIGHBOR, strength.shape[0] // 2))
    return np.asarray(sum(strength[orders[:, :-lag], orders[:, lag:]].mean(axis=1) / lag for lag in lags))


def correlated_order(values: Floats) -> NDArray[np.int64]:
    """Order columns by optimal leaf ordering of the strengths of their correlations; constant columns go with no other.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(size=(2, 100, 1))
    >>> correlated_order(np.hstack([a, b, -a, b + 0.1 * a])).tolist()
    [0, 2, 3, 1]
    """
    n_features = values.shape[1]
    if n_features <= 2:
        return np.arange(n_features)
    from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
    from scipy.spatial.distance import squareform

    distance = 1 - _strength(values)
    np.fill_diagonal(distance, 0)
    condensed = squareform(distance, checks=False)
    joined = optimal_leaf_ordering(linkage(condensed, method="average"), condensed)
    return np.asarray(leaves_list(joined), dtype=np.int64)


def _strength(values: Floats) -> Floats:
    """Return the absolute correlations; missing values count as the mean of their column."""
    low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    scaled = (values - low) / np.where(high > low, high - low, 1.0)
    scaled = scaled - np.nanmean(scaled, axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = np.corrcoef(np.nan_to_num(scaled), rowvar=False)
    return np.asarray(np.clip(np.abs(np.nan_to_num(correlation)), 0, 1))


def _numbered(groups: Sequence[Sequence[object]], n_features: int, names: Sequence[str] | None) -> list[list[int]]:
    """Turn names into numbers, and check that every column is in exactly one group."""
    place = {name: position for position, name in enumerate(names or ())}
    numbered = []
    for group in groups:
        members = []
        for column in group:
            number = place.get(column) if isinstance(column, str) else column
            if not isinstance(number, int | np.integer) or not 0 <= number < n_features:
                raise ParameterError(
                    f"layout names column {column!r}, which the reference does not have. Its columns are "
                    f"{'named ' + ', '.join(map(repr, list(place)[:8])) if place else f'0 to {n_features - 1}'}."
                )
            members.append(int(number))
        numbered.append(members)
    seen = [column for group in numbered for column in group]
    if sorted(seen) != list(range(n_features)) or not all(numbered):
        twice = sorted({column for column in seen if seen.count(column) > 1})
        absent = sorted(set(range(n_features)) - set(seen))
        raise ParameterError(
            f"layout must hold every column in exactly one group and no empty group; columns in no group: "
            f"{absent[:8]}, in more than one: {twice[:8]}."
        )
    return numbered
