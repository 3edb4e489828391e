"""One look for all pictures: colours that everybody tells apart, open frames, small files."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["BLACK", "BLUE", "COLOURS", "GREEN", "GREY", "ORANGE", "new_figure", "open_frame", "save"]

ORANGE, BLUE, GREEN, PURPLE = "#D55E00", "#0072B2", "#009E73", "#CC79A7"
GREY, BLACK = "#999999", "#222222"
COLOURS = (PURPLE, GREEN, BLUE, ORANGE)
"""One for each alpha, in rising order."""


def new_figure(width: float, height: float, columns: int = 1, rows: int = 1) -> "tuple[Figure, list[Axes]]":
    """Return a figure that needs no display, and its axes row by row."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, list(figure.subplots(rows, columns, squeeze=False).flat)


def open_frame(ax: "Axes") -> None:
    """Leave only the two lines of the frame that carry numbers."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="#EEEEEE", linewidth=0.8)
    ax.set_axisbelow(True)


def save(figure: "Figure", path: Path) -> None:
    """Write a PNG of at most some tens of kilobytes, the same bytes for the same picture."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110, metadata={"Software": None})
