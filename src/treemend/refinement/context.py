"""Learning the context, and weighing rows by it (method, section 10).

Enters: clean reference rows on [0, 1] scales in layout order; suspect rows. Leaves: a `Context`, all that judging needs
beside the reference itself; and evidence for each explanation, `EXPLANATIONS`.

The reference rows' own evidence always comes from a model that has not seen them. Up to `MOST_CROSS_FITTED` rows, five
models, each of four fifths of the rows, weigh the fifth that is left. Beyond, one model of `MOST_LEARNT` rows is
enough, and up to `MOST_WEIGHED` rows that it has not seen are weighed.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treemend.reference import Reference
from treemend.refinement.coordinates import Cells, Coordinates, Grid, describe, lay_cells, learn_coordinates
from treemend.refinement.frozen import find_frozen
from treemend.refinement.mixture import Mixture, Shape, choose_shape, learn_mixture
from treemend.refinement.scan import Best, Scan, learn_scan, log_densities, no_evidence, scan
from treemend.refinement.windows import Windows, lay_windows

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Bools = NDArray[np.bool_]

EXPLANATIONS = ("noise", "foreign", "shifted", "frozen")
NOISE, FOREIGN, SHIFTED, FROZEN = range(4)
FOLDS = 5
MOST_CROSS_FITTED = 5000
MOST_LEARNT = 4000
MOST_WEIGHED = 4000


@dataclass(frozen=True)
class Context:
    """What the reference says of how the parts of a row go together."""

    grid: Grid | None
    cells: Cells
    windows: Windows
    coordinates: Coordinates
    mixture: Mixture
    scan: Scan


@dataclass(frozen=True)
class CleanEvidence:
    """Evidence (n, explanations) and log density (n,) of reference ``rows`` by models that have not seen them."""

    rows: Integers
    evidence: Floats
    log_density: Floats


@dataclass(frozen=True)
class Weighed:
    """Evidence (n, explanations), and what is needed to draw the stretches.

    ``window`` and ``component`` (n, 3) belong to noise, foreign and shifted; ``frozen_mask`` (n, d) is the frozen
    stretch; ``log_density`` (n,) is that of the whole row.
    """

    evidence: Floats
    log_density: Floats
    window: Integers
    component: Integers
    frozen_mask: Bools


def learn_context(
    reference: Reference,
    grid: Grid | None = None,
    *,
    weighable: Integers | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
) -> tuple[Context, CleanEvidence]:
    """Learn from clean rows.

    Parameters
    ----------
    reference : Reference
        In unit layout: attributes along the chain, or row by row with channels last.
    grid : tuple of int, optional
        Height, width and channels; ``None`` for a sequence.
    weighable : ndarray of int, optional
        The reference rows whose evidence is wanted; all by default.
    seed : int
        Of the clusters, the folds and the sample.
    n_jobs : int, optional
        Threads, as in joblib.

    Returns
    -------
    Context
        What `weigh` and `find_stretches` need.
    CleanEvidence
        Honest evidence of the wanted rows, all of them up to `MOST_CROSS_FITTED` reference rows.
    """
    cells = lay_cells(len(reference.low), grid)
    windows = lay_windows(cells)
    shuffled = np.random.default_rng(seed).permutation(reference.n_rows)
    cross_fit = reference.n_rows <= MOST_CROSS_FITTED
    learning = _rows_of(reference, np.arange(reference.n_rows) if cross_fit else np.sort(shuffled[:MOST_LEARNT]))
    shape = choose_shape(describe(learn_coordinates(learning, cells), cells, learning)[0], seed)
    context = _learn(learning, grid, cells, windows, shape, seed)
    wanted = np.arange(reference.n_rows) if weighable is None else weighable
    if cross_fit:
        weighed, rows = wanted, learning[wanted]
        best = _cross_fitted(learning, context, shape, shuffled % min(FOLDS, len(learning)), seed, n_jobs)
        best = Best(*(part[wanted] for part in vars(best).values()))
    else:
        unseen = shuffled[MOST_LEARNT:]
        weighed = np.sort(unseen[np.isin(unseen, wanted)][:MOST_WEIGHED])
        rows = _rows_of(reference, weighed)
        best = _scan(context, rows, n_jobs)
    frozen = find_frozen(rows, reference, grid_of(context), weighed, n_jobs)[0]
    return context, CleanEvidence(weighed, np.column_stack([best.evidence, frozen]), best.log_density)


def weigh(
    context: Context, rows: Floats, reference: Reference, *, left_out: Integers | None = None, n_jobs: int | None = None
) -> Weighed:
    """Weigh how much evidence each explanation of a row has against "clean".

    Parameters
    ----------
    context : Context
        From `learn_context`.
    rows : ndarray of shape (n, d)
        Finite suspect rows, scaled and ordered as the reference.
    reference : Reference
        The rows that `context` was learnt from.
    left_out : ndarray of int of shape (n,), optional
        Each row's own place in the reference, -1 if it has none: it is not asked about itself when frozen values are
        judged. The mixture still knows it; `CleanEvidence` is what reference rows should be judged by.
    n_jobs : int, optional
        Threads, as in joblib. Neither they nor the other rows change a row's result by a bit.
    """
    best = _scan(context, rows, n_jobs)
    own = np.full(len(rows), -1) if left_out is None else np.asarray(left_out, np.int64)
    frozen, frozen_mask = find_frozen(rows, reference, grid_of(context), own, n_jobs)
    return Weighed(np.column_stack([best.evidence, frozen]), best.log_density, best.window, best.component, frozen_mask)


def row_densities(context: Context, rows: Floats, *, n_jobs: int | None = None) -> Floats:
    """Return the log density of rows, as `weigh` would tell it, at a fraction of the cost.

    Parameters
    ----------
    context, rows, n_jobs
        As for `weigh`.
    """
    return log_densities(context.scan, *describe(context.coordinates, context.cells, rows), n_jobs)


def grid_of(context: Context) -> Grid | None:
    """Return the grid if it is broad enough to be treated as one."""
    return context.grid if context.cells.grid else None


def _rows_of(reference: Reference, numbers: Integers) -> Floats:
    table, places = reference.laid(numbers)
    return table[places]


def _learn(learning: Floats, grid: Grid | None, cells: Cells, windows: Windows, shape: Shape, seed: int) -> Context:
    coordinates = learn_coordinates(learning, cells)
    mixture = learn_mixture(describe(coordinates, cells, learning)[0], shape, seed)
    return Context(grid, cells, windows, coordinates, mixture, learn_scan(mixture, windows, cells.per_cell))


def _scan(context: Context, rows: Floats, n_jobs: int | None) -> Best:
    return scan(context.scan, *describe(context.coordinates, context.cells, rows), n_jobs)


def _cross_fitted(
    reference: Floats, context: Context, shape: Shape, fold: Integers, seed: int, n_jobs: int | None
) -> Best:
    best = no_evidence(len(reference))
    for out in range(int(fold.max()) + 1):
        inside = fold != out
        if not inside.any():
            continue
        model = _learn(reference[inside], context.grid, context.cells, context.windows, shape, seed)
        weighed = _scan(model, reference[~inside], n_jobs)
        for whole, part in zip(vars(best).values(), vars(weighed).values(), strict=True):
            whole[~inside] = part
    return best
