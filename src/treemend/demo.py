"""A demonstration on scikit-learn's bundled digits: occlude, mend, show.

Enters: nothing. Leaves: a picture (true, corrupted, found, repaired) and a few lines on the screen. Run it with
``python -m treemend.demo``.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from treemend.mender import Mended, TreeMender

__all__ = ["main"]

_SIDE = 8


@dataclass(frozen=True, eq=False)
class Occlusion:
    """Images with squares of noise in every second one."""

    true: NDArray[np.float64]
    corrupted: NDArray[np.float64]
    mask: NDArray[np.bool_]


def occlude(images: NDArray[np.float64], rng: np.random.Generator) -> Occlusion:
    """Overwrite a random square of every second image by uniform noise."""
    corrupted, mask = images.copy(), np.zeros(images.shape, dtype=bool)
    for index in range(0, len(images), 2):
        side = int(rng.integers(3, 6))
        top, left = rng.integers(0, _SIDE - side + 1, size=2)
        square = np.zeros((_SIDE, _SIDE), dtype=bool)
        square[top : top + side, left : left + side] = True
        mask[index] = square.ravel()
    corrupted[mask] = rng.uniform(images.min(), images.max(), mask.sum())
    return Occlusion(images, corrupted, mask)


def summary(occlusion: Occlusion, mended: Mended, asked: float) -> str:
    """Tell in a few lines what was found, how close the repair is, and how often clean rows were touched."""
    occluded = occlusion.mask.any(axis=1)
    before = np.linalg.norm(occlusion.corrupted - occlusion.true, axis=1)[occluded]
    after = np.linalg.norm(mended.repaired - occlusion.true, axis=1)[occluded]
    return "\n".join(
        [
            f"occluded digits found      {mended.corrupted[occluded].mean():6.1%} of {occluded.sum()}",
            f"distance to the truth      {after.mean():6.2f} after, {before.mean():.2f} before",
            f"clean digits touched       {mended.corrupted[~occluded].mean():6.1%} of {(~occluded).sum()}"
            f" (asked: at most {asked:.0%})",
        ]
    )


def main(arguments: list[str] | None = None) -> None:
    """Run the demonstration."""
    parser = argparse.ArgumentParser(prog="python -m treemend.demo", description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("demo.png"), help="where the picture goes")
    parser.add_argument("--false-alarm-rate", type=float, default=0.05, help="share of clean rows that may be touched")
    options = parser.parse_args(arguments)

    rng = np.random.default_rng(0)
    digits = rng.permutation(load_digits().data)
    reference, suspects = digits[:1200], occlude(digits[1200:], rng)
    mender = TreeMender(layout=(_SIDE, _SIDE), false_alarm_rate=options.false_alarm_rate).fit(reference)
    mended = mender.mend(suspects.corrupted)

    print(f"{len(reference)} clean digits learnt, {len(suspects.true)} more looked at, half of them occluded")
    print(summary(suspects, mended, options.false_alarm_rate))
    _draw(suspects, mended, options.output)
    print(f"picture                    {options.output}")


def _draw(occlusion: Occlusion, mended: Mended, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from treemend.plots import plot_images

    shown = np.arange(0, 24, 2)

    def as_images(rows: NDArray[np.generic]) -> NDArray[np.generic]:
        return rows[shown].reshape(-1, _SIDE, _SIDE)

    figure = plot_images(
        {
            "true": as_images(occlusion.true),
            "corrupted": as_images(occlusion.corrupted),
            "found": as_images(mended.mask),
            "repaired": as_images(mended.repaired),
        }
    )
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
