"""What the committed results say, held against the expectations; the page must tell the same."""

from pathlib import Path

import pytest
from experiments.expectations import expectations
from experiments.recording import Settings

import experiments

ROOT = Path(experiments.__file__).resolve().parents[1]
LITERAL, MILDER = "stretches of 10 to 50 %, as the text says", "stretches of 10 to 30 %"
KNOWN_MISSES = (
    f"{LITERAL}, 5 % reference: TCS-MAP within 2",
    f"{LITERAL}, clean reference: the better of TCS-MAP and TCS-NN above both",
    f"{MILDER}, clean reference: TCS-MAP above 4-NN",
    f"{MILDER}, clean reference: TCS-MAP above both",
    f"{MILDER}, clean reference: the better of TCS-MAP and TCS-NN above both",
)


@pytest.fixture(scope="module")
def checks():
    return expectations(Settings(data=ROOT, results=ROOT / "experiments" / "results"))


def test_only_known_expectations_are_missed(checks):
    missed = [check.statement for check in checks if not check.met]
    assert len(checks) == 15
    assert len(missed) == len(KNOWN_MISSES)
    assert all(any(known in statement for statement in missed) for known in KNOWN_MISSES)


def test_the_page_tells_every_one(checks):
    page = (ROOT / "docs" / "paper.md").read_text()
    for check in checks:
        assert f"| {check.statement} | {check.measured} | {'yes' if check.met else '**no**'} |" in page
