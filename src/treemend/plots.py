"""Plots of results, drawn with matplotlib (``pip install treemend[plots]``).

Everything is drawn from a `treemend.report.findings.Findings`, which ``result.findings()`` returns. Each function
returns the figure; with ``ax`` it draws on axes that exist. Colours are those of Okabe and Ito, which people with any
kind of colour vision can tell apart.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treemend.exceptions import InputError
from treemend.report.findings import KINDS, Findings, runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_images", "plot_map", "plot_row", "plot_tree"]

ORANGE = "#D55E00"
BLUE = "#0072B2"
SKY = "#56B4E9"
GREY = "#999999"
PALE = "#f4f4f4"
YELLOW = "#F0E442"
KIND_COLOURS = (ORANGE, "#CC79A7", "#E69F00", "#009E73")
"""One for each of `KINDS`."""

_MOST_LABELS, _MOST_ROW_LABELS = 40, 20
_LETTERS_ABREAST = 60
_SIMILAR = 20
"""Where a column's range is this many times another's, one axis of values shows only the wider one."""


def plot_row(findings: Findings, row: int, *, true: ArrayLike | None = None, ax: "Axes | None" = None) -> "Figure":
    """Plot one row before and after, with the replaced cells shaded; a row of a grid as pictures.

    Parameters
    ----------
    findings : Findings
        From ``result.findings()``.
    row : int
        Number of the row.
    true : array-like of shape (n_features,), optional
        The true values, where they are known.
    ax : Axes, optional
        Where to draw; not for grids.

    Returns
    -------
    Figure
        What was drawn on.
    """
    _check_row(findings, row)
    if findings.grid is not None and len(findings.grid) == 2:
        return _plot_picture(findings, row, true)
    ax = _axes(ax, (8, 3.4))
    order = _order(findings)
    places = np.arange(len(order))
    low, width = _units(findings)
    _shade(ax, findings, row, order)
    if findings.reference_low is not None and findings.reference_high is not None:
        lowest, highest = (
            ((limit - low) / width)[order] for limit in (findings.reference_low, findings.reference_high)
        )
        ax.fill_between(places, lowest, highest, color=GREY, alpha=0.12, linewidth=0, label="range of the reference")
    before, after = (((rows[row] - low) / width)[order] for rows in (findings.before, findings.after))
    if true is not None:
        values = ((np.asarray(true, dtype=float) - low) / width)[order]
        ax.plot(places, values, color=GREY, linewidth=4, alpha=0.5, label="true")
    if findings.spread is not None:
        spread = (findings.spread[row] / width)[order]
        ax.fill_between(places, after - spread, after + spread, color=BLUE, alpha=0.25, linewidth=0, label="spread")
    ax.plot(places, before, color=ORANGE, linewidth=1, marker=".", markersize=3, label="before")
    ax.plot(places, after, color=BLUE, linewidth=1.6, label="after")
    ax.set_xlim(-0.5, len(order) - 0.5)
    ax.set_ylabel("value" if (width == 1).all() else "share of the reference's range")
    _label_columns(ax, findings, order)
    ax.set_title(_row_title(findings, row), fontsize=10, loc="left", pad=24)
    ax.legend(frameon=False, ncols=7, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2)
    _open_frame(ax)
    return _figure_of(ax)


def plot_map(findings: Findings, *, ax: "Axes | None" = None) -> "Figure":
    """Plot which cells of the table were replaced, rows x columns, coloured by the kind of corruption if it is known.

    Parameters
    ----------
    findings : Findings
        From ``result.findings()``.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Figure
        What was drawn on.
    """
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    ax = _axes(ax, (8, 4.5))
    order = _order(findings)
    meanings = {"as it came": PALE, "row left as it is: unusual": YELLOW, "was missing": SKY}
    meanings |= {"replaced": ORANGE} if findings.kinds is None else dict(zip(KINDS, KIND_COLOURS, strict=True))
    cells = np.zeros(findings.mask.shape, dtype=np.int64)
    if findings.unusual is not None:
        cells[findings.unusual] = 1
    cells[findings.only_missing] = 2
    cells[findings.mask] = 3 if findings.kinds is None else 3 + findings.kinds[findings.mask]
    ax.imshow(
        cells[:, order],
        cmap=ListedColormap(list(meanings.values())),
        aspect="auto",
        interpolation="nearest",
        vmin=-0.5,
        vmax=len(meanings) - 0.5,
    )
    there = np.unique(cells).tolist()
    patches = [Patch(facecolor=colour, label=word) for k, (word, colour) in enumerate(meanings.items()) if k in there]
    ax.legend(handles=patches, frameon=False, ncols=4, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1))
    _label_columns(ax, findings, order)
    if findings.row_ids is not None:
        shown = np.arange(0, len(cells), -(-len(cells) // _MOST_ROW_LABELS))
        ax.set_yticks(shown, [str(findings.row_ids[row]) for row in shown.tolist()], fontsize=8)
    ax.set_ylabel("row")
    return _figure_of(ax)


def plot_tree(findings: Findings, row: int, *, tau: float | None = None, ax: "Axes | None" = None) -> "Figure":
    """Plot the attribute tree of a result of `treemend.TCS` as bars, one level below the other, coloured by score.

    Parameters
    ----------
    findings : Findings
        From ``TCS.mend(...).findings()``.
    row : int
        Number of the row.
    tau : float, optional
        Nodes with a score of at most this are framed; by default the threshold that was in force.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Figure
        What was drawn on.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize
    from matplotlib.patches import Patch, Rectangle

    _check_row(findings, row)
    tree = findings.tree
    if tree is None or findings.node_scores is None:
        raise InputError("These findings have no attribute tree: plot_tree needs a result of treemend.TCS.")
    if tau is None and findings.rule is not None:
        tau = findings.rule.value if findings.rule.name == "tau" else findings.rule.tau
    ax = _axes(ax, (8, 3.2))
    colours = ScalarMappable(Normalize(0, 1), "cividis")
    for node, score in enumerate(findings.node_scores(np.array([row]))[0]):
        start, width = float(tree.start[node]), float(tree.stop[node] - tree.start[node])
        depth = float(tree.depth[node])
        ax.add_patch(Rectangle((start, depth), width, 0.85, facecolor=colours.to_rgba(score), edgecolor="white"))
        if tau is not None and score <= tau:
            frame = Rectangle(
                (start + 0.06, depth + 0.04), width - 0.12, 0.77, fill=False, edgecolor=ORANGE, linewidth=2
            )
            ax.add_patch(frame)
    height = int(np.max(tree.depth))
    ax.set_xlim(0, float(tree.stop[0]))
    ax.set_ylim(height + 1, 0)
    ax.set_yticks(np.arange(height + 1) + 0.42, [str(level) for level in range(height + 1)])
    ax.set_ylabel("depth")
    _label_columns(ax, findings, _order(findings), offset=0.5)
    if tau is not None:
        frame_legend = Patch(fill=False, edgecolor=ORANGE, linewidth=2, label=f"anomalous: score at most {tau:g}")
        ax.legend(handles=[frame_legend], frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1))
    figure = _figure_of(ax)
    figure.colorbar(colours, ax=ax, label="score")
    _open_frame(ax)
    return figure


