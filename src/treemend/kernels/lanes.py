"""A short vector of numbers, one lane for each of ``LANES`` reference rows.

Enters: arrays whose last axis holds ``LANES`` reference rows, and offsets into them. Leaves: a vector value
that lives in machine registers, and the few operations the kernels need on it (section 8 of the method: the
same arithmetic for many reference rows at a time).

Numba vectorises loops only when it can prove enough about them; these operations are written as vector
instructions from the start, and LLVM fits them to the machine's registers. With ``NUMBA_DISABLE_JIT=1`` the
NumPy versions of ``lanes_interpreted`` take their place.
"""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import models, register_model

from treemend.kernels.flags import operation
from treemend.kernels.packing import LANES

HALF = LANES // 2

__all__ = [
    "add",
    "add_multiple",
    "add_square",
    "assign",
    "entry",
    "exchange",
    "load",
    "maximum",
    "minimum",
    "plain",
    "spread",
    "square",
    "store",
    "subtract",
    "zeros_like_row",
]


class LanesType(types.Type):
    """The Numba type of ``LANES`` floating-point numbers held together."""

    def __init__(self, dtype: types.Float) -> None:
        self.dtype = dtype
        super().__init__(name=f"Lanes({dtype})")


@register_model(LanesType)
class LanesModel(models.PrimitiveModel):
    """``LanesType`` is one LLVM vector."""

    def __init__(self, manager: Any, lanes: LanesType) -> None:
        super().__init__(manager, lanes, _vector_of(lanes.dtype))  # type: ignore[no-untyped-call]


def _vector_of(dtype: types.Float, count: int = LANES) -> ir.VectorType:
    return ir.VectorType(ir.FloatType() if dtype == types.float32 else ir.DoubleType(), count)


def _half(builder: Any, vector: Any, first: int) -> Any:
    places = ir.Constant(ir.VectorType(ir.IntType(32), HALF), list(range(first, first + HALF)))
    return builder.shuffle_vector(vector, vector, places)


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, offset: Any, count: int = LANES) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    place = builder.gep(data, [offset])
    return builder.bitcast(place, _vector_of(array_type.dtype, count).as_pointer())


def _spread(builder: Any, number: Any, count: int = LANES) -> Any:
    vector = ir.VectorType(number.type, count)
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
    everywhere = ir.Constant(ir.VectorType(ir.IntType(32), count), [0] * count)
    return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), everywhere)


def _ordered(builder: Any, first: Any, second: Any) -> tuple[Any, Any]:
    """Return the smaller and the larger of two vectors of non-negative numbers.

    The bit patterns of non-negative float32 numbers, read as integers, have the same order, and integers
    compare faster.
    """
    if isinstance(first.type.element, ir.FloatType):
        integers = ir.VectorType(ir.IntType(32), first.type.count)
        left, right = builder.bitcast(first, integers), builder.bitcast(second, integers)
        less = builder.icmp_signed("<", left, right)
        low, high = builder.select(less, left, right), builder.select(less, right, left)
        return builder.bitcast(low, first.type), builder.bitcast(high, first.type)
    low = builder.select(builder.fcmp_ordered("<", first, second), first, second)
    high = builder.select(builder.fcmp_ordered(">", first, second), first, second)
    return low, high


def _value_pair(first: Any) -> Any:
    return first(first, first)


@operation
def load(typing_context: Any, array: Any, offset: Any) -> Any:
    """Return the lanes that begin at element ``offset`` of a contiguous array."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.load(_pointer(context, builder, array, *values), align=array.dtype.bitwidth // 8)

    return LanesType(array.dtype)(array, types.intp), emit


@operation
def store(typing_context: Any, array: Any, offset: Any, lanes: Any) -> Any:
    """Write lanes to a contiguous array, from element ``offset`` on."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        place = _pointer(context, builder, array, values[0], values[1])
        builder.store(values[2], place, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes), emit


