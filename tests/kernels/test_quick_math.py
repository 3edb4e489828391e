"""Logarithm and exponential against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from treemend.kernels.flags import kernel
from treemend.kernels.quick_math import LOWEST_EXPONENT, exponential, logarithm

positive = st.floats(1e-300, 1e300)


@kernel
def logarithms(numbers, out):
    for place in range(len(numbers)):
        out[place] = logarithm(numbers[place])


@kernel
def exponentials(numbers, out):
    for place in range(len(numbers)):
        out[place] = exponential(numbers[place])


@settings(deadline=None)
@given(arrays(np.float64, st.integers(1, 40), elements=positive))
def test_logarithm(numbers):
    out = np.empty_like(numbers)
    logarithms(numbers, out)
    np.testing.assert_allclose(out, np.log(numbers), rtol=1e-15, atol=1e-16)


@settings(deadline=None)
@given(arrays(np.float64, st.integers(1, 40), elements=st.floats(LOWEST_EXPONENT, 0)))
def test_exponential(numbers):
    out = np.empty_like(numbers)
    exponentials(numbers, out)
    np.testing.assert_allclose(out, np.exp(numbers), rtol=1e-15)


@pytest.mark.parametrize("number", [1.0, 2.0, 0.5, 1 + 2.0**-52, 1 - 2.0**-53, np.sqrt(2), np.nextafter(np.sqrt(2), 2)])
def test_logarithm_near_its_seams(number):
    out = np.empty(1)
    logarithms(np.array([number]), out)
    assert out[0] == pytest.approx(np.log(number), rel=1e-15, abs=1e-30)


def test_exponentials_of_very_little_are_not_zero_and_of_nothing_are_one():
    out = np.empty(4)
    exponentials(np.array([-1e300, LOWEST_EXPONENT, -1e-300, 0.0]), out)
    np.testing.assert_array_equal(out[:2], np.exp(LOWEST_EXPONENT))
    np.testing.assert_array_equal(out[2:], 1.0)


def test_a_number_s_value_does_not_depend_on_its_place():
    numbers = np.tile(np.random.default_rng(0).uniform(-50, 0, 7), 9)
    alone, together = np.empty(1), np.empty_like(numbers)
    exponentials(numbers, together)
    for number, value in zip(numbers[:7], together, strict=False):
        exponentials(np.array([number]), alone)
        assert alone[0] == value
    assert len(set(together)) == 7
