"""Which lanes are below a bound, and what is done with those that are.

Enters: vectors of ``lanes``, bounds, and ascending lists. Leaves: masks of lanes as integers, and the lists with
new entries (sections 4 and 8 of the method). With ``NUMBA_DISABLE_JIT=1`` the NumPy versions of
``lane_masks_interpreted`` take their place.
"""

from __future__ import annotations

import functools
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils

from treemend.kernels.flags import operation
from treemend.kernels.lanes import HALF, _half, _ordered, _pointer, _spread
from treemend.kernels.packing import LANES

__all__ = [
    "any_between_of_four",
    "any_less",
    "any_less_of_four",
    "count_less",
    "insert_in_lanes",
    "less_mask",
    "less_mask_of_four",
    "less_mask_of_lanes",
    "lowest_bit",
]


def _half_less(builder: Any, lanes: Any, bound: Any) -> Any:
    """Return for each of the first half of the lanes whether it, or its counterpart in the other half, is less."""
    halves = [_half(builder, lanes, first) for first in (0, HALF)]
    smaller = builder.bitcast(_ordered(builder, *halves)[0], ir.VectorType(ir.IntType(32), HALF))
    bound_bits = _spread(builder, builder.bitcast(bound, ir.IntType(32)), HALF)
    return builder.icmp_signed("<", smaller, bound_bits)


def _integer(builder: Any, bits: Any) -> Any:
    return builder.zext(builder.bitcast(bits, ir.IntType(bits.type.count)), ir.IntType(64))


def _bounds_of_four(context: Any, builder: Any, array_type: Any, array: Any, offset: Any) -> list[Any]:
    data = context.make_array(array_type)(context, builder, array).data
    return [builder.load(builder.gep(data, [builder.add(offset, ir.Constant(ir.IntType(64), r))])) for r in range(4)]


@operation
def any_less(typing_context: Any, lanes: Any, bound: Any) -> Any:
    """Return an integer that is not zero iff any lane, of non-negative float32, is below ``bound``."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _integer(builder, _half_less(builder, *values))

    return types.int64(lanes, lanes.dtype), emit


@operation
def any_less_of_four(
    typing_context: Any, lanes_0: Any, lanes_1: Any, lanes_2: Any, lanes_3: Any, bounds: Any, offset: Any
) -> Any:
    """Return an integer that is not zero iff any lane of vector ``r`` is below ``bounds[offset + r]``, for any ``r``."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        four = _bounds_of_four(context, builder, bounds, *values[4:])
        less = [_half_less(builder, lanes, bound) for lanes, bound in zip(values[:4], four, strict=True)]
        return _integer(builder, builder.or_(builder.or_(less[0], less[1]), builder.or_(less[2], less[3])))

    return types.int64(lanes_0, lanes_1, lanes_2, lanes_3, bounds, types.intp), emit


@operation
def any_between_of_four(
    typing_context: Any, lanes_0: Any, lanes_1: Any, lanes_2: Any, lanes_3: Any, low: Any, high: Any, at: Any, on: Any
) -> Any:
    """Return an integer that is not zero iff a lane of some vector is below its ``high`` but not below its ``low``.

    The bounds of vector ``r`` stand at ``at + r * on``.
    """

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        data = [
            context.make_array(kind)(context, builder, array).data
            for kind, array in zip((low, high), values[4:6], strict=True)
        ]
        place = values[6]
        between = []
        for lanes in values[:4]:
            least, limit = (_spread(builder, builder.load(builder.gep(each, [place])), HALF) for each in data)
            for first in (0, HALF):
                half = _half(builder, lanes, first)
                between.append(
                    builder.and_(builder.fcmp_ordered(">=", half, least), builder.fcmp_ordered("<", half, limit))
                )
            place = builder.add(place, values[7])
        return _integer(builder, functools.reduce(builder.or_, between))

    four = lanes_0, lanes_1, lanes_2, lanes_3
    return types.int64(*four, low, high, types.intp, types.intp), emit