def plot_images(images: Mapping[str, ArrayLike], *, columns: int | None = None) -> "Figure":
    """Plot kinds of images below each other, one image a column.

    Parameters
    ----------
    images : mapping of str to array, images x height x width or images x height x width x 3
        One row of pictures for each entry; boolean arrays are drawn as masks, dark is high in all others but colours.
    columns : int, optional
        How many images to draw; all by default.

    Returns
    -------
    Figure
        A new figure.
    """
    from matplotlib import pyplot

    stacks: dict[str, NDArray[Any]] = {name: np.asarray(stack)[:columns] for name, stack in images.items()}
    n_columns = max(len(stack) for stack in stacks.values())
    size = (1.05 * n_columns + 1, 1.1 * len(stacks))
    figure, axes = pyplot.subplots(len(stacks), n_columns, figsize=size, squeeze=False, layout="compressed")
    low, high = _limits([stack for stack in stacks.values() if stack.dtype != bool])
    for line, (name, stack) in zip(axes, stacks.items(), strict=True):
        line[0].set_ylabel(name, rotation=0, ha="right", va="center")
        for ax, image in zip(line, stack, strict=False):
            _draw_image(ax, image, low, high)
        for ax in line:
            ax.set(xticks=[], yticks=[])
    return figure


def _plot_picture(findings: Findings, row: int, true: ArrayLike | None) -> "Figure":
    """Plot a row of a grid: before, found, after, and the truth if it is known, with one colour bar."""
    from matplotlib import pyplot

    grid = findings.grid or ()
    pictures: dict[str, NDArray[Any]] = {
        "before": findings.before[row],
        "replaced": findings.mask[row],
        "after": findings.after[row],
    }
    if true is not None:
        pictures["true"] = np.asarray(true, dtype=float)
    low, high = _limits([picture for picture in pictures.values() if picture.dtype != bool])
    figure, axes = pyplot.subplots(1, len(pictures), figsize=(2.2 * len(pictures) + 0.8, 2.6), layout="constrained")
    for ax, (name, picture) in zip(axes, pictures.items(), strict=True):
        drawn = _draw_image(ax, picture.reshape(grid), low, high)
        ax.set(title=name, xticks=[], yticks=[])
    figure.colorbar(drawn, ax=list(axes), label="value", shrink=0.8)
    figure.suptitle(_row_title(findings, row), fontsize=10)
    return figure


