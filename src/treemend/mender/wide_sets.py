"""The overwritten cells of a wide row, one by one, in time linear in their number.

Given the scores of the factors of a low-rank density, cells are independent: what the factors leave of a cell follows a
Student law, learnt from rows that the density has not seen. The best set of noise is then that of a two-state chain,
found exactly. Scores given the kept cells, and the set given the scores, are found in turn until nothing changes. With
f the law of what is left, the log odds of a set are ``J = log p(kept) - log p(row) + sum of log slopes + prior(n, R)``,
``log p(kept) = sum of log f - |scores|^2 / 2 - log det(A) / 2``, and for foreign and shifted sets as in `sets.py`.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln
from scipy.stats import t as student_law

from treemend.arrays import Booleans, Floats
from treemend.mender.columns import column_quantiles
from treemend.mender.compiled import kernel
from treemend.mender.density import RESOLUTION
from treemend.mender.evidence import FOREIGN, KEPT, NOISE, SHIFT, SHIFTED, STUCK
from treemend.mender.low_rank import LowRankDensity, leftovers
from treemend.mender.moves import MOST_OUT
from treemend.mender.windows import CALM, LEAVE, START, STAY, chain_prior

# Degrees of freedom that are tried for the law of what the factors leave.
TAILS = (2.0, 4.0, 8.0, 30.0)
# Most changes of scores and sets in turn; half a dozen are usual.
ROUNDS = 15


@dataclass(frozen=True)
class Residuals:
    """The law of what the factors leave of each cell: Student's, with a scale for each of d cells."""

    scale: Floats
    tail: float

    def log_density(self, left: Floats) -> Floats:
        """Return the log density of what is left (..., d)."""
        half = 0.5 * (self.tail + 1)
        constant = gammaln(half) - gammaln(0.5 * self.tail) - 0.5 * math.log(self.tail * math.pi)
        return np.asarray(constant - np.log(self.scale) - half * np.log1p(np.square(left / self.scale) / self.tail))


def learn_residuals(left: Floats) -> Residuals:
    """Learn the law from what factors leave of rows (n, d) that they have not seen, NaN where missing."""
    median = column_quantiles(np.abs(left), (0.5,))[0]
    laws = [Residuals(np.maximum(median / student_law.ppf(0.75, tail), RESOLUTION), tail) for tail in TAILS]
    return max(laws, key=lambda law: float(np.nansum(law.log_density(left))))


def moving(log_slope: Floats) -> Floats:
    """Return how much each cell moves for a common amount, whose unit is the standard deviation of shifts."""
    return np.asarray(SHIFT * np.exp(-log_slope))


class WideSet(NamedTuple):
    """A set of cells (d,), its log odds, those that each cell is noise, and what is expected, given what is kept."""

    out: Booleans
    odds: float
    cells: Floats
    expected: Floats


@dataclass(frozen=True)
class WideRow:
    """A row of d cells under a density and the law of what its factors leave."""

    density: LowRankDensity
    law: Residuals
    row: Floats
    log_slope: Floats
    whole: tuple[Floats, float]  # what factors leave of it, and the level of their scores, with nothing out
    lattice: Floats | float = 0.0

    @cached_property
    def _seen(self) -> Booleans:
        return ~np.isnan(self.row)

    @cached_property
    def _clean(self) -> float:
        return self._log_density(self._seen, *self.whole)[0]

    @cached_property
    def _noise(self) -> Floats:
        return self.log_slope + self.lattice

    def _log_density(self, kept: Booleans, left: Floats, level: float) -> tuple[float, Floats]:
        """Return the log density of the kept cells, and of each cell given them, by what `leftovers` says of them."""
        cells = self.law.log_density(left)
        return float(cells[kept].sum() + level), cells

    def weigh(self, out: Booleans, kind: int) -> WideSet:
        """Return what is known of a set of a kind."""
        rest = self._seen & ~out
        left, level = leftovers(self.density, self.row, rest) if out.any() else self.whole
        kept, cells = self._log_density(rest, left, level)
        odds = kept - self._clean + float(chain_prior(out.sum(), _count_runs(out), len(out)))
        if kind == FOREIGN:
            odds += self._log_density(out, *leftovers(self.density, self.row, out))[0]
        elif kind == SHIFTED:
            moved = leftovers(self.density.with_factor(moving(self.log_slope) * out), self.row, self._seen)
            odds += self._log_density(self._seen, *moved)[0] - kept
            odds += float((self.lattice * out).sum())
        else:
            odds += float(self._noise[out].sum())
        return WideSet(out, odds, np.where(self._seen, self._noise - cells, 0.0), self.row - left)


def find_set(row: WideRow, begin: Booleans, kind: int) -> tuple[WideSet, int]:
    """Return the best set of a row and its kind, from none and from a set of some kind; none has log odds of 0."""
    if kind == STUCK:
        return row.weigh(begin, STUCK), STUCK
    candidates = [(_improve(row, np.zeros(len(begin), bool)), NOISE)]
    if kind > KEPT:
        refined = _improve(row, begin)
        candidates.append((refined, NOISE))
        if kind > NOISE:
            candidates += [(row.weigh(out, kind), kind) for out in (begin, refined.out)]
    return max(candidates, key=lambda one: one[0].odds)


def _improve(row: WideRow, begin: Booleans) -> WideSet:
    """Return the best set of noise that is met on the way from the set ``begin``."""
    best = found = row.weigh(begin, NOISE)
    for _ in range(ROUNDS):
        out = _likeliest(found) & ~np.isnan(row.row)
        if out.sum() > MOST_OUT * len(out):
            # Few cells that are very far off draw the scores along: what fits better decides.
            out &= found.cells > np.median(found.cells)
        if np.array_equal(out, found.out):
            break
        found = row.weigh(out, NOISE)
        best = max(best, found, key=lambda one: one.odds)
    return best


def _count_runs(out: Booleans) -> int:
    return int(out[:1].sum() + (out[1:] & ~out[:-1]).sum())


def _likeliest(found: WideSet) -> Booleans:
    """Return the likeliest set given the log odds of cells, by a chain whose probabilities are those of a set."""
    d, n, runs = len(found.out), int(found.out.sum()), _count_runs(found.out)
    begins, stays = (runs + START) / (d - n + 1 + START + CALM), (n - runs + STAY) / (n + STAY + LEAVE)
    calm, out = math.log1p(-begins), np.empty(d, bool)
    enter, leave = math.log(stays) - math.log(begins), calm - math.log1p(-stays)
    _fill_chain(found.cells + math.log(stays) - calm, enter, leave, out)
    return out


@kernel
def _fill_chain(gains: Floats, enter: float, leave: float, out: Booleans) -> None:
    """Fill the set with the largest sum of gains, less ``enter`` and ``leave`` for each run that begins and ends."""
    d = len(gains)
    stayed = np.empty((2, d), np.bool_)
    clean, bad = 0.0, -np.inf
    for j in range(d):
        stayed[0, j], stayed[1, j] = clean >= bad - leave, bad > clean - enter
        clean, bad = max(clean, bad - leave), max(bad, clean - enter) + gains[j]
    here = bad > clean
    for j in range(d - 1, -1, -1):
        out[j] = here
        here = stayed[1, j] if here else not stayed[0, j]
