"""Run the proof: ``python -m experiments.robustness``, or ``make robustness``.

Enters: names of questions, a data folder. Leaves: CSV files and pictures in the results folder, and
``docs/accuracy.md``.
"""

import argparse
import sys
import time
from pathlib import Path
from types import ModuleType

from experiments import datasets
from experiments.recording import Settings, record_machine
from experiments.robustness import cost, improvement, one_table, page, real, sweep

__all__ = ["QUESTIONS", "main"]

QUESTIONS: dict[str, ModuleType] = {
    "sweep": sweep,
    "improvement": improvement,
    "one_table": one_table,
    "cost": cost,
    "real": real,
}
_ROOT = Path(__file__).resolve().parents[2]


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for, then write the page from all results that are there."""
    parser = argparse.ArgumentParser(prog="python -m experiments.robustness", description=__doc__.splitlines()[0])
    parser.add_argument("questions", nargs="*", help=f"some of {', '.join(QUESTIONS)}; all by default")
    parser.add_argument("--data", help="folder of the sets")
    parser.add_argument("--results", type=Path, default=_ROOT / "experiments" / "results" / "robustness")
    parser.add_argument("--page", type=Path, default=_ROOT / "docs" / "accuracy.md")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="a small form, in seconds")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.add_argument("--draw-only", action="store_true", help="pictures and page from the results that are there")
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
    )
    for name in asked.questions or QUESTIONS:
        _run(name, settings, draw_only=asked.draw_only)
    page.write(settings, asked.page)
    return 0


def _run(name: str, settings: Settings, *, draw_only: bool) -> None:
    question = QUESTIONS[name]
    started = time.monotonic()
    if not draw_only:
        question.compute(settings)
    if (settings.results / f"{name}.csv").exists():
        if not draw_only:
            record_machine(name, time.monotonic() - started, settings)
        question.draw(settings)


if __name__ == "__main__":
    sys.exit(main())
