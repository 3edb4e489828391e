"""Figure "ROC": found against falsely found, for digits (detection) and for pixels (localisation), over tau.

`compute` leaves ``roc.csv``, `draw` leaves ``roc.png``.
"""

import numpy as np

from experiments.digits import ALPHAS, ORDERS, curves, sweep
from experiments.drawing import COLOURS, new_figure, open_frame, save
from experiments.recording import Row, Settings, read_rows, write_rows

__all__ = ["compute", "draw", "found_at_rate"]

_MEASURES = {"detection": ("row_false_alarm", "detection"), "localisation": ("attribute_false_alarm", "localisation")}


def compute(settings: Settings) -> None:
    """Average both curves over the draws."""
    measured = sweep(settings)
    rows = [
        {"order": order, "of": kind} | row
        for order in ORDERS
        for kind, (false, found) in _MEASURES.items()
        for row in curves(measured, order, false_alarm=false, found=found)
    ]
    write_rows(settings.results / "roc.csv", rows)


def found_at_rate(rows: list[Row], rate: float, **fixed: object) -> float:
    """Read a curve at a false-alarm rate, on straight lines between its points and from the origin."""
    own = [row for row in rows if all(row[key] == value for key, value in fixed.items())]
    false_alarm = np.array([0.0, *(row["false_alarm"] for row in own)])
    found = np.array([0.0, *(row["found"] for row in own)])
    rising = np.argsort(false_alarm)
    return float(np.interp(rate, false_alarm[rising], found[rising]))


def draw(settings: Settings) -> None:
    """Draw detection and localisation beside each other, pixels in the file's order."""
    rows = [row for row in read_rows(settings.results / "roc.csv") if row["order"] == "file"]
    figure, panels = new_figure(8.6, 3.9, columns=2)
    for ax, (kind, unit) in zip(panels, (("detection", "digits"), ("localisation", "pixels")), strict=True):
        ax.axvspan(0.1, 0.2, color="#F2F2F2", linewidth=0)
        for alpha, colour in zip(ALPHAS, COLOURS, strict=True):
            own = [row for row in rows if row["of"] == kind and row["alpha"] == alpha]
            ax.plot(
                [row["false_alarm"] for row in own],
                [row["found"] for row in own],
                color=colour,
                marker="o",
                markersize=4,
                label=f"α = {alpha:g}",
            )
        ax.set(xlim=(0, 0.7 if kind == "detection" else 0.36), ylim=(0, 1.02), xlabel=f"share of clean {unit} declared")
        ax.set_ylabel(f"share of corrupted {unit} found")
        ax.set_title(kind.capitalize(), fontsize=10, loc="left")
        open_frame(ax)
    panels[0].legend(frameon=False, loc="lower right", fontsize=8)
    save(figure, settings.results / "roc.png")
