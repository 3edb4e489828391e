"""Run the proof: ``python -m experiments.robustness``, or ``make robustness``.

Leaves CSV files and pictures in the results folder, and ``docs/accuracy.md``.
"""

import argparse
import sys
import time
from pathlib import Path

from experiments import datasets
from experiments.recording import record_machine
from experiments.robustness import page
from experiments.robustness.page import QUESTIONS
from experiments.robustness.settings import HELD_OUT_FOLDER, Settings

__all__ = ["main"]

_ROOT = Path(__file__).resolve().parents[2]


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for, then write the page from all results that are there."""
    parser = argparse.ArgumentParser(prog="python -m experiments.robustness", description=__doc__.splitlines()[0])
    parser.add_argument("questions", nargs="*", help=f"some of {', '.join(QUESTIONS)}; all by default")
    parser.add_argument("--data", help="folder of the sets")
    parser.add_argument("--results", type=Path, default=_ROOT / "experiments" / "results" / "robustness")
    parser.add_argument("--page", type=Path, help="where the page is written; none for another estimator's results")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--estimator", default=Settings.estimator, help="module:name of a class with fit and mend")
    parser.add_argument("--held-out", action="store_true", help="only the sets that were set aside")
    parser.add_argument("--sets", nargs="+", default=(), help="names of sets; all by default")
    parser.add_argument("--most-splits", type=int, help="at most this many splits and repetitions")
    parser.add_argument("--full", action="store_true", help="simulations as the promise is judged by; hours")
    parser.add_argument("--quick", action="store_true", help="a small form, in seconds")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.add_argument("--page-only", action="store_true", help="the page from the results that are there")
    asked = parser.parse_args(arguments)
    unknown = sorted(set(asked.questions) - set(QUESTIONS))
    if unknown:
        parser.error(f"there is no question {', '.join(unknown)}; choose from {', '.join(QUESTIONS)}")
    settings = Settings(
        data=datasets.data_folder(asked.data),
        results=asked.results,
        quick=asked.quick,
        seed=asked.seed,
        quiet=asked.quiet,
        estimator=asked.estimator,
        held_out=asked.held_out,
        most_splits=asked.most_splits,
        sets=tuple(asked.sets),
        full=asked.full,
    )
    run = settings.elsewhere(HELD_OUT_FOLDER) if asked.held_out else settings
    for name in () if asked.page_only else asked.questions or QUESTIONS:
        started = time.monotonic()
        QUESTIONS[name].compute(run)
        record_machine(name, time.monotonic() - started, run)
    if asked.page or asked.estimator == Settings.estimator:
        page.write(settings, asked.page or _ROOT / "docs" / "accuracy.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
