"""The two methods of `treemend` that are compared: the defaults, and the published search at the same rate."""

import inspect
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemend import TreeMender

__all__ = ["can_clean_reference", "default", "judge_and_repair", "published", "published_depth"]

RATE = 0.05


def default(grid: tuple[int, int] | None = None, rate: float = RATE, **more: Any) -> TreeMender:
    """Return the defaults, told nothing but the rate and, for images, their shape."""
    return TreeMender(layout=grid or "sequence", false_alarm_rate=rate, **more)


def published(grid: tuple[int, int] | None = None, rate: float = RATE) -> TreeMender:
    """Return the published method, its threshold set to the rate on the reference itself.

    Depth 6 for the large images and 4 elsewhere, alpha .75, K = 8, the attributes in their order, as in the paper.
    """
    return TreeMender(
        depth=published_depth(grid),
        alpha=0.75,
        n_neighbors=8,
        false_alarm_rate=rate,
        donors="sibling",
        imputation="map",
        refine=False,
        scale=None,
    )


def published_depth(grid: tuple[int, int] | None) -> int:
    """Return the depth of the paper's experiments."""
    return 6 if grid and grid[0] * grid[1] >= 256 else 4


def judge_and_repair(mender: TreeMender, rows: NDArray[np.float64]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return what was found and the repaired rows."""
    mended = mender.mend(rows)
    return np.asarray(mended.mask), np.asarray(mended.repaired)


def can_clean_reference() -> bool:
    """Tell whether this version cleans its reference itself."""
    return "clean_reference" in inspect.signature(TreeMender.__init__).parameters
