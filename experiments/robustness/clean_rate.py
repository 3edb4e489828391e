"""The promise on clean data: 16 kinds of rows, N = 100 and 300, how many fresh clean rows are touched.

With ``--full`` 200 references each, as the promise is judged; the usual form has 20. Besides complete rows: 20 % of the
cells missing at random, and 10 to 75 % of the columns missing in all suspect rows.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from experiments.recording import Row, do_all
from experiments.robustness.menders import build, mend, quietly
from experiments.robustness.settings import Settings
from experiments.robustness.summaries import Figure, mean, means_by, number, pivot
from treemend.synthetic import waves

__all__ = ["KINDS", "compute", "figures", "tables"]

Rows = NDArray[np.float64]
Generate = Callable[[int, np.random.Generator], Rows]

D = 16
SIZES = (100, 300)
RATES = (0.05, 0.01)
MISSING = ("none", "20 % of the cells", "10 % of the columns", "50 % of the columns", "75 % of the columns")
_FULL, _TEST, _BATCH = 200, 300, 5
# Rows that lack cells at random share no work: fewer of them.
_TEST_SCATTERED = 100


def _mixture(n: int, rng: np.random.Generator) -> Rows:
    rare = rng.random((n, 1)) < 0.03
    return rng.normal(size=(n, D)) + np.where(rare, 6.0, 0.0) * np.linspace(-1, 1, D)


def _low_rank(n: int, rng: np.random.Generator) -> Rows:
    loadings = np.sin(np.outer(np.arange(1, 4), np.linspace(0, 3, D)))
    return rng.normal(size=(n, 3)) @ loadings + rng.normal(0, 0.05, (n, D))


def _steps(n: int, rng: np.random.Generator) -> Rows:
    place = rng.integers(1, D, (n, 1))
    return np.where(np.arange(D) < place, 0.0, rng.uniform(1, 2, (n, 1))) + rng.normal(0, 0.1, (n, D))


def _ar1(n: int, rng: np.random.Generator) -> Rows:
    rows = rng.normal(size=(n, D))
    for column in range(1, D):
        rows[:, column] = 0.8 * rows[:, column - 1] + 0.6 * rows[:, column]
    return rows


KINDS: dict[str, Generate] = {
    "Gaussian": lambda n, rng: rng.normal(size=(n, D)),
    "AR(1)": _ar1,
    "t2": lambda n, rng: rng.standard_t(2, (n, D)),
    "Cauchy": lambda n, rng: rng.standard_cauchy((n, D)),
    "Poisson .2": lambda n, rng: rng.poisson(0.2, (n, D)).astype(float),
    "Poisson 1": lambda n, rng: rng.poisson(1.0, (n, D)).astype(float),
    "zero-inflated": lambda n, rng: np.where(rng.random((n, D)) < 0.7, 0.0, rng.exponential(1.0, (n, D))),
    "rare cluster": _mixture,
    "random walk": lambda n, rng: np.cumsum(rng.normal(size=(n, D)), axis=1),
    "steps": _steps,
    "low rank": _low_rank,
    "waves": lambda n, rng: waves(n, D, rng=rng),
    "binary": lambda n, rng: (rng.random((n, D)) < 0.3).astype(float),
    "lognormal": lambda n, rng: np.exp(rng.normal(size=(n, D)) + rng.normal(size=(n, 1))),
    "uniform": lambda n, rng: rng.random((n, D)),
    "heavy ties": lambda n, rng: np.round(rng.normal(size=(n, D)) * 0.7 + rng.normal(size=(n, 1))),
}


def compute(settings: Settings) -> None:
    """Simulate every kind."""
    kinds = ("Gaussian", "Poisson .2") if settings.quick else KINDS
    numbers = settings.repetitions(_FULL)
    batches = [numbers[start : start + _BATCH] for start in range(0, len(numbers), _BATCH)]
    pieces = {
        f"{kind} {size} {batch[0]}": partial(_batch, kind, size, batch, settings)
        for batch in batches
        for kind in ([] if settings.held_out else kinds)
        for size in (SIZES[:1] if settings.quick else SIZES)
    }
    do_all("clean_rate", settings, pieces)


def _batch(kind: str, size: int, numbers: range, settings: Settings) -> Iterator[Row]:
    for number_ in numbers:
        rng = np.random.default_rng([settings.seed, 10, list(KINDS).index(kind), size, number_])
        reference, fresh = KINDS[kind](size, rng), KINDS[kind](_TEST, rng)
        with quietly():
            mender = build(settings).fit(reference)
        for missing in MISSING[:2] if settings.quick else MISSING:
            rows = _with_gaps(fresh, missing, rng)
            touched = {rate: _touched(mender, rows, rate) for rate in RATES}
            yield {
                "kind": kind,
                "reference": size,
                "number": number_,
                "missing": missing,
                "touched": touched[0.05],
                "touched_at_01": touched[0.01],
            }


def _with_gaps(fresh: Rows, missing: str, rng: np.random.Generator) -> Rows:
    rows = fresh.copy()
    if missing.endswith("cells"):
        rows = rows[:_TEST_SCATTERED]
        gaps = rng.random(rows.shape) < 0.2
        gaps[gaps.all(axis=1), 0] = False
        rows[gaps] = np.nan
    elif missing.endswith("columns"):
        n_missing = max(1, round(float(missing.split(maxsplit=1)[0]) / 100 * D))
        rows[:, rng.permutation(D)[:n_missing]] = np.nan
    return rows


def _touched(mender: object, rows: Rows, rate: float) -> float:
    return float(np.mean(mend(mender, rows, false_alarm_rate=rate).corrupted))


def figures(rows: Sequence[Row], earlier: Sequence[Row]) -> Iterator[Figure]:
    """Yield the worst kind's rate and the mean, complete rows and rows with gaps apart."""
    bounds = {"complete rows": (0.055, 0.013), "rows with gaps": (0.06, 0.015)}
    for title, (at_05, at_01) in bounds.items():
        now, before = (
            [row for row in some if (row["missing"] == "none") == (title == "complete rows")]
            for some in (rows, earlier)
        )
        for column, rate, bound in (("touched", ".05", at_05), ("touched_at_01", ".01", at_01)):
            if now:
                worst, text = _worst(now, column)
                was = _worst(before, column)[1] if before else ""
                statement = f"16 kinds of clean data, {title}: rows touched at {rate} asked, worst kind"
                yield Figure(statement, f"≤ {bound}", text, worst <= bound, "clean_rate --full", was)
        if now and title == "complete rows":
            reached = mean(now, "touched")
            statement = "The same at .05, mean over kinds: not wasted"
            yield Figure(
                statement,
                "≥ .033",
                number(reached),
                reached >= 0.033,
                "clean_rate --full",
                number(mean(before, "touched")),
            )


def _worst(rows: Sequence[Row], column: str) -> tuple[float, str]:
    rates = means_by(rows, lambda row: (row["kind"], row["reference"], row["missing"]), column)
    worst = max(rates, key=lambda key: rates[key])
    kind, size, missing = worst  # type: ignore[misc]
    place = f"{kind}, N = {size}" + ("" if missing == "none" else f", {missing}")
    return rates[worst], f"{rates[worst]:.4f} ({place})"


def tables(rows: Sequence[Row], earlier: Sequence[Row]) -> Iterator[str]:
    """Yield the share of clean rows touched, at both rates."""
    yield f"{len({row['number'] for row in rows})} references each. Asked .05:"
    yield ""

    def column(row: Row) -> str:
        return f"N = {row['reference']}, missing: {row['missing']}"

    yield from pivot(rows, earlier, "kind", column, "touched")
    yield from pivot(rows, earlier, "kind", column, "touched_at_01", title="Asked .01")
