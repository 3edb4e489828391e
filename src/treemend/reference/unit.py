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
    """

    lowest: NDArray[np.float64]
    highest: NDArray[np.float64]
    order: NDArray[np.int64] | None

    @property
    def extremes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The smallest and the largest scaled value of each attribute."""
        return self.lowest, self.highest

    def to_layout(self, scaled: NDArray[np.float64]) -> NDArray[np.float64]:
        """Take scaled rows there."""
        span = self.highest - self.lowest
        unit = (scaled - self.lowest) / np.where(span > 0, span, 1.0)
        if self.order is None:
            return np.asarray(unit, dtype=np.float64)
        laid = np.empty_like(unit)
        laid[:, self.order] = unit
        return laid

    def to_tree(self, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Take a mask back to the order of the tree."""
        return mask if self.order is None else mask[:, self.order]
