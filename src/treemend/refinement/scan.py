"""Weighing every window of a row against the rest of the row (method, section 10).

Enters: a mixture and windows. Leaves: a `Scan`, all that does not depend on the row, worked out once: inverse
triangular factors along each chain, and the constants of each window and component. `scan` then weighs rows.

For a window v of a row x: *noise* compares the density of x with a uniform density of x_v beside that of the rest;
*foreign* with the density of x_v alone beside that of the rest; *shifted* with the density of a row whose x_v was moved
by a common Gaussian amount. Evidence is the log of the ratio.
"""

from dataclasses import dataclass, fields, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky
from scipy.linalg.lapack import dtrtri

from treemend.refinement.mixture import TAIL, Mixture, density_constants
from treemend.refinement.windows import Windows

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Integers = NDArray[np.int64]

# Prior scale of a shift, on scales where attributes range over [0, 1].
SHIFT = 0.3
PANEL = 4


@dataclass(frozen=True)
class Scan:
    """The arrays that `treemend.kernels.context_scan` reads; ``scan_arrays.ScanModel`` says what each one is."""

    centre: Floats
    precision: Singles
    given_rest: Singles
    alone: Singles
    panel_start: Integers
    order: Integers
    chain_start: Integers
    window_start: Integers
    size: Integers
    whole_level: Floats
    rest_level: Floats
    alone_level: Floats
    shifted_level: Floats
    shift_gain: Floats
    tail: float


@dataclass(frozen=True)
class Best:
    """Rows x (noise, foreign, shifted): the most evidence, its window (-1: none), the component that speaks loudest.

    Beside them the log density of each whole row.
    """

    evidence: Floats
    window: Integers
    component: Integers
    log_density: Floats


@dataclass(frozen=True)
class _Windowed:
    """Of each window, under one component."""

    log_det_given_rest: Floats
    log_det_alone: Floats
    information: Floats


def learn_scan(mixture: Mixture, windows: Windows, per_cell: int) -> Scan:
    """Work out all that does not depend on the row."""
    n_components, d = mixture.centre.shape
    order = (windows.order[:, None] * per_cell + np.arange(per_cell)).ravel()
    chain_start, size = windows.chain_start * per_cell, windows.size * per_cell
    chains = [order[start:stop] for start, stop in pairwise(chain_start)]
    last = [size[start:stop] - 1 for start, stop in pairwise(windows.window_start)]
    places = [_triangular_places(len(chain)) for chain in chains]
    panel_start = np.cumsum([0, *(len(place) for place in places)])
    given_rest = np.empty((n_components, panel_start[-1]), np.float32)
    alone = np.empty_like(given_rest)
    windowed = []
    for k in range(n_components):
        facts = []
        for c, chain in enumerate(chains):
            here = slice(panel_start[c], panel_start[c + 1])
            facts.append(_factor(mixture, k, chain, last[c], places[c], given_rest[k, here], alone[k, here]))
        windowed.append(_joined(facts))
    constant = density_constants(d)
    whole = mixture.log_weight + 0.5 * mixture.log_det
    growth = 1 + SHIFT**2 * np.array([facts.information for facts in windowed])
    return Scan(
        centre=mixture.centre,
        precision=np.array([_square_panels(block) for block in mixture.precision]),
        given_rest=given_rest,
        alone=alone,
        panel_start=panel_start[:-1],
        order=order,
        chain_start=chain_start,
        window_start=windows.window_start,
        size=size,
        whole_level=whole + constant[d],
        rest_level=whole[:, None]
        - 0.5 * np.array([facts.log_det_given_rest for facts in windowed])
        + constant[d - size],
        alone_level=mixture.log_weight[:, None]
        - 0.5 * np.array([facts.log_det_alone for facts in windowed])
        + constant[size],
        shifted_level=(whole + constant[d])[:, None] - 0.5 * np.log(growth),
        shift_gain=SHIFT**2 / growth,
        tail=TAIL,
    )


def no_evidence(n_rows: int) -> Best:
    """Return what is said of rows before they are weighed."""
    return Best(np.zeros((n_rows, 3)), np.full((n_rows, 3), -1), np.zeros((n_rows, 3), np.int64), np.zeros(n_rows))


