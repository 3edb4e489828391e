"""Tuning: let the reference itself say which settings suit it.

Enters: clean reference rows. Leaves: a mender with the settings that repaired best what was overwritten on purpose in
held-out reference rows, and the figures of all that were tried.

The defaults are meant to need none of this. It pays where a table's column order may mean nothing, or where one kind of
corruption is known to be the one that happens.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treemend.exceptions import InputError, ParameterError
from treemend.mender.estimator import TreeMender
from treemend.mender.practice import KINDS, overwrite
from treemend.tables import learn_scaling, read_table

__all__ = ["Trial", "tune"]

CANDIDATES: tuple[dict[str, Any], ...] = (
    {},
    {"layout": "correlated"},
    {"imputation": "mean"},
    {"n_neighbors": 4},
    {"n_neighbors": 16},
    {"alpha": 1.0},
)
_HELD_OUT = 1 / 3
_MOST_HELD_OUT = 300
_FEWEST_ROWS = 30


@dataclass(frozen=True)
class Trial:
    """Settings that were tried.

    Attributes
    ----------
    parameters : dict
        What differs from the defaults.
    quality : float
        Mean share of the distance to the truth that mending took away, over overwritten rows; 1 is perfect.
    found : float
        Share of the overwritten rows that were found.
    touched : float
        Share of the untouched rows that were touched.
    """

    parameters: dict[str, Any]
    quality: float
    found: float
    touched: float


def tune(
    reference: Any,
    *,
    kinds: Sequence[str] = tuple(KINDS),
    candidates: Sequence[Mapping[str, Any]] = CANDIDATES,
    random_state: int = 0,
    **parameters: Any,
) -> tuple[TreeMender, list[Trial]]:
    """Choose settings by overwriting held-out reference rows on purpose.

    Parameters
    ----------
    reference : array-like or data frame, rows x attributes
        Clean rows, at least 30; a third of them is held out.
    kinds : sequence of str
        Ways of overwriting: "noise", "zero", "stuck", "another row", "added noise", "offset".
    candidates : sequence of mappings
        Parameters of `TreeMender` to try.
    random_state : int, default=0
        Seed of the split and of what is overwritten.
    **parameters
        Parameters that all candidates share, such as ``false_alarm_rate`` or ``layout``.

    Returns
    -------
    TreeMender
        With the best settings, not fitted.
    list of Trial
        All that were tried, best first.

    Examples
    --------
    >>> import numpy as np
    >>> import treemend
    >>> rng = np.random.default_rng(0)
    >>> rows = np.sin(np.linspace(0, 6, 16) + rng.uniform(0, 6, (90, 1)))
    >>> mender, trials = treemend.tune(rows, kinds=["noise"], candidates=[{}, {"imputation": "nearest"}])
    >>> len(trials), bool(trials[0].quality >= trials[1].quality)
    (2, True)
    """
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown or not kinds or not candidates:
        known = ", ".join(map(repr, KINDS))
        raise ParameterError(f"kinds must be some of {known}, and candidates not empty; got {kinds!r}.")
    values = read_table(reference).values
    if len(values) < _FEWEST_ROWS:
        raise InputError(f"tune needs at least {_FEWEST_ROWS} reference rows, got {len(values)}.")
    rng = np.random.default_rng(random_state)
    shuffled = rng.permutation(values)
    n_held_out = min(_MOST_HELD_OUT, int(len(values) * _HELD_OUT))
    practice = _overwritten(rng, shuffled[:n_held_out], shuffled[n_held_out:], kinds)
    trials = [_try(dict(one), parameters, shuffled[n_held_out:], practice) for one in candidates]
    trials.sort(key=lambda trial: -trial.quality)
    return TreeMender(**(parameters | trials[0].parameters)), trials


@dataclass(frozen=True, eq=False)
class _Practice:
    true: NDArray[np.float64]
    suspect: NDArray[np.float64]
    overwritten: NDArray[np.bool_]


def _overwritten(
    rng: np.random.Generator, rows: NDArray[np.float64], reference: NDArray[np.float64], kinds: Sequence[str]
) -> _Practice:
    """Overwrite every second row, the kinds in turn; scales are those of the reference."""
    scaling = learn_scaling(reference, "minmax")
    suspect, flags = rows.copy(), np.zeros(len(rows), dtype=bool)
    for number, kind in enumerate(kinds):
        chosen = np.arange(2 * number, len(rows), 2 * len(kinds))
        if len(chosen):
            changed, mask = overwrite(rng, scaling.apply(rows[chosen]), kind)
            suspect[chosen] = np.where(mask, changed * scaling.width + scaling.offset, rows[chosen])
            flags[chosen] = True
    return _Practice(rows, suspect, flags)


def _try(
    parameters: dict[str, Any], shared: dict[str, Any], reference: NDArray[np.float64], practice: _Practice
) -> Trial:
    mender = TreeMender(**(shared | parameters)).fit(reference)
    mended = mender.mend(practice.suspect)
    width = learn_scaling(reference, "minmax").width
    before = np.linalg.norm((practice.suspect - practice.true) / width, axis=1)
    after = np.linalg.norm((np.asarray(mended.repaired) - practice.true) / width, axis=1)
    changed = practice.overwritten & (before > 0)
    return Trial(
        parameters=parameters,
        quality=float(np.mean((before - after)[changed] / before[changed])) if changed.any() else float("nan"),
        found=float(mended.corrupted[changed].mean()) if changed.any() else float("nan"),
        touched=float(mended.corrupted[~practice.overwritten].mean()),
    )
