"""Figure "visualexamples": digits true, corrupted, as found and repaired, at tau = .016 and alpha = .75.

The first corrupted test rows of the first draw, five of each class, none picked by hand. `compute` leaves
``digit_pictures.csv`` (one line a pixel row), `draw` leaves ``digit_pictures.png``.
"""

import numpy as np

from experiments.digits import CHOSEN_ALPHA, CHOSEN_TAU, DEPTH, draw_digits
from experiments.drawing import new_figure, save
from experiments.recording import Settings, read_rows, write_rows
from treemend import TCS

__all__ = ["compute", "draw"]

_OF_EACH_CLASS = 5
_KINDS = ("true", "corrupted", "found", "repaired")


def compute(settings: Settings) -> None:
    """Mend the corrupted test rows and keep the first few as text."""
    digits = draw_digits(settings, seed=0, order="file")
    tcs = TCS(tau=CHOSEN_TAU, alpha=CHOSEN_ALPHA, depth=DEPTH).fit(digits.reference)
    mended = tcs.mend(digits.corrupted)
    shown = np.concatenate(
        [np.flatnonzero(digits.hit & (digits.labels == label))[:_OF_EACH_CLASS] for label in (-1, 1)]
    )
    pictures = (digits.true, digits.corrupted, mended.mask.astype(float), mended.repaired)
    rows = [
        {
            "digit": int(digit),
            "kind": kind,
            "pixels": " ".join(f"{round(100 * float(value))}" for value in picture[digit]),
        }
        for digit in shown
        for kind, picture in zip(_KINDS, pictures, strict=True)
    ]
    write_rows(settings.results / "digit_pictures.csv", rows)


def draw(settings: Settings) -> None:
    """Draw one column a digit; what the search declared is tinted in the corrupted one."""
    rows = read_rows(settings.results / "digit_pictures.csv")
    digits = list(dict.fromkeys(row["digit"] for row in rows))
    images = {
        (row["digit"], row["kind"]): np.array(str(row["pixels"]).split(), dtype=float).reshape(16, 16) / 100
        for row in rows
    }
    figure, panels = new_figure(0.95 * len(digits) + 0.9, 4.0, columns=len(digits), rows=len(_KINDS))
    for place, ax in enumerate(panels):
        kind, digit = _KINDS[place // len(digits)], digits[place % len(digits)]
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_color("#CCCCCC")
        if kind == "found":
            ax.imshow(_tinted(images[digit, "corrupted"], images[digit, "found"] > 0), interpolation="nearest")
        else:
            ax.imshow(images[digit, kind], cmap="gray_r", vmin=0, vmax=1, interpolation="nearest")
        if place % len(digits) == 0:
            ax.set_ylabel(kind, fontsize=9)
    save(figure, settings.results / "digit_pictures.png")


def _tinted(image: np.ndarray, mask: np.ndarray) -> np.ndarray:
    grey = np.repeat(1 - image[..., None], 3, axis=2)
    orange = np.array([0.835, 0.369, 0.0])
    return np.where(mask[..., None], 0.45 * grey + 0.55 * orange, grey)
