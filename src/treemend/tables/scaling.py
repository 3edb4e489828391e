"""Scaling of attributes, learnt from the reference (method, section 9: every attribute in [0, 1]).

Enters: reference values. Leaves: a `Scaling` that takes any rows to the units in which distances are measured. Repaired
values never come back through it: they are copied or computed in the user's units.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemend.exceptions import ParameterError

__all__ = ["Scaling", "learn_scaling"]

_FARTHEST = 1e15


@dataclass(frozen=True, eq=False)
class Scaling:
    """An affine map for each attribute: ``(value - offset) / width``."""

    offset: NDArray[np.float64]
    width: NDArray[np.float64]

    def apply(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scaled values.

        Nothing is farther than 1e15 widths from the reference, so that no square overflows: a value that far off is as
        foreign as a value can be, whatever it is exactly.
        """
        with np.errstate(over="ignore"):
            scaled = (values - self.offset) / self.width
        return np.clip(scaled, -_FARTHEST, _FARTHEST, out=scaled)


def learn_scaling(values: NDArray[np.float64], scale: str | None) -> Scaling:
    """Learn the scaling from reference rows.

    Parameters
    ----------
    values : ndarray, rows x attributes
    scale : "minmax" or None
        "minmax" takes each attribute of the reference to [0, 1]; a constant attribute is only shifted. None changes no
        proportion: one common power of two brings the widest attribute to about 1, which is exact.

    Examples
    --------
    >>> learn_scaling(np.array([[0.0, 7.0], [4.0, 7.0]]), "minmax").apply(np.array([[1.0, 8.0]]))
    array([[0.25, 1.  ]])
    """
    lowest = values.min(axis=0)
    width = values.max(axis=0) - lowest
    if scale is None:
        widest = float(width.max())
        power = 2.0 ** np.floor(np.log2(widest)) if widest > 0 else 1.0
        return Scaling(offset=np.zeros_like(width), width=np.full_like(width, power))
    if scale == "minmax":
        return Scaling(offset=lowest, width=np.where(width > 0, width, 1.0))
    raise ParameterError(f"scale must be 'minmax' or None, got {scale!r}.")
