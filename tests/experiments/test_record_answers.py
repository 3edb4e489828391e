import json
from pathlib import Path

from experiments.record_answers import PUBLISHED, compare, record

import experiments

BEFORE = Path(experiments.__file__).parent / "results" / "answers_before.json"


def test_the_published_method_answers_as_recorded():
    """A few settings: ties, missing values, reference rows left out; the command compares them all."""
    before = json.loads(BEFORE.read_text())
    assert len([name for name in before if name.startswith(PUBLISHED)]) == 18
    for name in ("coarse", "walks, missing values", "walks, reference"):
        some = f"{PUBLISHED}: {name}"
        answers = record(some)
        assert answers
        assert compare({key: answer for key, answer in before.items() if key.startswith(some)}, answers) == []


def test_differences_are_listed_by_setting():
    before = {name: {"rows": 1, "cells": 2, "changed": 0.5, "score": 0.25, "mask": "a"} for name in ("one", "two")}
    after = {"one": before["one"] | {"cells": 3, "mask": "b"}, "three": before["two"]}
    assert compare(before, after) == [
        "one: cells, mask differ (rows 1 -> 1, cells 2 -> 3, changed 0.5 -> 0.5, score 0.25 -> 0.25)",
        "three: only after",
        "two: only before",
    ]
