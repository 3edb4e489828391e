"""Figure "dagfig": how often the whole search touches a clean digit, against tau, beside the model's curves.

`compute` leaves ``false_alarms.csv`` (measured rate by order, alpha and tau) and ``theta.csv`` (the fitted theta, one
for each alpha and one for all, and one for each depth). `draw` leaves ``false_alarms.png``.

Theta is fitted in two ways. To the curve: least squares between the logarithms of the model's and the measured rates,
for the rates span two decades. To the labels of clean rows at tau = .016, by `treemend.tcs.false_alarms.fit_theta`, for
each depth of the parent.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from experiments.digits import ALPHAS, CHOSEN_TAU, DEPTH, ORDERS, TAUS, curves, mean_of, sweep
from experiments.drawing import COLOURS, GREY, new_figure, open_frame, save
from experiments.recording import Row, Settings, read_rows, write_rows
from treemend.tcs.false_alarms import corruption_false_alarm_rate

__all__ = ["compute", "draw", "theta_of_curve"]

_MODEL_THETAS = (0.75, 0.8, 0.85, 1.0)


def compute(settings: Settings) -> None:
    """Measure false alarms and fit theta."""
    measured = sweep(settings)
    rows = [row for order in ORDERS for row in curves(measured, order, measured="row_false_alarm")]
    write_rows(settings.results / "false_alarms.csv", rows)
    write_rows(
        settings.results / "theta.csv", [_fit(order, rows, measured, alphas) for order in ORDERS for alphas in _GROUPS]
    )


_GROUPS = (*((alpha,) for alpha in ALPHAS), ALPHAS)


def theta_of_curve(rates: NDArray[np.float64], taus: NDArray[np.float64], *, logarithmic: bool = True) -> float:
    """Return the theta whose modelled rates come closest to measured ones.

    Parameters
    ----------
    rates, taus : ndarray
        Measured rate of the whole search, and the rate of a single test it belongs to.
    logarithmic : bool
        Compare logarithms of the rates, or the rates themselves.
    """
    tiniest = 1e-3

    def misfit(theta: float) -> float:
        modelled = np.asarray(corruption_false_alarm_rate(taus, theta, DEPTH))
        if logarithmic:
            return float(np.sum(np.log(modelled / np.maximum(rates, tiniest)) ** 2))
        return float(np.sum((modelled - rates) ** 2))

    return float(minimize_scalar(misfit, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-4}).x)


def draw(settings: Settings) -> None:
    """Draw measured rates as points and the model as lines, one panel an order of the pixels."""
    rows = read_rows(settings.results / "false_alarms.csv")
    thetas = {row["order"]: row["theta"] for row in read_rows(settings.results / "theta.csv") if row["alphas"] == "all"}
    figure, panels = new_figure(9.4, 4.2, columns=2)
    taus = np.geomspace(TAUS[0], TAUS[-1], 60)
    for ax, order in zip(panels, ORDERS, strict=True):
        for theta in _MODEL_THETAS:
            rates = np.asarray(corruption_false_alarm_rate(taus, theta, DEPTH))
            ax.plot(taus, rates, color=GREY, linewidth=1, linestyle="-.")
        ax.text(0.0016, 0.018, "model: θ = .75, .8, .85\n(from above)", color="#666666", fontsize=8, va="top")
        ax.text(0.009, 0.005, "model: θ = 1", color="#666666", fontsize=8, va="top")
        for alpha, colour in zip(ALPHAS, COLOURS, strict=True):
            own = [row for row in rows if row["order"] == order and row["alpha"] == alpha]
            ax.plot(
                TAUS, [row["measured"] for row in own], color=colour, marker="o", markersize=4, label=f"α = {alpha:g}"
            )
        ax.set(xscale="log", yscale="log", xlabel="false-alarm rate of one node, τ", ylim=(2e-3, 1.15))
        ax.set_title(f"{_ORDER_TITLES[order]}: fitted θ = {thetas[order]:.2f}", fontsize=10, loc="left")
        open_frame(ax)
    panels[0].set_ylabel("false-alarm rate of the whole search")
    panels[0].legend(frameon=False, loc="lower right", fontsize=8)
    save(figure, settings.results / "false_alarms.png")


_ORDER_TITLES = {"file": "Pixels in the file's order", "columns": "Pixels by columns"}


def _fit(order: str, rows: list[Row], measured: list[Row], alphas: tuple[float, ...]) -> Row:
    own = [row for row in rows if row["order"] == order and row["alpha"] in alphas]
    rates, taus = np.array([row["measured"] for row in own]), np.array([row["tau"] for row in own])

    def of_labels(column: str) -> float:
        means = [mean_of(measured, column, order=order, alpha=alpha, tau=CHOSEN_TAU) for alpha in alphas]
        known = [mean for mean in means if not np.isnan(mean)]
        return float(np.mean(known)) if known else float("nan")

    return {
        "order": order,
        "alphas": "all" if len(alphas) > 1 else alphas[0],
        "theta": theta_of_curve(rates, taus),
        "theta_least_squares_of_rates": theta_of_curve(rates, taus, logarithmic=False),
        "theta_of_labels": of_labels("theta_of_labels"),
        **{f"labels_depth_{depth}": of_labels(f"theta_{depth}") for depth in range(DEPTH)},
    }
