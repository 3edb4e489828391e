"""Layouts: how the attributes of a row lie beside each other, and so where a cut may fall.

Enters: what the user says of the attributes. Leaves: a `Part`, something that knows its attributes and how it falls
into two halves; `build_tree` cuts it again and again. A new layout is a new kind of part and one line in `lay_out`.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from treemend.exceptions import ParameterError

__all__ = ["Part", "Stretch", "lay_out"]


class Part(Protocol):
    """A set of attributes that can be cut in two."""

    def attributes(self) -> NDArray[np.int64]:
        """Return the attributes of this part, in the order in which they lie."""
        ...

    def halves(self) -> tuple["Part", "Part"]:
        """Cut a part of two or more attributes into two."""
        ...


@dataclass(frozen=True)
class Stretch:
    """Consecutive attributes ``start <= k < stop``, cut in the middle.

    Examples
    --------
    >>> Stretch(0, 5).halves()
    (Stretch(start=0, stop=2), Stretch(start=2, stop=5))
    """

    start: int
    stop: int

    def attributes(self) -> NDArray[np.int64]:
        """Return the attributes of this part, in order."""
        return np.arange(self.start, self.stop)

    def halves(self) -> tuple["Stretch", "Stretch"]:
        """Cut at ``start + width // 2``, as section 2 says."""
        middle = self.start + (self.stop - self.start) // 2
        return Stretch(self.start, middle), Stretch(middle, self.stop)


def lay_out(layout: object, n_features: int) -> Part:
    """Turn the user's word for the layout into the part that holds all attributes.

    Parameters
    ----------
    layout : "sequence"
        Attributes lie in the order of the columns.
    n_features : int
        Number of attributes.

    Returns
    -------
    Part
        The root of the attribute tree, not yet cut.
    """
    if isinstance(layout, str) and layout == "sequence":
        return Stretch(0, n_features)
    raise ParameterError(f"layout must be 'sequence', got {layout!r}.")