def _shade(ax: "Axes", findings: Findings, row: int, order: NDArray[np.int64]) -> None:
    """Shade replaced and missing cells; the kinds of corruption are named above them."""
    replaced, missing = findings.mask[row][order], findings.only_missing[row][order]
    for cells, colour, word in ((replaced, ORANGE, "replaced"), (missing, SKY, "was missing")):
        for number, (start, stop) in enumerate(runs(cells)):
            label = word if number == 0 else None
            ax.axvspan(start - 0.5, stop - 0.5, color=colour, alpha=0.15, linewidth=0, label=label)
    if findings.kinds is None:
        return
    kinds = findings.kinds[row][order]
    for kind, word in enumerate(KINDS):
        for start, stop in runs(kinds == kind):
            place = ((start + stop - 1) / 2, 0.98)
            ax.text(*place, word, transform=ax.get_xaxis_transform(), ha="center", va="top", fontsize=8, color=ORANGE)


def _label_columns(ax: "Axes", findings: Findings, order: NDArray[np.int64], offset: float = 0.0) -> None:
    """Write the names of the columns below the axis, as many as have room."""
    if findings.names is None:
        ax.set_xlabel("column" if findings.order is None else "column, in layout order")
        if findings.order is None:
            return
    step = -(-len(order) // _MOST_LABELS)
    names: Sequence[object] = findings.names if findings.names is not None else range(len(order))
    shown = np.arange(0, len(order), step)
    labels = [str(names[order[k]]) for k in shown]
    ax.set_xticks(shown + offset, labels, fontsize=8, rotation=90 if len("".join(labels)) > _LETTERS_ABREAST else 0)


def _units(findings: Findings) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return an offset and a unit for each column: 0 and 1, or those of its range where the ranges differ widely."""
    n_columns = findings.before.shape[1]
    if findings.reference_low is not None and findings.reference_high is not None:
        width = findings.reference_high - findings.reference_low
        varying = width[width > 0]
        if len(varying) and varying.max() > _SIMILAR * varying.min():
            return findings.reference_low, np.where(width > 0, width, 1.0)
    return np.zeros(n_columns), np.ones(n_columns)


def _row_title(findings: Findings, row: int) -> str:
    parts = [f"row {row if findings.row_ids is None else findings.row_ids[row]}"]
    if findings.p_values is not None:
        parts.append(f"p = {findings.p_values[row]:.2g}")
    if findings.unusual is not None and findings.unusual[row]:
        parts.append("unusual, left as it is")
    return ", ".join(parts)


def _check_row(findings: Findings, row: int) -> None:
    if not 0 <= row < len(findings.before):
        raise InputError(f"row must be between 0 and {len(findings.before) - 1}, got {row}.")


def _order(findings: Findings) -> NDArray[np.int64]:
    return np.arange(findings.before.shape[1]) if findings.order is None else np.asarray(findings.order)


def _limits(values: Sequence[NDArray[Any]]) -> tuple[float, float]:
    finite = [stack[np.isfinite(stack)] for stack in values]
    together = np.concatenate([stack.ravel() for stack in finite]) if finite else np.empty(0)
    return (float(together.min()), float(together.max())) if len(together) else (0.0, 1.0)


def _draw_image(ax: "Axes", image: NDArray[Any], low: float, high: float) -> Any:
    from matplotlib.colors import ListedColormap

    coloured = image.ndim == 3
    if image.dtype == bool:
        mask = image.any(axis=2) if coloured else image
        return ax.imshow(mask, cmap=ListedColormap([PALE, ORANGE]), vmin=0, vmax=1)
    if coloured:
        return ax.imshow((image - low) / ((high - low) or 1.0))
    return ax.imshow(image, cmap="gray_r", vmin=low, vmax=high)


def _axes(ax: "Axes | None", size: tuple[float, float]) -> "Axes":
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=size, layout="constrained")[1]


def _figure_of(ax: "Axes") -> "Figure":
    return cast("Figure", ax.figure)


def _open_frame(ax: "Axes") -> None:
    ax.spines[["top", "right"]].set_visible(False)
