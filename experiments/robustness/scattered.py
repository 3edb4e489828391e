"""Scattered cells: the simulation of the literature on cellwise outliers, and single cells of real sets.

Normal rows of 20 columns with two correlation matrices: A09 (entries (-.9)^|i - j|) and ALYZ (random, condition number
100). 10 or 20 % of the cells are replaced: "plain" by the value gamma, in standard deviations; "structured" by the
direction in which the cells' joint distribution is narrowest, at gamma times the square root of their number in
Mahalanobis distance, where no cell need be extreme by itself. In the real sets 10 % of the cells become uniform noise.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from experiments.recording import Row
from experiments.robustness.cases import Case, Cases, Damage, Drawn, draw_rows
from experiments.robustness.menders import measure_cases
from experiments.robustness.sets import obtainable
from experiments.robustness.settings import Settings
from experiments.robustness.summaries import Figure, at_least, pivot
from treemend.synthetic import corrupt, scattered_masks

__all__ = ["cases", "compute", "figures", "tables"]

Rows = NDArray[np.float64]

D = 20
SHARES = (0.1, 0.2)
GAMMAS = (2, 4, 6, 8, 10)
_SETS = ("digits", "wdbc", "image", "tecator", "gas_drift", "ringnorm", "bci", "digit1", "nab_nyc_taxi")
_REFERENCE, _TEST = 400, 200


def cases(settings: Settings) -> Cases:
    """Return both correlation matrices, and the real sets."""
    found: Cases = {
        f"{model} {split}": partial(_simulated, model, split, settings)
        for model in (() if settings.held_out else ("A09", "ALYZ"))
        for split in settings.splits(3)
    }
    for name in obtainable(() if settings.quick else _SETS, settings):
        found |= {f"{name} {split}": partial(_real, name, split, settings) for split in settings.splits(2)}
    return found


def compute(settings: Settings) -> None:
    """Measure the simulation and every set that can be had."""
    measure_cases("scattered", settings, cases(settings))


def a09(d: int) -> Rows:
    """Return the correlation matrix with entries (-.9)^|i - j|."""
    place = np.arange(d)
    return np.asarray((-0.9) ** np.abs(place[:, None] - place))


def alyz(d: int, rng: np.random.Generator, condition: float = 100.0) -> Rows:
    """Return a random correlation matrix with the condition number.

    A random rotation of random eigenvalues is made a correlation matrix, and its smallest eigenvalue is set again until
    the condition number stays.
    """
    eigenvalues = np.concatenate(([1.0], rng.uniform(1, condition, d - 2), [condition]))
    vectors = np.linalg.qr(rng.normal(size=(d, d)))[0]
    for _ in range(100):
        matrix = (vectors * eigenvalues) @ vectors.T
        deviation = np.sqrt(np.diag(matrix))
        correlation = matrix / np.outer(deviation, deviation)
        eigenvalues, vectors = np.linalg.eigh(correlation)
        if abs(eigenvalues[-1] / eigenvalues[0] / condition - 1) < 0.01:
            break
        eigenvalues[0] = eigenvalues[-1] / condition
    return np.asarray(correlation)


def _simulated(model: str, split: int, settings: Settings) -> Case:
    rng = np.random.default_rng([settings.seed, 3, split, len(model)])
    correlation = a09(D) if model == "A09" else alyz(D, rng)
    root = np.linalg.cholesky(correlation)
    n_test = 40 if settings.quick else _TEST
    reference, clean, true = (rng.normal(size=(n, D)) @ root.T for n in (_REFERENCE, n_test, n_test))
    damages = []
    for share in SHARES[:1] if settings.quick else SHARES:
        for gamma in (2, 8) if settings.quick else GAMMAS:
            masks = scattered_masks(n_test, D, share, rng=rng)
            labels = {"share": share, "gamma": gamma}
            damages.append(Damage({"kind": "plain", **labels}, masks, np.where(masks, float(gamma), true)))
            structured = _along_the_narrowest(true, masks, gamma, correlation)
            damages.append(Damage({"kind": "structured", **labels}, masks, structured))
    return Drawn(model, split, None, reference, clean, true, rng).case(damages)


def _along_the_narrowest(true: Rows, masks: NDArray[np.bool_], gamma: float, correlation: Rows) -> Rows:
    corrupted = true.copy()
    for row, mask in zip(corrupted, masks, strict=True):
        eigenvalues, vectors = np.linalg.eigh(correlation[np.ix_(mask, mask)])
        # Libraries differ in the sign of an eigenvector.
        narrowest = vectors[:, 0] * np.sign(vectors[np.abs(vectors[:, 0]).argmax(), 0])
        row[mask] = gamma * np.sqrt(mask.sum() * eigenvalues[0]) * narrowest
    return corrupted


def _real(name: str, split: int, settings: Settings) -> Case:
    drawn = draw_rows(name, split, settings, stream=3, most_test=300)
    masks = scattered_masks(*drawn.true.shape, 0.1, rng=drawn.rng)
    corrupted = corrupt("noise", drawn.true, masks, rng=drawn.rng)
    return drawn.case([Damage({"kind": "noise", "share": 0.1}, masks, corrupted)])


def figures(rows: Sequence[Row], earlier: Sequence[Row]) -> Iterator[Figure]:
    """Yield the judged figures."""
    for model in ("A09", "ALYZ"):
        now, before = (
            [row for row in some if row["set"] == model and row["kind"] == "plain"] for some in (rows, earlier)
        )
        yield from at_least(0.9, f"Scattered cells, {model}: F1", "scattered", now, before, "f1")


def tables(rows: Sequence[Row], earlier: Sequence[Row]) -> Iterator[str]:
    """Yield F1 by gamma for the simulation, and F1 and shares for the real sets."""
    for kind in ("plain", "structured"):
        now, before = (
            [row | {"case": f"{row['set']}, {row['share']:.0%}"} for row in some if row["kind"] == kind]
            for some in (rows, earlier)
        )
        if now:
            yield from pivot(now, before, "case", "gamma", "f1", title=f"F1 by gamma, {kind}")
    now, before = ([row for row in some if row["kind"] == "noise"] for some in (rows, earlier))
    if now:
        yield "10 % of the cells of real sets, uniform noise:"
        yield ""
        columns = ("f1", "quality", "mask_known", "harm_inside")
        now, before = (
            [
                {"set": row["set"], "figure": column.replace("_", " "), "value": row[column]}
                for row in some
                for column in columns
            ]
            for some in (now, before)
        )
        yield from pivot(now, before, "set", "figure", "value")
