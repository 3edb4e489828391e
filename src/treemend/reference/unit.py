"""The scales and the order in which the context looks at rows (method, section 10).

Enters: the reference's extremes and the layout. Leaves: a `UnitLayout`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["UnitLayout"]


@dataclass(frozen=True, eq=False)
class UnitLayout:
    """Takes scaled rows to the reference's unit range, and to the order of the layout: the tree's, or row by row.

    Attributes
    ----------
    lowest, highest : ndarray, one an attribute
        The reference's extremes, in scaled units, in the order of the tree.
    order : ndarray of int or None
        The tree's order of the columns, if the layout is a grid.
    offset, width : ndarray, one an attribute
        User's units are ``scaled * width + offset``.
    """

    lowest: NDArray[np.float64]
    highest: NDArray[np.float64]
    order: NDArray[np.int64] | None
    offset: NDArray[np.float64]
    width: NDArray[np.float64]

    @property
    def extremes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The smallest and the largest scaled value of each attribute."""
        return self.lowest, self.highest

    def to_layout(self, scaled: NDArray[np.float64]) -> NDArray[np.float64]:
        """Take scaled rows there."""
        return self._laid((scaled - self.lowest) / self._span)

    def on_one_scale(self, laid: NDArray[np.float64]) -> NDArray[np.float64]:
        """Take rows from there to the user's units, all divided by one number: what was equal is equal again."""
        widest = self.width.max()
        factor, offset = self._span * self.width / widest, (self.lowest * self.width + self.offset) / widest
        return laid * self._laid(factor[None]) + self._laid(offset[None])

    @property
    def _span(self) -> NDArray[np.float64]:
        span = self.highest - self.lowest
        return np.where(span > 0, span, 1.0)

    def _laid(self, in_tree: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.order is None:
            return np.asarray(in_tree, dtype=np.float64)
        laid = np.empty_like(in_tree)
        laid[:, self.order] = in_tree
        return laid

    def to_tree(self, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Take a mask back to the order of the tree."""
        return mask if self.order is None else mask[:, self.order]
