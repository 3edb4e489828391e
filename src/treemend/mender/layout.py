"""How the columns lie beside each other: which cells form a run, or a box of a grid."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemend.arrays import Floats, Integers
from treemend.exceptions import ModelFileError, ParameterError
from treemend.mender.columns import column_moments, column_widths

_EXPECTED = (
    "layout must be 'auto', 'sequence', 'correlated', a grid shape such as (16, 16) or (16, 16, 3), or groups of "
    "columns such as [[0, 1, 2], [3, 4]] or {'left': ['a', 'b'], 'right': ['c']}"
)
# Ordering columns compares all pairs: beyond this many columns the given order is kept. "auto" keeps it much sooner: a
# block of adjacent columns, lost as one, becomes scattered cells by another order, which wide rows hide.
_MOST_ORDERED, _MOST_ORDERED_BY_ITSELF = 2_000, 100
# How far, in standard deviations of random orders, close columns must be more alike than others for the given order
# to count as meaningful. Ordered sets of `experiments/robustness` exceed 3, shuffled ones stay below 1.
_SURELY_ORDERED = 2.5
_RANDOM_ORDERS = 200
_FARTHEST_NEIGHBOR = 5
# Columns are put in another order only if adjacent ones become more alike by this much in mean absolute correlation.
_LEAST_GAIN = 0.1


@dataclass(frozen=True, eq=False)
class Layout:
    """Order of the columns, and what bounds a run."""

    order: Integers  # the column at each position
    grid: tuple[int, int, int] | None = None  # height, width, channels; positions go row by row, channels last
    groups: Integers | None = None  # number of the group at each position; a run ends where it changes

    def to_columns(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Put arrays of shape (n, n_features) from layout order back into the order of the columns."""
        columns = np.empty_like(rows)
        columns[:, self.order] = rows
        return columns

    def validate(self) -> None:
        """Check what was read from a file."""
        d = len(self.order)
        if self.order.ndim != 1 or not np.array_equal(np.sort(self.order), np.arange(d)):
            raise ModelFileError("The order of the columns is not a permutation of them.")
        if self.grid is not None and (min(self.grid) < 1 or prod(self.grid) != d):
            raise ModelFileError(f"A grid of {self.grid} does not have {d} cells.")
        if self.groups is not None and self.groups.shape != (d,):
            raise ModelFileError(f"There must be one group number for each of {d} columns.")


def resolve_layout(layout: object, values: Floats, names: Sequence[str] | None = None) -> Layout:
    """Turn the parameter ``layout`` of `treemend.Mender` into a `Layout`, given the reference and its column names."""
    n_features = values.shape[1]
    if isinstance(layout, str) and layout == "sequence":
        return Layout(np.arange(n_features))
    if isinstance(layout, str) and layout in {"auto", "correlated"}:
        return Layout(_order_columns(values, may_keep=layout == "auto"))
    shape = _grid_shape(layout)
    if shape is not None:
        if prod(shape) != n_features:
            shown = " x ".join(str(size) for size in (shape if shape[2] > 1 else shape[:2]))
            raise ParameterError(f"A grid of {shown} has {prod(shape)} cells, but the rows have {n_features} columns.")
        return Layout(np.arange(n_features), grid=shape)
    groups = list(layout.values()) if isinstance(layout, dict) else layout
    if isinstance(groups, list | tuple) and groups and all(isinstance(group, list | tuple) for group in groups):
        return _grouped(groups, n_features, names)
    raise ParameterError(f"{_EXPECTED}; got {layout!r}.")


def _grid_shape(layout: object) -> tuple[int, int, int] | None:
    """Return height, width and channels if the layout is a grid."""
    if not isinstance(layout, list | tuple) or len(layout) not in (2, 3):
        return None
    sizes = [int(size) for size in layout if isinstance(size, int | np.integer) and not isinstance(size, bool)]
    if len(sizes) != len(layout) or min(sizes) < 1:
        return None
    height, width, channels = (*sizes, 1)[:3]
    return height, width, channels


def _order_columns(values: Floats, *, may_keep: bool) -> Integers:
    """Order columns by correlation; the given order may be kept if it means something, or no other is better."""
    n_features = values.shape[1]
    given = np.arange(n_features)
    if n_features > (_MOST_ORDERED_BY_ITSELF if may_keep else _MOST_ORDERED) or n_features <= 2:
        return given
    strength = _strength(values)
    if may_keep and (n_features == 3 or _neighbors_belong_together(strength)):
        return given
    order = _correlated_order(strength)
    gain = np.diagonal(strength[np.ix_(order, order)], 1).mean() - np.diagonal(strength, 1).mean()
    return given if may_keep and gain < _LEAST_GAIN else order


def _neighbors_belong_together(strength: Floats) -> bool:
    """Tell whether close columns are more alike than they are in random orders."""
    n_features = len(strength)
    rng = np.random.default_rng(0)
    orders = np.array([np.arange(n_features), *(rng.permutation(n_features) for _ in range(_RANDOM_ORDERS))])
    # The mean strength between columns a few positions apart, near ones counting more.
    lags = range(1, 1 + min(_FARTHEST_NEIGHBOR, n_features // 2))
    closeness = sum(strength[orders[:, :-lag], orders[:, lag:]].mean(axis=1) / lag for lag in lags)
    given, *random = np.asarray(closeness)
    return bool(given > np.mean(random) + _SURELY_ORDERED * np.std(random))


def _correlated_order(strength: Floats) -> Integers:
    """Order columns by optimal leaf ordering of the strengths of their correlations."""
    from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
    from scipy.spatial.distance import squareform

    distance = 1 - strength
    np.fill_diagonal(distance, 0)
    condensed = squareform(distance, checks=False)
    joined = optimal_leaf_ordering(linkage(condensed, method="average"), condensed)
    return np.asarray(leaves_list(joined), dtype=np.int64)


def _strength(values: Floats) -> Floats:
    """Return absolute correlations, 0 of constant columns; missing values count as the mean of their column."""
    width = column_widths(values)
    scaled = values / np.where(width > 0, width, 1.0)
    away = np.nan_to_num(scaled - column_moments(scaled)[0])
    deviation = column_moments(away)[1]
    away /= np.where(deviation > 0, deviation, np.inf)
    return np.asarray(np.minimum(np.abs(away.T @ away) / len(values), 1.0))


def _grouped(groups: Sequence[Sequence[object]], n_features: int, names: Sequence[str] | None) -> Layout:
    """Return the layout of groups by name or number; every column must be in exactly one."""
    place = {name: position for position, name in enumerate(names or ())}
    order: list[int] = []
    for column in chain.from_iterable(groups):
        number = place.get(column) if isinstance(column, str) else column
        if not isinstance(number, int | np.integer) or not 0 <= number < n_features:
            known = f"named {', '.join(map(repr, list(place)[:8]))}" if place else f"0 to {n_features - 1}"
            raise ParameterError(
                f"layout names column {column!r}, which the reference does not have. Its columns are {known}."
            )
        order.append(int(number))
    if sorted(order) != list(range(n_features)) or not all(groups):
        twice = sorted({column for column in order if order.count(column) > 1})
        absent = sorted(set(range(n_features)) - set(order))
        raise ParameterError(
            f"layout must hold every column in exactly one group and no empty group; columns in no group: "
            f"{absent[:8]}, in more than one: {twice[:8]}."
        )
    return Layout(np.array(order), groups=np.repeat(np.arange(len(groups)), [len(group) for group in groups]))
