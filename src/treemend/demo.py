"""A demonstration on scikit-learn's digits: occlude, mend, draw. Run it with ``treemend demo``."""

import os

import numpy as np
from sklearn.datasets import load_digits

from treemend.mender import Mender
from treemend.synthetic import square_masks

_GRID = (8, 8)
_N_REFERENCE = 1200


def run(output: str | os.PathLike[str] = "demo.png", rate: float = 0.05) -> list[str]:
    """Repair occluded digits, draw them into a picture, and return lines that say how well it went."""
    import matplotlib

    matplotlib.use("Agg")
    from treemend.plots import plot_images

    rng = np.random.default_rng(0)
    digits = rng.permutation(load_digits().data)
    reference, true = digits[:_N_REFERENCE], digits[_N_REFERENCE:]
    mask = np.zeros(true.shape, dtype=bool)
    mask[::2] = square_masks(len(mask[::2]), _GRID, rng=rng)
    corrupted = np.where(mask, rng.uniform(digits.min(), digits.max(), true.shape), true)
    mended = Mender(layout=_GRID, false_alarm_rate=rate).fit(reference).mend(corrupted)
    drawn = {"true": true, "corrupted": corrupted, "found": mended.mask, "repaired": mended.repaired}
    pictures = {title: rows[:24:2].reshape(-1, *_GRID) for title, rows in drawn.items()}
    plot_images(pictures).savefig(output, dpi=120)
    occluded = (corrupted != true).any(axis=1)
    before, after = (np.linalg.norm(rows - true, axis=1)[occluded].mean() for rows in (corrupted, mended.repaired))
    found, touched = mended.corrupted[occluded], mended.corrupted[~occluded]
    return [
        f"{len(reference)} clean digits learnt, {len(true)} more looked at, half of them occluded",
        f"occluded digits found: {found.mean():.1%} of {len(found)}",
        f"distance to the truth: {after:.2f} after, {before:.2f} before",
        f"clean digits touched:  {touched.mean():.1%} of {len(touched)} (asked: {rate:.0%} on average)",
        f"picture: {output}",
    ]
