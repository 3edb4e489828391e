"""Logarithm and exponential without branches and calls, so that loops over lanes become vector instructions.

Enters: a float64 within the stated range. Leaves: the function's value, within a few units in the fifteenth digit, with the
same bits on every machine: only additions, multiplications, one division and bit operations are used.

A number is taken apart into a power of two and a factor near one; a power series does the rest.
"""

from __future__ import annotations

import struct
from typing import Any

import numba
from llvmlite import ir
from numba import types

from treemend.kernels.flags import inlined, operation

__all__ = ["LOWEST_EXPONENT", "exponential", "logarithm"]

LOWEST_EXPONENT = -700.0
_LOG_2 = 0.6931471805599453
_LOG_2_HIGH = 0.693147180369123816490  # its last 32 bits are zero, so that its multiples are exact
_LOG_2_LOW = 1.90821492927058770002e-10
_PER_LOG_2 = 1.4426950408889634
_SQRT_2 = 1.4142135623730951
_MANTISSA = 0x000FFFFFFFFFFFFF
_ONE = 0x3FF0000000000000
_TWO_TO_52 = 0x4330000000000000
_ROUNDING = 6755399441055744.0  # 1.5 * 2**52: a number added to it is rounded to an integer, in its last bits


@operation
def bits_of(typing_context: Any, number: Any) -> Any:
    """Return the bits of a float64 as an integer."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.bitcast(values[0], ir.IntType(64))

    return types.int64(types.float64), emit


@operation
def number_of(typing_context: Any, bits: Any) -> Any:
    """Return the float64 that has these bits."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.bitcast(values[0], ir.DoubleType())

    return types.float64(types.int64), emit


if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]

    def bits_of(number: float) -> int:  # type: ignore[misc]
        return int(struct.unpack("q", struct.pack("d", number))[0])

    def number_of(bits: int) -> float:  # type: ignore[misc]
        return float(struct.unpack("d", struct.pack("Q", bits & 0xFFFFFFFFFFFFFFFF))[0])


@inlined
def logarithm(number: float) -> float:
    """Return the natural logarithm of a positive normal number."""
    bits = bits_of(number)
    power = number_of((bits >> 52) | _TWO_TO_52) - (4503599627370496.0 + 1023.0)
    factor = number_of((bits & _MANTISSA) | _ONE)
    large = factor > _SQRT_2
    factor = 0.5 * factor if large else factor
    power = power + 1.0 if large else power
    s = (factor - 1.0) / (factor + 1.0)
    z = s * s
    y = z * z
    even = (((1.0 / 19.0 * y + 1.0 / 15.0) * y + 1.0 / 11.0) * y + 1.0 / 7.0) * y + 1.0 / 3.0
    odd = ((1.0 / 17.0 * y + 1.0 / 13.0) * y + 1.0 / 9.0) * y + 1.0 / 5.0
    series = even + z * odd
    value: float = power * _LOG_2 + (2.0 * s + 2.0 * s * z * series)
    return value


@inlined
def exponential(exponent: float) -> float:
    """Return e to an exponent of at most 0; below ``LOWEST_EXPONENT``, e to that."""
    exponent = exponent if exponent > LOWEST_EXPONENT else LOWEST_EXPONENT
    rounded = exponent * _PER_LOG_2 + _ROUNDING
    power = rounded - _ROUNDING
    r = (exponent - power * _LOG_2_HIGH) - power * _LOG_2_LOW
    y = r * r
    z = y * y
    first = (1.0 + r) + y * (0.5 + r * (1.0 / 6.0))
    second = (1.0 / 24.0 + r * (1.0 / 120.0)) + y * (1.0 / 720.0 + r * (1.0 / 5040.0))
    third = (1.0 / 40320.0 + r * (1.0 / 362880.0)) + y * (1.0 / 3628800.0 + r * (1.0 / 39916800.0))
    fourth = 1.0 / 479001600.0 + r * (1.0 / 6227020800.0)
    series = first + z * (second + z * (third + z * fourth))
    value: float = series * number_of((bits_of(rounded) << 52) + _ONE)
    return value
