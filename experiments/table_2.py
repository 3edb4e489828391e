"""Table 2: the MAP donor alone. Two Gaussians in the plane, the second attribute missing in every row.

Means (1, -1) and (-1, 1), unit covariance, 500 + 500 rows, 100 repeats. A missing value is a value far outside, so that
the search declares it in every row. No row is its own donor: rows are mended in ten folds by the other nine. Accuracy
is that of the best boundary, first attribute = second. `compute` leaves ``table_2.csv``; there is nothing to draw.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np
from sklearn.model_selection import KFold

from experiments.published import TABLE_2
from experiments.recording import Row, Settings, Work, read_rows
from treemend import TCS

__all__ = ["compute", "draw", "summary"]

_REPEATS = 100
_ROWS_A_CLASS = 500
_FAR_OUTSIDE = 100.0


def compute(settings: Settings) -> None:
    """Measure error and accuracy for every number of neighbours and every repeat."""
    repeats = 2 if settings.quick else _REPEATS
    work = Work("table_2", settings, repeats)
    work.do({str(repeat): partial(_measure, settings, repeat) for repeat in range(repeats)})
    work.finish()


def draw(settings: Settings) -> None:
    """Leave no picture: the page shows the table."""
    del settings


def summary(settings: Settings) -> list[Row]:
    """Return mean and standard error of the mean for every number of neighbours, beside the published values."""
    rows = read_rows(settings.results / "table_2.csv")
    lines = []
    for n_neighbors, (error, accuracy) in TABLE_2.items():
        own = [row for row in rows if row["n_neighbors"] == n_neighbors]
        errors, accuracies = (np.array([row[key] for row in own]) for key in ("squared_error", "accuracy"))
        lines.append(
            {
                "n_neighbors": n_neighbors,
                "published_error": error,
                "error": float(errors.mean()),
                "error_se": float(errors.std(ddof=1) / np.sqrt(len(own))),
                "published_accuracy": accuracy,
                "accuracy": float(accuracies.mean()),
                "accuracy_se": float(accuracies.std(ddof=1) / np.sqrt(len(own))),
            }
        )
    return lines


def _measure(settings: Settings, repeat: int) -> Iterator[Row]:
    rng = np.random.default_rng([settings.seed, repeat])
    rows_a_class = 60 if settings.quick else _ROWS_A_CLASS
    labels = np.repeat([1, -1], rows_a_class)
    rows = rng.normal(size=(len(labels), 2)) + np.column_stack([labels, -labels])
    folds = list(KFold(10, shuffle=True, random_state=repeat).split(rows))
    for n_neighbors in TABLE_2:
        filled = np.empty(len(rows))
        for reference, missing in folds:
            suspects = rows[missing].copy()
            suspects[:, 1] = _FAR_OUTSIDE
            tcs = TCS(tau=0.0, alpha=1.0, depth=1, n_neighbors=n_neighbors, imputation="map")
            filled[missing] = tcs.fit(rows[reference]).mend(suspects).repaired[:, 1]
        yield {
            "repeat": repeat,
            "n_neighbors": n_neighbors,
            "squared_error": float(np.mean((filled - rows[:, 1]) ** 2)),
            "accuracy": float(100 * np.mean(np.where(rows[:, 0] > filled, 1, -1) == labels)),
        }
