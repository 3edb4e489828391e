"""Run the published experiments again: ``python -m experiments``, or ``make paper``.

Enters: names of experiments, a data folder. Leaves: CSV files and pictures in the results folder, and the page.
"""

import argparse
import sys
import time
from pathlib import Path
from types import ModuleType

from experiments import (
    datasets,
    digit_pictures,
    false_alarms,
    imputation_quality,
    page,
    roc,
    scatter,
    table_1,
    table_2,
)
from experiments.recording import Settings, record_machine

__all__ = ["EXPERIMENTS", "main"]

EXPERIMENTS: dict[str, ModuleType] = {
    "false_alarms": false_alarms,
    "roc": roc,
    "imputation_quality": imputation_quality,
    "digit_pictures": digit_pictures,
    "scatter": scatter,
    "table_1": table_1,
    "table_2": table_2,
}
_HERE = Path(__file__).resolve().parent


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for; return 1 if nothing could be run."""
    asked = _parser().parse_args(arguments)
    names = asked.experiments or list(EXPERIMENTS)
    unknown = sorted(set(names) - set(EXPERIMENTS))
    if unknown:
        _parser().error(f"there is no experiment {', '.join(unknown)}; choose from {', '.join(EXPERIMENTS)}")
    data = datasets.data_folder(asked.data)
    missing = [] if asked.draw_only else _missing(names, data)
    results = asked.results or _HERE / ("results" if not missing else "results_of_a_part")
    target = asked.page or (_HERE.parent / "docs" / "paper.md" if not missing else results / "paper.md")
    settings = Settings(data=data, results=results, quick=asked.quick, seed=asked.seed, quiet=asked.quiet)
    if missing:
        print(
            f"Not all sets can be had ({', '.join(datasets.TITLES[name] for name in missing)}): what can be run is "
            f"run, and goes to {results.name}/, so that complete results stay as they are.",
            file=sys.stderr,
        )
    ran = [name for name in names if _run(name, settings, draw_only=asked.draw_only)]
    page.write(settings, target)
    return 0 if ran else 1


def _run(name: str, settings: Settings, *, draw_only: bool) -> bool:
    experiment = EXPERIMENTS[name]
    started = time.monotonic()
    try:
        if not draw_only:
            experiment.compute(settings)
            record_machine(name, time.monotonic() - started, settings)
        experiment.draw(settings)
    except datasets.MissingDataError as missing:
        print(f"{name}: not run. {missing}", file=sys.stderr)
        return False
    return True


def _missing(names: list[str], data: Path) -> list[str]:
    """Return the sets that the experiments need and that cannot be had."""
    wanted = set()
    for name in names:
        wanted |= set(datasets.TABLE_1_SETS) if name == "table_1" else set()
        wanted |= {"usps01"} if not name.startswith("table") else set()
    return [name for name in datasets.TITLES if name in wanted and not datasets.available(name, data)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m experiments", description="Run the published experiments again.")
    parser.add_argument(
        "experiments", nargs="*", metavar="NAME", help=f"which of: {', '.join(EXPERIMENTS)}; all by default"
    )
    parser.add_argument("--data", help="folder of the sets; TREEMEND_DATA or ../shared/data by default")
    parser.add_argument("--results", type=Path, help="folder for CSV files and pictures")
    parser.add_argument("--page", type=Path, help="the page to write")
    parser.add_argument(
        "--quick", action="store_true", help="few rows, one split: shows that it works, not what it finds"
    )
    parser.add_argument(
        "--draw-only", action="store_true", help="draw and write the page from the CSV files that are there"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    return parser


if __name__ == "__main__":
    sys.exit(main())
