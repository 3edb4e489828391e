"""Explanations that are true: kinds told against kinds injected, as shares of the rows in which something was found."""

from collections.abc import Iterator, Sequence

import numpy as np

from experiments.recording import Row
from experiments.robustness.cases import draw_rows
from experiments.robustness.menders import build, mend, quietly
from experiments.robustness.one_stretch import damages_of_one_stretch
from experiments.robustness.sets import measure_sets
from experiments.robustness.settings import Settings
from experiments.robustness.summaries import Figure, pivot

__all__ = ["TOLD", "compute", "figures", "tables"]

TOLD = ("noise", "foreign", "shifted", "stuck")
"""The kinds of `treemend.report.findings.KINDS`."""
_SETS = ("digits", "image", "wdbc", "tecator", "gas_drift", "ringnorm", "svmguide3", "bci", "nab_nyc_taxi", "twonorm")


def compute(settings: Settings) -> None:
    """Count on every set that can be had; nothing for an estimator that tells no kinds."""
    measure_sets("told_kinds", settings, _SETS, _set)


def _set(name: str, settings: Settings) -> Iterator[Row]:
    drawn = draw_rows(name, 0, settings, stream=16, most_test=300)
    with quietly():
        mender = build(settings, drawn.grid).fit(drawn.reference)
    for damage in damages_of_one_stretch(drawn):
        mended = mend(mender, damage.corrupted)
        found = np.asarray(mended.corrupted)
        kinds = getattr(mended.findings(), "kinds", None)
        if kinds is None or not found.any():
            continue
        counts = np.array([np.sum(kinds == index, axis=1) for index in range(len(TOLD))])
        most = counts[:, found].argmax(axis=0)
        for index, told in enumerate(TOLD):
            here = {"set": name, "injected": damage.labels["kind"], "told": told}
            yield here | {"share": float(np.mean(most == index)), "found": float(np.mean(found))}


def figures(rows: Sequence[Row], earlier: Sequence[Row]) -> Iterator[Figure]:
    """Yield nothing: no bound was asked."""
    del rows, earlier
    yield from ()


def tables(rows: Sequence[Row], earlier: Sequence[Row]) -> Iterator[str]:
    """Yield the confusion matrix, means over the sets."""
    yield from pivot(rows, earlier, "injected", "told", "share")
