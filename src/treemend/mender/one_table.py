"""One table, nothing known of it: its rows are each other's reference.

Enters: a table, some of its rows corrupted, some values missing. Leaves: a `Mended`.
"""

from typing import Any

from treemend.mender.estimator import TreeMender
from treemend.mender.result import Mended

__all__ = ["mend"]


def mend(table: Any, *, n_draws: int = 0, **parameters: Any) -> Mended:
    """Mend one table without clean rows: corrupted rows are set aside first, then each row is judged by the others.

    Parameters
    ----------
    table : array-like or data frame, rows x attributes
        Most of its rows should be clean.
    n_draws : int, default=0
        Number of random completions, for multiple imputation.
    **parameters
        As for `TreeMender`: ``false_alarm_rate``, ``layout`` and so on.

    Returns
    -------
    Mended

    Examples
    --------
    >>> import numpy as np
    >>> import treemend
    >>> rng = np.random.default_rng(0)
    >>> phase, height = rng.uniform(0, 6, (300, 1)), rng.uniform(1, 2, (300, 1))
    >>> table = height * np.sin(np.linspace(0, 6, 32) + phase)
    >>> table[:30, 8:16] = rng.uniform(-2, 2, (30, 8))
    >>> mended = treemend.mend(table)
    >>> int(mended.corrupted[:30].sum()), bool(mended.corrupted[30:].mean() < 0.1)
    (30, True)
    """
    given: dict[str, Any] = {"clean_reference": True, "incomplete_reference": "drop"} | parameters
    return TreeMender(**given).fit_mend(table, n_draws=n_draws)
