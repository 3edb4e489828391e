"""The accuracy of a classifier trained on the repaired table.

A third of the training rows has one stretch of uniform noise. A linear support vector machine is trained on the table
as it was, corrupted, repaired with a clean reference, and repaired as one table; it is tested on clean rows.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from sklearn.svm import SVC

from experiments.recording import Row
from experiments.robustness.cases import to_unit_scales
from experiments.robustness.menders import build, mend, mend_table, quietly
from experiments.robustness.sets import SUBJECTS, load_labels, load_rows, measure_sets
from experiments.robustness.settings import Settings
from experiments.robustness.summaries import Figure, pivot
from treemend.synthetic import corrupt, stretch_masks

__all__ = ["compute", "figures", "tables"]

_SETS = ("digits", "wdbc", "image", "svmguide3", "spambase", "sonar", "bci", "digit1", "g241n", "twonorm")
_DIRTY = 1 / 3
_MOST_TRAIN = 600


def compute(settings: Settings) -> None:
    """Measure every set that can be had."""
    measure_sets("classifier", settings, _SETS, _split, splits=3)


def _split(name: str, split: int, settings: Settings) -> Iterator[Row]:
    rows, labels = to_unit_scales(load_rows(SUBJECTS[name], settings.data)), load_labels(SUBJECTS[name], settings.data)
    rng = np.random.default_rng([settings.seed, list(SUBJECTS).index(name), split, 9])
    train, reference, test = np.split(rng.permutation(len(rows)), [len(rows) // 3, 2 * len(rows) // 3])
    train, reference = (some[: 200 if settings.quick else _MOST_TRAIN] for some in (train, reference))
    dirty = rows[train].copy()
    hit = rng.random(len(train)) < _DIRTY
    masks = stretch_masks(int(hit.sum()), rows.shape[1], rng=rng)
    dirty[hit] = corrupt("noise", dirty[hit], masks, rng=rng)
    with quietly():
        mender = build(settings).fit(rows[reference])
    by_reference = np.asarray(mend(mender, dirty).repaired)
    tables_of = {
        "clean": rows[train],
        "corrupted": dirty,
        "repaired, clean reference": by_reference,
        "repaired, one table": np.asarray(mend_table(settings, dirty).repaired),
    }
    for table, values in tables_of.items():
        machine = SVC(C=1.0, kernel="linear").fit(values, labels[train])
        accuracy = float(np.mean(machine.predict(rows[test]) == labels[test]))
        yield {"set": name, "split": split, "table": table, "accuracy": accuracy}


def figures(rows: Sequence[Row], earlier: Sequence[Row]) -> Iterator[Figure]:
    """Yield nothing: no bound was asked."""
    del rows, earlier
    yield from ()


def tables(rows: Sequence[Row], earlier: Sequence[Row]) -> Iterator[str]:
    """Yield the accuracy by training table."""
    yield from pivot(rows, earlier, "set", "table", "accuracy")
