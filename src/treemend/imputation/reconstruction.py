"""Gaps filled by rebuilding the row (method, section 10): the default.

Enters: rows with gaps, which of their attributes are clean, the reference; all scaled, in the order of the tree.
Leaves: estimates for the gaps and an honest spread.

A row's clean attributes are rebuilt as a ridge-weighted combination of 60 reference rows that resemble it in what
matters for the gap; the weights sum to 1, and they are mixed with the plain mean of the nearest 8. The same weights
fill the gap. How strong the ridge and how large the share of the mean: whichever erred least on stretches cut out of
left-out reference rows. An attribute called clean that lies far outside the donors' values is not used, for a mask may
miss the fringes of a corruption.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treemend.imputation.stretches import random_stretches, shifted_stretches
from treemend.kernels.threads import for_chunks
from treemend.reference import Reference

__all__ = ["Estimate", "Reconstruction", "learn_reconstruction", "reconstruct"]

N_CANDIDATES = 200
N_DONORS = 60
N_NEAREST = 8
N_SHOWN = 16
RIDGES = (0.1, 0.3, 1.0, 3.0)
SHARES = (0.0, 0.5)
PREFERRED = (0.3, 0.5)
PREFERENCE = 0.02
DISTRUST = 4.0
MOST_DISTRUSTED = 0.4
RELEVANCE_FLOOR = 0.2
N_SIMULATED = 200
ROWS_FOR_MOMENTS = 5_000


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """What filling needs beside the reference.

    Attributes
    ----------
    mean, scale : ndarray, one an attribute
        Means and standard deviations.
    relevance : ndarray of float32, attributes x attributes
        Squared correlations: how much an attribute says about another.
    ridge, share : float
        Strength of the ridge, and share of the plain mean.
    spread_local : float
        Weight of the donors' own variance in the spread.
    spread_base : ndarray, one an attribute
        Variance that every filled value of an attribute has at least.
    """

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]
    relevance: NDArray[np.float32]
    ridge: float
    share: float
    spread_local: float
    spread_base: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Estimate:
    """Values for gaps, their standard deviation (both 0 outside of gaps), and the nearest donors.

    ``donors`` are places in ``table``, -1 if there are few.
    """

    values: NDArray[np.float64]
    spread: NDArray[np.float64]
    table: NDArray[np.float64]
    donors: NDArray[np.int64]


def learn_reconstruction(reference: Reference, *, seed: int, n_jobs: int | None = None) -> Reconstruction:
    """Learn from reference rows, each left out of its own reconstruction.

    Parameters
    ----------
    reference : Reference
    seed : int
        Of the stretches that are cut out of reference rows to choose ridge, share and spread.
    n_jobs : int, optional
    """
    rng = np.random.default_rng(seed)
    n_rows, n_features = reference.n_rows, len(reference.low)
    numbers = np.arange(n_rows) if n_rows <= ROWS_FOR_MOMENTS else rng.permutation(n_rows)[:ROWS_FOR_MOMENTS]
    sample = _rows_of(reference, numbers)
    learnt = Reconstruction(
        mean=sample.mean(axis=0),
        scale=sample.std(axis=0),
        relevance=_squared_correlations(sample),
        ridge=PREFERRED[0],
        share=PREFERRED[1],
        spread_local=1.0,
        spread_base=np.zeros(n_features),
    )
    if n_features == 1:
        return replace(learnt, spread_base=learnt.scale**2)
    left_out = rng.permutation(n_rows)[:N_SIMULATED]
    true, gaps = _rows_of(reference, left_out), random_stretches(rng, len(left_out), n_features)
    learnt = _choose_weights(learnt, reference, true, gaps, left_out, rng, n_jobs)
    return _calibrate_spread(learnt, reference, true, gaps, left_out, n_jobs)


def reconstruct(
    learnt: Reconstruction,
    reference: Reference,
    rows: NDArray[np.float64],
    gaps: NDArray[np.bool_],
    *,
    left_out: NDArray[np.int64] | None = None,
    n_jobs: int | None = None,
) -> Estimate:
    """Fill gaps, and say how sure that is.

    Parameters
    ----------
    learnt : Reconstruction
    reference : Reference
    rows : ndarray, rows x attributes
        What stands in a gap does not matter.
    gaps : ndarray of bool, rows x attributes
    left_out : ndarray of int, one a row, optional
        Reference row that must not serve as a donor.
    n_jobs : int, optional
    """
    pair = np.array([learnt.ridge]), np.array([learnt.share])
    made = _run(learnt, reference, rows, gaps, left_out, pair, n_jobs)
    blind = gaps.all(axis=1)
    made.filled[0, blind] = learnt.mean
    made.variance[blind] = learnt.scale**2
    values = np.where(gaps, made.filled[0], 0.0)
    spread = np.where(gaps, np.sqrt(learnt.spread_local * made.variance + learnt.spread_base), 0.0)
    return Estimate(values=values, spread=spread, table=made.table, donors=made.donors)


class _Made(NamedTuple):
    """Fillings for each pair of ridge and share, the donors' variance around the first, the donors and their table."""

    filled: NDArray[np.float64]
    variance: NDArray[np.float64]
    donors: NDArray[np.int64]
    table: NDArray[np.float64]