@operation
def count_less(typing_context: Any, lanes: Any, bound: Any) -> Any:
    """Return how many lanes are below ``bound``."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        bounds = _spread(builder, values[1], HALF)
        halves = (builder.fcmp_ordered("<", _half(builder, values[0], first), bounds) for first in (0, HALF))
        return functools.reduce(builder.add, (builder.ctpop(_integer(builder, half)) for half in halves))

    return types.int64(lanes, lanes.dtype), emit


@operation
def less_mask(typing_context: Any, lanes: Any, bound: Any) -> Any:
    """Return an integer whose bit ``l`` says whether lane ``l`` is below ``bound``."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _integer(builder, builder.fcmp_ordered("<", values[0], _spread(builder, values[1])))

    return types.int64(lanes, lanes.dtype), emit


@operation
def less_mask_of_lanes(typing_context: Any, lanes: Any, bounds: Any) -> Any:
    """Return an integer whose bit ``l`` says whether lane ``l`` is below lane ``l`` of ``bounds``."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _integer(builder, builder.fcmp_ordered("<", *values))

    return types.int64(lanes, bounds), emit


@operation
def less_mask_of_four(typing_context: Any, array: Any, offset: Any, bounds: Any, first_bound: Any) -> Any:
    """Return an integer whose bit ``LANES * r + l`` says whether lane ``l`` of vector ``r`` is below its bound.

    The four vectors follow each other in ``array`` from ``offset`` on, and their bounds in ``bounds``.
    """

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        whole = ir.Constant(ir.IntType(64), 0)
        for r, bound in enumerate(_bounds_of_four(context, builder, bounds, *values[2:])):
            at = builder.add(values[1], ir.Constant(ir.IntType(64), r * LANES))
            lanes = builder.load(_pointer(context, builder, array, values[0], at), align=array.dtype.bitwidth // 8)
            bits = _integer(builder, builder.fcmp_ordered("<", lanes, _spread(builder, bound)))
            whole = builder.or_(whole, builder.shl(bits, ir.Constant(ir.IntType(64), r * LANES)))
        return whole

    return types.int64(array, types.intp, bounds, types.intp), emit


@operation
def insert_in_lanes(typing_context: Any, values: Any, indices: Any, offset: Any, value: Any, index: Any) -> Any:
    """Insert a non-negative float32 and its index into ascending lists of ``LANES`` entries; the last drop out."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        integers = ir.VectorType(ir.IntType(32), LANES)
        data = [
            context.make_array(kind)(context, builder, array).data
            for kind, array in zip((values, indices), arguments[:2], strict=True)
        ]
        places = [builder.bitcast(builder.gep(each, [arguments[2]]), integers.as_pointer()) for each in data]
        numbers, owners = (builder.load(place, align=4) for place in places)
        new_number = _spread(builder, builder.bitcast(arguments[3], ir.IntType(32)))
        new_owner = _spread(builder, arguments[4])
        zero = ir.Constant(integers, [0] * LANES)
        one_on = ir.Constant(integers, [LANES, *range(LANES - 1)])
        moved_numbers = builder.shuffle_vector(numbers, zero, one_on)
        moved_owners = builder.shuffle_vector(owners, zero, one_on)
        stays = builder.icmp_signed("<=", numbers, new_number)
        comes_here = builder.icmp_signed("<=", moved_numbers, new_number)
        # Minima and maxima, because a choice between old and new would become a masked store, slow on some machines.
        later = builder.select(comes_here, new_number, moved_numbers)
        builder.store(builder.select(builder.icmp_signed("<", numbers, later), numbers, later), places[0], align=4)
        owner = builder.select(stays, owners, builder.select(comes_here, new_owner, moved_owners))
        builder.store(owner, places[1], align=4)
        return context.get_dummy_value()

    return types.void(values, indices, types.intp, values.dtype, indices.dtype), emit


@operation
def lowest_bit(typing_context: Any, bits: Any) -> Any:
    """Return the position of the lowest bit that is set."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.cttz(values[0], cgutils.true_bit)

    return types.int64(types.int64), emit


if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
    from treemend.kernels.lane_masks_interpreted import *  # noqa: F403
