"""Table 1 with the defaults: how much of the accuracy that corruption took from a linear SVM comes back.

The splits and the corruption are those of `experiments.table_1`; nothing is chosen by set. `compute` leaves
``improvement.csv``: one row for each set, split and method, with the accuracy on true, corrupted and mended rows.
Methods: "limit" (true mask known, mean of 8), and the defaults at two rates with a clean reference, with 5 % of the
reference rows corrupted, and with these cleaned by the mender itself. `draw` leaves ``improvement.png``.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from sklearn.svm import SVC

from experiments import datasets
from experiments.drawing import BLUE, GREEN, GREY, ORANGE, new_figure, open_frame, save
from experiments.published import TABLE_1
from experiments.recording import Row, Settings, Work, read_rows
from experiments.robustness.measures import limit_repair
from experiments.robustness.menders import can_clean_reference, default
from experiments.table_1 import Split, make_split
from experiments.table_1_summary import improvement

__all__ = ["JUDGED_SETS", "RATES", "Summary", "compute", "draw", "summaries"]

RATES = (0.05, 0.2)
SPLITS = 3
JUDGED_SETS = ("image", "svmguide3", "wdbc", "spambase", "bci", "digit1", "g241c", "g241n")
_QUICK = ("wdbc",)


def compute(settings: Settings) -> None:
    """Measure the judged sets, then the others of the paper's table."""
    others = tuple(name for name in datasets.TABLE_1_SETS if name not in JUDGED_SETS)
    names = _QUICK if settings.quick else JUDGED_SETS + others
    splits = range(1, 2 if settings.quick else SPLITS + 1)
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
    for method, mended in _repairs(split):
        accuracies = {"true": split.true, "corrupted": split.corrupted, "mended": mended}
        yield {
            "set": dataset.name,
            "split": number,
            "method": method,
            **{key: float(100 * np.mean(machine.predict(rows) == split.labels)) for key, rows in accuracies.items()},
        }


def _repairs(split: Split) -> Iterator[tuple[str, np.ndarray]]:
    yield "limit", limit_repair(split.reference["clean"], split.corrupted, split.corrupted != split.true)
    variants = [("clean", "clean", {}), ("dirty", "5 %", {})]
    if can_clean_reference():
        variants.append(("cleaned", "5 %", {"clean_reference": True}))
    for title, reference, more in variants:
        for rate in RATES:
            mender = default(rate=rate, **more).fit(split.reference[reference])
            yield f"{title} {rate:g}", np.asarray(mender.mend(split.corrupted).repaired)


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


def summaries(settings: Settings) -> dict[str, Summary]:
    """Return a summary for each set."""
    rows = read_rows(settings.results / "improvement.csv")
    names = dict.fromkeys(row["set"] for row in rows)
    return {name: Summary([row for row in rows if row["set"] == name]) for name in names}


def draw(settings: Settings) -> None:
    """Draw published, defaults and limit beside each other."""
    found = summaries(settings)
    figure, (ax,) = new_figure(9, 3.4)
    places = np.arange(len(found))
    bars = (
        ("published TCS-MAP", GREY, [TABLE_1[name].clean[0].mean for name in found]),
        ("defaults, 5 %", BLUE, [one.by_method["clean 0.05"] for one in found.values()]),
        ("defaults, 20 %", GREEN, [one.by_method["clean 0.2"] for one in found.values()]),
        ("limit: true mask known", ORANGE, [one.limit for one in found.values()]),
    )
    for position, (title, colour, heights) in enumerate(bars):
        ax.bar(places + 0.2 * (position - 1.5), np.clip(heights, -20, 130), 0.19, color=colour, label=title)
    ax.set_xticks(places, [datasets.TITLES[name] for name in found], fontsize=8)
    ax.set_ylabel("improvement, %")
    ax.legend(frameon=False, fontsize=8, ncols=4, loc="lower left", bbox_to_anchor=(0, 1))
    open_frame(ax)
    save(figure, settings.results / "improvement.png")
