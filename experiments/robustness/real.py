"""Sets with corruption of their own: X-ray spectra, a video, two years of days, and gaps in a water sensor.

Nobody knows the truth here, so each set gets a picture (by `experiments.robustness.real_pictures`) and a few counts.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments import datasets
from experiments.markdown import table
from experiments.recording import Row, write_rows
from experiments.robustness import real_pictures
from experiments.robustness.menders import build, mend, mend_table, quietly
from experiments.robustness.sets import HELD_OUT, read_arrays
from experiments.robustness.settings import Settings
from experiments.robustness.summaries import Figure

__all__ = ["compute", "figures", "tables"]

_GRID = (36, 45)
_SHIFTED_CHANNELS = slice(50, 300)
_PERSON = 0.1
"""A pixel this far from its median over time is taken to show the person."""


def compute(settings: Settings) -> None:
    """Mend every set that can be had, count and draw."""
    rows: list[Row] = []
    for name, (file, measure) in _SETS.items():
        if (file in HELD_OUT) != settings.held_out or settings.quick:
            continue
        try:
            rows += [{"set": name, "count": count, "value": float(value)} for count, value in measure(settings)]
        except datasets.MissingDataError as missing:
            print(missing, file=sys.stderr)
    if rows:
        write_rows(settings.results / "real.csv", rows)


def _glass(settings: Settings) -> Iterator[tuple[str, float]]:
    """Learn from two thirds of the earlier spectra; mend the other earlier ones and all later ones."""
    arrays = read_arrays("glass", settings.data)
    spectra, later = np.asarray(arrays["X"], dtype=float), np.asarray(arrays["y"]) == 1
    reference, earlier = _two_thirds(spectra[~later], settings.seed)
    mender = _fitted(reference, settings)
    before, after = mend(mender, earlier), mend(mender, spectra[later])
    mask = np.asarray(after.mask)
    yield "later spectra", later.sum()
    yield "later spectra found, share", np.mean(after.corrupted)
    yield "earlier spectra touched, share", np.mean(before.corrupted)
    yield "found values that lie in channels 50 - 300, share", mask[:, _SHIFTED_CHANNELS].sum() / max(mask.sum(), 1)
    yield "channels 50 - 300 found, share", np.mean(mask[:, _SHIFTED_CHANNELS])
    real_pictures.draw_spectra(
        np.vstack([np.asarray(before.mask), mask]),
        len(earlier),
        spectra[later],
        np.asarray(after.repaired),
        mask,
        reference,
        settings.results / "real_glass.png",
    )


def _dogwalker(settings: Settings) -> Iterator[tuple[str, float]]:
    """Mend the video as one table, its frames each other's reference."""
    frames = np.asarray(read_arrays("dogwalker", settings.data)["X"], dtype=float)
    mended = mend_table(settings, frames, _GRID)
    repaired, mask = np.asarray(mended.repaired), np.asarray(mended.mask)
    person = np.abs(frames - np.median(frames, axis=0)) > _PERSON
    seen = person.mean(axis=1) > 0.01
    found = mask.any(axis=1)
    yield "frames", len(frames)
    yield "frames with a person by the median over time", seen.sum()
    yield "of these found, share", np.mean(found[seen])
    yield "other frames touched, share", np.mean(found[~seen]) if np.any(~seen) else float("nan")
    yield "person's pixels found, share", np.sum(mask & person) / person.sum()
    yield "found pixels that show the person, share", np.sum(mask & person) / max(mask.sum(), 1)
    far = np.linalg.norm((frames - np.median(frames, axis=0)) * person, axis=1)[seen]
    near = np.linalg.norm((repaired - np.median(frames, axis=0)) * person, axis=1)[seen]
    yield "distance to the median on the person's pixels that repair takes away, share", np.mean(1 - near / far)
    shape = (-1, *_GRID)
    real_pictures.draw_frames(
        frames.reshape(shape), mask.reshape(shape), repaired.reshape(shape), settings.results / "real_dogwalker.png"
    )


