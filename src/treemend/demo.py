"""A demonstration on scikit-learn's digits: occlude, mend, draw. Run it with ``treemend demo``."""

import argparse
import os

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from treemend.mender import Mender
from treemend.result import Result
from treemend.synthetic import square_masks

__all__ = ["run"]

_GRID = (8, 8)
_N_REFERENCE = 1200


def run(output: str | os.PathLike[str] = "demo.png", rate: float = 0.05) -> list[str]:
    """Repair occluded digits, draw the picture, and return lines that say how well it went.

    Parameters
    ----------
    output : path
        Where the picture goes: true, corrupted, found, repaired.
    rate : float
        The false-alarm rate.
    """
    rng = np.random.default_rng(0)
    digits = rng.permutation(load_digits().data)
    reference, true = digits[:_N_REFERENCE], digits[_N_REFERENCE:]
    mask = np.zeros(true.shape, dtype=bool)
    mask[::2] = square_masks(len(mask[::2]), _GRID, rng=rng)
    corrupted = np.where(mask, rng.uniform(digits.min(), digits.max(), true.shape), true)
    mended = Mender(layout=_GRID, false_alarm_rate=rate).fit(reference).mend(corrupted)
    _draw({"true": true, "corrupted": corrupted, "found": mended.mask, "repaired": mended.repaired}, output)
    sizes = f"{len(reference)} clean digits learnt, {len(true)} more looked at, half of them occluded"
    return [sizes, *_measured(true, corrupted, mended, rate), f"picture: {output}"]


def _measured(true: NDArray[np.float64], corrupted: NDArray[np.float64], mended: Result, rate: float) -> list[str]:
    occluded = np.asarray((corrupted != true).any(axis=1))
    before, after = (np.linalg.norm(rows - true, axis=1)[occluded].mean() for rows in (corrupted, mended.repaired))
    found, touched = mended.corrupted[occluded], mended.corrupted[~occluded]
    return [
        f"occluded digits found: {found.mean():.1%} of {len(found)}",
        f"distance to the truth: {after:.2f} after, {before:.2f} before",
        f"clean digits touched:  {touched.mean():.1%} of {len(touched)} (asked: at most {rate:.0%})",
    ]


def _draw(rows: dict[str, NDArray[np.generic]], output: str | os.PathLike[str]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from treemend.plots import plot_images

    figure = plot_images({title: table[:24:2].reshape(-1, *_GRID) for title, table in rows.items()})
    figure.savefig(output, dpi=120)


def _main() -> None:
    parser = argparse.ArgumentParser(prog="python -m treemend.demo", description=__doc__)
    parser.add_argument("--output", default="demo.png", help="where the picture goes")
    parser.add_argument("--false-alarm-rate", type=float, default=0.05, help="share of clean rows that may be declared")
    given = parser.parse_args()
    print(*run(given.output, given.false_alarm_rate), sep="\n")


if __name__ == "__main__":
    _main()
