"""Limits in words and numbers, and what a machine has."""

import pytest

from treemend.exceptions import ParameterError
from treemend.memory import available_memory, memory_budget


@pytest.mark.parametrize(
    ("given", "size"), [("500 MB", 500_000_000), ("2GiB", 2**31), ("1.5gb", 1_500_000_000), (10**7, 10**7)]
)
def test_limits_are_read(given, size):
    assert memory_budget(given) == size


@pytest.mark.parametrize("given", ["", "MB", "5 cows", "0.1 MB", 12, -1, True, 1.5])
def test_nonsense_is_refused(given):
    with pytest.raises(ParameterError, match="memory_limit"):
        memory_budget(given)


def test_a_quarter_of_what_is_free_is_the_default():
    assert 10**6 <= memory_budget(None) <= available_memory()
