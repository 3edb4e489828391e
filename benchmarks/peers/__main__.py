"""Run the peers: ``python -m benchmarks.peers``, or ``make peers``.

Enters: a data folder. Leaves: ``peers.csv`` beside the results of the proof, a row for each set, split, kind and peer.
"""

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from benchmarks.peers.ddc import DeviatingCells
from benchmarks.peers.ecod import ColumnECOD
from benchmarks.peers.gaussian_cells import GaussianCells
from benchmarks.peers.peer import Peer, judge_and_repair
from benchmarks.peers.segment_knn import SegmentKNN
from benchmarks.peers.z_scores import ZScores
from experiments.recording import Row, Settings, Work
from experiments.robustness.cases import draw_case
from experiments.robustness.measures import measure_case
from experiments.robustness.sets import SUBJECTS, obtainable

from experiments import datasets

PEERS: dict[str, Callable[[], Peer]] = {
    "segments_8": partial(SegmentKNN, 8),
    "segments_16": partial(SegmentKNN, 16),
    "ecod": ColumnECOD,
    "z_scores": ZScores,
    "gaussian_cells": GaussianCells,
    "ddc": DeviatingCells,
}
_RATE = 0.05
_RESULTS = Path(__file__).resolve().parents[2] / "experiments" / "results" / "robustness"


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for; a run that was killed goes on where it stopped."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", help="names of sets; all by default")
    parser.add_argument("--data", help="folder of the sets")
    parser.add_argument("--results", type=Path, default=_RESULTS, help="folder for peers.csv")
    parser.add_argument("--seed", type=int, default=0, help="of the splits and corruptions")
    parser.add_argument("--quick", action="store_true", help="few rows of each set")
    asked = parser.parse_args(arguments)
    settings = Settings(
        data=datasets.data_folder(asked.data), results=asked.results, quick=asked.quick, seed=asked.seed
    )
    names = obtainable(asked.sets or SUBJECTS, settings.data)
    pieces = {
        f"{name} {peer} {split}": partial(_run, name, peer, split, settings)
        for peer in PEERS
        for name in names
        for split in range(1 if settings.quick else SUBJECTS[name].splits)
    }
    work = Work("peers", settings, len(pieces))
    work.do(pieces)
    work.finish()
    return 0


def _run(name: str, peer_name: str, split: int, settings: Settings) -> Iterator[Row]:
    """Measure one peer on one split of a set; the same rows as in ``sweep.csv``."""
    case = draw_case(name, split, settings.data, seed=settings.seed, quick=settings.quick)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = PEERS[peer_name]().fit(case.reference)
        for filling, fill in peer.fillings().items():
            method = f"{peer.title} + {filling}"
            for row in measure_case(case, method, judge_and_repair(peer, fill, case.fresh, _RATE)):
                yield {"set": name, "split": split, "rows": case.fingerprint, **row}


if __name__ == "__main__":
    sys.exit(main())
