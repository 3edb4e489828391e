"""What the five USPS experiments share: the draw of rows, the order of the pixels, and a sweep over alpha and tau.

Enters: the set, a seed. Leaves: reference rows and true and corrupted test rows, and measures at every alpha and tau of
the paper.

The order of the pixels decides which of them the tree takes for neighbours. The paper says that images were vectorised
column by column. The file keeps them row by row; filled into a matrix column by column, as the usual tools for such
files do, a digit lies on its side, and its columns are the rows of the upright digit. That order of the file is what
the figures use, "file"; "columns" is the other reading, the columns of the upright digit, and the page shows what
becomes of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments import datasets
from experiments.corruptions import overwrite_squares
from experiments.recording import Row, Settings, Work
from treemend.tcs import TCS, false_alarms

__all__ = [
    "ALPHAS",
    "CHOSEN_ALPHA",
    "CHOSEN_TAU",
    "DEPTH",
    "ORDERS",
    "TAUS",
    "Digits",
    "curves",
    "draw_digits",
    "mean_of",
    "sweep",
]

ALPHAS = (0.375, 0.5, 0.75, 1.0)
TAUS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128)
DEPTH = 6
CHOSEN_ALPHA, CHOSEN_TAU = 0.75, 0.016
ORDERS = ("file", "columns")
_ROWS = (1500, 750)
_QUICK_ROWS = (120, 40)
_SEEDS = 3


@dataclass(frozen=True, eq=False)
class Digits:
    """One draw: reference rows, and test rows true and corrupted, pixels in the order asked for."""

    reference: NDArray[np.float64]
    reference_labels: NDArray[np.int64]
    true: NDArray[np.float64]
    corrupted: NDArray[np.float64]
    mask: NDArray[np.bool_]
    labels: NDArray[np.int64]

    @property
    def hit(self) -> NDArray[np.bool_]:
        """Which test rows were corrupted."""
        return self.mask.any(axis=1)


def draw_digits(settings: Settings, seed: int, order: str) -> Digits:
    """Draw reference and test rows, and corrupt about half of the test rows.

    Parameters
    ----------
    settings : Settings
    seed : int
        Number of the draw.
    order : "file" or "columns"
        Order of the pixels, see the module. The draw is the same for both.
    """
    digits = datasets.load("usps01", settings.data)
    n_reference, n_test = _QUICK_ROWS if settings.quick else _ROWS
    rng = np.random.default_rng([settings.seed, seed])
    drawn = rng.permutation(len(digits.X))
    reference, test = drawn[:n_reference], drawn[n_reference : n_reference + n_test]
    corrupted, mask = overwrite_squares(digits.X[test], rng)
    return Digits(
        reference=in_order(digits.X[reference], order),
        reference_labels=digits.y[reference],
        true=in_order(digits.X[test], order),
        corrupted=in_order(corrupted, order),
        mask=in_order(mask, order),
        labels=digits.y[test],
    )


def in_order(images: NDArray[Any], order: str) -> NDArray[Any]:
    """Put pixels that come row by row into an order, or back: both orders are their own inverse."""
    if order == "file":
        return images
    return np.ascontiguousarray(images.reshape(-1, 16, 16).transpose(0, 2, 1).reshape(len(images), -1))


@cache
def sweep(settings: Settings) -> list[Row]:
    """Measure both orders at every alpha and tau, over a few draws; leaves ``digits_sweep.csv``."""
    seeds = 1 if settings.quick else _SEEDS
    work = Work("digits_sweep", settings, len(ORDERS) * seeds * len(ALPHAS))
    work.do(
        {
            f"{order}-{seed}-{alpha}": partial(_measure, settings, order, seed, alpha)
            for order in ORDERS
            for seed in range(seeds)
            for alpha in ALPHAS
        }
    )
    return work.finish()


def mean_of(rows: list[Row], column: str, **fixed: object) -> float:
    """Return the mean of a column over the rows that agree with what is fixed, leaving out what is not a number."""
    found = [row[column] for row in rows if all(row[key] == value for key, value in fixed.items())]
    known = [value for value in found if not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")


def curves(measured: list[Row], order: str, /, **columns: str) -> list[Row]:
    """Return means over the draws at every alpha and tau: new names of columns, each with the measured one."""
    return [
        {
            "order": order,
            "alpha": alpha,
            "tau": tau,
            **{name: mean_of(measured, of, order=order, alpha=alpha, tau=tau) for name, of in columns.items()},
        }
        for alpha in ALPHAS
        for tau in TAUS
    ]


def _measure(settings: Settings, order: str, seed: int, alpha: float) -> Iterator[Row]:
    digits = draw_digits(settings, seed, order)
    hit = digits.hit
    distance = np.linalg.norm(digits.corrupted - digits.true, axis=1)[hit]
    clean_scores = None
    for tau in TAUS:
        tcs = TCS(tau=tau, alpha=alpha, depth=DEPTH).fit(digits.reference)
        if clean_scores is None:
            clean_scores = tcs.score_nodes(digits.true)
        mended = tcs.mend(digits.corrupted)
        left = np.linalg.norm(mended.repaired - digits.true, axis=1)[hit]
        labels = clean_scores <= tau
        yield {
            "order": order,
            "seed": seed,
            "alpha": alpha,
            "tau": tau,
            "row_false_alarm": float(mended.corrupted[~hit].mean()),
            "detection": float(mended.corrupted[hit].mean()),
            "attribute_false_alarm": float(mended.mask[~digits.mask].mean()),
            "localisation": float(mended.mask[digits.mask].mean()),
            "quality": float(np.mean((distance - left) / distance)),
            "theta_of_labels": float(false_alarms.fit_theta(labels, tcs.tree_, tau=tau)),
            **{
                f"theta_{depth}": float(theta)
                for depth, theta in enumerate(false_alarms.fit_theta(labels, tcs.tree_, tau=tau, by_depth=True))
            },
        }
