"""Pictures for scripts, drawn with matplotlib (``pip install treemend[plots]``).

Enters: plain arrays, a fitted tree. Leaves: the `matplotlib.axes.Axes` or `matplotlib.figure.Figure` that was drawn on.
Colours are those of Okabe and Ito, which people with any kind of colour vision tell apart.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treemend.tree import AttributeTree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_images", "plot_map", "plot_row", "plot_tree"]

ORANGE = "#D55E00"
BLUE = "#0072B2"
SKY = "#56B4E9"
GREY = "#999999"
PALE = "#f4f4f4"


def plot_row(
    before: ArrayLike,
    after: ArrayLike,
    mask: ArrayLike,
    *,
    spread: ArrayLike | None = None,
    true: ArrayLike | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw one row before and after, with the found stretches shaded.

    Parameters
    ----------
    before, after : array, one value an attribute
    mask : array of bool, one an attribute
    spread : array, one value an attribute, optional
        The donors' spread, drawn around what was put back; NaN where nothing was.
    true : array, optional
        What really stood there, where it is known.
    ax : Axes, optional
        Where to draw; a new figure by default.
    """
    ax = ax or _new_axes((7, 2.6))
    before, after = np.asarray(before, dtype=float), np.asarray(after, dtype=float)
    for start, stop in stretches(np.asarray(mask, dtype=bool)):
        ax.axvspan(start - 0.5, stop - 0.5, color=ORANGE, alpha=0.15, linewidth=0)
    places = np.arange(len(before))
    if true is not None:
        ax.plot(places, np.asarray(true, dtype=float), color=GREY, linewidth=4, alpha=0.5, label="true")
    if spread is not None:
        width = np.asarray(spread, dtype=float)
        ax.fill_between(
            places, after - width, after + width, color=BLUE, alpha=0.25, linewidth=0, label="donors' spread"
        )
    ax.plot(places, before, color=ORANGE, linewidth=1, label="as it came")
    ax.plot(places, after, color=BLUE, linewidth=1.6, label="repaired")
    ax.set_xlim(-0.5, len(before) - 0.5)
    ax.set_xlabel("attribute")
    ax.legend(frameon=False, ncols=4, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2)
    _open_frame(ax)
    return ax


def plot_map(mask: ArrayLike, *, missing: ArrayLike | None = None, ax: "Axes | None" = None) -> "Axes":
    """Draw what was found as a map, rows x attributes.

    Parameters
    ----------
    mask : array of bool, rows x attributes
    missing : array of bool, rows x attributes, optional
        Values that were missing when the rows came, marked in another colour.
    ax : Axes, optional
        Where to draw; a new figure by default.
    """
    from matplotlib.colors import ListedColormap

    ax = ax or _new_axes((7, 4))
    found = np.asarray(mask, dtype=bool)
    gaps = np.zeros_like(found) if missing is None else np.asarray(missing, dtype=bool)
    ax.imshow(
        np.where(found, 2, gaps),
        aspect="auto",
        interpolation="nearest",
        cmap=ListedColormap([PALE, SKY, ORANGE]),
        vmin=0,
        vmax=2,
    )
    ax.set_xlabel("attribute")
    ax.set_ylabel("row")
    return ax


def plot_tree(tree: AttributeTree, scores: ArrayLike, *, tau: float | None = None, ax: "Axes | None" = None) -> "Axes":
    """Draw the attribute tree as bars, one level below the other, coloured by score.

    Parameters
    ----------
    tree : AttributeTree
    scores : array, one a node
        As one row of ``mender.score_nodes``.
    tau : float, optional
        Nodes with a score of at most this get a frame.
    ax : Axes, optional
        Where to draw; a new figure by default.
    """
    from matplotlib import colormaps
    from matplotlib.patches import Rectangle

    ax = ax or _new_axes((7, 2.6))
    palette = colormaps["cividis"]
    for node, score in enumerate(np.asarray(scores, dtype=float)):
        start, width = float(tree.start[node]), float(tree.stop[node] - tree.start[node])
        box = Rectangle((start, float(tree.depth[node])), width, 0.85, facecolor=palette(score), edgecolor="white")
        ax.add_patch(box)
        if tau is not None and score <= tau:
            frame = (start + 0.06, float(tree.depth[node]) + 0.04)
            ax.add_patch(Rectangle(frame, width - 0.12, 0.77, fill=False, edgecolor=ORANGE, linewidth=2))
    ax.set_xlim(0, tree.n_features)
    ax.set_ylim(tree.height + 1, 0)
    ax.set_yticks(np.arange(tree.height + 1) + 0.42, [str(level) for level in range(tree.height + 1)])
    ax.set_ylabel("depth")
    ax.set_xlabel("attribute, in the order of the tree")
    _open_frame(ax)
    return ax


def plot_images(images: Mapping[str, ArrayLike], *, columns: int | None = None) -> "Figure":
    """Draw kinds of images below each other, one image a column.

    Parameters
    ----------
    images : mapping of str to array, images x height x width or images x height x width x 3
        One row of pictures for each entry; boolean arrays are drawn as masks, dark is high in all others but colours.
    columns : int, optional
        How many images to draw; all by default.
    """
    from matplotlib import pyplot

    stacks: dict[str, NDArray[Any]] = {name: np.asarray(stack)[:columns] for name, stack in images.items()}
    n_columns = max(len(stack) for stack in stacks.values())
    figure, axes = pyplot.subplots(
        len(stacks),
        n_columns,
        figsize=(1.05 * n_columns + 1, 1.1 * len(stacks)),
        squeeze=False,
        layout="compressed",
    )
    values = [stack for stack in stacks.values() if stack.dtype != bool]
    low = min((float(np.nanmin(stack)) for stack in values), default=0.0)
    high = max((float(np.nanmax(stack)) for stack in values), default=1.0)
    for line, (name, stack) in zip(axes, stacks.items(), strict=True):
        line[0].set_ylabel(name, rotation=0, ha="right", va="center")
        for ax, image in zip(line, stack, strict=False):
            _draw_image(ax, image, low, high)
        for ax in line:
            ax.set(xticks=[], yticks=[])
    return figure


def _draw_image(ax: "Axes", image: NDArray[Any], low: float, high: float) -> None:
    from matplotlib.colors import ListedColormap

    coloured = image.ndim == 3
    if image.dtype == bool:
        ax.imshow(image.any(axis=2) if coloured else image, cmap=ListedColormap([PALE, ORANGE]), vmin=0, vmax=1)
    elif coloured:
        ax.imshow((image - low) / ((high - low) or 1.0))
    else:
        ax.imshow(image, cmap="gray_r", vmin=low, vmax=high)


def _new_axes(size: tuple[float, float]) -> "Axes":
    from matplotlib import pyplot

    return pyplot.subplots(figsize=size, layout="constrained")[1]


def _open_frame(ax: "Axes") -> None:
    ax.spines[["top", "right"]].set_visible(False)


def stretches(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the runs of True as half-open intervals.

    Examples
    --------
    >>> stretches(np.array([True, False, True, True]))
    [(0, 1), (2, 4)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False]))))
    return [(int(start), int(stop)) for start, stop in edges.reshape(-1, 2)]
