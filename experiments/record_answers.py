"""A record of answers: masks, repaired values and scores of some thirty settings, as hashes and a few plain numbers.

Run ``python -m experiments.record_answers answers.json`` before and after a change; with ``--compare before.json`` the
settings whose answers differ are listed, and those of the published method make the command fail: their answers are
fixed by the paper. ``experiments/results/answers_before.json`` has the answers of the package before the two methods
had a class each.
"""

import argparse
import hashlib
import json
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import MinMaxScaler

__all__ = ["compare", "main", "record"]

Rows = NDArray[np.float64]
Answer = dict[str, Any]
PUBLISHED = "published"


@dataclass(frozen=True, eq=False)
class Case:
    """Clean reference rows, and suspect rows of which every second one has an overwritten stretch."""

    reference: Rows
    suspect: Rows

    @property
    def with_missing(self) -> "Case":
        """The same, with a tenth of the suspect values missing, and one row as a whole."""
        suspect = self.suspect.copy()
        suspect[np.random.default_rng(1).random(suspect.shape) < 0.1] = np.nan
        suspect[3] = np.nan
        return Case(self.reference, suspect)

    @property
    def with_dirty_reference(self) -> "Case":
        """The same, with the overwritten rows among the reference."""
        return Case(np.vstack([self.reference, self.suspect[: len(self.reference) // 20]]), self.suspect)


def _case(rows: Rows, n_reference: int, n_suspect: int, *, decimals: int | None = None) -> Case:
    rng = np.random.default_rng(0)
    drawn = rng.permutation(len(rows))[: n_reference + n_suspect]
    rows = MinMaxScaler().fit_transform(rows[drawn])
    reference, suspect = rows[:n_reference].copy(), rows[n_reference:].copy()
    width = rows.shape[1]
    for row in suspect[::2]:
        length = rng.integers(width // 8 + 1, width // 3 + 1)
        start = rng.integers(0, width - length + 1)
        row[start : start + length] = rng.random(length)
    if decimals is not None:
        reference, suspect = reference.round(decimals), suspect.round(decimals)
    return Case(reference, suspect)


def _walks() -> Rows:
    return np.random.default_rng(7).normal(size=(500, 24)).cumsum(axis=1)


def _cases() -> dict[str, Case]:
    return {
        "walks": _case(_walks(), 300, 80),
        "coarse": _case(_walks(), 300, 80, decimals=1),
        "digits": _case(load_digits().data, 600, 100),
        "wdbc": _case(load_breast_cancer().data, 350, 100),
    }


def _hash(array: Any) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def _answer(mended: Any, scores: Any, suspect: Rows) -> Answer:
    mask, repaired = np.asarray(mended.mask, dtype=bool), np.asarray(mended.repaired, dtype=np.float64)
    return {
        "rows": int(np.asarray(mended.corrupted).sum()),
        "cells": int(mask.sum()),
        "changed": float(np.nansum(np.abs(repaired - suspect))),
        "score": float(np.mean(scores)),
        "mask": _hash(mask),
        "repaired": _hash(repaired),
        "scores": _hash(np.asarray(scores, dtype=np.float64)),
    }


def _published(case: Case, *, itself: bool = False, **params: Any) -> Answer:
    from treemend import TCS

    tcs = TCS(**params)
    mended = tcs.fit_mend(case.reference) if itself else tcs.fit(case.reference).mend(case.suspect)
    return _answer(mended, tcs.score_nodes(case.suspect), case.reference if itself else case.suspect) | {
        "row_scores": _hash(tcs.score_samples(case.suspect)),
        "tau": tcs.tau_,
        "reference_rate": tcs.reference_rate_,
    }


def _recommended(case: Case, *, itself: bool = False, through: str = "memory", **params: Any) -> Answer:
    from treemend import Mender, load

    mender = Mender(**params)
    if itself:
        return _answer(mender.fit_mend(case.reference), mender.score_samples(case.suspect), case.reference)
    mender.fit(case.reference)
    if through == "dask":
        return _answer(*_through_dask(mender, case.suspect), case.suspect)
    if through == "file":
        with tempfile.TemporaryDirectory() as folder:
            mender.save(Path(folder) / "model.safetensors")
            mender = load(Path(folder) / "model.safetensors")
    return _answer(mender.mend(case.suspect), mender.score_samples(case.suspect), case.suspect)


def _one_table(case: Case, **params: Any) -> Answer:
    from treemend import mend

    table = np.vstack([case.reference, case.suspect[::2]])
    mended = mend(table, **params)
    return _answer(mended, mended.corrupted, table)


def _through_dask(mender: Any, suspect: Rows) -> tuple[Any, Any]:
    import dask
    import dask.array as da

    from treemend import dask as treemend_dask

    rows = da.from_array(suspect, chunks=(17, -1))
    mended = treemend_dask.mend(rows, mender)
    lazy = {name: getattr(mended, name) for name in ("repaired", "mask", "corrupted")}
    computed, scores = dask.compute(lazy, treemend_dask.score_samples(rows, mender), scheduler="threads")
    return SimpleNamespace(**computed), scores


def _settings(cases: dict[str, Case]) -> dict[str, Callable[[], Answer]]:
    walks, coarse, digits, wdbc = (cases[name] for name in ("walks", "coarse", "digits", "wdbc"))
    published: dict[str, Callable[[], Answer]] = {
        "walks, tau .02": lambda: _published(walks, tau=0.02),
        "walks, tau .05, alpha 1": lambda: _published(walks, tau=0.05, alpha=1.0),
        "walks, tau .05, alpha .5, depth 3": lambda: _published(walks, tau=0.05, alpha=0.5, depth=3),
        "walks, rate .1": lambda: _published(walks, false_alarm_rate=0.1),
        "walks, tau .05, nearest": lambda: _published(walks, tau=0.05, imputation="nearest"),
        "walks, tau .2, stop at the root": lambda: _published(walks, tau=0.2, root_rule="stop"),
        "walks, tau .2": lambda: _published(walks, tau=0.2),
        "walks, tau .05, one neighbor": lambda: _published(walks, tau=0.05, n_neighbors=1),
        "walks, missing values": lambda: _published(walks.with_missing, tau=0.05),
        "walks, missing values, nearest": lambda: _published(walks.with_missing, tau=0.05, imputation="nearest"),
        "walks, reference by itself": lambda: _published(walks, itself=True, tau=0.05),
        "coarse, tau .05": lambda: _published(coarse, tau=0.05),
        "coarse, tau .05, alpha 1, nearest": lambda: _published(coarse, tau=0.05, alpha=1.0, imputation="nearest"),
        "coarse, reference by itself": lambda: _published(coarse, itself=True, tau=0.05),
        "digits, tau .016, depth 6": lambda: _published(digits, tau=0.016, depth=6),
        "digits, tau .05, alpha 1": lambda: _published(digits, tau=0.05, alpha=1.0),
        "wdbc, tau .05": lambda: _published(wdbc, tau=0.05),
        "wdbc, tau .05, alpha .375, nearest": lambda: _published(wdbc, tau=0.05, alpha=0.375, imputation="nearest"),
    }
    recommended: dict[str, Callable[[], Answer]] = {
        "walks": lambda: _recommended(walks, layout="sequence"),
        "walks, rate .1": lambda: _recommended(walks, layout="sequence", false_alarm_rate=0.1),
        "walks, missing values": lambda: _recommended(walks.with_missing, layout="sequence"),
        "walks, dirty reference": lambda: _recommended(
            walks.with_dirty_reference, layout="sequence", contaminated=True
        ),
        "walks, reference by itself": lambda: _recommended(walks, itself=True, layout="sequence"),
        "walks, one table": lambda: _one_table(walks, layout="sequence"),
        "walks, saved and loaded": lambda: _recommended(walks, through="file", layout="sequence"),
        "walks, by Dask": lambda: _recommended(walks, through="dask", layout="sequence"),
        "coarse": lambda: _recommended(coarse, layout="sequence"),
        "digits, grid": lambda: _recommended(digits, layout=(8, 8)),
        "digits, groups": lambda: _recommended(digits, layout=[list(range(32)), list(range(32, 64))]),
        "digits, missing values": lambda: _recommended(digits.with_missing, layout=(8, 8)),
        "wdbc, correlated": lambda: _recommended(wdbc, layout="correlated"),
        "wdbc, sequence": lambda: _recommended(wdbc, layout="sequence"),
    }
    return {f"{PUBLISHED}: {name}": compute for name, compute in published.items()} | {
        f"recommended: {name}": compute for name, compute in recommended.items()
    }


def record(only: str = "") -> dict[str, Answer]:
    """Compute the answers of all settings whose names begin with ``only``."""
    answers = {}
    for name, compute in _settings(_cases()).items():
        if not name.startswith(only):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answers[name] = compute()
        print(name, {key: answers[name][key] for key in ("rows", "cells")}, file=sys.stderr)
    return answers


def compare(before: dict[str, Answer], after: dict[str, Answer]) -> list[str]:
    """List the settings whose answers differ, and in what.

    Parameters
    ----------
    before, after : dict
        From `record`; settings that only one of them has are listed, too.

    Returns
    -------
    list of str
        Lines to print, sorted by name.
    """
    lines = []
    for name in sorted(before.keys() | after.keys()):
        if name not in before or name not in after:
            lines.append(f"{name}: only {'after' if name in after else 'before'}")
            continue
        old, new = before[name], after[name]
        differing = [key for key in old if old[key] != new.get(key)]
        if differing:
            numbers = ", ".join(f"{key} {old[key]:g} -> {new[key]:g}" for key in ("rows", "cells", "changed", "score"))
            lines.append(f"{name}: {', '.join(differing)} differ ({numbers})")
    return lines


def main() -> int:
    """Write the record; with ``--compare``, return 1 if an answer of the published method differs."""
    parser = argparse.ArgumentParser(description="Record the answers of both methods on small sets.")
    parser.add_argument("output", type=Path, help="JSON file to write")
    parser.add_argument("--compare", type=Path, help="an earlier record")
    parser.add_argument("--only", default="", help="settings whose names begin with this, such as 'published'")
    options = parser.parse_args()
    answers = record(options.only)
    options.output.write_text(json.dumps(answers, indent=1, sort_keys=True) + "\n")
    if options.compare is None:
        return 0
    before = json.loads(options.compare.read_text())
    lines = compare({name: answer for name, answer in before.items() if name.startswith(options.only)}, answers)
    print("\n".join(lines) or "all answers are equal")
    return int(any(line.startswith(PUBLISHED) for line in lines))


if __name__ == "__main__":
    sys.exit(main())
