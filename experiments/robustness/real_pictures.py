"""Pictures of the real sets: grey is what is usual, orange what came and what was found, blue the repair."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from experiments.drawing import BLUE, GREEN, GREY, ORANGE, new_figure, open_frame, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_days", "draw_frames", "draw_gaps", "draw_spectra"]

Rows = NDArray[np.float64]
Masks = NDArray[np.bool_]


def draw_spectra(
    both_masks: Masks, n_earlier: int, later: Rows, repaired: Rows, mask: Masks, reference: Rows, path: Path
) -> None:
    """Draw what was found in earlier and later spectra as a map, and the later spectrum with most found."""
    figure, (left, right) = new_figure(11, 3.6, columns=2)
    _map(left, both_masks)
    left.axhline(n_earlier - 0.5, color=BLUE, linewidth=1)
    left.set(xlabel="channel", ylabel="spectrum", title="found: earlier spectra above the line, later ones below")
    one = int(mask.sum(axis=1).argmax())
    usual = reference.mean(axis=0)
    right.plot(later[one] - usual, color=ORANGE, linewidth=0.9, label="as it came")
    right.plot(repaired[one] - usual, color=BLUE, linewidth=0.9, label="repaired")
    right.set(xlabel="channel", ylabel="minus the earlier mean", title="a later spectrum")
    right.legend(frameon=False, fontsize=8)
    open_frame(right)
    save(figure, path)


def draw_frames(frames: Rows, masks: Masks, repaired: Rows, path: Path, columns: int = 9) -> None:
    """Draw some frames, what was found in them, and their repair."""
    chosen = np.linspace(0, len(frames) - 1, columns).round().astype(int)
    figure, axes = new_figure(1.3 * columns, 3.6, columns=columns, rows=3)
    for place, number in enumerate(chosen):
        for line, image in enumerate((frames[number], masks[number], repaired[number])):
            ax = axes[line * columns + place]
            ax.set(xticks=[], yticks=[])
            if image.dtype == bool:
                _map(ax, image)
            else:
                ax.imshow(image, cmap="gray", vmin=frames.min(), vmax=frames.max())
        axes[place].set_title(f"frame {number}", fontsize=8)
    for line, title in enumerate(("as it came", "found", "repaired")):
        axes[line * columns].set_ylabel(title, fontsize=9)
    save(figure, path)


def draw_days(
    days: Rows, repaired: Rows, masks: Masks, windows: Masks, usual: Rows, names: Sequence[str], path: Path
) -> None:
    """Draw the labelled days with what was found shaded, the labels as a line below, usual days behind."""
    shown = min(12, len(days))
    chosen = np.sort(np.argsort(-masks.sum(axis=1), kind="stable")[:shown])
    figure, axes = new_figure(11, 1.7 * -(-shown // 4), columns=4, rows=-(-shown // 4))
    low, high = np.quantile(usual, [0.05, 0.95], axis=0)
    for ax, number in zip(axes, chosen, strict=False):
        places = np.arange(days.shape[1])
        ax.fill_between(places, low, high, color=GREY, alpha=0.3, linewidth=0)
        _shade(ax, masks[number])
        ax.plot(days[number], color=ORANGE, linewidth=1)
        ax.plot(np.where(masks[number], repaired[number], np.nan), color=BLUE, linewidth=1.4)
        bottom = np.where(windows[number], min(days.min(), low.min()), np.nan)
        ax.plot(bottom, color=GREEN, linewidth=3)
        ax.set_title(names[number], fontsize=8)
        ax.tick_params(labelsize=6)
        open_frame(ax)
    for ax in axes[len(chosen) :]:
        ax.set_axis_off()
    save(figure, path)


def draw_gaps(days: Rows, gaps: Masks, filled: Rows, spread: Rows, interpolated: Rows, path: Path) -> None:
    """Draw the eight days with the most missing values."""
    chosen = np.sort(np.argsort(-gaps.sum(axis=1), kind="stable")[:8])
    figure, axes = new_figure(11, 4, columns=4, rows=2)
    places = np.arange(days.shape[1])
    for ax, number in zip(axes, chosen, strict=True):
        gap = gaps[number]
        _shade(ax, gap)
        ax.plot(places, days[number], color=GREY, linewidth=2.5, alpha=0.6)
        ax.plot(np.where(gap, interpolated[number], np.nan), color=ORANGE, linewidth=1)
        value, width = np.where(gap, filled[number], np.nan), 1.2816 * spread[number]
        ax.fill_between(places, value - width, value + width, color=BLUE, alpha=0.25, linewidth=0)
        ax.plot(value, color=BLUE, linewidth=1.4)
        ax.set_title(f"day {number}", fontsize=8)
        ax.tick_params(labelsize=6)
        open_frame(ax)
    save(figure, path)


def _map(ax: "Axes", mask: Masks) -> None:
    from matplotlib.colors import ListedColormap

    colours = ListedColormap(["#f4f4f4", ORANGE])
    ax.imshow(mask, aspect="auto", interpolation="nearest", cmap=colours, vmin=0, vmax=1)


def _shade(ax: "Axes", mask: Masks) -> None:
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False]))))
    for start, stop in edges.reshape(-1, 2):
        ax.axvspan(start - 0.5, stop - 0.5, color=ORANGE, alpha=0.15, linewidth=0)
