"""Table 1 with the defaults: how much of the accuracy that corruption took from a linear SVM comes back.

The splits and the corruption are those of `experiments.table_1`; nothing is chosen by set. One row for each set, split
and method, with the accuracy on true, corrupted and mended rows. Methods: "limit" (mask known, mean of 8 neighbours),
and the defaults at two rates with a clean reference, with 5 % of the reference rows corrupted, and the same with
``contaminated=True``.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import numpy as np
from sklearn.svm import SVC

from experiments import datasets
from experiments.markdown import table
from experiments.published import TABLE_1
from experiments.recording import Row, Work
from experiments.robustness.measures import fill_from_nearest
from experiments.robustness.menders import build, mend, quietly
from experiments.robustness.sets import HELD_OUT
from experiments.robustness.settings import Settings
from experiments.robustness.summaries import Figure, number
from experiments.table_1 import Split, make_split
from experiments.table_1_summary import improvement

__all__ = ["JUDGED_SETS", "RATES", "Summary", "compute", "figures", "tables"]

RATES = (0.05, 0.2)
SPLITS = 3
JUDGED_SETS = ("image", "svmguide3", "wdbc", "spambase", "bci", "digit1", "g241c", "g241n")
_QUICK = ("wdbc",)


def compute(settings: Settings) -> None:
    """Measure the judged sets, then the others of the paper's table."""
    others = tuple(name for name in datasets.TABLE_1_SETS if name not in JUDGED_SETS)
    usual = [name for name in JUDGED_SETS + others if (name in HELD_OUT) == settings.held_out]
    names = _QUICK if settings.quick else usual
    splits = [1 + number for number in settings.splits(SPLITS)]
    sets = [datasets.load(name, settings.data) for name in names if datasets.available(name, settings.data)]
    work = Work("improvement", settings, len(sets) * len(splits))
    work.do(
        {
            f"{dataset.name} {number}": partial(_split, dataset, number, settings)
            for number in splits
            for dataset in sets
        }
    )
    work.finish()


def _split(dataset: datasets.Dataset, number: int, settings: Settings) -> Iterator[Row]:
    split = make_split(dataset, number, settings)
    machine = SVC(C=1.0, kernel="linear", cache_size=500).fit(split.reference["clean"], split.reference_labels)
    for method, mended in _repairs(split, settings):
        accuracies = {"true": split.true, "corrupted": split.corrupted, "mended": mended}
        yield {
            "set": dataset.name,
            "split": number,
            "method": method,
            **{key: float(100 * np.mean(machine.predict(rows) == split.labels)) for key, rows in accuracies.items()},
        }


def _repairs(split: Split, settings: Settings) -> Iterator[tuple[str, np.ndarray]]:
    masks = split.corrupted != split.true
    yield "limit", fill_from_nearest(split.reference["clean"])(split.corrupted, masks)
    variants = (("clean", "clean", False), ("dirty", "5 %", False), ("cleaned", "5 %", True))
    for title, reference, contaminated in variants:
        for rate in RATES:
            with quietly():
                mender = build(settings, rate=rate, contaminated=contaminated).fit(split.reference[reference])
            yield f"{title} {rate:g}", np.asarray(mend(mender, split.corrupted).repaired)


class Summary:
    """One set's improvements in per cent.

    Attributes
    ----------
    limit, error : float
        The limit's mean over splits, and the standard error of the defaults' best mean.
    by_method : dict of str to float
        Means over splits.
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        methods = dict.fromkeys(row["method"] for row in rows)
        values = {method: improvement([row for row in rows if row["method"] == method]) for method in methods}
        self.by_method = {method: value.mean for method, value in values.items()}
        self.limit = self.by_method["limit"]
        self.best_rate = max(RATES, key=lambda rate: self.by_method[f"clean {rate:g}"])
        self.best = self.by_method[f"clean {self.best_rate:g}"]
        self.error = values[f"clean {self.best_rate:g}"].error

    @property
    def share_of_limit(self) -> float:
        """The defaults at the better of the two rates, relative to the limit."""
        return self.best / self.limit

    def share_of_clean(self, variant: str) -> float:
        """Return a dirty reference's best improvement relative to the clean one's; NaN where it was not run."""
        found = [self.by_method.get(f"{variant} {rate:g}", float("nan")) for rate in RATES]
        return max(found) / self.best


def summaries(rows: Sequence[Row]) -> dict[str, Summary]:
    """Return a summary for each set."""
    names = dict.fromkeys(row["set"] for row in rows)
    return {name: Summary([row for row in rows if row["set"] == name]) for name in names}


def figures(rows: Sequence[Row], earlier: Sequence[Row]) -> Iterator[Figure]:
    """Yield the share of the limit's improvement, and what a dirty reference leaves of it."""
    found, old = summaries(rows), summaries(earlier)
    found, old = ({name: one for name, one in some.items() if name in JUDGED_SETS} for some in (found, old))
    if not found:
        return
    share, was = (_mean(one.share_of_limit for one in some.values()) for some in (found, old))
    statement = f"Table 1's improvement, better of 5 and 20 %, share of the limit's, mean over {len(found)} sets"
    yield Figure(statement, "≥ .90", number(share), share >= 0.9, "improvement", number(was))
    worst = min(found, key=lambda name: found[name].share_of_limit)
    reached = found[worst].share_of_limit
    yield Figure("The same, on each", "≥ .75", f"{number(reached)} ({worst})", reached >= 0.75, "improvement")
    kept, was = (_mean(one.share_of_clean("cleaned") for one in some.values()) for some in (found, old))
    statement = "5 % of the reference dirty, `contaminated=True`: share of the clean reference's improvement"
    yield Figure(statement, "≥ .95", number(kept), kept >= 0.95, "improvement", number(was))


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return float(np.mean(found)) if found else float("nan")


def tables(rows: Sequence[Row], earlier: Sequence[Row]) -> Iterator[str]:
    """Yield published, defaults and limit beside each other, in per cent; the earlier defaults in brackets."""
    old = summaries(earlier)
    lines = []
    for name, one in summaries(rows).items():
        dirty = (max(one.by_method.get(f"{kind} {rate:g}", np.nan) for rate in RATES) for kind in ("dirty", "cleaned"))
        at_rates = (
            f"{one.by_method[f'clean {rate:g}']:.0f}"
            + (f" ({old[name].by_method[f'clean {rate:g}']:.0f})" if name in old else "")
            for rate in RATES
        )
        published = f"{TABLE_1[name].clean[0].mean:.0f}"
        share = f"{one.share_of_limit:.2f}"
        cells = (*at_rates, f"{one.error:.0f}", f"{one.limit:.0f}", share, *(f"{value:.0f}" for value in dirty))
        lines.append((datasets.TITLES[name], published, *cells))
    head = ("set", "published TCS-MAP", "defaults, 5 %", "defaults, 20 %", "s.e. of the better", "limit")
    more = ("share of the limit", "5 % dirty, as it is", "5 % dirty, `contaminated=True`")
    return table((*head, *more), lines)
