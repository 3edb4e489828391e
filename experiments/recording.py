"""Results on disk: pieces of work that survive a killed run, CSV files, and the machine they were made on.

Enters: an experiment's pieces of work, each a function that returns rows. Leaves: one CSV file. Every finished piece is
kept in a file of its own, written under another name first, so that a run that was killed goes on where it stopped; the
pieces go once the CSV file stands.
"""

import csv
import hashlib
import json
import os
import platform
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

__all__ = ["Row", "Settings", "Work", "do_all", "read_rows", "record_machine", "write_rows"]

Row = dict[str, Any]


@dataclass(frozen=True)
class Settings:
    """What all experiments need to know.

    Parameters
    ----------
    data : Path
        Folder of the sets.
    results : Path
        Folder for CSV files and pictures.
    quick : bool
        A small form that runs in seconds and shows that the experiment works, not what it finds.
    seed : int
        First entry of every seed sequence.
    quiet : bool
        No progress bar.
    """

    data: Path
    results: Path
    quick: bool = False
    seed: int = 0
    quiet: bool = False


class Work:
    """An experiment's pieces of work, each done once even if the run is killed between them.

    Parameters
    ----------
    experiment : str
        Name of the CSV file.
    settings : Settings
    total : int
        Number of pieces, for the progress bar.
    """

    def __init__(self, experiment: str, settings: Settings, total: int) -> None:
        mark = hashlib.sha256(repr((settings.quick, settings.seed)).encode()).hexdigest()[:8]
        self._experiment, self._settings, self._total = experiment, settings, total
        self._kept = settings.results / ".pieces" / f"{experiment}-{mark}"
        self._kept.mkdir(parents=True, exist_ok=True)
        self._rows: list[Row] = []
        self._done = 0
        self._started = time.monotonic()

    def do(self, pieces: Mapping[str, Callable[[], Iterable[Row]]]) -> dict[str, list[Row]]:
        """Return the rows of every piece: from disk if an earlier run made them, else by doing the work, on all cores.

        Parameters
        ----------
        pieces : mapping of str to callable
            Name and work of each piece. Pieces must not need each other.
        """
        paths = {name: self._kept / f"{name.replace(' ', '_')}.json" for name in pieces}
        waiting = [name for name in pieces if not paths[name].exists()]
        self._advance(len(pieces) - len(waiting))
        for _ in self._finished(delayed(_keep)(paths[name], pieces[name]) for name in waiting):
            self._advance(1)
        rows = {name: json.loads(path.read_text()) for name, path in paths.items()}
        self._rows += [row for piece in rows.values() for row in piece]
        return rows

    def _finished(self, jobs: Iterable[Any]) -> Iterable[Any]:
        return Parallel(n_jobs=1 if self._settings.quick else -1, return_as="generator_unordered")(jobs)

    def finish(self) -> list[Row]:
        """Write all rows as CSV, drop the pieces, and return the rows."""
        write_rows(self._settings.results / f"{self._experiment}.csv", self._rows)
        shutil.rmtree(self._kept)
        return self._rows

    def _advance(self, pieces: int) -> None:
        """Move the progress bar, on a terminal in place, elsewhere in a few lines."""
        before, self._done = self._done, self._done + pieces
        if self._settings.quiet:
            return
        width = 30
        filled, filled_before = (width * done // max(self._total, 1) for done in (self._done, before))
        seconds = time.monotonic() - self._started
        bar = f"[{'#' * filled}{'.' * (width - filled)}]"
        line = f"{self._experiment:<16}{bar} {self._done}/{self._total} {seconds:5.0f} s"
        if sys.stderr.isatty():
            print(f"\r{line}", end="\n" if self._done == self._total else "", file=sys.stderr, flush=True)
        elif filled // 6 > filled_before // 6:
            print(line, file=sys.stderr, flush=True)


def do_all(experiment: str, settings: Settings, pieces: Mapping[str, Callable[[], Iterable[Row]]]) -> None:
    """Do an experiment whose pieces are all known from the beginning, and leave their rows as CSV."""
    work = Work(experiment, settings, len(pieces))
    work.do(pieces)
    work.finish()


def _keep(path: Path, work: Callable[[], Iterable[Row]]) -> None:
    _write_whole(path, json.dumps(list(work())))


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as CSV, the columns in the order in which they first appear."""
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = list(dict.fromkeys(column for row in rows for column in row))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: _short(value) for key, value in row.items()} for row in rows)


def read_rows(path: Path) -> list[Row]:
    """Read rows from CSV; what looks like a number becomes one."""
    with path.open(newline="") as file:
        return [{key: _number(value) for key, value in row.items()} for row in csv.DictReader(file)]


def record_machine(experiment: str, seconds: float, settings: Settings) -> None:
    """Note beside the results how long an experiment took, from which seed, on which machine, and how busy that was."""
    path = settings.results / "runs.json"
    runs = json.loads(path.read_text()) if path.exists() else {}
    runs[experiment] = {
        "seconds": round(seconds),
        "seed": settings.seed,
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        **{name: version(name) for name in ("treemend", "numpy", "numba", "scikit-learn")},
    }
    _write_whole(path, json.dumps(runs, indent=2, sort_keys=True) + "\n")


def _write_whole(path: Path, text: str) -> None:
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(text)
    unfinished.replace(path)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def _short(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else value


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
