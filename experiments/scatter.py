"""Figure "thesep": corrupted test digits on two principal axes, before and after, and how well a linear SVM tells them.

The published accuracies, 99.71, 90.57 and 96.85 %, are 349, 317 and 339 of 350: they count corrupted rows only, about
half of the 750 test rows, and so do we. `compute` leaves ``scatter.csv`` (accuracies and distances of the class means
over five draws, both orders of the pixels) and ``scatter_points.csv`` (the first draw). `draw` leaves ``scatter.png``.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np
from sklearn.svm import SVC

from experiments.digits import CHOSEN_ALPHA, CHOSEN_TAU, DEPTH, ORDERS, Digits, draw_digits
from experiments.drawing import BLACK, BLUE, ORANGE, new_figure, open_frame, save
from experiments.recording import Row, Settings, Work, read_rows, write_rows
from treemend import TCS

__all__ = ["compute", "draw", "recovered"]

_SEEDS = 5
_KINDS = ("true", "corrupted", "imputed")


def compute(settings: Settings) -> None:
    """Measure both orders over the draws, and keep the points of the first."""
    seeds = 1 if settings.quick else _SEEDS
    work = Work("scatter", settings, len(ORDERS) * seeds)
    work.do({f"{order}-{seed}": partial(_measure, settings, order, seed) for order in ORDERS for seed in range(seeds)})
    work.finish()
    digits = draw_digits(settings, seed=0, order="file")
    write_rows(settings.results / "scatter_points.csv", list(_points(digits)))


def recovered(before: float, after: float, best: float) -> float:
    """Return which share of a loss came back, in per cent."""
    return 100 * (after - before) / (best - before) if best != before else float("nan")


def draw(settings: Settings) -> None:
    """Draw the three clouds with the class means joined."""
    points = read_rows(settings.results / "scatter_points.csv")
    first = next(
        row for row in read_rows(settings.results / "scatter.csv") if row["order"] == "file" and row["seed"] == 0
    )
    figure, panels = new_figure(9.6, 3.6, columns=3)
    for ax, kind in zip(panels, _KINDS, strict=True):
        means = []
        for label, colour, name in ((-1, BLUE, "0"), (1, ORANGE, "1")):
            own = np.array([(row["x"], row["y"]) for row in points if row["kind"] == kind and row["label"] == label])
            ax.scatter(*own.T, s=9, color=colour, alpha=0.45, linewidths=0, label=f"digit {name}")
            means.append(own.mean(axis=0))
        ax.plot(*np.array(means).T, color=BLACK, marker="o", markersize=5, linewidth=1.2)
        accuracy, separation = first[f"accuracy_{kind}"], first[f"separation_{kind}"]
        ax.set_title(
            f"{kind.capitalize()}: {accuracy:.1f} % right, means {separation:.2f} apart", fontsize=9, loc="left"
        )
        ax.set(xlim=_limits(points, "x"), ylim=_limits(points, "y"), xlabel="first principal axis")
        open_frame(ax)
    panels[0].set_ylabel("second principal axis")
    panels[0].legend(frameon=False, fontsize=8, loc="lower left", markerscale=1.6, handletextpad=0.2)
    save(figure, settings.results / "scatter.png")


def _limits(points: list[Row], axis: str) -> tuple[float, float]:
    values = [row[axis] for row in points]
    return min(values) - 0.3, max(values) + 0.3


def _measure(settings: Settings, order: str, seed: int) -> Iterator[Row]:
    digits = draw_digits(settings, seed, order)
    states = _states(digits)
    labels = digits.labels[digits.hit]
    machine = SVC(kernel="linear", C=1.0).fit(digits.reference, digits.reference_labels)
    axes = _principal_axes(digits)
    row: Row = {"order": order, "seed": seed, "rows": len(labels)}
    for kind, state in states.items():
        row[f"accuracy_{kind}"] = float(100 * np.mean(machine.predict(state) == labels))
        projected = state @ axes.T
        row[f"separation_{kind}"] = float(
            np.linalg.norm(projected[labels == 1].mean(axis=0) - projected[labels == -1].mean(axis=0))
        )
    row["recovered"] = recovered(row["accuracy_corrupted"], row["accuracy_imputed"], row["accuracy_true"])
    yield row


def _points(digits: Digits) -> Iterator[Row]:
    axes, centre = _principal_axes(digits), digits.reference.mean(axis=0)
    for kind, state in _states(digits).items():
        for (x, y), label in zip((state - centre) @ axes.T, digits.labels[digits.hit], strict=True):
            yield {"kind": kind, "label": int(label), "x": round(float(x), 3), "y": round(float(y), 3)}


def _states(digits: Digits) -> dict[str, np.ndarray]:
    tcs = TCS(tau=CHOSEN_TAU, alpha=CHOSEN_ALPHA, depth=DEPTH).fit(digits.reference)
    corrupted = digits.corrupted[digits.hit]
    return {"true": digits.true[digits.hit], "corrupted": corrupted, "imputed": tcs.mend(corrupted).repaired}


def _principal_axes(digits: Digits) -> np.ndarray:
    centred = digits.reference - digits.reference.mean(axis=0)
    return np.linalg.svd(centred, full_matrices=False)[2][:2]
