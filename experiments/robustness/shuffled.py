"""Shuffled columns: the same damage with the columns in their order and in a random one."""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from experiments.recording import Row
from experiments.robustness.cases import Case, Cases, Damage, draw_rows
from experiments.robustness.menders import measure_cases
from experiments.robustness.sets import obtainable
from experiments.robustness.settings import Settings
from experiments.robustness.summaries import Figure, at_least, mean, pivot, titled
from treemend.synthetic import corrupt, scattered_masks, stretch_masks

__all__ = ["cases", "compute", "figures", "tables"]

_SETS = ("digits", "wdbc", "image", "gas_drift", "tecator", "svmguide3", "nab_nyc_taxi")
_JUDGED = ("digits", "wdbc", "image")
ORDERS = ("in order", "shuffled")


def cases(settings: Settings) -> Cases:
    """Return every split twice: in order and shuffled."""
    names = obtainable(("digits",) if settings.quick else _SETS, settings)
    return {
        f"{name} {split} {order}": partial(_case, name, split, order, settings)
        for name in names
        for split in settings.splits(2)
        for order in ORDERS
    }


def compute(settings: Settings) -> None:
    """Measure every set that can be had, in both orders."""
    measure_cases("shuffled", settings, cases(settings))


def _case(name: str, split: int, order: str, settings: Settings) -> Case:
    drawn = draw_rows(name, split, settings, stream=5, most_test=300)
    n_features = drawn.true.shape[1]
    masks = {
        "stretch": stretch_masks(*drawn.true.shape, rng=drawn.rng),
        "scattered": scattered_masks(*drawn.true.shape, 0.1, rng=drawn.rng),
    }
    corrupted = {shape: corrupt("noise", drawn.true, mask, rng=drawn.rng) for shape, mask in masks.items()}
    places = np.arange(n_features) if order == "in order" else drawn.rng.permutation(n_features)
    damages = [
        Damage({"shape": shape, "order": order}, masks[shape][:, places], corrupted[shape][:, places])
        for shape in masks
    ]
    rows = (drawn.reference, drawn.clean, drawn.true)
    return Case(name, split, None, *(some[:, places] for some in rows), damages)


def _ratio(rows: Sequence[Row], name: str, shape: str) -> list[Row]:
    f1 = {
        order: mean([row for row in rows if (row["set"], row["shape"], row["order"]) == (name, shape, order)], "f1")
        for order in ORDERS
    }
    return [{"ratio": f1["shuffled"] / f1["in order"], "loss": f1["in order"] - f1["shuffled"]}] if rows else []


def figures(rows: Sequence[Row], earlier: Sequence[Row]) -> Iterator[Figure]:
    """Yield the judged figures."""
    for name in [name for name in _JUDGED if any(row["set"] == name for row in rows)]:
        statement = f"Columns shuffled, {titled(name)}: F1 of one stretch as a share of that in order"
        now, before = _ratio(rows, name, "stretch"), _ratio(earlier, name, "stretch")
        yield from at_least(0.75, statement, "shuffled", now, before, "ratio")
        loss, was = _ratio(rows, name, "scattered")[0]["loss"], _ratio(earlier, name, "scattered")
        statement = f"Columns shuffled, {titled(name)}: F1 of scattered cells lost"
        old = f"{was[0]['loss']:.2f}" if was else ""
        yield Figure(statement, "≤ .03", f"{loss:.2f}", loss <= 0.03, "shuffled", old)


def tables(rows: Sequence[Row], earlier: Sequence[Row]) -> Iterator[str]:
    """Yield F1 by shape and order."""
    yield from pivot(rows, earlier, "set", lambda row: f"{row['shape']}, {row['order']}", "f1")
