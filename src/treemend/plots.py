"""Plots, drawn with matplotlib (``pip install treemend[plots]``).

Rows, maps and trees are methods of `treemend.Result`, drawn from its findings.
Colours are those of Okabe and Ito, which people with any kind of colour vision can tell apart.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from treemend.arrays import Array, Floats, Integers, Labels
from treemend.exceptions import InputError
from treemend.report.findings import CORRUPTED, KINDS, MISSING, UNUSUAL, Findings, row_runs
from treemend.report.words import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_images"]

ORANGE, BLUE, SKY, GREY, PALE, YELLOW = "#D55E00", "#0072B2", "#56B4E9", "#999999", "#f4f4f4", "#F0E442"
KIND_COLOURS = (ORANGE, "#CC79A7", "#E69F00", "#009E73")
"""One for each of `KINDS`."""

_REPLACED, _MISSING = ("replaced", ORANGE), ("was missing", SKY)
_MEANINGS = [("as it came", PALE), *zip(KINDS, KIND_COLOURS, strict=True), _REPLACED, _MISSING]
_MEANINGS += [("row left as it is: unusual", YELLOW)]
"""What the labels of cells mean, from -1 on, and their colours."""
_MOST_LABELS, _MOST_ROW_LABELS, _LETTERS_ABREAST = 40, 20, 60
_MOST_DRAWN = 300, 400
"""Rows and columns of a map; a figure of the usual size has a pixel for each."""
_SIMILAR = 20
"""Where a column's range is this many times another's, one axis of values shows only the wider one."""
_ABOVE: dict[str, Any] = {"frameon": False, "fontsize": 8, "loc": "lower left", "bbox_to_anchor": (0, 1)}
_NAMED: dict[str, Any] = {"ha": "center", "va": "top", "fontsize": 8, "color": ORANGE}
_FRAMED: dict[str, Any] = {"fill": False, "edgecolor": ORANGE, "linewidth": 2}
_NO_TICKS: dict[str, Any] = {"xticks": [], "yticks": []}


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
    """
    from matplotlib import pyplot

    stacks = {name: np.asarray(stack)[:columns] for name, stack in images.items()}
    n_columns = max(len(stack) for stack in stacks.values())
    size = (1.05 * n_columns + 1, 1.1 * len(stacks))
    figure, axes = pyplot.subplots(
        len(stacks), n_columns, figsize=size, squeeze=False, layout="compressed", subplot_kw=_NO_TICKS
    )
    for line, name in zip(axes, stacks, strict=True):
        line[0].set_ylabel(name, rotation=0, ha="right", va="center")
    drawn = zip(axes, stacks.values(), strict=True)
    _draw_images([pair for line, stack in drawn for pair in zip(line, stack, strict=False)])
    return figure


