"""One table, nothing known of it: its rows are each other's reference.

Enters: a table, some of its rows corrupted, some values missing; at once, or batch by batch after a mender has learnt
from a sample of it. Leaves: a `Mended`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemend.mender.estimator import TreeMender
from treemend.mender.result import Mended

__all__ = ["OWN_REFERENCE", "mend", "mend_among"]

OWN_REFERENCE: dict[str, Any] = {"clean_reference": True, "incomplete_reference": "drop"}


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
    return TreeMender(**OWN_REFERENCE | parameters).fit_mend(table, n_draws=n_draws)


def mend_among(mender: TreeMender, rows: Any, own: NDArray[np.int64]) -> Mended:
    """Mend some rows of the table that a mender learnt from.

    Parameters
    ----------
    mender : TreeMender
        Fitted to the table, or to a sample of it.
    rows : array-like or data frame, rows x attributes
    own : ndarray of int, one a row
        Which row of ``mender.reference_`` a row is; it is then judged by the others. -1 for rows that are none.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> table = rng.normal(size=(100, 8))
    >>> mender = TreeMender().fit(table)
    >>> some = mend_among(mender, table[20:30], np.arange(20, 30))
    >>> bool(np.all(some.mask == mender.fit_mend(table).mask[20:30]))
    True
    """
    return mender._mend_among(rows, own)
