"""The package as it was before `Mender`, in the interface of today: for ``--estimator``, to tell before and after.

The files in ``experiments/results/robustness/before`` were measured by it, on commit 4696645 with today's
``treemend/synthetic.py`` beside it::

    python -m experiments.robustness --estimator experiments.robustness.earlier:Earlier \
        --results experiments/results/robustness/before --most-splits 1
"""

from typing import Any

from treemend import TreeMender  # type: ignore[attr-defined]

__all__ = ["Earlier"]


class Earlier:
    """`TreeMender` of that commit; what it did not have raises `NotImplementedError`."""

    def __init__(self, *, false_alarm_rate: float = 0.05, layout: Any = "sequence", contaminated: bool = False) -> None:
        own = {"clean_reference": True, "incomplete_reference": "drop"} if contaminated else {}
        self._parameters = {"layout": layout, **own}
        self._rate = false_alarm_rate

    def fit(self, reference: Any) -> "Earlier":
        """Fit one mender; those for other rates are fitted when they are asked for."""
        self._reference = reference
        self._menders = {self._rate: self._fitted(self._rate)}
        return self

    def mend(self, rows: Any, *, false_alarm_rate: float | None = None, fdr: float | None = None) -> Any:
        """Mend rows at any rate."""
        if fdr is not None:
            raise NotImplementedError("no false discovery rate")
        rate = self._rate if false_alarm_rate is None else max(false_alarm_rate, 1e-9)
        if rate not in self._menders:
            self._menders[rate] = self._fitted(rate)
        return self._menders[rate].mend(rows)

    def fit_mend(self, table: Any) -> Any:
        """Mend one table."""
        return TreeMender(false_alarm_rate=self._rate, **self._parameters).fit_mend(table)

    def score_samples(self, rows: Any) -> Any:
        """Return how clean each row is."""
        return self._menders[self._rate].score_samples(rows)

    def _fitted(self, rate: float) -> Any:
        return TreeMender(false_alarm_rate=rate, **self._parameters).fit(self._reference)
