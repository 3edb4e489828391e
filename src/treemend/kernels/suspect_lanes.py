"""A short vector of float32, one lane for each of ``SUSPECTS`` suspect rows.

Enters: arrays whose last axis holds ``SUSPECTS`` suspect rows, and offsets into them. Leaves: a vector that lives in
machine registers. ``lanes`` turns reference rows into lanes; here the suspect rows are lanes, so that a number of the
model is read once for many rows, and each row's arithmetic is the same in whichever lane and company it comes
(section 10 of the method).

With ``NUMBA_DISABLE_JIT=1`` the NumPy versions at the end take the place of the instructions.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model
from numpy.typing import NDArray

__all__ = ["SUSPECTS", "add_lanes", "add_multiple", "add_product", "load_lanes", "no_lanes", "store_lanes"]

SUSPECTS = 16
_VECTOR = ir.VectorType(ir.FloatType(), SUSPECTS)
_ALIGN = 4


class SuspectLanesType(types.Type):  # type: ignore[misc]
    """The Numba type of ``SUSPECTS`` float32 held together."""

    def __init__(self) -> None:
        super().__init__(name="SuspectLanes")


SUSPECT_LANES = SuspectLanesType()


@register_model(SuspectLanesType)
class SuspectLanesModel(models.PrimitiveModel):  # type: ignore[misc]
    """``SuspectLanesType`` is one LLVM vector."""

    def __init__(self, manager: Any, lanes: SuspectLanesType) -> None:
        super().__init__(manager, lanes, _VECTOR)


def _place(context: Any, builder: Any, array_type: Any, array: Any, offset: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    return builder.gep(data, [offset])


def _spread(builder: Any, number: Any) -> Any:
    empty = ir.Constant(_VECTOR, ir.Undefined)
    first = builder.insert_element(empty, number, ir.Constant(ir.IntType(32), 0))
    everywhere = ir.Constant(ir.VectorType(ir.IntType(32), SUSPECTS), [0] * SUSPECTS)
    return builder.shuffle_vector(first, empty, everywhere)


def _fused(builder: Any, total: Any, first: Any, second: Any) -> Any:
    return builder.fadd(total, builder.fmul(first, second, flags=("contract",)), flags=("contract",))


@intrinsic
def load_lanes(typing_context: Any, array: Any, offset: Any) -> Any:
    """Return the lanes that begin at element ``offset`` of a contiguous float32 array."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        place = builder.bitcast(_place(context, builder, array, *values), _VECTOR.as_pointer())
        return builder.load(place, align=_ALIGN)

    return SUSPECT_LANES(array, types.intp), emit


@intrinsic
def store_lanes(typing_context: Any, array: Any, offset: Any, lanes: Any) -> Any:
    """Write lanes to a contiguous float32 array, from element ``offset`` on."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        place = _place(context, builder, array, values[0], values[1])
        builder.store(values[2], builder.bitcast(place, _VECTOR.as_pointer()), align=_ALIGN)
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes), emit


@intrinsic
def no_lanes(typing_context: Any) -> Any:
    """Return lanes of zeros."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return ir.Constant(_VECTOR, [0.0] * SUSPECTS)

    return SUSPECT_LANES(), emit


@intrinsic
def add_lanes(typing_context: Any, first: Any, second: Any) -> Any:
    """Return the sum, lane by lane."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.fadd(*values)

    return first(first, second), emit


@intrinsic
def add_product(typing_context: Any, total: Any, first: Any, second: Any) -> Any:
    """Return ``total + first * second``, lane by lane, fused where the machine can."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _fused(builder, *values)

    return total(total, first, second), emit


@intrinsic
def add_multiple(typing_context: Any, total: Any, numbers: Any, offset: Any, lanes: Any) -> Any:
    """Return ``total + numbers[offset] * lanes``, one number for all lanes, fused where the machine can."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        number = builder.load(_place(context, builder, numbers, values[1], values[2]), align=_ALIGN)
        return _fused(builder, values[0], _spread(builder, number), values[3])

    return total(total, numbers, types.intp, lanes), emit


if numba.config.DISABLE_JIT:
    Lanes = NDArray[np.float32]

    def load_lanes(array: Lanes, offset: int) -> Lanes:
        return array.reshape(-1)[offset : offset + SUSPECTS].copy()

    def store_lanes(array: Lanes, offset: int, lanes: Lanes) -> None:
        array.reshape(-1)[offset : offset + SUSPECTS] = lanes

    def no_lanes() -> Lanes:
        return np.zeros(SUSPECTS, np.float32)

    def add_lanes(first: Lanes, second: Lanes) -> Lanes:
        return first + second

    def add_product(total: Lanes, first: Lanes, second: Lanes) -> Lanes:
        return total + first * second

    def add_multiple(total: Lanes, numbers: Lanes, offset: int, lanes: Lanes) -> Lanes:
        return np.asarray(total + numbers.reshape(-1)[offset] * lanes)
