"""Compare `Mender` and `TCS` on small sets that come with scikit-learn, and write the table into tcs_or_mender.md.

Run it with ``python docs/compare_methods.py``; ``--print`` only prints. Every column is scaled to [0, 1] first, since
`TCS` needs that; both are asked for a false-alarm rate of 5%.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits

from treemend import TCS, Mender
from treemend.synthetic import corrupt, scattered_masks, stretch_masks, waves

Rows = NDArray[np.float64]

PAGE = Path(__file__).with_name("tcs_or_mender.md")
BEGIN, END = "<!-- begin: compare_methods.py -->", "<!-- end: compare_methods.py -->"
RATE = 0.05
KINDS = {
    "noise": "a run of noise",
    "swap": "a run of another row",
    "offset": "a run that is shifted",
    "stuck": "a run that is stuck",
    "scattered": "scattered cells of noise",
}


def sets() -> dict[str, Rows]:
    """Return rows whose columns span [0, 1]."""
    tables = {
        "digits": load_digits().data,
        "breast cancer": load_breast_cancer().data,
        "waves": waves(1000, 32, noise=0.05),
    }
    scaled = {}
    for name, table in tables.items():
        low, high = table.min(axis=0), table.max(axis=0)
        varying = high > low
        scaled[name] = np.random.default_rng(0).permutation((table - low)[:, varying] / (high - low)[varying])
    return scaled


def corrupted(kind: str, rows: Rows, reference: Rows) -> Rows:
    """Return a copy of the rows with one kind of corruption in each."""
    if kind == "scattered":
        return corrupt("noise", rows, scattered_masks(*rows.shape, 0.1, rng=1), rng=2)
    return corrupt(kind, rows, stretch_masks(*rows.shape, rng=1), rng=2, others=reference)


def quality(true: Rows, suspect: Rows, repaired: Rows) -> float:
    """Return by which share mending brings rows closer to the truth, as a mean over rows; negative if it does harm."""
    before, after = (np.linalg.norm(rows - true, axis=1) for rows in (suspect, repaired))
    moved = before > 1e-9
    return float(np.mean(1 - after[moved] / before[moved]))


def measure(estimators: dict[str, Mender | TCS]) -> dict[tuple[str, str], dict[str, float]]:
    """Return means over the sets, by method and by kind of corruption, and what is measured without corruption."""
    values: dict[tuple[str, str], dict[str, list[float]]] = {}

    def note(method: str, kind: str, **figures: float) -> None:
        for figure, value in figures.items():
            values.setdefault((method, kind), {}).setdefault(figure, []).append(value)

    for table in sets().values():
        n_reference = min(1000, 2 * len(table) // 3)
        reference, clean = table[:n_reference], table[n_reference : n_reference + 400]
        for method, estimator in estimators.items():
            estimator.fit(reference[:300]).mend(clean[:10])  # compiled before the clock runs
            start = time.process_time()
            estimator.fit(reference)
            fitted = time.process_time()
            touched = estimator.mend(clean).corrupted.mean()
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "model.safetensors")
                estimator.save(path)
                note(method, "clean", touched=touched, fit=fitted - start, kilobytes=path.stat().st_size / 1000)
            half = len(clean) // 2
            for kind in KINDS:
                # Half of the rows stay clean: a table in which every row is hit has drifted.
                suspect = np.concatenate([corrupted(kind, clean[:half], reference), clean[half:]])
                mended = estimator.mend(suspect)
                gained = quality(clean[:half], suspect[:half], mended.repaired[:half])
                note(method, kind, found=mended.corrupted[:half].mean(), quality=gained)
    return {key: {name: float(np.mean(v)) for name, v in figures.items()} for key, figures in values.items()}


def table() -> str:
    """Return the figures as a Markdown table."""
    estimators = {"Mender": Mender(false_alarm_rate=RATE), "TCS": TCS(false_alarm_rate=RATE)}
    figures = measure(estimators)

    def line(words: str, kind: str, form: str, *names: str) -> str:
        cells = [" / ".join(format(figures[method, kind][name], form) for name in names) for method in estimators]
        return f"| {words} | {' | '.join(cells)} |"

    return "\n".join(
        [
            "| mean over three sets | `Mender` | `TCS` |",
            "|---|---|---|",
            line("clean rows touched, 5% asked", "clean", ".3f", "touched"),
            *(line(f"{words}: rows found / quality", kind, ".2f", "found", "quality") for kind, words in KINDS.items()),
            line("fit, seconds of processor time", "clean", ".1f", "fit"),
            line("model file, kB", "clean", ",.0f", "kilobytes"),
        ]
    )


def main() -> None:
    """Measure, then print or write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--print", action="store_true", help="print the table and leave the page as it is")
    lines = table()
    if parser.parse_args().print:
        print(lines)
        return
    page = PAGE.read_text()
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n\n{lines}\n\n{END}{after}")


if __name__ == "__main__":
    main()
