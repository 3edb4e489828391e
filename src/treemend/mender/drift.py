"""Does the reference cover a table as a whole? Drift of columns is not corruption of cells, and must not be repaired.

The values of rows in which nothing was found corrupted are compared with the reference, column by column, by their
ranks among its quantiles: their mean tells a shift, their mean distance from the middle a change of scale. Two more
signs are a column that is found corrupted in almost half of the rows, and much oftener than the others, and many rows
that no set of cells explains.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom, norm

from treemend.arrays import Booleans, Floats, Integers
from treemend.mender.columns import column_quantiles

N_QUANTILES = 101
FEWEST_ROWS = 30
# Familywise level of the tests over all columns: clean tables must be told as drifted at most once in a hundred.
LEVEL = 1e-4
# Smallest shift, in standard deviations of a normal column, and smallest change of the mean distance from the middle
# (0.045 is a factor of 1.3) that count: smaller ones also come from undetected corruption in half of the rows.
# `python -m experiments.robustness drift` measures both kinds of error.
LEAST_SHIFT = 0.3
LEAST_RESCALING = 0.045
# Corruption that hits all rows at random places comes close to the first of these two, and not to the second.
MOST_CORRUPTED_IN_A_COLUMN = 0.45
OFTENER_THAN_OTHERS = 3.0
MOST_UNUSUAL = 0.12
EXPECTED_UNUSUAL = 0.05
_NAMED = 5


@dataclass(frozen=True, eq=False)
class DriftReference:
    """Quantiles (n_quantiles, n_features) of the reference's columns, zeros where there is no value; number of rows."""

    quantiles: Floats
    n_rows: int


def learn_drift_reference(values: Floats) -> DriftReference:
    """Learn the quantiles of each column; NaN are ignored."""
    return DriftReference(column_quantiles(values, np.linspace(0, 1, N_QUANTILES)), len(values))


class DriftTest:
    """Accumulates rows batch by batch, and tells whether the reference covers them."""

    def __init__(self, reference: DriftReference) -> None:
        n_features = reference.quantiles.shape[1]
        self._reference = reference
        self._usual_distance = _usual_distance(reference.quantiles)
        self._count = np.zeros(n_features)
        self._rank = np.zeros(n_features)
        self._distance = np.zeros(n_features)
        self._corrupted = np.zeros(n_features)
        self._n_unusual = 0
        self._n_rows = 0

    def add(self, values: Floats, mask: Booleans, unusual: Booleans) -> None:
        """Take more rows: their values, which cells were found corrupted, and which rows unusual."""
        # Rows with corrupted cells may hold others that were not found: a table of such rows has not drifted.
        used = ~np.isnan(values) & ~mask.any(axis=1, keepdims=True)
        for column in range(values.shape[1]):
            quantiles = self._reference.quantiles[:, column]
            kept = values[used[:, column], column]
            below = np.searchsorted(quantiles, kept, side="left") + np.searchsorted(quantiles, kept, side="right")
            rank = below / (2 * len(quantiles))
            self._rank[column] += rank.sum()
            self._distance[column] += np.abs(rank - 0.5).sum()
        self._count += used.sum(axis=0)
        self._corrupted += mask.sum(axis=0)
        self._n_unusual += int(unusual.sum())
        self._n_rows += len(values)

    def notes(self, names: Sequence[str] | None = None) -> tuple[str, ...]:
        """Return one sentence for each sign of drift, which names columns; none if the reference covers the rows."""
        if self._n_rows < FEWEST_ROWS:
            return ()
        named = names if names is not None else [f"column {column}" for column in range(len(self._count))]
        return tuple(note for note in (*self._uncovered(named), self._replaced(named)) if note)

    @property
    def covered(self) -> bool:
        """Whether the reference covers the rows; a column that is corrupted in most of them does not count."""
        names = [""] * len(self._count)
        return self._n_rows < FEWEST_ROWS or not any(self._uncovered(names))

    def _uncovered(self, names: Sequence[str]) -> tuple[str, str, str]:
        return self._shifted(names), self._rescaled(names), self._odd()

    def _means(self, total: Floats, usual: Floats | float, variance: float) -> tuple[Floats, Booleans]:
        """Return means over the rows, and where they surely differ from the usual ones."""
        count = np.maximum(self._count, 1)
        mean = total / count
        deviation = np.sqrt(variance * (1 / count + 1 / self._reference.n_rows))
        sure = np.abs(mean - usual) > norm.isf(LEVEL / (2 * len(count))) * deviation
        return mean, sure & (self._count >= FEWEST_ROWS)

    def _shifted(self, names: Sequence[str]) -> str:
        mean, sure = self._means(self._rank, 0.5, 1 / 12)
        shift = np.sqrt(2) * norm.ppf(np.clip(mean, 1e-6, 1 - 1e-6))
        found = np.flatnonzero(sure & (np.abs(shift) > LEAST_SHIFT))
        return _told(found, names, lambda column: f"by {shift[column]:+.1f} standard deviations", "have moved")

    def _rescaled(self, names: Sequence[str]) -> str:
        # The mean distance of a normal column stretched by a factor is arctan(factor) / pi.
        usual = self._usual_distance
        mean, sure = self._means(self._distance, usual, 1 / 48)
        found = np.flatnonzero(sure & (np.abs(mean - usual) > LEAST_RESCALING))
        factor = np.tan(np.pi * np.clip(mean - usual + 0.25, 0.01, 0.49))
        return _told(found, names, lambda column: f"by a factor of about {factor[column]:.1f}", "vary more or less")

    def _replaced(self, names: Sequence[str]) -> str:
        share = self._corrupted / self._n_rows
        most = max(MOST_CORRUPTED_IN_A_COLUMN, OFTENER_THAN_OTHERS * float(np.median(share)))
        found = np.flatnonzero(share > most)
        return _told(found, names, lambda column: f"in {share[column]:.0%} of the rows", "look corrupted")

    def _odd(self) -> str:
        share = self._n_unusual / self._n_rows
        if share <= MOST_UNUSUAL or binom.sf(self._n_unusual - 1, self._n_rows, EXPECTED_UNUSUAL) >= LEVEL:
            return ""
        return f"{share:.0%} of the rows are unusual as a whole: the reference does not cover them."


def _usual_distance(quantiles: Floats) -> Floats:
    """Return the mean distance of the reference's own ranks from the middle: 1/4, less where values repeat."""
    n = len(quantiles)
    number = np.arange(n)[:, None]
    new = np.diff(quantiles, axis=0, prepend=-np.inf) > 0
    first = np.maximum.accumulate(np.where(new, number, 0))
    following = np.minimum.accumulate(np.where(np.roll(new, -1, axis=0), number + 1, n)[::-1])[::-1]
    return np.asarray(np.abs((first + following) / (2 * n) - 0.5).mean(axis=0))


def _told(found: Integers, names: Sequence[str], amount: Callable[[int], str], verb: str) -> str:
    if not len(found):
        return ""
    shown = ", ".join(f"{names[column]} ({amount(column)})" for column in found[:_NAMED].tolist())
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return f"Columns that {verb} against the reference, {len(found)} of {len(names)}: {shown}{more}."
