"""Other people's methods beside ours, on the same rows: read from what ``make peers`` leaves.

Only cases that both were run on count, told by the fingerprint of their rows.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from experiments.recording import Row
from experiments.robustness.settings import rows_of
from experiments.robustness.summaries import Figure, mean, number, pivot, titled

__all__ = ["QUESTIONS", "figures", "tables"]

QUESTIONS = {"one_stretch": "quality", "several_stretches": "quality", "scattered": "f1", "typos": "f1"}
"""Questions that peers answer as well, and by which figure they are compared."""


def _shared(question: str, results: Path) -> list[Row]:
    own, other = rows_of(question, results), rows_of(f"peers_{question}", results)
    both = {row["rows"] for row in own} & {row["rows"] for row in other}
    return [row for row in [*own, *other] if row["rows"] in both]


def _case(question: str, row: Row) -> str:
    if question == "scattered" and row["kind"] != "noise":
        return f"{row['set']}, {row['kind']}"
    return titled(str(row["set"]))


def _compared(question: str, rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Return each case's mean figure by method."""
    found: dict[str, dict[str, float]] = {}
    for case in dict.fromkeys(_case(question, row) for row in rows):
        own = [row for row in rows if _case(question, row) == case]
        methods = dict.fromkeys(row["method"] for row in own)
        found[case] = {
            method: mean([row for row in own if row["method"] == method], QUESTIONS[question]) for method in methods
        }
    return found


def figures(results: Path) -> Iterator[Figure]:
    """Yield for each question on how many sets the mean is above every peer's."""
    for question, value in QUESTIONS.items():
        compared = _compared(question, _shared(question, results))
        if not compared:
            continue
        lost = []
        for case, by_method in compared.items():
            best = max((one for one in by_method if one != "treemend"), key=lambda one: by_method[one], default=None)
            if best is not None and by_method["treemend"] <= by_method[best]:
                lost.append(f"{case} ({best} {number(by_method[best])}, ours {number(by_method['treemend'])})")
        reached = f"{len(compared) - len(lost)} of {len(compared)}" + (f"; not {', '.join(lost)}" if lost else "")
        statement = f"{question.replace('_', ' ').capitalize()}: mean {value} above every peer's at the same rate"
        yield Figure(statement, "each", reached, not lost, f"{question}, make peers")


def tables(results: Path) -> Iterator[str]:
    """Yield a table a question: sets by methods."""
    for question, value in QUESTIONS.items():
        rows = [row | {"case": _case(question, row)} for row in _shared(question, results)]
        if rows:
            yield from pivot(
                rows, [], "case", "method", value, title=f"{question.replace('_', ' ').capitalize()}, mean {value}"
            )
