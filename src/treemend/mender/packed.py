"""A density without what follows from the rest, as model files keep it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemend.mender.density import Density, make_density

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PackedDensity:
    """Centres (K, d), lower triangles of the covariances (K, d (d + 1) / 2) and log weights (K,).

    Examples
    --------
    >>> density = make_density(np.zeros((1, 2)), np.array([[[2.0, 1.0], [1.0, 3.0]]]), np.zeros(1))
    >>> packed = pack_density(density)
    >>> packed.lower
    array([[2., 1., 3.]])
    >>> bool((packed.unpack().precision == density.precision).all())
    True
    """

    centre: Floats
    lower: Floats
    log_weight: Floats

    def unpack(self) -> Density:
        """Return the density, with the bits it had on the same machine."""
        n_components, d = self.centre.shape
        below = np.tril_indices(d)
        covariance = np.empty((n_components, d, d))
        covariance[:, below[0], below[1]] = self.lower
        covariance[:, below[1], below[0]] = self.lower
        return make_density(self.centre, covariance, self.log_weight)


def pack_density(density: Density) -> PackedDensity:
    """Return the density without precisions and determinants."""
    below = np.tril_indices(density.centre.shape[1])
    return PackedDensity(density.centre, density.covariance[:, below[0], below[1]], density.log_weight)
