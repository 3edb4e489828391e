"""Layouts: how the attributes of a row lie beside each other, and so where a cut may fall.

Enters: what the user says of the attributes. Leaves: a `Part`, something that knows its attributes and how it falls
into two halves; `build_tree` cuts it again and again. A new layout is a new kind of part and one line in `lay_out`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from treemend.exceptions import ParameterError
from treemend.tree.seriation import correlated_order

__all__ = ["Box", "Bundle", "Listed", "Part", "grid_shape", "lay_out"]

_WORDS = (
    "layout must be 'sequence', 'correlated', a grid shape such as (16, 16) or (16, 16, 3), or groups of columns such "
    "as [[0, 1, 2], [3, 4]] or {'left': ['a', 'b'], 'right': ['c']}"
)


class Part(Protocol):
    """A set of attributes that can be cut in two."""

    def attributes(self) -> NDArray[np.int64]:
        """Return the attributes of this part, in the order in which they lie."""
        ...

    def halves(self) -> tuple["Part", "Part"]:
        """Cut a part of two or more attributes into two."""
        ...


@dataclass(frozen=True)
class Listed:
    """Attributes one after the other, cut in the middle.

    Examples
    --------
    >>> Listed((4, 0, 3, 1, 2)).halves()
    (Listed(order=(4, 0)), Listed(order=(3, 1, 2)))
    """

    order: Sequence[int]

    def attributes(self) -> NDArray[np.int64]:
        """Return the attributes of this part, in order."""
        return np.asarray(self.order, dtype=np.int64)

    def halves(self) -> tuple["Listed", "Listed"]:
        """Cut after ``width // 2`` attributes, as section 2 says."""
        middle = len(self.order) // 2
        return Listed(self.order[:middle]), Listed(self.order[middle:])


@dataclass(frozen=True)
class Box:
    """A rectangle of pixels of a row-major image, cut across its longer side; channels of a pixel stay together.

    Examples
    --------
    >>> left, right = Box((0, 2), (0, 4), width=4).halves()
    >>> left.attributes(), right.attributes()
    (array([0, 1, 4, 5]), array([2, 3, 6, 7]))
    """

    rows: tuple[int, int]
    columns: tuple[int, int]
    width: int
    channels: int = 1

    def attributes(self) -> NDArray[np.int64]:
        """Return the attributes of this part, row by row."""
        rows, columns, channels = np.ogrid[slice(*self.rows), slice(*self.columns), : self.channels]
        return np.asarray((rows * self.width + columns) * self.channels + channels, dtype=np.int64).ravel()

    def halves(self) -> tuple[Part, Part]:
        """Cut across the longer side, across the columns if both are equal; a single pixel by its channels."""
        (top, bottom), (left, right) = self.rows, self.columns
        if bottom - top == right - left == 1:
            return Listed(tuple(self.attributes().tolist())).halves()
        if right - left >= bottom - top:
            middle = left + (right - left) // 2
            cuts = (((top, bottom), (left, middle)), ((top, bottom), (middle, right)))
        else:
            middle = top + (bottom - top) // 2
            cuts = (((top, middle), (left, right)), ((middle, bottom), (left, right)))
        first, second = (Box(rows, columns, self.width, self.channels) for rows, columns in cuts)
        return first, second


@dataclass(frozen=True)
class Bundle:
    """Groups of attributes, such as the columns of one sensor each; cut between groups first, then inside them.

    Examples
    --------
    >>> Bundle(((0, 1), (2, 3, 4), (5,))).halves()
    (Listed(order=(0, 1)), Bundle(groups=((2, 3, 4), (5,))))
    """

    groups: tuple[tuple[int, ...], ...]

    def attributes(self) -> NDArray[np.int64]:
        """Return the attributes of this part, group by group."""
        return np.array([attribute for group in self.groups for attribute in group], dtype=np.int64)

    def halves(self) -> tuple[Part, Part]:
        """Cut after half of the groups."""
        middle = len(self.groups) // 2
        return _bundled(self.groups[:middle]), _bundled(self.groups[middle:])


def lay_out(
    layout: object,
    n_features: int,
    *,
    names: Sequence[str] | None = None,
    reference: Callable[[], NDArray[np.float64]] | None = None,
) -> Part:
    """Turn the user's word for the layout into the part that holds all attributes.

    Parameters
    ----------
    layout : "sequence", "correlated", tuple of int, or groups
        "sequence": attributes lie in the order of the columns. "correlated": their order means nothing; columns that
        go together in the reference are put side by side. ``(height, width)`` or ``(height, width, channels)``: pixels
        of an image, row by row. A list of lists, or a mapping of names to lists: groups of columns, by number or name.
    n_features : int
        Number of attributes.
    names : sequence of str, optional
        Column names, for groups that are given by name.
    reference : callable, optional
        Gives the reference rows, for "correlated".

    Returns
    -------
    Part
        The root of the attribute tree, not yet cut.
    """
    if isinstance(layout, str) and layout == "sequence":
        return Listed(range(n_features))
    if isinstance(layout, str) and layout == "correlated" and reference is not None:
        return Listed(tuple(correlated_order(reference()).tolist()))
    shape = grid_shape(layout)
    if shape is not None:
        return _grid(shape, n_features)
    groups = list(layout.values()) if isinstance(layout, dict) else layout
    if isinstance(groups, list | tuple) and groups and all(isinstance(group, list | tuple) for group in groups):
        return _bundled(_grouped(groups, n_features, names))
    raise ParameterError(f"{_WORDS}; got {layout!r}.")


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


def _grid(shape: tuple[int, int, int], n_features: int) -> Box:
    if prod(shape) != n_features:
        shown = " x ".join(str(size) for size in (shape if shape[2] > 1 else shape[:2]))
        raise ParameterError(f"A grid of {shown} has {prod(shape)} attributes, but the rows have {n_features}.")
    height, width, channels = shape
    return Box((0, height), (0, width), width, channels)


def _bundled(groups: tuple[tuple[int, ...], ...]) -> Part:
    return Listed(groups[0]) if len(groups) == 1 else Bundle(groups)


def _grouped(
    groups: Sequence[Sequence[object]], n_features: int, names: Sequence[str] | None
) -> tuple[tuple[int, ...], ...]:
    """Turn names into numbers, and see that every column is in exactly one group."""
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
        numbered.append(tuple(members))
    seen = [column for group in numbered for column in group]
    if sorted(seen) != list(range(n_features)) or not all(numbered):
        twice = sorted({column for column in seen if seen.count(column) > 1})
        absent = sorted(set(range(n_features)) - set(seen))
        raise ParameterError(
            f"layout must hold every column in exactly one group and no empty group; columns in no group: "
            f"{absent[:8]}, in more than one: {twice[:8]}."
        )
    return tuple(numbered)