def _run(
    learnt: Reconstruction,
    reference: Reference,
    rows: NDArray[np.float64],
    gaps: NDArray[np.bool_],
    left_out: NDArray[np.int64] | None,
    pairs: tuple[NDArray[np.float64], NDArray[np.float64]],
    n_jobs: int | None,
) -> _Made:
    from treemend.kernels.reconstruction import reconstruct_rows

    n_rows, n_features = rows.shape
    filled = np.zeros((n_rows, len(pairs[0]), n_features))
    variance = np.zeros((n_rows, n_features))
    donors = np.full((n_rows, N_SHOWN), -1, dtype=np.int64)
    distrusted = np.zeros((n_rows, n_features), dtype=bool)
    usable = ~gaps
    known = np.where(usable, rows, 0.0)
    count = min(N_CANDIDATES, reference.n_rows - (left_out is not None))
    table, candidates = reference.scaled(reference.nearest_on(known, usable, count, left_out))

    def task(part: slice) -> None:
        reconstruct_rows(
            table,
            learnt.scale,
            learnt.relevance,
            known[part],
            gaps[part],
            usable[part],
            candidates[part],
            *pairs,
            N_DONORS,
            N_NEAREST,
            DISTRUST,
            MOST_DISTRUSTED,
            RELEVANCE_FLOOR,
            filled[part],
            variance[part],
            donors[part],
            distrusted[part],
        )

    for_chunks(task, n_rows, n_features * N_DONORS * N_DONORS, n_jobs)
    return _Made(filled.transpose(1, 0, 2), variance, donors, table)


def _rows_of(reference: Reference, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
    table, places = reference.scaled(numbers)
    return table[places]


def _squared_correlations(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    scale = rows.std(axis=0)
    standard = (rows - rows.mean(axis=0)) / np.where(scale > 1e-12, scale, np.inf)
    return np.asarray((standard.T @ standard / len(rows)) ** 2, dtype=np.float32)


def _choose_weights(
    learnt: Reconstruction,
    reference: Reference,
    true: NDArray[np.float64],
    gaps: NDArray[np.bool_],
    left_out: NDArray[np.int64],
    rng: np.random.Generator,
    n_jobs: int | None,
) -> Reconstruction:
    """Take ridge and share with the smallest left-out error, over exact masks and slightly wrong ones."""
    pairs = [(ridge, share) for ridge in RIDGES for share in SHARES]
    ridges, shares = (np.array(column) for column in zip(*pairs, strict=True))
    low, high = reference.unit.lowest, reference.unit.highest
    overwritten = np.where(gaps, low + rng.random(true.shape) * (high - low), true)
    error = np.zeros(len(pairs))
    for judged in (gaps, shifted_stretches(rng, gaps)):
        filled = _run(learnt, reference, overwritten, judged, left_out, (ridges, shares), n_jobs).filled
        squared = np.where(judged, (filled - true) ** 2, 0.0).sum(axis=2) / judged.sum(axis=1)
        error += np.sqrt(squared).mean(axis=1)
    error[pairs.index(PREFERRED)] *= 1 - PREFERENCE
    ridge, share = pairs[int(np.argmin(error))]
    return replace(learnt, ridge=ridge, share=share)


def _calibrate_spread(
    learnt: Reconstruction,
    reference: Reference,
    true: NDArray[np.float64],
    gaps: NDArray[np.bool_],
    left_out: NDArray[np.int64],
    n_jobs: int | None,
) -> Reconstruction:
    """Fit the spread to left-out errors: a share of the donors' variance, and a base for each attribute."""
    from scipy.optimize import nnls

    pair = np.array([learnt.ridge]), np.array([learnt.share])
    made = _run(learnt, reference, true, gaps, left_out, pair, n_jobs)
    variance = made.variance
    estimate = np.clip(made.filled[0], reference.unit.lowest, reference.unit.highest)
    squared = np.where(gaps, (estimate - true) ** 2, 0.0)
    seen = gaps.sum(axis=0)
    possible = float((learnt.scale**2 * seen).sum())
    unexplained = float(squared.sum()) / possible if possible > 0 else 0.0
    prior = 20.0
    base = (squared.sum(axis=0) + prior * unexplained * learnt.scale**2) / (seen + prior)
    bases = np.broadcast_to(base, gaps.shape)[gaps]
    level = variance[gaps] + bases + 1e-300
    design = np.column_stack([variance[gaps] / level, bases / level])
    local, attribute = nnls(design, np.minimum(squared[gaps] / level, 25.0))[0]
    spread = np.sqrt(local * variance[gaps] + attribute * bases)
    known = spread > 0
    ratio = 1.0
    if known.any():
        ratio = float(np.quantile(np.sqrt(squared[gaps][known]) / spread[known], 0.8)) / 1.2816
    return replace(learnt, spread_local=float(local) * ratio**2, spread_base=float(attribute) * ratio**2 * base)
