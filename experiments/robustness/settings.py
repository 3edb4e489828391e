"""What a run of the proof is told, and where its results are."""

from dataclasses import dataclass, replace
from pathlib import Path

from experiments import recording
from experiments.recording import Row, read_rows

__all__ = ["Settings", "earlier_rows", "held_out_rows", "rows_of"]

BEFORE, HELD_OUT_FOLDER = "before", "held_out"


@dataclass(frozen=True)
class Settings(recording.Settings):
    """What all questions need to know.

    Parameters
    ----------
    data, results, quick, seed, quiet
        As for the paper's experiments.
    estimator : str
        "module:name" of a class with ``fit(clean)`` and ``mend(suspect)``.
    held_out : bool
        Run only the sets that were set aside, not all the others.
    most_splits : int, optional
        At most this many random splits a set.
    sets : tuple of str
        Names of the sets to run; all by default.
    full : bool
        As many repetitions as the promise is judged by (hours), where the usual form has a tenth.
    """

    estimator: str = "treemend:Mender"
    held_out: bool = False
    most_splits: int | None = None
    sets: tuple[str, ...] = ()
    full: bool = False

    def splits(self, usual: int) -> range:
        """Return the numbers of the splits to run."""
        return range(1 if self.quick else min(usual, self.most_splits or usual))

    def repetitions(self, full: int) -> range:
        """Return the numbers of the repetitions of a simulation."""
        usual = full if self.full else max(1, full // 10)
        return range(1 if self.quick else min(usual, self.most_splits or usual))

    def elsewhere(self, folder: str) -> "Settings":
        """Return the same settings with a folder inside the results for its results."""
        return replace(self, results=self.results / folder)


def rows_of(name: str, results: Path) -> list[Row]:
    """Return a question's rows; none where it was not run."""
    path = results / f"{name}.csv"
    return read_rows(path) if path.exists() else []


def earlier_rows(name: str, results: Path) -> list[Row]:
    """Return what the earlier version of the package reached, where it was measured."""
    return rows_of(name, results / BEFORE)


def held_out_rows(name: str, results: Path) -> list[Row]:
    """Return a question's rows on the sets that were set aside."""
    return rows_of(name, results / HELD_OUT_FOLDER)
