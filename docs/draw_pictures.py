"""Draw pictures into ``docs/pictures``: the README's spectra; tree, patterns and a repaired row of ``docs/method.md``.

Run it with ``make pictures``. Everything is drawn from a fixed seed.
"""

import runpy
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import gallery_style
import numpy as np
from matplotlib import pyplot
from matplotlib.patches import Circle, Rectangle

from treemend import TCS
from treemend.plots import BLUE, GREY, ORANGE

PICTURES = Path(__file__).parent / "pictures"


def waves(rng, n_rows, n_features=64):
    """Rows with a phase and a height of their own: what a sensor array or a day profile may look like."""
    phase, height = rng.uniform(0, 6, (n_rows, 1)), rng.uniform(1, 2, (n_rows, 1))
    return height * np.sin(np.linspace(0, 9, n_features) + phase) + 0.05 * rng.normal(size=(n_rows, n_features))


def one_overwritten_row():
    """Return the fitted published method, the true row and the row with columns 16 to 27 overwritten."""
    rng = np.random.default_rng(4)
    tcs = TCS(tau=0.01, alpha=0.75, depth=4).fit(waves(rng, 800))
    true = waves(rng, 1)
    suspect = true.copy()
    suspect[0, 16:28] = rng.uniform(-2, 2, 12)
    return tcs, true, suspect


def draw_tree_and_row():
    """Draw the repaired row above the tree of scores that led to it."""
    tcs, true, suspect = one_overwritten_row()
    mended = tcs.mend(suspect)
    figure, axes = pyplot.subplots(2, 1, figsize=(7.5, 5.5), layout="constrained")
    mended.plot_row(0, true=true[0], ax=axes[0])
    axes[0].set_xlabel("")
    mended.plot_tree(0, ax=axes[1])
    figure.savefig(PICTURES / "repaired_row.png", dpi=130)


def draw_tree():
    """Draw the attribute tree of eight attributes."""
    figure, ax = pyplot.subplots(figsize=(7, 2.6), layout="constrained")
    for depth in range(4):
        width = 8 // 2**depth
        for start in range(0, 8, width):
            ax.add_patch(Rectangle((start + 0.05, depth), width - 0.1, 0.7, facecolor="#dbe9f4", edgecolor=BLUE))
            label = f"[{start}, {start + width})"
            ax.text(start + width / 2, depth + 0.35, label, ha="center", va="center", fontsize=9)
    ax.set(xlim=(0, 8), ylim=(3.8, -0.1), xticks=[], yticks=np.arange(4) + 0.35)
    ax.set_yticklabels(["root, depth 0", "depth 1", "depth 2", "leaves, depth 3"])
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    figure.savefig(PICTURES / "tree.png", dpi=130)


def draw_patterns():
    """Draw the three patterns of a node and its children."""
    patterns = (
        ("(a) node and both halves:\ndeclared here (at the root: go on)", (True, True, True)),
        ("(b) node, but neither half:\na rare combination, rejected", (True, False, False)),
        ("(c) anything else:\nlook into both halves", (True, False, True)),
    )
    figure, axes = pyplot.subplots(1, 3, figsize=(8.5, 3.4), layout="constrained")
    places = ((1.0, 1.5), (0.4, 0.4), (1.6, 0.4))
    for ax, (title, labels) in zip(axes, patterns, strict=True):
        for x, y in places[1:]:
            ax.plot([1.0, x], [1.5, y], color=GREY, zorder=0)
        for (x, y), anomalous in zip(places, labels, strict=True):
            face = ORANGE if anomalous else "white"
            shape = (
                Circle((x, y), 0.2, facecolor=face, edgecolor="black")
                if anomalous
                else Rectangle((x - 0.18, y - 0.18), 0.36, 0.36, facecolor=face, edgecolor="black")
            )
            ax.add_patch(shape)
        ax.set(xlim=(0, 2), ylim=(0.1, 1.8), xticks=[], yticks=[], aspect="equal")
        ax.set_title(title, fontsize=9)
        ax.spines[:].set_visible(False)
    figure.savefig(PICTURES / "patterns.png", dpi=130)


def draw_spectra():
    """Draw the picture of the gallery's spectra."""
    with pyplot.rc_context():
        gallery_style.use_style({}, "")
        runpy.run_path(str(PICTURES.parents[1] / "examples" / "tables" / "spectra.py"))
        pyplot.gcf().savefig(PICTURES / "spectra.png", dpi=120)


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    draw_spectra()
    draw_tree()
    draw_patterns()
    draw_tree_and_row()
