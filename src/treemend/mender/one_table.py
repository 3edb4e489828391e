"""One table, nothing known of it: its rows are each other's reference."""

from typing import Any

from treemend.mender.estimator import Mender
from treemend.result import Result
from treemend.sampling import sample_rows
from treemend.tables import count_rows, take_rows

# Up to this many rows each is judged by a model that has not seen it; beyond, a sample of this size is the reference.
MOST_REFERENCE_ROWS = 3_000


def mend(table: Any, *, fdr: float | None = None, n_draws: int = 0, **parameters: Any) -> Result:
    """Mend one table without clean rows: what looks corrupted is not learnt from, and each row is judged by the others.

    Parameters
    ----------
    table : array-like or data frame of shape (n_samples, n_features)
        Most of its rows should be clean.
    fdr : float, optional
        As for `Mender.mend`.
    n_draws : int, default=0
        Number of random completions, for multiple imputation.
    **parameters
        As for `Mender`: ``false_alarm_rate``, ``layout`` and so on.

    Returns
    -------
    Result
        As from `Mender.mend`.

    Examples
    --------
    >>> import numpy as np
    >>> import treemend
    >>> from treemend.synthetic import waves
    >>> rng = np.random.default_rng(0)
    >>> table = waves(300, 32, rng=rng)
    >>> table[:30, 8:16] = rng.uniform(-2, 2, (30, 8))
    >>> mended = treemend.mend(table)
    >>> bool(mended.corrupted[:30].mean() > 0.9), bool(mended.corrupted[30:].mean() < 0.1)
    (True, True)
    """
    mender = Mender(**{"contaminated": True, **parameters})
    n_rows = count_rows(table)
    if n_rows <= MOST_REFERENCE_ROWS:
        return mender.fit_mend(table, fdr=fdr, n_draws=n_draws)
    sample = take_rows(table, sample_rows(n_rows, MOST_REFERENCE_ROWS))
    return mender.fit(sample).mend(table, fdr=fdr, n_draws=n_draws, on_drift="repair")
