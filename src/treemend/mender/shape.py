"""How many components a density has and how much its covariances are shrunk: what makes left-out rows likeliest."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np

from treemend.arrays import Floats
from treemend.mender.density import LeftOut, Shape, clusters, learn_moments, roughly_filled

# Fewer degrees of freedom would often be likelier, and find less:
# `python -m experiments.robustness one_stretch several_stretches scattered`.
LIGHTER_TAILS = (25.0, 100.0, 1000.0)
# What the choice of a shape tries. Each further value costs a likelihood; `python -m experiments.filling` measures what
# it gains.
COMPONENTS = (1, 3, 8, 16)
SHRINKAGES = (0.001, 0.01, 0.05, 0.2, 0.5, 0.9)
# Ranks are tried with fewer than so many rows a column, where shrinkage forgets what columns have in common; each costs
# a factorisation. `python -m experiments.robustness several_stretches wide` measures what they gain.
RANKS, ROWS_PER_COLUMN, ROWS_PER_RANK = (4, 8, 16, 32), 4, 3
# More components must gain this many nats a row: fewer judge and search faster, and odd clean rows are rarer.
LEAST_GAIN = 0.5
ROWS_PER_COMPONENT = 20
# A row costs a product with every component's precision: as many components as keep that below .3 milliseconds.
MOST_PRODUCTS = 1 << 19
# Rows with gaps cost a factorisation with every component as well, and they are learnt from one by one.
MOST_PRODUCTS_INCOMPLETE = 1 << 18
FEWEST_TO_CHOOSE = 3
MOST_TO_CHOOSE = 3_000
# Rows whose likelihood is judged: with fewer, shapes that differ little are told apart by chance.
MOST_JUDGED = 600
# With fewer rows than this, each third is left out in turn.
FEW_ROWS = 500
MOST_INCOMPLETE_TO_CHOOSE = 1_000


def choose_shape(rows: Floats, seed: int) -> Shape:
    """Choose the shape with the highest likelihood of a third of the rows, learnt on the others.

    Components are added as long as that helps; shrinkages are climbed, not all tried. Few wide rows may be
    better described by one component of low rank.
    """
    n, d = rows.shape
    best, best_value = Shape(1, SHRINKAGES[-1]), -math.inf
    if n < FEWEST_TO_CHOOSE:
        return best
    most_products = MOST_PRODUCTS_INCOMPLETE if np.isnan(rows).any() else MOST_PRODUCTS
    left_out = _split(rows, seed)
    one_component = judged = left_out(Shape(1, 0.2))
    most_components = min(n / ROWS_PER_COMPONENT, most_products / d**2)
    for n_components in (k for k in COMPONENTS if k <= max(1, most_components)):
        if n_components > 1:
            judged = left_out(Shape(n_components, min(best.shrinkage, 0.2)))
        chosen, value = _choose_shrinkage(judged, n_components, best.shrinkage)
        if value > best_value + LEAST_GAIN:
            best, best_value = chosen, value
        elif n_components > COMPONENTS[1]:
            break
    ranks = [rank for rank in RANKS if rank < d and ROWS_PER_RANK * rank <= n < ROWS_PER_COLUMN * d]
    for shape in [Shape(1, 0.0, rank) for rank in ranks]:
        value = one_component.mean_log_density(shape)
        if value > best_value + LEAST_GAIN:
            best, best_value = shape, value
    for tail in LIGHTER_TAILS:
        shape = replace(best, tail=tail)
        value = left_out(shape).mean_log_density(shape)
        if value <= best_value:
            break
        best, best_value = shape, value
    return best


def _split(rows: Floats, seed: int) -> Callable[[Shape], LeftOut]:
    """Return what learns moments of a shape, and leaves out a third of the rows; each third in turn with few rows."""
    most_rows = MOST_INCOMPLETE_TO_CHOOSE if np.isnan(rows).any() else MOST_TO_CHOOSE
    places = np.random.default_rng(seed).permutation(len(rows))[:most_rows]
    thirds = [places[i::3] for i in range(3 if len(rows) <= FEW_ROWS else 1)]
    learning = [rows[np.setdiff1d(places, third)] for third in thirds]
    judging = [rows[third[:MOST_JUDGED]] for third in thirds]
    filled = [roughly_filled(part) for part in learning]
    labels = cache(lambda n_components: [clusters(part, n_components, seed) for part in filled])

    def left_out(shape: Shape) -> LeftOut:
        parts = zip(learning, filled, labels(shape.n_components), strict=True)
        return LeftOut([learn_moments(*part, shape)[0] for part in parts], judging)

    return left_out


def _choose_shrinkage(judged: LeftOut, n_components: int, guess: float) -> tuple[Shape, float]:
    """Climb to the best shrinkage from a guess."""

    @cache
    def value(at: int) -> float:
        return judged.mean_log_density(Shape(n_components, SHRINKAGES[at]))

    at = SHRINKAGES.index(guess)
    for step in (-1, 1):
        while 0 <= at + step < len(SHRINKAGES) and value(at + step) > value(at):
            at += step
    return Shape(n_components, SHRINKAGES[at]), value(at)