def scan(model: Scan, described: Floats, stretch: Floats, n_jobs: int | None) -> Best:
    """Weigh described rows; a row's result has the same bits in any company."""
    return _scanned(model, described, stretch, n_jobs) if len(model.size) else no_evidence(len(described))


def _scanned(model: Scan, described: Floats, stretch: Floats, n_jobs: int | None) -> Best:
    from treemend.kernels.context_scan import scan_rows
    from treemend.kernels.scan_arrays import ScanModel, scan_space
    from treemend.kernels.threads import for_chunks

    n_rows = len(described)
    best = no_evidence(n_rows)
    arrays = ScanModel(*(getattr(model, field.name) for field in fields(model)))

    def task(part: slice) -> None:
        scan_rows(
            described[part],
            stretch[part],
            arrays,
            scan_space(part.stop - part.start, arrays),
            best.evidence[part],
            best.window[part],
            best.component[part],
            best.log_density[part],
        )

    for_chunks(task, n_rows, 2 * model.given_rest.size, n_jobs)
    return best


def log_densities(model: Scan, described: Floats, stretch: Floats, n_jobs: int | None) -> Floats:
    """Return the log density of described rows, without weighing any window; 0 where there are none to weigh."""
    if not len(model.size):
        return np.zeros(len(described))
    n_components, nothing = len(model.whole_level), np.empty(0, np.int64)
    no_levels = np.empty((n_components, 0))
    bare = replace(
        model,
        panel_start=nothing,
        chain_start=np.zeros(1, np.int64),
        window_start=np.zeros(1, np.int64),
        size=nothing,
        rest_level=no_levels,
        alone_level=no_levels,
        shifted_level=no_levels,
        shift_gain=no_levels,
    )
    return _scanned(bare, described, stretch, n_jobs).log_density


def _factor(
    mixture: Mixture, k: int, chain: Integers, last: Integers, places: Integers, given_rest: Singles, alone: Singles
) -> _Windowed:
    """Write the inverse factors of a chain, and return the facts of its windows."""
    block = mixture.precision[k][np.ix_(chain, chain)]
    inverse, log_det_given_rest = _inverse_factor(block)
    given_rest[:] = inverse.ravel()[places]
    inverse, log_det_alone = _inverse_factor(mixture.covariance[k][np.ix_(chain, chain)])
    alone[:] = inverse.ravel()[places]
    information = (2 * np.tril(block).sum(axis=1) - np.diag(block)).cumsum()
    return _Windowed(log_det_given_rest[last], log_det_alone[last], information[last])


def _joined(facts: list[_Windowed]) -> _Windowed:
    nothing = np.empty(0)
    return _Windowed(
        np.concatenate([nothing, *(fact.log_det_given_rest for fact in facts)]),
        np.concatenate([nothing, *(fact.log_det_alone for fact in facts)]),
        np.concatenate([nothing, *(fact.information for fact in facts)]),
    )


def _inverse_factor(block: Floats) -> tuple[Floats, Floats]:
    """Return the inverse of the Cholesky factor, padded by rows of zeros to whole panels, and log determinants."""
    factor = cholesky(block, lower=True, check_finite=False)
    inverse = np.zeros((-(-len(block) // PANEL) * PANEL, len(block)))
    inverse[: len(block)] = dtrtri(factor, lower=1)[0]
    return inverse, 2 * np.log(np.diag(factor)).cumsum()


def _triangular_places(m: int) -> Integers:
    """Return where the panels of a triangular matrix stand in it, by panel, column, row of a panel."""
    rows = np.arange(PANEL) * m
    parts = [(begin * m + np.arange(min(begin + PANEL, m))[:, None] + rows).ravel() for begin in range(0, m, PANEL)]
    return np.concatenate(parts)


def _square_panels(matrix: Floats) -> Singles:
    m = len(matrix)
    padded = np.zeros((-(-m // PANEL) * PANEL, m), np.float32)
    padded[:m] = matrix
    return padded.reshape(-1, PANEL, m).transpose(0, 2, 1).ravel()
