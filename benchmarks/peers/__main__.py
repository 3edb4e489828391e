"""Run the peers: ``python -m benchmarks.peers``, or ``make peers``.

Leaves one CSV file a question beside the results of the proof; a run that was killed goes on where it stopped.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from benchmarks.peers.cell_mcd import CellMCDCells
from benchmarks.peers.ddc import DeviatingCells
from benchmarks.peers.ecod import ColumnECOD
from benchmarks.peers.gaussian_cells import GaussianCells
from benchmarks.peers.imputers import IMPUTERS
from benchmarks.peers.peer import Peer, judge_and_repair
from benchmarks.peers.segment_knn import SegmentKNN
from benchmarks.peers.z_scores import ZScores
from experiments.recording import Row, Work
from experiments.robustness import missing, one_stretch, scattered, several_stretches, typos
from experiments.robustness.cases import Case
from experiments.robustness.measures import measure_case
from experiments.robustness.settings import HELD_OUT_FOLDER, Settings

from experiments import datasets

DETECTORS: dict[str, Callable[[], Peer]] = {
    "gaussian_cells": GaussianCells,
    "cell_mcd": CellMCDCells,
    "ddc": DeviatingCells,
    "z_scores": ZScores,
    "ecod": ColumnECOD,
    "segments_8": partial(SegmentKNN, 8),
    "segments_16": partial(SegmentKNN, 16),
}
QUESTIONS = {
    "one_stretch": one_stretch.cases,
    "several_stretches": several_stretches.cases,
    "scattered": scattered.cases,
    "typos": typos.cases,
    "missing": missing.gaps,
}
_RATE = 0.05
_RESULTS = Path(__file__).resolve().parents[2] / "experiments" / "results" / "robustness"


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__.splitlines()[0])
    parser.add_argument("questions", nargs="*", help=f"some of {', '.join(QUESTIONS)}; all by default")
    parser.add_argument("--methods", nargs="+", default=[*DETECTORS, *IMPUTERS], help="peers; all by default")
    parser.add_argument("--data", help="folder of the sets")
    parser.add_argument("--results", type=Path, default=_RESULTS, help="folder for the CSV files")
    parser.add_argument("--seed", type=int, default=0, help="of the splits and corruptions")
    parser.add_argument("--held-out", action="store_true", help="only the sets that were set aside")
    parser.add_argument("--sets", nargs="+", default=(), help="names of sets; all by default")
    parser.add_argument("--most-splits", type=int, help="at most this many splits")
    parser.add_argument("--quick", action="store_true", help="few rows of one set")
    asked = parser.parse_args(arguments)
    settings = Settings(
        data=datasets.data_folder(asked.data),
        results=asked.results / HELD_OUT_FOLDER if asked.held_out else asked.results,
        quick=asked.quick,
        seed=asked.seed,
        held_out=asked.held_out,
        most_splits=asked.most_splits,
        sets=tuple(asked.sets),
    )
    unknown = sorted({*asked.questions, *asked.methods} - {*QUESTIONS, *DETECTORS, *IMPUTERS})
    if unknown:
        parser.error(f"there is no question or peer {', '.join(unknown)}")
    for question in asked.questions or QUESTIONS:
        _answer(question, asked.methods, settings)
    return 0


def _answer(question: str, methods: list[str], settings: Settings) -> None:
    run, peers = (_impute, IMPUTERS) if question == "missing" else (_detect, DETECTORS)
    pieces = {
        f"{name} {method}": partial(run, method, make)
        for name, make in QUESTIONS[question](settings).items()
        for method in peers
        if method in methods
    }
    work = Work(f"peers_{question}", settings, len(pieces))
    work.do(pieces)
    work.finish()


def _detect(method: str, make: Callable[[], Case]) -> Iterator[Row]:
    """Measure one detector on one case; nothing where its own conditions refuse the reference."""
    case = make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            peer = DETECTORS[method]().fit(case.reference)
        except ValueError as refusal:
            print(f"{method} refuses {case.name}: {refusal}", file=sys.stderr)
            return
        for filling, fill in peer.fillings().items():
            repair = judge_and_repair(peer, fill, case.fresh, _RATE)
            yield from measure_case(case, f"{peer.title} + {filling}", repair)


def _impute(method: str, make: Callable[[], list[missing.Gaps]]) -> Iterator[Row]:
    """Measure one imputer on all gaps of a split."""
    title, fill = IMPUTERS[method]
    for gaps in make():
        started = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            filled = fill(gaps.reference, gaps.rows)
        error = missing.relative_error(gaps, filled)
        yield {**gaps.labels, "method": title, "error": error, "seconds": time.process_time() - started}


if __name__ == "__main__":
    sys.exit(main())
