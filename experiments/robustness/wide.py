"""Wide rows: spectra of 750 to 4,000 channels, one and three stretches, and scattered cells.

Simulated spectra: ten peaks of fixed place and random height, four of which go together, on a sloping base line, with
a little noise that neighbouring channels share. And Tecator's spectra, interpolated to 1,000 channels, with noise.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from experiments.recording import Row
from experiments.robustness.cases import Case, Cases, Damage, Drawn, draw_rows, to_unit_scales
from experiments.robustness.menders import measure_cases
from experiments.robustness.sets import obtainable
from experiments.robustness.settings import Settings
from experiments.robustness.several_stretches import share
from experiments.robustness.summaries import Figure, at_least, mean, pivot
from treemend.synthetic import corrupt, scattered_masks, stretch_masks

__all__ = ["cases", "compute", "figures", "tables"]

Rows = NDArray[np.float64]

WIDTHS = (750, 1000, 2000, 4000)
_REFERENCE, _TEST = 300, 100


def cases(settings: Settings) -> Cases:
    """Return simulated spectra of several widths, Tecator, and glass among the held-out sets."""
    found: Cases = {}
    if not settings.held_out:
        widths = (300,) if settings.quick else WIDTHS
        found |= {f"spectra {width}": partial(_simulated, width, settings) for width in widths}
    for name in obtainable(() if settings.quick else ("tecator", "glass"), settings):
        found[name] = partial(_real, name, settings)
    return found


def compute(settings: Settings) -> None:
    """Measure every width."""
    measure_cases("wide", settings, cases(settings))


def spectra(n_rows: int, width: int, rng: np.random.Generator) -> Rows:
    """Return simulated spectra."""
    channel = np.linspace(0, 1, width)
    peaks = np.exp(-0.5 * ((channel - np.linspace(0.05, 0.95, 10)[:, None]) / 0.02) ** 2)
    heights = rng.gamma(4.0, 0.25, (n_rows, 10))
    heights[:, ::3] = heights[:, :1] * rng.uniform(0.9, 1.1, (n_rows, 4))
    slope = rng.normal(0, 0.3, (n_rows, 1))
    noise = rng.normal(0, 0.02, (n_rows, width + 4))
    smooth = sum(noise[:, shift : shift + width] for shift in range(5)) / 5
    return np.asarray(heights @ peaks + slope * channel + smooth)


def _damages(drawn: Drawn, counts: Sequence[int] = (1, 3)) -> list[Damage]:
    masks = {
        f"{count} stretch{'es' if count > 1 else ''}": stretch_masks(*drawn.true.shape, rng=drawn.rng, count=count)
        for count in counts
    }
    masks["scattered"] = scattered_masks(*drawn.true.shape, 0.05, rng=drawn.rng)
    return [
        Damage({"shape": shape}, mask, corrupt("noise", drawn.true, mask, rng=drawn.rng))
        for shape, mask in masks.items()
    ]


def _simulated(width: int, settings: Settings) -> Case:
    rng = np.random.default_rng([settings.seed, 7, width])
    n_test = 20 if settings.quick else _TEST
    rows = to_unit_scales(spectra(_REFERENCE + 2 * n_test, width, rng))
    reference, clean, true = np.split(rows, [_REFERENCE, _REFERENCE + n_test])
    drawn = Drawn(f"spectra, d = {width}", 0, None, reference, clean, true, rng)
    return drawn.case(_damages(drawn))


def _real(name: str, settings: Settings) -> Case:
    def widened(rows: Rows) -> Rows:
        if rows.shape[1] >= WIDTHS[0]:
            return to_unit_scales(rows)
        places = np.linspace(0, rows.shape[1] - 1, 1000)
        wide = to_unit_scales(np.array([np.interp(places, np.arange(rows.shape[1]), row) for row in rows]))
        return wide + np.random.default_rng([settings.seed, 7]).normal(0, 0.002, wide.shape)

    drawn = draw_rows(name, 0, settings, stream=7, most_test=200, scale=widened)
    return drawn.case(_damages(drawn))


def figures(rows: Sequence[Row], earlier: Sequence[Row]) -> Iterator[Figure]:
    """Yield the judged figures."""
    for name in [name for name in dict.fromkeys(row["set"] for row in rows) if name[-5:] in {" 1000", " 4000"}]:
        now, before = ([row for row in some if row["set"] == name] for some in (rows, earlier))
        one, one_before = ([row for row in some if row["shape"] == "1 stretch"] for some in (now, before))
        if one_before:
            bound, statement = mean(one_before, "quality"), f"{name}: quality on one stretch, not below the earlier"
            yield from at_least(bound, statement, "wide", one, one_before, "quality")
        three, three_before = ([row for row in some if row["shape"] == "3 stretches"] for some in (now, before))
        statement = f"{name}: share of the mask-known quality on three stretches"
        yield from at_least(0.85, statement, "wide", three, three_before, share)


def tables(rows: Sequence[Row], earlier: Sequence[Row]) -> Iterator[str]:
    """Yield quality, share of the mask-known quality and F1 by width."""
    for title, value in (("Quality", "quality"), ("Share of the mask-known quality", share), ("F1 of the cells", "f1")):
        yield from pivot(rows, earlier, "set", "shape", value, title=title)
