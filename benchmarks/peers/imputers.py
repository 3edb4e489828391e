"""Imputation by other people's methods: each takes complete reference rows, or none, and rows with NaN.

- IterativeImputer: scikit-learn, Bayesian ridge regressions, 10 rounds, the 30 best correlated columns where there are
  more; bounded by the known values, without which it diverges on spectra.
- KNNImputer: scikit-learn, 8 neighbours.
- missForest: scikit-learn's IterativeImputer with forests of 20 trees, 3 rounds, which is the idea of missForest.
- softImpute: singular values cut softly until nothing changes, on standardised columns, written here; the cut is the
  one of twelve with the least error on a tenth of the known cells.
- miceforest: the mean of 5 random completions, 3 rounds each.
"""

from collections.abc import Callable

import numpy as np
from benchmarks.peers.peer import Rows
from sklearn.ensemble import RandomForestRegressor
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer

__all__ = ["IMPUTERS", "soft_impute"]

Impute = Callable[[Rows | None, Rows], Rows]

_MOST_PREDICTORS = 30
_CUTS = 12


def _together(reference: Rows | None, rows: Rows) -> Rows:
    return rows if reference is None else np.vstack([reference, rows])


def _n_predictors(rows: Rows) -> int | None:
    return _MOST_PREDICTORS if rows.shape[1] > _MOST_PREDICTORS else None


def _iterative(reference: Rows | None, rows: Rows) -> Rows:
    known = _together(reference, rows)
    imputer = IterativeImputer(
        n_nearest_features=_n_predictors(rows),
        min_value=np.nanmin(known, axis=0) - 1e-9,
        max_value=np.nanmax(known, axis=0) + 1e-9,
        keep_empty_features=True,
        random_state=0,
    )
    return np.asarray(imputer.fit(known).transform(rows))


def _forests(reference: Rows | None, rows: Rows) -> Rows:
    known = _together(reference, rows)
    forest = RandomForestRegressor(20, max_features="sqrt", random_state=0)
    imputer = IterativeImputer(
        forest, max_iter=3, n_nearest_features=_n_predictors(rows), keep_empty_features=True, random_state=0
    )
    return np.asarray(imputer.fit_transform(known)[-len(rows) :])


def _nearest(reference: Rows | None, rows: Rows) -> Rows:
    known = rows if reference is None else reference
    return np.asarray(KNNImputer(n_neighbors=8, keep_empty_features=True).fit(known).transform(rows))


def _soft(reference: Rows | None, rows: Rows) -> Rows:
    return soft_impute(_together(reference, rows))[-len(rows) :]


def soft_impute(rows: Rows) -> Rows:
    """Fill NaN by a matrix of low rank, the cut of its singular values chosen on known cells that are hidden.

    Examples
    --------
    >>> rows = np.outer(np.arange(1.0, 41.0), np.arange(1.0, 7.0))
    >>> gaps = rows.copy()
    >>> gaps[::3, 2] = np.nan
    >>> bool(np.abs(soft_impute(gaps) - rows).max() < 5)
    True
    """
    known = ~np.isnan(rows)
    mean, deviation = np.nanmean(rows, axis=0), np.nanstd(rows, axis=0)
    deviation = np.where(deviation > 0, deviation, 1.0)
    values = np.where(known, (rows - mean) / deviation, 0.0)
    hidden = known & (np.random.default_rng(0).random(rows.shape) < 0.1)
    largest = np.linalg.norm(np.where(known, values, 0.0), 2)
    cuts = largest * np.geomspace(0.5, 0.002, _CUTS)
    fitted, errors = np.zeros_like(values), []
    for cut in cuts:
        fitted = _cut_softly(values, known & ~hidden, cut, fitted)
        errors.append(float(np.mean(np.square(fitted - values)[hidden])))
    fitted = np.zeros_like(values)
    for cut in cuts[: int(np.argmin(errors)) + 1]:
        fitted = _cut_softly(values, known, cut, fitted)
    return np.where(known, rows, mean + deviation * fitted)


def _cut_softly(values: Rows, known: np.ndarray, cut: float, fitted: Rows) -> Rows:
    for _ in range(100):
        left, singular, right = np.linalg.svd(np.where(known, values, fitted), full_matrices=False)
        following = (left * np.maximum(singular - cut, 0.0)) @ right
        change = np.linalg.norm(following - fitted) / max(np.linalg.norm(fitted), 1e-9)
        fitted = following
        if change < 1e-3:
            break
    return fitted


def _completions(reference: Rows | None, rows: Rows) -> Rows:
    import miceforest
    import pandas as pd

    known = _together(reference, rows)
    table = pd.DataFrame(known, columns=[f"c{place}" for place in range(known.shape[1])])
    kernel = miceforest.ImputationKernel(table, num_datasets=5, random_state=0)
    kernel.mice(3, num_threads=1, verbose=False)
    draws = [kernel.complete_data(number).to_numpy()[-len(rows) :] for number in range(5)]
    return np.asarray(np.mean(draws, axis=0))


IMPUTERS: dict[str, tuple[str, Impute]] = {
    "iterative": ("IterativeImputer", _iterative),
    "nearest": ("KNNImputer", _nearest),
    "soft_impute": ("softImpute", _soft),
    "forests": ("missForest", _forests),
    "miceforest": ("miceforest, mean of 5", _completions),
}
