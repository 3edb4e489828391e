"""From evidence to one statistic a row, and from that to p-values.

Each kind of evidence is put on the scale of its own upper tail on clean rows; the largest counts. A p-value is the
conformal one, ``(1 + number of reference statistics >= T) / (N + 1)``: if the reference statistics and that of a fresh
clean row are exchangeable, it is at most ``a`` with probability at most ``a``, for any N. Rates are kept by it. False
discovery rates need small p-values to be finer than ranks: those follow a generalised Pareto tail.

A declared row is repaired only if what its set leaves of it is ordinary (the more so the less is left), and no move of
the whole row explains it better. Otherwise it is odd as a whole, or beyond what its rest can explain, and not changed.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import f as fisher

from treemend.arrays import Booleans, Floats, Integers
from treemend.mender.evidence import FOREIGN, STUCK
from treemend.mender.sets import Answers

# The tail begins at this upper share of the clean rows.
EDGE = 0.2
# A log likelihood ratio under a true model falls off this fast by itself.
LEAST_SLOPE = 1.0
# Where false discoveries are counted, p-values that rest on at most one reference row follow a Pareto law of this upper
# share of the statistics, at most so many: one odd clean row of 300 would else keep all rows from being declared. With
# fewer the law is less sure; with more it follows the bulk of many rows and not their tail; with moments instead of
# probability-weighted ones, tails of 30 to 60 rows look lighter than they are. They look so all the same: what the law
# says is multiplied by `WIDENED`. With less, or on three rows and more, a third of few discoveries may be clean; with
# more, few corrupted rows in a table are not found.
# `python -m experiments.robustness fdr --full` measures realised rates and power.
PARETO_SHARE, MOST_ODDER, WIDENED = 0.2, 1, 3.0
FEWEST_IN_TAIL, MOST_IN_TAIL = 10, 100
LARGEST_SHAPE = 0.45
# A run of equal values that is so far out, in slopes beyond the edge of its tail, is stuck whatever else may be odd.
SURELY_STUCK = 3.0
# Rows up to this upper share of the reference statistics are examined, less where rows are many: more cost time, fewer
# make the threshold higher than it need be, since clean rows that no set of cells explains are odd rather often.
EXAMINED, LEAST_EXAMINED, EXAMINED_ROWS = 0.15, 0.06, 150
# Share of clean rows that are called unusual because of their density alone.
SPARSE = 0.01
# The rest of a row is ordinary if at least this share of clean rests is as odd; where a set covers most of its row, the
# rest must look like a typical one.
ORDINARY, TYPICAL, MOST_COVERED = 0.01, 0.5, 0.6
# A set is believed only if it is better by so many nats than a move of the whole row that is likelier than none. With
# less, sets are found in rows that were moved as a whole; with more, weak noise is left:
# `python -m experiments.robustness moved one_stretch`.
BEYOND_MOVE = 1.5
# A set is not believed if its log odds against "clean" are below this: the row is odd, but not in a few cells. With
# more, weak noise in weakly correlated columns is left: `python -m experiments.robustness one_stretch moved`.
LEAST_ODDS = -3.0
# Shares of missing cells at which reference rows are judged, too. Others in between would cost time and gain little
# power; without .5, rows that lack half of their cells lose a tenth of theirs.
MISSING_SHARES = (0.5, 0.75)
# Log odds of windows, of stuck values and of single cells (with their prior) below these are no evidence: rows with
# nothing to be said against them are alike, whatever they miss.
NOTHING = np.array([0.0, 0.0, 0.0, 0.0, LEAST_ODDS])


@dataclass(frozen=True)
class Tails:
    """The upper tail of each kind of evidence on clean rows: exponential beyond ``edge``."""

    edge: Floats
    slope: Floats

    def statistic(self, evidence: Floats) -> Floats:
        """Return one number a row, higher is odder: the largest excess over an edge, in units of its slope."""
        return np.asarray(((np.maximum(evidence, NOTHING) - self.edge) / self.slope).max(axis=1))

    def is_stuck(self, evidence: Floats) -> Booleans:
        """Tell in which rows a run of equal values is sure, or odder than all else."""
        excess = evidence - self.edge
        surely = excess[:, STUCK] > SURELY_STUCK * self.slope[STUCK]
        return np.asarray(surely | ((excess / self.slope).argmax(axis=1) == STUCK))


def learn_tails(evidence: Floats) -> Tails:
    """Learn the tails from the evidence (n, kinds) of clean rows.

    Examples
    --------
    >>> clean = np.random.default_rng(0).exponential(3.0, size=(10_000, 1))
    >>> bool(abs(learn_tails(clean).slope[0] - 3.0) < 0.2)
    True
    """
    evidence = np.maximum(evidence, NOTHING[: evidence.shape[1]])
    edge = np.quantile(evidence, 1 - EDGE, axis=0)
    excess = np.maximum(evidence - edge, 0).mean(axis=0) / EDGE
    return Tails(edge, np.maximum(excess, LEAST_SLOPE))


@dataclass(frozen=True)
class Calibration:
    """What the reference rows' own statistics say; all arrays ascending.

    A row that would be left alone whatever the threshold counts as the most ordinary one for repairs.
    """

    statistics: Floats  # as they count for repairs
    raw: Floats  # as they are
    log_density: Floats  # of the complete reference rows, by folds that have not seen them
    incomplete: Floats  # (len(MISSING_SHARES), m), of rows with such a share of their cells left out

    @property
    def n_rows(self) -> int:
        """Number of reference rows that set the threshold."""
        return len(self.statistics)

    @property
    def least(self) -> float:
        """What a row that is left alone counts: as little as the most ordinary reference row."""
        return float(self.raw[0])

    @property
    def examined_above(self) -> float:
        """Rows with a statistic of at least this are examined: whether a set of their cells explains them."""
        share = min(EXAMINED, max(LEAST_EXAMINED, EXAMINED_ROWS / self.n_rows))
        return float(self.raw[int((1 - share) * (self.n_rows - 1))])

    def p_values(self, statistic: Floats, *, own: bool = False) -> Floats:
        """Return conformal p-values; equal statistics count as larger, so that ties are conservative.

        Reference rows of their ``own`` are each compared with the others.
        """
        return _conformal(self.statistics, statistic, own=own)

    def smoothed(self, p_values: Floats, statistic: Floats) -> Floats:
        """Return conformal p-values of which the smallest, resting on hardly any reference row, are lowered to a tail.

        The tail is a generalised Pareto law of the largest reference statistics, by probability-weighted moments.
        """
        n = len(self.statistics)
        k = min(max(round(PARETO_SHARE * n), FEWEST_IN_TAIL), MOST_IN_TAIL)
        small = p_values < (MOST_ODDER + 1.5) / (n + 1)
        if k >= n or not small.any():
            return p_values
        edge = self.statistics[n - k - 1]
        excess = self.statistics[n - k :] - edge
        mean, weighted = excess.mean(), (excess * (np.arange(k, 0, -1) - 0.65)).mean() / k
        shape = min(max(2 - mean / (mean - 2 * weighted), 0.0), LARGEST_SHAPE) if mean > 0 else 0.0
        z = (statistic[small] - edge) / (max(mean, LEAST_SLOPE) * (1 - shape))
        survival = np.exp(-z) if shape == 0 else (1 + shape * z) ** (-1 / shape)
        p_values = p_values.copy()
        p_values[small] = np.minimum(p_values[small], WIDENED * (k + 1) / (n + 1) * survival)
        return p_values

    def threshold(self, rate: float, *, own: bool = False) -> float:
        """Return the statistic above which rows are declared at a rate, infinite if none can be.

        That is exactly where their conformal p-value is at most the rate, and less than 1.
        """
        return _conformal_threshold(self.statistics, rate, own=own)

    def comparable(self, statistic: Floats, log_odds: Floats, missing: Floats | float) -> Floats:
        """Return the statistics of complete rows that are as odd as these, which lack shares of their cells.

        How odd they are tell reference rows of which about as many cells were left out, between two shares both. Those
        lack other cells, and which are left matters: where a few determine each other, a nat may be odd. Log odds reach
        ``log(1 / a)`` in about a share ``a`` of clean rows, whatever they lack: p-values are not below that share.
        """
        levels, n = (self.statistics, *self.incomplete), len(self.statistics)
        place = np.interp(missing, (0.0, *MISSING_SHARES), np.arange(len(levels)))
        low, high = np.floor(place).astype(np.int64), np.ceil(place).astype(np.int64)
        as_odd_as = [1 - np.searchsorted(level, statistic, side="left") / max(len(level), 1) for level in levels]
        shares, row = np.array(as_odd_as), np.arange(len(statistic))
        share = (1 + low - place) * shares[low, row] + (place - low) * shares[high, row]
        odder_rows = np.maximum(n * share, (n + 1) * np.exp(-np.maximum(log_odds, 0.0)) - 1)
        odder = np.ceil(odder_rows - 1e-9).astype(np.int64)
        beyond = np.maximum(statistic, np.nextafter(self.statistics[-1], np.inf))
        as_odd = np.minimum(np.append(self.statistics, np.inf)[n - odder], beyond)
        return np.where(np.equal(missing, 0), statistic, as_odd)

    def is_sparse(self, log_density: Floats) -> Booleans:
        """Tell which complete rows lie where hardly any reference row does."""
        at_most = np.searchsorted(self.log_density, log_density, side="right")
        return np.asarray((1 + at_most) / (len(self.log_density) + 1) <= SPARSE)

    def unusual_threshold(self, rate: float) -> float:
        """Return the raw statistic above which a row that is left alone is called unusual."""
        return _conformal_threshold(self.raw, rate)


def _conformal(reference: Floats, statistic: Floats, *, own: bool = False) -> Floats:
    n = len(reference)
    at_least = n - np.searchsorted(reference, statistic, side="left")
    return np.asarray((at_least if own else at_least + 1) / max(n + (not own), 1))


def _conformal_threshold(statistics: Floats, rate: float, *, own: bool = False) -> float:
    n = len(statistics)
    # The small number keeps a product with the rate from falling below an integer by rounding alone.
    allowed = math.floor((n if own else n + 1) * rate + 1e-9) - (not own)
    return math.inf if min(allowed, n - 1) < 0 else float(statistics[max(n - 1 - allowed, 0)])


@dataclass(frozen=True)
class Rarity:
    """Scores of clean rests, ascending: reference rows with a random stretch left out, judged by unseen folds."""

    rest_scores: Floats

    def p_values(self, scores: Floats) -> Floats:
        """Return conformal p-values of rests; low scores are odd."""
        n = len(self.rest_scores)
        return np.asarray((1 + np.searchsorted(self.rest_scores, scores, side="right")) / (n + 1))

    def typical_forms(self, d: int, tail: float) -> Floats:
        """Return the quadratic forms of rests of 0 to d cells that are as odd as the median clean rest."""
        kept = np.arange(1, d + 1)
        return np.append(0.0, kept * fisher.isf(math.exp(np.median(self.rest_scores)), kept, tail))


def rest_scores(form: Floats, kept: Integers, tail: float) -> Floats:
    """Return how ordinary rests are: the log survival of their quadratic forms, each of so many kept cells."""
    kept = np.maximum(kept, 1)
    return np.asarray(fisher.logsf(form / kept, kept, tail))


def is_unusual(
    rarity: Rarity,
    answers: Answers,
    tail: float,
    lattice: Floats,
    n_cells: Integers | int,
    kept: Integers | None = None,
) -> Booleans:
    """Tell which declared rows are left alone, by the sets found in their cells and the tail of the density.

    ``lattice`` (n, d) is what lattices say of the cells; ``kept`` (n,) how many cells the rests have, if these are not
    the cells that the sets are of.
    """
    out = answers.labels >= 0
    covered = out.sum(axis=1)
    level = np.where(covered / n_cells > MOST_COVERED, TYPICAL, max(ORDINARY, 1 / (len(rarity.rest_scores) + 1)))
    odd = rarity.p_values(rest_scores(answers.rest, n_cells - covered if kept is None else kept, tail)) < level
    stuck = 2 * (answers.labels == STUCK).sum(axis=1) > covered
    # What is off its lattice may as well be moved: that speaks for no set, and for a move where the rest is off, too.
    own = out & (answers.labels != FOREIGN)
    odds = answers.odds - np.where(own, np.maximum(lattice, 0.0), 0.0).sum(axis=1)
    rest = np.where(own, 0.0, lattice).sum(axis=1)
    moved = (odds < answers.move + np.maximum(rest, 0.0) + BEYOND_MOVE) & (answers.move + rest > 0) & ~stuck
    unlikely = (answers.odds < LEAST_ODDS) & ~stuck
    return np.asarray(odd | moved | unlikely | (covered == 0))
