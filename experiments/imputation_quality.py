"""Figure "impqual": which share of a digit's distance from the truth the repair takes away, against tau.

Mean over corrupted digits of (|x - t| - |y - t|) / |x - t|, with x corrupted, y repaired, t true. `compute` leaves
``imputation_quality.csv``, `draw` leaves ``imputation_quality.png``.
"""

from experiments.digits import ALPHAS, ORDERS, TAUS, curves, sweep
from experiments.drawing import BLACK, COLOURS, new_figure, open_frame, save
from experiments.recording import Settings, read_rows, write_rows

__all__ = ["compute", "draw"]

_TITLES = {"file": "Pixels in the file's order", "columns": "Pixels by columns"}


def compute(settings: Settings) -> None:
    """Average the quality over the draws."""
    measured = sweep(settings)
    rows = [row for order in ORDERS for row in curves(measured, order, quality="quality")]
    write_rows(settings.results / "imputation_quality.csv", rows)


def draw(settings: Settings) -> None:
    """Draw one curve for each alpha, one panel for each order of the pixels."""
    rows = read_rows(settings.results / "imputation_quality.csv")
    figure, panels = new_figure(8.6, 3.7, columns=2)
    low, high = min(row["quality"] for row in rows), max(row["quality"] for row in rows)
    for ax, order in zip(panels, ORDERS, strict=True):
        ax.axhline(0, color=BLACK, linewidth=0.8)
        for alpha, colour in zip(ALPHAS, COLOURS, strict=True):
            own = [row["quality"] for row in rows if row["order"] == order and row["alpha"] == alpha]
            ax.plot(TAUS, own, color=colour, marker="o", markersize=4, label=f"α = {alpha:g}")
        ax.set(xscale="log", xlabel="false-alarm rate of one node, τ", ylim=(low - 0.02, high + 0.02))
        ax.set_title(_TITLES[order], fontsize=10, loc="left")
        open_frame(ax)
    panels[0].set_ylabel("imputation quality")
    panels[1].legend(frameon=False, loc="upper left", fontsize=8)
    save(figure, settings.results / "imputation_quality.png")