@operation
def entry(typing_context: Any, array: Any, offset: Any) -> Any:
    """Return element ``offset`` of a contiguous array, without the test for negative offsets."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        data = context.make_array(array)(context, builder, values[0]).data
        return builder.load(builder.gep(data, [values[1]]))

    return array.dtype(array, types.intp), emit


@operation
def assign(typing_context: Any, array: Any, offset: Any, number: Any) -> Any:
    """Write element ``offset`` of a contiguous array, without the test for negative offsets."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        data = context.make_array(array)(context, builder, values[0]).data
        builder.store(values[2], builder.gep(data, [values[1]]))
        return context.get_dummy_value()

    return types.void(array, types.intp, array.dtype), emit


@operation
def plain(typing_context: Any, number: Any) -> Any:
    """Return a literal integer as any other: Numba compiles a helper once more for a literal."""
    return types.int64(types.int64), lambda context, builder, signature, values: values[0]


@operation
def spread(typing_context: Any, array: Any, offset: Any) -> Any:
    """Return element ``offset`` of a contiguous array in every lane."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        data = context.make_array(array)(context, builder, values[0]).data
        return _spread(builder, builder.load(builder.gep(data, [values[1]])))

    return LanesType(array.dtype)(array, types.intp), emit


@operation
def exchange(typing_context: Any, array: Any, low: Any, high: Any) -> Any:
    """Compare the lanes at two offsets: the smaller go to ``low`` and the larger to ``high``."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        align = array.dtype.bitwidth // 8
        places = [_pointer(context, builder, array, values[0], offset) for offset in values[1:]]
        ordered = _ordered(builder, *(builder.load(place, align=align) for place in places))
        for lanes, place in zip(ordered, places, strict=True):
            builder.store(lanes, place, align=align)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp), emit


@operation
def zeros_like_row(typing_context: Any, array: Any) -> Any:
    """Return lanes of zeros of the array's type."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return ir.Constant(_vector_of(array.dtype), [0.0] * LANES)

    return LanesType(array.dtype)(array), emit


@operation
def subtract(typing_context: Any, first: Any, second: Any) -> Any:
    """Return the difference, lane by lane."""
    return _value_pair(first), lambda context, builder, signature, values: builder.fsub(*values)


@operation
def add(typing_context: Any, first: Any, second: Any) -> Any:
    """Return the sum, lane by lane."""
    return _value_pair(first), lambda context, builder, signature, values: builder.fadd(*values)


@operation
def square(typing_context: Any, lanes: Any) -> Any:
    """Return each lane times itself."""
    return lanes(lanes), lambda context, builder, signature, values: builder.fmul(values[0], values[0])


@operation
def add_square(typing_context: Any, total: Any, lanes: Any) -> Any:
    """Return ``total + lanes * lanes``, fused into one rounding where the machine can (float32 estimates only)."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        product = builder.fmul(values[1], values[1], flags=("contract",))
        return builder.fadd(values[0], product, flags=("contract",))

    return _value_pair(total), emit


@operation
def add_multiple(typing_context: Any, total: Any, number: Any, lanes: Any) -> Any:
    """Return ``total + number * lanes``, one number for all lanes, rounded twice."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.fadd(values[0], builder.fmul(_spread(builder, values[1]), values[2]))

    return total(total, total.dtype, lanes), emit


@operation
def minimum(typing_context: Any, first: Any, second: Any) -> Any:
    """Return the smaller of two non-negative numbers in every lane."""
    return _value_pair(first), lambda context, builder, signature, values: _ordered(builder, *values)[0]


@operation
def maximum(typing_context: Any, first: Any, second: Any) -> Any:
    """Return the larger of two non-negative numbers in every lane."""
    return _value_pair(first), lambda context, builder, signature, values: _ordered(builder, *values)[1]


if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
    from treemend.kernels.lanes_interpreted import *  # noqa: F403