class ResultPlots:
    """The plots of a `treemend.Result`, from its findings."""

    findings: Callable[[], Findings]

    def plot_row(self, row: int, *, true: ArrayLike | None = None, ax: "Axes | None" = None) -> "Figure":
        """Plot a row before and after, with the replaced cells shaded; a row of a grid as pictures.

        Parameters
        ----------
        row : int
            Its number in the table.
        true : array-like of shape (n_features,), optional
            The true values, where they are known.
        ax : Axes, optional
            Where to draw; not for grids.

        Returns
        -------
        matplotlib Figure
        """
        findings = self._findings_of(row)
        if findings.grid is not None and findings.grid[2:] in {(), (1,), (3,)}:
            return _plot_picture(findings, row, findings.grid, true)
        ax, order, (low, width) = ax or _new_axes(3.4), findings.layout_order, _units(findings)
        places = np.arange(len(order))

        def shown(values: ArrayLike) -> Floats:
            return np.asarray((np.asarray(values, dtype=float) - low) / width)[order]

        _shade(ax, findings.cell_labels[row, order])
        if findings.reference_low is not None and findings.reference_high is not None:
            limits = shown(findings.reference_low), shown(findings.reference_high)
            ax.fill_between(places, *limits, color=GREY, alpha=0.12, linewidth=0, label="range of the reference")
        if true is not None:
            ax.plot(places, shown(true), color=GREY, linewidth=4, alpha=0.5, label="true")
        after = shown(findings.after[row])
        if findings.spread is not None and np.isfinite(findings.spread[row]).any():
            spread = (findings.spread[row] / width)[order]
            ax.fill_between(places, after - spread, after + spread, color=BLUE, alpha=0.25, linewidth=0, label="spread")
        before = shown(findings.before[row])
        ax.plot(places, before, color=ORANGE, linewidth=1, marker=".", markersize=3, label="before")
        ax.plot(places, after, color=BLUE, linewidth=1.6, label="after")
        scale = "value" if (width == 1).all() else "share of the reference's range"
        ax.set(xlim=(-0.5, len(order) - 0.5), ylabel=scale)
        ax.set_title(_row_title(findings, row), fontsize=10, loc="left", pad=24)
        ax.legend(ncols=7, **_ABOVE)
        return _finished(ax, findings)

    def plot_map(self, *, ax: "Axes | None" = None) -> "Figure":
        """Plot which cells of the table were replaced, coloured by the kind of corruption if it is known.

        Of a long or wide table, blocks of cells are shaded by share.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw.

        Returns
        -------
        matplotlib Figure
        """
        from matplotlib import colors, patches

        findings = self.findings()
        ax, labels = ax or _new_axes(4.5), findings.cell_labels
        labels[findings.left_alone[:, None] & (labels < 0)] = UNUSUAL
        counts, sizes = _count_labels(labels[:, findings.layout_order])
        share = counts.sum(axis=0) / sizes
        pale, *strong = colors.to_rgba_array([colour for _, colour in _MEANINGS])[:, :3]
        # The root keeps small shares visible beside large ones, as in the report.
        shade = np.sqrt(share / (share.max() or 1.0))[:, :, None]
        extent = (-0.5, labels.shape[1] - 0.5, len(labels) - 0.5, -0.5)
        picture = (1 - shade) * pale + shade * np.array(strong)[counts.argmax(axis=0)]
        ax.imshow(picture, aspect="auto", interpolation="nearest", extent=extent)
        meanings = [_MEANINGS[label + 1] for label in np.unique(labels)]
        ax.legend(handles=[patches.Patch(facecolor=colour, label=word) for word, colour in meanings], ncols=4, **_ABOVE)
        if findings.row_ids is not None:
            shown = np.arange(0, len(labels), -(-len(labels) // _MOST_ROW_LABELS))
            ax.set_yticks(shown, [str(findings.row_ids[row]) for row in shown.tolist()], fontsize=8)
        in_blocks = f", in blocks shaded by share, up to {percent(share.max())}" if sizes.max() > 1 else ""
        ax.set_ylabel(f"row{in_blocks}")
        return _finished(ax, findings)

    def plot_tree(self, row: int, *, tau: float | None = None, ax: "Axes | None" = None) -> "Figure":
        """Plot the attribute tree of `treemend.TCS` as bars, one level below the other, coloured by score.

        Parameters
        ----------
        row : int
            Its number in the table.
        tau : float, optional
            Nodes with a score of at most this are framed; by default the threshold that was in force.
        ax : Axes, optional
            Where to draw.

        Returns
        -------
        matplotlib Figure
        """
        from matplotlib import cm, colors, patches

        findings = self._findings_of(row)
        tree = findings.tree
        if tree is None or findings.node_scores is None:
            raise InputError("These findings have no attribute tree: plot_tree needs a result of treemend.TCS.")
        if tau is None and findings.rule is not None:
            tau = findings.rule.value if findings.rule.name == "tau" else findings.rule.tau
        ax = ax or _new_axes(3.2)
        shades = cm.ScalarMappable(colors.Normalize(0, 1), "cividis")
        start, depth, width = tree.start, tree.depth, tree.stop - tree.start
        scores = findings.node_scores(np.array([row]))[0]
        ax.bar(start, 0.85, width, depth, align="edge", color=shades.to_rgba(scores), edgecolor="white")
        levels = np.arange(int(depth.max()) + 1)
        ax.set(xlim=(0, tree.stop[0]), ylim=(len(levels), 0), ylabel="depth", yticks=levels + 0.42, yticklabels=levels)
        if tau is not None:
            low = scores <= tau
            ax.bar(start[low] + 0.06, 0.77, width[low] - 0.12, depth[low] + 0.04, align="edge", **_FRAMED)
            ax.legend(handles=[patches.Patch(label=f"anomalous: score at most {tau:g}", **_FRAMED)], **_ABOVE)
        _finished(ax, findings, offset=0.5).colorbar(shades, ax=ax, label="score")
        return cast("Figure", ax.figure)

    def _findings_of(self, row: int) -> Findings:
        findings = self.findings()
        if not 0 <= row < len(findings.before):
            raise InputError(f"row must be between 0 and {len(findings.before) - 1}, got {row}.")
        return findings


def _count_labels(labels: Labels) -> tuple[Integers, Integers]:
    """Count labels in at most so many blocks of cells, labels x rows x columns; also return the sizes of the blocks."""
    places = [np.arange(0, size, -(-size // most)) for size, most in zip(labels.shape, _MOST_DRAWN, strict=True)]
    heights, widths = (np.diff(starts, append=size) for starts, size in zip(places, labels.shape, strict=True))
    by_rows = [np.add.reduceat(labels == label, places[0], axis=0, dtype=np.int64) for label in range(UNUSUAL + 1)]
    return np.add.reduceat(by_rows, places[1], axis=2), np.outer(heights, widths)


def _plot_picture(findings: Findings, row: int, grid: tuple[int, ...], true: ArrayLike | None) -> "Figure":
    """Plot a row of a grid: before, found, after, and the truth if it is known, with one colour bar."""
    from matplotlib import pyplot

    shown = {"before": findings.before[row], "replaced": findings.mask[row], "after": findings.after[row], "true": true}
    shape = grid if grid[2:] == (3,) else grid[:2]
    pictures = {name: np.asarray(values).reshape(shape) for name, values in shown.items() if values is not None}
    size = (2.2 * len(pictures) + 0.8, 2.6)
    figure, axes = pyplot.subplots(1, len(pictures), figsize=size, layout="constrained", subplot_kw=_NO_TICKS)
    for ax, name in zip(axes, pictures, strict=True):
        ax.set_title(name)
    drawn = _draw_images(list(zip(axes, pictures.values(), strict=True)))
    if len(shape) == 2:
        figure.colorbar(drawn, ax=list(axes), label="value", shrink=0.8)
    figure.suptitle(_row_title(findings, row), fontsize=10)
    return figure


def _shade(ax: "Axes", labels: Labels) -> None:
    """Shade replaced and missing cells; the kinds of corruption are named above them."""
    named: set[str] = set()
    for _, start, stop in zip(*row_runs(labels[None]), strict=True):
        word, colour = _MISSING if labels[start] == MISSING else _REPLACED
        # matplotlib leaves labels that begin with _ out of the legend.
        label = f"{'_' * (word in named)}{word}"
        named.add(word)
        ax.axvspan(start - 0.5, stop - 0.5, color=colour, alpha=0.15, linewidth=0, label=label)
        if labels[start] < CORRUPTED:
            transform = ax.get_xaxis_transform()
            ax.text((start + stop - 1) / 2, 0.98, KINDS[labels[start]], transform=transform, **_NAMED)


def _finished(ax: "Axes", findings: Findings, offset: float = 0.0) -> "Figure":
    """Write the names of the columns below the axis, as many as have room, and return the figure."""
    ax.spines[["top", "right"]].set_visible(False)
    order = findings.layout_order
    if findings.names is None:
        ax.set_xlabel("column" if findings.order is None else "column, in layout order")
    if findings.names is not None or findings.order is not None:
        shown = np.arange(0, len(order), -(-len(order) // _MOST_LABELS))
        labels = [str(order[k] if findings.names is None else findings.names[order[k]]) for k in shown]
        ax.set_xticks(shown + offset, labels, fontsize=8, rotation=90 if len("".join(labels)) > _LETTERS_ABREAST else 0)
    return cast("Figure", ax.figure)


def _units(findings: Findings) -> tuple[Floats, Floats]:
    """Return an offset and a unit for each column: 0 and 1, or those of its range where the ranges differ widely."""
    low, high, n_columns = findings.reference_low, findings.reference_high, findings.before.shape[1]
    if low is not None and high is not None:
        varying = (high - low)[high > low]
        if len(varying) and varying.max() > _SIMILAR * varying.min():
            return low, np.where(high > low, high - low, 1.0)
    return np.zeros(n_columns), np.ones(n_columns)


def _row_title(findings: Findings, row: int) -> str:
    parts = [f"row {row if findings.row_ids is None else findings.row_ids[row]}"]
    if findings.p_values is not None:
        parts.append(f"p = {findings.p_values[row]:.2g}")
    if findings.unusual is not None and findings.unusual[row]:
        parts.append("unusual, left as it is")
    return ", ".join(parts)


def _draw_images(images: Sequence[tuple["Axes", Array]]) -> Any:
    """Draw images on one scale, masks in colours of their own; return the last one drawn."""
    from matplotlib.colors import ListedColormap

    values = np.concatenate([np.zeros(0), *(image.ravel() for _, image in images if image.dtype != bool)])
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    for ax, image in images:
        if image.dtype == bool:
            mask = image.any(axis=2) if image.ndim == 3 else image
            drawn = ax.imshow(mask, cmap=ListedColormap([PALE, ORANGE]), vmin=0, vmax=1)
        elif image.ndim == 3:
            drawn = ax.imshow(np.nan_to_num((image - low) / ((high - low) or 1.0)))
        else:
            drawn = ax.imshow(image, cmap="gray_r", vmin=low, vmax=high)
    return drawn


def _new_axes(height: float) -> "Axes":
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(8, height), layout="constrained")[1]