def _days(file: str, picture: str) -> Callable[[Settings], Iterator[tuple[str, float]]]:
    def measure(settings: Settings) -> Iterator[tuple[str, float]]:
        arrays = read_arrays(file, settings.data)
        days, labels = np.asarray(arrays["X"], dtype=float), np.asarray(arrays["mask"], dtype=bool)
        labelled = labels.any(axis=1)
        reference, usual = _two_thirds(days[~labelled], settings.seed)
        mender = _fitted(reference, settings)
        unlabelled, odd = mend(mender, usual), mend(mender, days[labelled])
        mask, window = np.asarray(odd.mask), labels[labelled]
        yield "reference days", len(reference)
        yield "labelled days", labelled.sum()
        yield "labelled days found, share", np.mean(odd.corrupted)
        yield "unlabelled days touched, share", np.mean(unlabelled.corrupted)
        yield "found values inside the labels, share", np.sum(mask & window) / max(mask.sum(), 1)
        names = [str(day) for day in np.asarray(arrays["day"])[labelled]]
        real_pictures.draw_days(
            days[labelled],
            np.asarray(odd.repaired),
            mask,
            window,
            np.vstack([reference, usual]),
            names,
            settings.results / f"{picture}.png",
        )

    return measure


def _nh4(settings: Settings) -> Iterator[tuple[str, float]]:
    """Fill a real pattern of gaps in complete days, each day by the others."""
    arrays = read_arrays("nh4_daily", settings.data)
    days, gaps = np.asarray(arrays["X"], dtype=float), np.asarray(arrays["mask"], dtype=bool)
    filled, spread = np.empty_like(days), np.full(days.shape, np.nan)
    interpolated, averaged = np.empty_like(days), np.empty_like(days)
    touched = []
    for number, (day, gap) in enumerate(zip(days, gaps, strict=True)):
        others = np.delete(days, number, axis=0)
        mended = mend(_fitted(others, settings), np.where(gap, np.nan, day)[None])
        filled[number], spread[number] = np.asarray(mended.repaired)[0], np.asarray(mended.spread)[0]
        touched.append(bool(mended.corrupted[0]))
        known = np.flatnonzero(~gap)
        interpolated[number] = np.interp(np.arange(len(day)), known, day[known])
        averaged[number] = others.mean(axis=0)
    for title, estimate in (("defaults", filled), ("straight lines", interpolated), ("mean of other days", averaged)):
        yield f"root mean squared error in the gaps, {title}", np.sqrt(np.mean(np.square(estimate - days)[gaps]))
    inside = np.abs(filled - days) <= 1.2816 * spread
    yield "true values within 1.28 spreads (.8 expected), share", np.mean(inside[gaps])
    yield "days in which known values were touched, share", np.mean(touched)
    real_pictures.draw_gaps(days, gaps, filled, spread, interpolated, settings.results / "real_nh4.png")


def _two_thirds(rows: NDArray[np.float64], seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    drawn = np.random.default_rng([seed, len(rows)]).permutation(len(rows))
    cut = 2 * len(rows) // 3
    return rows[np.sort(drawn[:cut])], rows[np.sort(drawn[cut:])]


def _fitted(reference: NDArray[np.float64], settings: Settings) -> Any:
    with quietly():
        return build(settings).fit(reference)


def figures(rows: Sequence[Row], earlier: Sequence[Row]) -> Iterator[Figure]:
    """Yield nothing: nobody knows the truth."""
    del rows, earlier
    yield from ()


def tables(rows: Sequence[Row], earlier: Sequence[Row]) -> Iterator[str]:
    """Yield the counts."""
    before = {(row["set"], row["count"]): f"{row['value']:.3g}" for row in earlier}
    lines = [
        (row["set"], row["count"], f"{row['value']:.3g}", before.get((row["set"], row["count"]), "")) for row in rows
    ]
    return table(("set", "count", "value", "earlier"), lines)


_SETS: dict[str, tuple[str, Callable[[Settings], Iterator[tuple[str, float]]]]] = {
    "glass": ("glass", _glass),
    "dogwalker": ("dogwalker", _dogwalker),
    "machine temperature": (
        "nab_machine_temperature_system_failure",
        _days("nab_machine_temperature_system_failure", "real_machine"),
    ),
    "taxi": ("nab_nyc_taxi", _days("nab_nyc_taxi", "real_taxi")),
    "nh4": ("nh4_daily", _nh4),
}
